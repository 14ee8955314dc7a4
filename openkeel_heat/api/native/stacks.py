# SPDX-License-Identifier: Apache-2.0
"""Stacks: lists, details, create, update, delete, previews, abandon and export."""

from __future__ import annotations

from typing import Any, NoReturn

from webob import exc

from openkeel_heat.api import policy
from openkeel_heat.api.native import arguments, stack_views
from openkeel_heat.api.native.instantiation import InstantiationData
from openkeel_heat.api.request import Request
from openkeel_heat.api.response import Created

#: Fields by which a list can be filtered; each may be given several times.
FILTERS = (
    "id",
    "status",
    "name",
    "action",
    "tenant",
    "username",
    "owner_id",
    "stack_name",
    "stack_action",
    "stack_status",
    "stack_status_reason",
    "disable_rollback",
    "timeout_mins",
    "stack_owner",
    "parent",
    "stack_user_project_id",
)
_FLAGS = ("show_deleted", "show_nested", "show_hidden")
_TAGS = ("tags", "tags_any", "not_tags", "not_tags_any")


def _select(req: Request) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """The filters of a list, and its other arguments."""
    query = req.query
    if not query:
        return None, {}
    params = arguments.paging(query)
    for name, value in query.single(*_FLAGS).items():
        params[name] = arguments.boolean(name, value)
    for name, value in query.single(*_TAGS).items():
        params[name] = arguments.tags(value)
    return query.mixed(FILTERS) or None, params


def _page(req: Request, context: Any) -> dict[str, Any]:
    filters, params = _select(req)
    with_count = bool(req.query.get("with_count")) and arguments.query_boolean(req.query, "with_count")
    stacks = req.rpc.list_stacks(context, filters=filters, **params)
    count = None
    if with_count:
        count = req.rpc.count_stacks(
            context,
            filters=filters,
            **{name: params.get(name, False) for name in _FLAGS},
            **{name: params.get(name) for name in _TAGS},
        )
    return stack_views.page(req, stacks, count, with_project=context.is_admin)


def index(req: Request) -> dict[str, Any]:
    """Summaries; those of all projects with ``global_tenant``, under a rule of its own."""
    if arguments.query_boolean(req.query, "global_tenant"):
        policy.enforce(req.context, req.context.project_id, "stacks", "global_index")
        from openkeel_heat.common import context

        return _page(req, context.get_admin_context())
    return _page(req, req.context)


def detail(req: Request) -> dict[str, Any]:
    """All that a list knows of each stack; takes the filters of `index`."""
    filters, params = _select(req)
    stacks = req.rpc.list_stacks(req.context, filters=filters, **params)
    return stack_views.page(req, stacks, keys=None)


def create(req: Request, body: dict[str, Any]) -> NoReturn:
    data = InstantiationData(body)
    args = data.arguments()
    identity = req.rpc.create_stack(req.context, data.stack_name(), args=args, **data.sources())
    stack = stack_views.stack(req, {"stack_identity": dict(identity)})
    raise Created(stack["links"][0]["href"], {"stack": stack})


def preview(req: Request, body: dict[str, Any]) -> dict[str, Any]:
    data = InstantiationData(body)
    args = data.arguments()
    result = req.rpc.preview_stack(req.context, data.stack_name(), args=args, **data.sources())
    return {"stack": stack_views.stack(req, result)}


def show(req: Request, identity: dict[str, str]) -> dict[str, Any]:
    found = req.rpc.show_stack(req.context, identity, arguments.query_boolean(req.query, "resolve_outputs", True))
    if not found:
        raise exc.HTTPInternalServerError()
    return {"stack": stack_views.stack(req, found[0])}


def template(req: Request, identity: dict[str, str]) -> Any:
    return req.rpc.get_template(req.context, identity)


def environment(req: Request, identity: dict[str, str]) -> Any:
    return req.rpc.get_environment(req.context, identity)


def files(req: Request, identity: dict[str, str]) -> Any:
    return req.rpc.get_files(req.context, identity)


def _update(req: Request, identity: dict[str, str], data: InstantiationData) -> NoReturn:
    args = data.arguments(update=True)
    req.rpc.update_stack(req.context, identity, args=args, **data.sources())
    raise exc.HTTPAccepted()


def update(req: Request, identity: dict[str, str], body: dict[str, Any]) -> NoReturn:
    """Replace template and parameters."""
    _update(req, identity, InstantiationData(body))


def update_patch(req: Request, identity: dict[str, str], body: dict[str, Any]) -> NoReturn:
    """Change what is given, keep the rest.  A request that changes nothing has a rule of its own."""
    data = InstantiationData(body, patch=True)
    action = "update_no_change" if data.no_change() else "update_patch"
    policy.enforce(req.context, req.context.project_id, "stacks", action)
    _update(req, identity, data)


def _preview_update(req: Request, identity: dict[str, str], data: InstantiationData) -> dict[str, Any]:
    args = data.arguments(update=True)
    if req.query.get("show_nested"):
        args["show_nested"] = arguments.query_boolean(req.query, "show_nested")
    changes = req.rpc.preview_update_stack(req.context, identity, args=args, **data.sources())
    return {"resource_changes": changes}


def preview_update(req: Request, identity: dict[str, str], body: dict[str, Any]) -> dict[str, Any]:
    return _preview_update(req, identity, InstantiationData(body))


def preview_update_patch(req: Request, identity: dict[str, str], body: dict[str, Any]) -> dict[str, Any]:
    return _preview_update(req, identity, InstantiationData(body, patch=True))


def delete(req: Request, identity: dict[str, str]) -> NoReturn:
    req.rpc.delete_stack(req.context, identity, cast=False)
    raise exc.HTTPNoContent()


def abandon(req: Request, identity: dict[str, str]) -> Any:
    """Forget the stack, leave what it made; answers with what `export` would."""
    return req.rpc.abandon_stack(req.context, identity)


def export(req: Request, identity: dict[str, str]) -> Any:
    return req.rpc.export_stack(req.context, identity)
