#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Count SQL statements, commits, messages and CPU per resource of whole stack operations, in one process.

    tools/bench/count_sql.py [--shape flat|chain|layered] [--sizes 50,100,1000] [--connection URL] [--transport URL]

One engine on SQLite and the in-memory bus unless told otherwise; resources are OS::Heat::TestResource. Prints a row per
size and operation; exits 1 when a flat stack costs more than --statements or --commits per resource.
"""

from __future__ import annotations

import argparse
import collections
import logging
import sys
import tempfile
import time
from typing import Any


def template(shape: str, size: int, value: str = "x") -> dict[str, Any]:
    """A stack of ``size`` resources."""
    resources: dict[str, Any] = {}
    width = max(1, size // 10)
    for number in range(size):
        body: dict[str, Any] = {"type": "OS::Heat::TestResource", "properties": {"value": value}}
        if shape == "chain" and number:
            body["depends_on"] = [f"r{number - 1}"]
        elif shape == "layered" and number >= width:
            layer = number // width
            body["properties"]["value"] = {"get_attr": [f"r{(layer - 1) * width + number % width}", "output"]}
        resources[f"r{number}"] = body
    return {"heat_template_version": "2021-04-16", "resources": resources}


class Messages:
    """Counts what is sent."""

    def __init__(self) -> None:
        self.by_method: collections.Counter[str] = collections.Counter()

    def before_send(self, message: Any) -> None:
        self.by_method[message.method] += 1

    def after_send(self, message: Any) -> None:
        pass


def setup(arguments: argparse.Namespace) -> Any:
    """Configuration, database and bus of this process."""
    from openkeel_heat.cmd import backend

    backend.select([])
    from oslo_db import options
    from oslo_messaging import transport

    from openkeel_heat.cmd import all_in_one, process
    from openkeel_heat.db import migrate, session

    conf = process.config.setup([], "heat-engine")
    logging.getLogger().setLevel(logging.ERROR)
    for name in ("openkeel_heat", "alembic", "oslo"):
        logging.getLogger(name).setLevel(logging.ERROR)
    conf.register_opts(transport._transport_opts)
    conf.register_opts(options.database_opts, "database")
    all_in_one.set_defaults(conf, tempfile.mkdtemp(prefix="count-sql-"))
    conf.set_override("max_resources_per_stack", -1)
    if arguments.connection:
        conf.set_override("connection", arguments.connection, group="database")
    if arguments.transport:
        conf.set_override("transport_url", arguments.transport)
    process.messaging.setup(conf)
    session.configure(conf)
    migrate.sync()
    return conf


def wait(stack_id: str) -> None:
    """Until the stack has come to rest; asked rarely, so that asking does not count."""
    from openkeel_heat.db import stacks

    while True:
        row = stacks.get(stack_id, show_deleted=True)
        assert row is not None
        if row.status != "IN_PROGRESS":
            assert row.status == "COMPLETE", row.status_reason
            return
        time.sleep(0.02)


def measure(arguments: argparse.Namespace, conf: Any) -> int:
    """Run and print; the exit code."""
    from openkeel_heat.common.context import RequestContext
    from openkeel_heat.db import session
    from openkeel_heat.engine.server import Engine
    from openkeel_heat.rpc import messaging
    from openkeel_heat.rpc.client import EngineClient

    context = RequestContext(
        user_id="u", username="u", project_id="p", project_name="p", roles=["admin"], is_admin=False
    )
    engine = Engine(conf)
    engine.start()
    client = EngineClient()
    bad = 0
    print(f"{'size':>5} {'operation':<10} {'statements':>10} {'commits':>8} {'cpu ms':>8} {'wall s':>8}  messages")
    try:
        for size in [2, *map(int, arguments.sizes.split(","))]:
            identity: dict[str, Any] = {}

            def create(size: int = size, identity: dict[str, Any] = identity) -> None:
                identity.update(client.create_stack(context, f"s{size}", template(arguments.shape, size), {}, {}, {}))

            def update(value: str, size: int = size, identity: dict[str, Any] = identity) -> None:
                client.update_stack(context, identity, template(arguments.shape, size, value), {}, {}, {})

            steps = [
                ("create", create),
                ("no-op", lambda update=update: update("x")),
                ("update", lambda update=update: update("y")),
                ("delete", lambda identity=identity: client.delete_stack(context, identity, cast=False)),
            ]
            for name, call in steps:
                counter, sent = session.StatementCounter(), Messages()
                messaging.watchers.append(sent)
                begun, cpu = time.time(), time.process_time()
                with session.watching(counter):
                    call()
                    wait(identity["stack_id"])
                    engine.scheduler.settle(5)
                messaging.watchers.remove(sent)
                if size == 2:
                    continue  # warms up
                polls = counter.by_operation.pop("stacks.get", 0)
                statements = (counter.statements - polls) / size
                commits = counter.commits / size
                print(
                    f"{size:>5} {name:<10} {statements:>10.2f} {commits:>8.2f} "
                    f"{(time.process_time() - cpu) * 1000 / size:>8.2f} {time.time() - begun:>8.2f}  "
                    f"{dict(sent.by_method)}"
                )
                if arguments.verbose:
                    for operation, number in counter.by_operation.most_common(12):
                        print(
                            f"        {operation:<36} {number / size:>7.2f} statements "
                            f"{counter.commits_by_operation[operation] / size:>7.2f} commits"
                        )
                if (
                    arguments.shape == "flat"
                    and name != "update"
                    and (statements > arguments.statements or commits > arguments.commits)
                ):
                    bad = 1
    finally:
        engine.stop()
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="flat", choices=["flat", "chain", "layered"])
    parser.add_argument("--sizes", default="50,100,500")
    parser.add_argument("--connection")
    parser.add_argument("--transport")
    parser.add_argument("--statements", type=float, default=8.0)
    parser.add_argument("--commits", type=float, default=4.0)
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    return measure(arguments, setup(arguments))


if __name__ == "__main__":
    sys.exit(main())
