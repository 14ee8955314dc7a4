# SPDX-License-Identifier: Apache-2.0
"""The contract between the processes: topics, methods, arguments, versions.

Each row is a method as the server has it. ``version`` is the one that the client sends with a message, the server of a
topic speaks all up to its own. Where a client gives other arguments than the server takes, ``client`` has the
client's: what it leaves out is not sent, ``constants`` are sent beside it. The order of arguments is part of the
contract, plug-ins and tests call by position.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

ENGINE = "engine"
WORKER = "engine_worker"
LISTENER = "heat-engine-listener"

BASE_VERSION = "1.0"

#: Messages that ``send`` of the listener understands.
THREAD_CANCEL = "cancel"
THREAD_CANCEL_WITH_ROLLBACK = "cancel_with_rollback"
THREAD_MESSAGES = (THREAD_CANCEL, THREAD_CANCEL_WITH_ROLLBACK)

#: Seconds that another engine has to stop its work on a stack.
STOP_STACK_TIMEOUT = 30
CANCEL_RETRIES = 3


@dataclasses.dataclass(frozen=True)
class Method:
    name: str
    #: Arguments of the server after the context.
    signature: inspect.Signature
    version: str
    #: What the answer is, in words of the contract; None for nothing.
    reply: str | None
    kind: str = "call"
    #: Arguments of the client method after the context.
    client_signature: inspect.Signature | None = None
    constants: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    #: Defaults that are made anew for each message when nothing is given.
    fresh: Mapping[str, type] = dataclasses.field(default_factory=dict)
    #: Errors of the vocabulary are expected answers and are not logged with a traceback.
    expects_errors: bool = True
    #: Name of the argument that is also the time-out of the call.
    timeout_argument: str | None = None

    @property
    def arguments(self) -> tuple[str, ...]:
        return tuple(self.signature.parameters)

    def message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The arguments that a client sends for a call of its method."""
        bound = (self.client_signature or self.signature).bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = {**self.constants, **bound.arguments}
        for name, make in self.fresh.items():
            arguments[name] = arguments[name] or make()
        return arguments


def _signature(text: str) -> inspect.Signature:
    parsed = ast.parse(f"lambda {text}: 0", mode="eval").body
    assert isinstance(parsed, ast.Lambda)
    names = [argument.arg for argument in parsed.args.args]
    defaults = [ast.literal_eval(default) for default in parsed.args.defaults]
    required = len(names) - len(defaults)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [
            inspect.Parameter(name, kind, default=inspect.Parameter.empty if i < required else defaults[i - required])
            for i, name in enumerate(names)
        ]
    )


def _method(
    text: str,
    version: str = BASE_VERSION,
    reply: str | None = None,
    client: str | None = None,
    constants: dict[str, Any] | None = None,
    fresh: dict[str, type] | None = None,
    **other: Any,
) -> Method:
    name, _, arguments = text.removesuffix(")").partition("(")
    return Method(
        name,
        _signature(arguments),
        version,
        reply,
        client_signature=None if client is None else _signature(client),
        constants=constants or {},
        fresh=fresh or {},
        **other,
    )


def _table(*methods: Method) -> dict[str, Method]:
    return {method.name: method for method in methods}


_FILES = "environment_files=None, files_container=None"
_FILTERS = "show_deleted=False, show_nested=False, show_hidden=False"
_TAGS = "tags=None, tags_any=None, not_tags=None, not_tags_any=None"
_PAGE = "limit=None, marker=None, sort_keys=None, sort_dir=None"
_CREATE = f"stack_name, template, params, files, args, {_FILES}"
_CREATE_NESTED = (
    f"{_CREATE}, owner_id=None, nested_depth=0, user_creds_id=None, stack_user_project_id=None, "
    "parent_resource_name=None, template_id=None"
)
_UPDATE = f"stack_identity, template, params, files, args, {_FILES}"

