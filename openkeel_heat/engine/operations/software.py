# SPDX-License-Identifier: Apache-2.0
"""Software configs and deployments: rows, the signals that report results, and the check of those that are polled."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import Any

from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_log import log as logging
from oslo_utils import timeutils

from openkeel_heat.common import clock, exceptions, signal_body
from openkeel_heat.common.i18n import _
from openkeel_heat.db import software, stacks
from openkeel_heat.engine.operations import columns, formats, lookup, software_metadata
from openkeel_heat.resources.kit import software_io as io

LOG = logging.getLogger(__name__)

IN_PROGRESS, FAILED, COMPLETE = "IN_PROGRESS", "FAILED", "COMPLETE"
STATUS_CODE = "deploy_status_code"
STANDARD_OUTPUTS = ("deploy_stdout", "deploy_stderr", STATUS_CODE)

# How long texts may be that clients send, where it is not the usual length.
_LENGTHS = {"server_id": 36, "stack_user_project_id": 64}

_FIRST_POLL_SECONDS, _POLL_SECONDS = 0.05, 1.0


# configs ------------------------------------------------------------------------------------------------------------
def _config(context: Any, config_id: Any) -> Any:
    row = software.get_config(config_id, lookup.tenant_of(context)) if isinstance(config_id, str) else None
    if row is None:
        raise _no_config(config_id)
    return row


def _no_config(config_id: Any) -> exceptions.NotFound:
    return exceptions.NotFound(_("Software config with id %s not found") % config_id)


def show_config(context: Any, config_id: str) -> dict[str, Any]:
    return formats.software_config(_config(context, config_id))


def list_configs(context: Any, limit: Any = None, marker: Any = None, tenant_safe: bool = True) -> list[dict[str, Any]]:
    admin = not tenant_safe or context.is_admin
    tenant = None if admin else context.project_id
    return [
        formats.software_config(row, detail=False, include_project=admin)
        for row in software.list_configs(tenant, limit, marker)
    ]


def create_config(
    context: Any,
    group: Any,
    name: Any,
    config: Any,
    inputs: Any,
    outputs: Any,
    options: Any,
    config_id: str | None = None,
) -> dict[str, Any]:
    """A new config. With an id given, one that is there already is as good."""
    _check_quota_of_configs(context)
    values = _config_values(context, group, name, config, inputs, outputs, options)
    try:
        config_id = software.insert_config(values if config_id is None else {**values, "id": config_id})
    except db_exc.DBDuplicateEntry:
        LOG.info("Software config %s is there already", config_id)
    assert config_id is not None
    return show_config(context, config_id)


def _check_quota_of_configs(context: Any) -> None:
    limit = cfg.CONF.max_software_configs_per_tenant
    if not context.is_admin and limit >= 0 and software.count_configs(context.project_id) >= limit:
        raise exceptions.RequestLimitExceeded(
            message=_("You have reached the maximum software configs per tenant, %d. Please delete some configs.")
            % limit
        )


def _config_values(
    context: Any, group: Any, name: Any, config: Any, inputs: Any, outputs: Any, options: Any
) -> dict[str, Any]:
    """Columns of a config, its inputs and outputs checked."""
    texts = _texts(name=name, group=group)
    io.check_io_schema_list(inputs)
    stored_inputs = [io.InputConfig(**item).as_dict() for item in inputs]
    io.check_io_schema_list(outputs)
    stored_outputs = [io.OutputConfig(**item).as_dict() for item in outputs]
    return {
        **texts,
        "tenant": context.project_id,
        "config": {"inputs": stored_inputs, "outputs": stored_outputs, "options": options, "config": config},
    }


def delete_config(context: Any, config_id: str) -> None:
    if not software.delete_config(config_id, lookup.tenant_of(context)):
        raise _no_config(config_id)


# deployments --------------------------------------------------------------------------------------------------------
def _deployment(context: Any, deployment_id: str) -> Any:
    row = software.get_deployment(deployment_id, lookup.tenant_of(context))
    if row is None:
        raise exceptions.NotFound(_("Deployment with id %s not found") % deployment_id)
    return row


def list_deployments(context: Any, server_id: Any) -> list[dict[str, Any]]:
    return [formats.software_deployment(row) for row in software.list_deployments(lookup.tenant_of(context), server_id)]


def metadata(context: Any, server_id: Any) -> list[dict[str, Any]]:
    """The configs that are deployed to a server, by name."""
    if not server_id:
        raise ValueError(_("server_id must be specified"))
    rows = software.list_deployments(lookup.tenant_of(context), server_id)
    configs = sorted((row.config for row in rows if row.config is not None), key=lambda config: config.name or "")
    return [formats.software_config(config) for config in configs]


def show_deployment(context: Any, deployment_id: str) -> dict[str, Any]:
    return formats.software_deployment(_refreshed(context, deployment_id))


def _refreshed(context: Any, deployment_id: str) -> Any:
    """The deployment, after looking for a signal where signals have to be fetched."""
    row = _deployment(context, deployment_id)
    if row.status != IN_PROGRESS or row.config is None:
        return row
    values = dict(io.InputConfig(**item).input_data() for item in row.config.config["inputs"] or [])
    transport = values.get("deploy_signal_transport")
    found: tuple[Any, str | None] | None
    try:
        if transport == "TEMP_URL_SIGNAL":
            found = software_metadata.swift_signal(context, row, values.get("deploy_signal_id"))
        elif transport == "ZAQAR_SIGNAL":
            found = software_metadata.zaqar_signal(context, row, values.get("deploy_queue_id"))
        else:
            return row
        if found is not None:
            signal_deployment(None, context, deployment_id, *found)
    except (signal_body.Unreadable, exceptions.Invalid) as error:  # the server's doing, not that of who is asking
        cancel_deployment(None, context, deployment_id, str(error))
    return _deployment(context, deployment_id)


def check_deployment(context: Any, deployment_id: str, timeout: Any) -> dict[str, Any]:
    """Wait until the deployment is no more in progress."""
    deadline = clock.Deadline(float(timeout or 0))
    pause = _FIRST_POLL_SECONDS
    while True:
        row = _refreshed(context, deployment_id)
        if row.status != IN_PROGRESS:
            return formats.software_deployment(row)
        if deadline.expired():
            raise exceptions.Error(_("Timed out waiting for deployment %s") % deployment_id)
        time.sleep(min(pause, max(deadline.remaining(), 0)))
        pause = min(pause * 2, _POLL_SECONDS)


def _check_quota_of_deployments(context: Any) -> None:
    limit = cfg.CONF.max_software_deployments_per_tenant
    if not context.is_admin and limit >= 0 and software.count_deployments(context.project_id) >= limit:
        raise exceptions.RequestLimitExceeded(
            message=_(
                "You have reached the maximum software deployments per tenant, %d. Please delete some deployments."
            )
            % limit
        )


def _texts(**given: Any) -> dict[str, str | None]:
    """What is stored of these fields; Invalid for what does not fit into the columns."""
    return {name: columns.text(name, value, _LENGTHS.get(name, columns.LENGTH)) for name, value in given.items()}


def _check_stack_user_project(context: Any, project_id: str | None) -> None:
    """Who is in the project sees the deployment, and takes it for its server's: it has to be the caller's."""
    if not project_id or context.is_admin or project_id == context.project_id:
        return
    if not stacks.has_user_project(project_id, context.project_id):
        raise exceptions.Forbidden()


def create_deployment(
    context: Any,
    server_id: Any,
    config_id: Any,
    input_values: Any,
    action: Any,
    status: Any,
    status_reason: Any,
    stack_user_project_id: Any = None,
    deployment_id: str | None = None,
) -> dict[str, Any]:
    _check_quota_of_deployments(context)
    texts = _texts(server_id=server_id, stack_user_project_id=stack_user_project_id, action=action, status=status)
    _check_stack_user_project(context, texts["stack_user_project_id"])
    _config(context, config_id)
    if server_id is None:
        raise exceptions.Invalid(reason='"server_id" must be specified')
    inserted = software.insert_deployment(
        {
            "id": deployment_id or str(uuid.uuid4()),
            "config_id": config_id,
            "input_values": input_values,
            "tenant": context.project_id,
            "status_reason": str(status_reason),
            **texts,
        }
    )
    if inserted is None:
        raise _no_config(config_id)
    software_metadata.push(context, str(texts["server_id"]), texts["stack_user_project_id"])
    return formats.software_deployment(_deployment(context, inserted))


def deploy(
    runtime: Any, context: Any, deployment_id: str, config: Mapping[str, Any], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Make a deployment with a config of its own, or give it another config; see ``kit.software.Software.deploy``."""
    _check_quota_of_configs(context)
    if software.get_deployment(deployment_id) is None:
        _check_quota_of_deployments(context)
    _texts(server_id=values["server_id"], stack_user_project_id=values.get("stack_user_project_id"))
    software.deploy(deployment_id, _config_values(context, **config), {"tenant": context.project_id, **values})
    software_metadata.push(context, values["server_id"], values.get("stack_user_project_id"))
    _wake(runtime, deployment_id)
    return formats.software_deployment(_deployment(context, deployment_id))


