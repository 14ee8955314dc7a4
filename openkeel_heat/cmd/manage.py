# SPDX-License-Identifier: Apache-2.0
"""``heat-manage``: what an operator does to the database from a shell."""

from __future__ import annotations

import logging
import sys
from typing import Any

from oslo_config import cfg

from openkeel_heat.cmd import backend
from openkeel_heat.common.i18n import _

CONF = cfg.CONF


#: Alembic tells of each of its plug-ins at level INFO.
logging.getLogger("alembic.runtime.plugins").setLevel(logging.WARNING)


def db_version() -> None:
    from openkeel_heat.db import migrate

    print(migrate.version())


def db_sync() -> None:
    from openkeel_heat.db import migrate

    migrate.sync(CONF.command.version)


def service_list() -> None:
    from openkeel_heat.db import services

    line = "%-16s %-16s %-36s %-10s %-10s %-10s %-10s"
    print(line % tuple(_(t) for t in ("Hostname", "Binary", "Engine_Id", "Host", "Topic", "Status", "Updated At")))
    for row in services.list_services():
        status = "up" if services.is_up(row) else "down"
        print(line % (row.hostname, row.binary, row.engine_id, row.host, row.topic, status, row.updated_at))


def service_clean() -> None:
    from openkeel_heat.db import services

    services.clean()
    print(_("Dead engines are removed."))


def resource_data_list() -> None:
    from openkeel_heat.db import resources

    wanted = str(CONF.command.resource_id)
    data = resources.get_data(int(wanted)) if wanted.isdigit() else {}
    if not data:
        raise LookupError(_("no resource data found"))
    for key, value in data.items():
        print(f"{key!s:<16} {value!s:<64}")


def reset_stack_status() -> None:
    from openkeel_heat.db import maintenance

    print(_("Warning: this command is potentially destructive and only intended to recover from specific crashes."))
    print(_("It is advised to shutdown all Heat engines beforehand."))
    print(_("Continue ? [y/N]"))
    if input().lower().startswith("y"):
        maintenance.reset_stack_status(CONF.command.stack_id)


def migrate_convergence_1() -> None:
    from openkeel_heat.common import context, exceptions
    from openkeel_heat.rpc import client, messaging

    messaging.setup()
    try:
        client.EngineClient().migrate_convergence_1(context.get_admin_context(), CONF.command.stack_id)
    except exceptions.NotFound:
        raise LookupError(_("Stack with id %s can not be found.") % CONF.command.stack_id) from None


def purge_deleted() -> None:
    from openkeel_heat.db import purge

    command = CONF.command
    purge.purge_deleted(command.age, command.granularity, command.project_id, command.batch_size)


def update_params() -> None:
    from openkeel_heat.db import maintenance

    command = CONF.command
    convert = {
        "encrypt": maintenance.encrypt_parameters_and_properties,
        "decrypt": maintenance.decrypt_parameters_and_properties,
    }[command.crypt_operation]
    errors = convert(command.previous_encryption_key, verbose=command.verbose_update_params)
    if errors:
        raise RuntimeError(_("%(count)d rows were left as they were; the first error: %(error)s")
                           % {"count": len(errors), "error": errors[0]})  # fmt: skip


def migrate_properties_data() -> None:
    print(_("Nothing to do: properties data are migrated as they are written. This command will go away."))


def add_command_parsers(subparsers: Any) -> None:
    """The commands and their arguments."""

    def command(name: str, function: Any) -> Any:
        parser = subparsers.add_parser(name)
        parser.set_defaults(func=function)
        return parser

    command("db_version", db_version)
    command("db_sync", db_sync).add_argument("version", nargs="?")
    command("migrate_convergence_1", migrate_convergence_1).add_argument("stack_id")

    parser = command("purge_deleted", purge_deleted)
    parser.add_argument("age", nargs="?", default="90", help=_("How long deleted stacks are kept."))
    parser.add_argument(
        "-g",
        "--granularity",
        default="days",
        choices=["days", "hours", "minutes", "seconds"],
        help=_("The unit of the age; days if it is not given."),
    )
    parser.add_argument("-p", "--project-id", help=_("Purge the stacks of this project only."))
    parser.add_argument(
        "-b", "--batch_size", default="20", help=_("How many stacks go in one transaction; 0 for all of them.")
    )

    parser = command("update_params", update_params)
    parser.add_argument(
        "crypt_operation",
        choices=["encrypt", "decrypt"],
        help=_("What to do with hidden parameters and stored properties. Stop the engines before."),
    )
    parser.add_argument(
        "previous_encryption_key",
        nargs="?",
        default=None,
        help=_("The key to use instead of auth_encryption_key from the configuration."),
    )
    parser.add_argument(
        "--verbose-update-params", action="store_true", help=_("Log the beginning and end of each row's processing.")
    )

    parser = command("resource_data_list", resource_data_list)
    parser.add_argument("resource_id", help=_("The id of the resource's row."))
    command("reset_stack_status", reset_stack_status).add_argument("stack_id", help=_("The id of the stack."))
    command("migrate_properties_data", migrate_properties_data)

    actions = subparsers.add_parser("service").add_subparsers(dest="action")
    actions.add_parser("list").set_defaults(func=service_list)
    actions.add_parser("clean").set_defaults(func=service_clean)


_COMMAND = cfg.SubCommandOpt("command", title="Commands", help=_("Show available commands."),
                             handler=add_command_parsers)  # fmt: skip


def main() -> None:
    backend.select()
    from openkeel_heat.common import config

    CONF.register_cli_opt(_COMMAND)
    try:
        files = cfg.find_config_files("heat", "heat-engine")
        config.setup(sys.argv[1:], "heat-manage", default_config_files=files)
    except RuntimeError as exc:
        sys.exit(f"ERROR: {exc}")
    try:
        CONF.command.func()
    except Exception as exc:
        sys.exit(f"ERROR: {exc}")


if __name__ == "__main__":
    main()