ENGINE_METHODS = _table(
    # finding and showing stacks
    _method("identify_stack(stack_name)", reply="identity"),
    _method(
        f"list_stacks({_PAGE}, filters=None, tenant_safe=True, {_FILTERS}, {_TAGS})",
        "1.33",
        "[stack_summary]",
        client=f"{_PAGE}, filters=None, {_FILTERS}, {_TAGS}",
    ),
    _method(
        f"count_stacks(filters=None, tenant_safe=True, {_FILTERS}, {_TAGS})",
        "1.33",
        "integer",
        client=f"filters=None, {_FILTERS}, {_TAGS}",
    ),
    _method("show_stack(stack_identity, resolve_outputs=True)", "1.20", "[stack_full]"),
    _method("get_template(stack_identity)", reply="object"),
    _method("get_environment(stack_identity)", "1.28", "object"),
    _method("get_files(stack_identity)", "1.32", "object string -> string"),
    _method("list_outputs(stack_identity)", "1.19", "[output]"),
    _method("show_output(stack_identity, output_key)", "1.19", "output_with_value"),
    # changing stacks
    _method(
        f"create_stack({_CREATE_NESTED})",
        "1.36",
        "identity",
        client=_CREATE,
        constants={
            "owner_id": None,
            "nested_depth": 0,
            "user_creds_id": None,
            "stack_user_project_id": None,
            "parent_resource_name": None,
            "template_id": None,
        },
    ),
    _method(
        f"update_stack({_UPDATE}, template_id=None)",
        "1.36",
        "identity",
        client=_UPDATE,
        constants={"template_id": None},
    ),
    _method(f"preview_stack({_CREATE})", "1.36", "stack_preview"),
    _method(f"preview_update_stack({_UPDATE})", "1.36", "preview_update"),
    _method(
        f"validate_template(template, params=None, files=None, {_FILES}, show_nested=False, ignorable_errors=None)",
        "1.36",
        "validate_template",
    ),
    _method("delete_stack(stack_identity)"),
    _method("abandon_stack(stack_identity, abandon=True)", reply="abandoned_stack", client="stack_identity"),
    _method("export_stack(stack_identity)", "1.22", "abandoned_stack"),
    _method("stack_suspend(stack_identity)"),
    _method("stack_resume(stack_identity)"),
    _method("stack_check(stack_identity)"),
    _method("stack_cancel_update(stack_identity, cancel_with_rollback=True)", "1.14"),
    _method("migrate_convergence_1(stack_id)", "1.34"),
    # snapshots
    _method("stack_snapshot(stack_identity, name)", reply="snapshot"),
    _method("show_snapshot(stack_identity, snapshot_id)", reply="snapshot"),
    _method("delete_snapshot(stack_identity, snapshot_id)"),
    _method("stack_list_snapshots(stack_identity)", reply="[snapshot]"),
    _method("stack_restore(stack_identity, snapshot_id)"),
    # resources and events
    _method(
        "describe_stack_resource(stack_identity, resource_name, with_attr=None)",
        "1.2",
        "resource",
        client="stack_identity, resource_name, with_attr=False",
    ),
    _method("describe_stack_resources(stack_identity, resource_name)", reply="[resource]"),
    _method(
        "list_stack_resources(stack_identity, nested_depth=0, with_detail=False, filters=None)", "1.25", "[resource]"
    ),
    _method("find_physical_resource(physical_resource_id)", reply="identity (resource path)"),
    _method(
        "resource_signal(stack_identity, resource_name, details, sync_call=False)",
        "1.3",
        "null, or metadata object when sync_call",
    ),
    _method(
        "resource_mark_unhealthy(stack_identity, resource_name, mark_unhealthy, resource_status_reason=None)", "1.26"
    ),
    _method(
        "list_events(stack_identity, filters=None, limit=None, marker=None, sort_keys=None, sort_dir=None, "
        "nested_depth=None)",
        "1.31",
        "[event]",
    ),
    # what there is
    _method(
        "list_resource_types(support_status=None, type_name=None, heat_version=None, with_description=False)",
        "1.30",
        "list of string, or ['resource_type'] objects when with_description",
        expects_errors=False,
    ),
    _method("resource_schema(type_name, with_description=False)", "1.30", "resource_schema", expects_errors=False),
    _method("generate_template(type_name, template_type='cfn')", "1.9", "object", expects_errors=False),
    _method("list_template_versions()", "1.11", "[template_version]", expects_errors=False),
    _method(
        "list_template_functions(template_version, with_condition=False)",
        "1.35",
        "[template_function]",
        expects_errors=False,
    ),
    _method("list_services()", "1.4", "[service]"),
    _method("get_revision()", reply="string", expects_errors=False),
    _method("authenticated_to_backend()", reply="boolean"),
    # software configs and deployments
    _method("show_software_config(config_id)", reply="software_config"),
    _method(
        "list_software_configs(limit=None, marker=None, tenant_safe=True)",
        "1.33",
        "list of software_config (detail=False, include_project when context is admin)",
        client="limit=None, marker=None",
    ),
    _method(
        "create_software_config(group, name, config, inputs, outputs, options)",
        reply="software_config",
        client="group, name, config, inputs=None, outputs=None, options=None",
        fresh={"inputs": list, "outputs": list, "options": dict},
    ),
    _method("delete_software_config(config_id)"),
    _method("list_software_deployments(server_id)", reply="[software_deployment]", client="server_id=None"),
    _method("metadata_software_deployments(server_id)", reply="list of software_config, sorted by config name"),
    _method("show_software_deployment(deployment_id)", reply="software_deployment"),
    _method(
        "check_software_deployment(deployment_id, timeout)",
        "1.27",
        "software_deployment",
        timeout_argument="timeout",
    ),
    _method(
        "create_software_deployment(server_id, config_id, input_values, action, status, status_reason, "
        "stack_user_project_id, deployment_id=None)",
        reply="software_deployment",
        client="server_id, config_id=None, input_values=None, action='INIT', status='COMPLETE', status_reason='', "
        "stack_user_project_id=None, deployment_id=None",
        fresh={"input_values": dict},
    ),
    _method(
        "update_software_deployment(deployment_id, config_id, input_values, output_values, action, status, "
        "status_reason, updated_at)",
        "1.5",
        "software_deployment",
        client="deployment_id, config_id=None, input_values=None, output_values=None, action=None, status=None, "
        "status_reason=None, updated_at=None",
    ),
    _method("delete_software_deployment(deployment_id)"),
    _method(
        "signal_software_deployment(deployment_id, details, updated_at)",
        "1.6",
        "string (event reason) or null",
        client="deployment_id, details, updated_at=None",
    ),
)