def signal_deployment(runtime: Any, context: Any, deployment_id: str, details: Any, updated_at: Any) -> str | None:
    """Take the results of a deployment in progress; answers a text for the event, None when none was awaited.

    Of signals that come at once for one deployment the first is taken.
    """
    if not deployment_id:
        raise ValueError(_("deployment_id must be specified"))
    row = _deployment(context, deployment_id)
    if row.status != IN_PROGRESS:
        return None
    details = details or {}
    if not isinstance(details, Mapping):
        raise exceptions.Invalid(reason=_("the data of a signal has to be a map"))
    # A client may have stored anything as outputs.
    values = dict(row.output_values) if isinstance(row.output_values, Mapping) else {}
    errors: dict[str, str] = {}
    event = f"deployment {deployment_id} succeeded"
    code = details.get(STATUS_CODE)
    if code and str(code) != "0":
        errors[STATUS_CODE] = _("Deployment exited with non-zero status code: %s") % code
        event = f"deployment {deployment_id} failed ({code})"
    for output in (row.config.config["outputs"] if row.config is not None else None) or []:
        name = output["name"]
        if name in details:
            values[name] = details[name]
            if output.get("error_output", False):
                errors[name] = details[name]
                event = f"deployment {deployment_id} failed"
    values.update((name, details.get(name)) for name in STANDARD_OUTPUTS)
    status, reason = COMPLETE, _("Outputs received")
    if errors:
        status, reason = FAILED, ", ".join(f"{name} : {text}" for name, text in errors.items())
    taken = software.update_deployment(
        deployment_id,
        {"output_values": values, "status": status, "status_reason": reason, "updated_at": _time(updated_at)},
        status=IN_PROGRESS,
        config_id=row.config_id,
    )
    if not taken:
        return None
    _wake(runtime, deployment_id)
    return event