WORKER_METHODS = _table(
    _method(
        "check_resource(resource_id, current_traversal, data, is_update, adopt_stack_data, converge=False, "
        "skip_propagate=False, accumulated_failures=None, node_type='resource', abandon=False)",
        "1.9",
        kind="cast",
    ),
    _method(
        "check_resource_delete_snapshot(snapshot_id, resource_name, start_time=None, is_stack_delete=False, "
        "current_traversal=None)",
        "1.7",
        client="snapshot_id, resource_name, start_time, is_stack_delete=False, current_traversal=None",
        kind="cast",
    ),
    _method("cancel_check_resource(stack_id)", "1.3", kind="cast"),
)

LISTENER_METHODS = _table(
    _method("listening()", reply="true", expects_errors=False),
    _method("send(stack_identity, message)", expects_errors=False),
    _method("stop_stack(stack_identity)", expects_errors=False),
)


@dataclasses.dataclass(frozen=True)
class Topic:
    name: str
    #: The version that its server announces.
    version: str | None
    methods: dict[str, Method]


TOPICS = {
    ENGINE: Topic(ENGINE, "1.36", ENGINE_METHODS),
    WORKER: Topic(WORKER, "1.9", WORKER_METHODS),
    LISTENER: Topic(LISTENER, None, LISTENER_METHODS),
}