def cancel_deployment(runtime: Any, context: Any, deployment_id: str, reason: str) -> None:
    """FAILED, if it is still in progress."""
    software.update_deployment(
        deployment_id, {"status": FAILED, "status_reason": reason, "updated_at": clock.utcnow()}, status=IN_PROGRESS
    )
    _wake(runtime, deployment_id)


def update_deployment(
    runtime: Any,
    context: Any,
    deployment_id: str,
    config_id: Any,
    input_values: Any,
    output_values: Any,
    action: Any,
    status: Any,
    status_reason: Any,
    updated_at: Any,
) -> dict[str, Any]:
    row = _deployment(context, deployment_id)
    given = {
        "config_id": config_id,
        "input_values": input_values,
        "output_values": output_values,
        "status_reason": str(status_reason) if status_reason else None,
        **_texts(action=action or None, status=status or None),
    }
    values = {name: value for name, value in given.items() if value}
    if config_id:
        _config(context, config_id)
    if not software.update_deployment(deployment_id, {**values, "updated_at": _time(updated_at)}):
        _deployment(context, deployment_id)
        if config_id:  # deleted after we looked
            _config(context, config_id)
    if config_id:  # metadata is a list of configs
        software_metadata.push(context, row.server_id, row.stack_user_project_id)
    _wake(runtime, deployment_id)
    return formats.software_deployment(_deployment(context, deployment_id))


def _time(text: Any) -> Any:
    return timeutils.normalize_time(timeutils.parse_isotime(text)) if text else clock.utcnow()


def _wake(runtime: Any, deployment_id: str) -> None:
    """Let the resource that waits for the deployment look at once, if it waits in this engine."""
    if runtime is not None:
        runtime.convergence.wake(("deployment", deployment_id))


def delete_deployment(runtime: Any, context: Any, deployment_id: str) -> None:
    row = _deployment(context, deployment_id)
    software.delete_deployment(deployment_id)
    software_metadata.push(context, row.server_id, row.stack_user_project_id)


def undeploy(context: Any, deployment_id: str) -> None:
    """Delete a deployment with the config that was made for it; nothing happens when it is gone."""
    row = software.undeploy(deployment_id, lookup.tenant_of(context))
    if row is not None:
        software_metadata.push(context, row.server_id, row.stack_user_project_id)
