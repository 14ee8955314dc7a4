# SPDX-License-Identifier: Apache-2.0
"""From what a user sent to a Stack: template, files and environments put together, limits and validation.

Nothing is written here. What a caller gave by hand (``params``) wins over ``environment_files`` sent beside it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from openkeel_heat.common import exceptions, names, params as parameters
from openkeel_heat.common.i18n import _
from openkeel_heat.db import stacks
from openkeel_heat.engine import hidden, templates
from openkeel_heat.engine.operations import lookup
from openkeel_heat.engine.stack import Stack

Files = Mapping[str, str]
Params = Mapping[str, Any]

_PARAMETERS, _REGISTRY = "parameters", "resource_registry"


def parse_args(args: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keyword arguments of a Stack from the ``args`` of a call."""
    from openkeel_heat.template import text

    keywords = parameters.extract_args(args or {}, text.simple_parse)
    if keywords.get("timeout_mins", 0) > parameters.MOST_MINUTES:
        raise exceptions.Invalid(reason=_("timeout_mins may not be more than %d") % parameters.MOST_MINUTES)
    return keywords


def fetch_files(context: Any, files: Files | None, container: str | None) -> dict[str, str]:
    """The files sent, over those in a Swift container."""
    given = dict(files or {})
    if not container:
        return given
    plugin = context.clients.client_plugin("swift")
    if not plugin:
        raise exceptions.ClientNotAvailable(client_name="swift")
    return {**plugin.get_files_from_container(container, list(given)), **given}


def merge_environments(
    template: Any, files: Files, environment_files: list[str] | None, params: Params | None
) -> dict[str, Any]:
    """One environment of the environment files in their order and what was given by hand."""
    given = _sections(params)
    if not environment_files:
        return given
    from openkeel_heat.template import env_merge

    merged: dict[str, Any] = {}
    env_merge.merge_environments(environment_files, files, merged, template.all_param_schemata(files))
    for section, content in given.items():
        if isinstance(content, list):
            merged[section] = [*merged.get(section, []), *content]
        elif section == _REGISTRY:
            merged[section] = env_merge.merge_map(merged.get(section), content, deep_merge=True)
        else:
            merged[section] = {**(merged.get(section) or {}), **(content or {})}
    return merged


def _sections(params: Params | None) -> dict[str, Any]:
    """Flat parameters as an environment."""
    from openkeel_heat.template import text

    params = dict(params or {})
    if params and not any(section in params for section in text.ENVIRONMENT_SECTIONS):
        return {_PARAMETERS: params}
    return params


def new_template(
    context: Any,
    template: Mapping[str, Any] | None,
    params: Params | None,
    files: Files | None,
    environment_files: list[str] | None,
    files_container: str | None,
    template_id: int | None = None,
) -> Any:
    """The compiled template with the environment of the user; for ``template_id`` the stored one as it is."""
    if template_id is not None:
        return templates.load(template_id)
    files = fetch_files(context, files, files_container)
    compiled = templates.compiled(template or {}, files)
    compiled.env = _environment(merge_environments(compiled, files, environment_files, params))
    return compiled


def _environment(data: Mapping[str, Any]) -> Any:
    from openkeel_heat.template.environment import Environment

    return Environment(copy.deepcopy(dict(data)))


def check_size(template: Any) -> None:
    """Refuse a template with more resources than a stack may have."""
    limit = cfg.CONF.max_resources_per_stack
    if limit != -1 and len(template[template.RESOURCES]) > limit:
        raise exceptions.RequestLimitExceeded(message=exceptions.StackResourceLimitExceeded.msg_fmt)


def check_template(template: Any) -> None:
    try:
        template.validate()
    except AssertionError:
        raise
    except Exception as error:
        raise exceptions.StackValidationFailed(message=str(error)) from error
    check_size(template)


def check_new_name(context: Any, stack_name: str, nested: bool = False) -> None:
    """Refuse a name in use and a project that has all the stacks it may have, of which nested ones are none.

    What is no text is refused before the database is asked: to MariaDB the number 0 is equal to any name.
    """
    names.check_text(stack_name)
    tenant = lookup.project_of(context)
    if stacks.get_by_name(stack_name, tenant):
        raise exceptions.StackExists(stack_name=stack_name)
    limit = cfg.CONF.max_stacks_per_tenant
    if not nested and not context.is_admin and limit >= 0 and stacks.count(tenant) >= limit:
        raise exceptions.RequestLimitExceeded(
            message=_("You have reached the maximum stacks per tenant, %d. Please delete some stacks.") % limit
        )


def check_deferred_auth(context: Any, stack: Stack) -> None:
    """With passwords as the way of deferred authentication, the request must have brought one."""
    if cfg.CONF.deferred_auth_method != "password" or not stack.requires_deferred_auth():
        return
    if context.username is None:
        raise exceptions.MissingCredentialError(required="X-Auth-User")
    if context.password is None:
        raise exceptions.MissingCredentialError(required="X-Auth-Key")


def _adopt_parameters(params: Params | None, adopt_data: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of the adopted stack, under those given by hand."""
    params = dict(params or {})
    environment = _adopted_map(adopt_data, "environment")
    adopted = _adopted_map(environment, _PARAMETERS, "environment.")
    params[_PARAMETERS] = {**adopted, **(params.get(_PARAMETERS) or {})}
    return params


def _adopted_map(data: Mapping[str, Any], name: str, above: str = "") -> Mapping[str, Any]:
    """A part of adopt data; what is null, or lacks, is empty."""
    found = data.get(name)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise exceptions.Invalid(reason=_('"%s" of the adopt data must be a mapping') % f"{above}{name}")
    return found


def _check_adopted_resources(data: Mapping[str, Any], above: str = "") -> None:
    """Resources of adopt data are mappings by name, those of nested stacks have resources themselves."""
    resources = _adopted_map(data, "resources", above)
    for name in resources:
        inside = f"{above}resources."
        _check_adopted_resources(_adopted_map(resources, name, inside), f"{inside}{name}.")


def new_stack(
    context: Any,
    stack_name: str,
    template: Mapping[str, Any] | None,
    params: Params | None,
    files: Files | None,
    args: Mapping[str, Any] | None,
    environment_files: list[str] | None = None,
    files_container: str | None = None,
    owner_id: str | None = None,
    nested_depth: int = 0,
    user_creds_id: int | None = None,
    stack_user_project_id: str | None = None,
    parent_resource_name: str | None = None,
    template_id: int | None = None,
) -> Stack:
    """A validated Stack that is not stored (create, adopt and their preview)."""
    keywords = parse_args(args)
    if "adopt_stack_data" in keywords:
        if not cfg.CONF.enable_stack_adopt:
            raise exceptions.NotSupported(feature="Stack Adopt")
        _check_adopted_resources(keywords["adopt_stack_data"])
        params = _adopt_parameters(params, keywords["adopt_stack_data"])
    compiled = new_template(context, template, params, files, environment_files, files_container, template_id)
    check_new_name(context, stack_name, nested=owner_id is not None)
    check_template(compiled)
    stack = Stack(
        context,
        stack_name,
        compiled,
        owner_id=owner_id,
        nested_depth=nested_depth,
        user_creds_id=user_creds_id,
        stack_user_project_id=stack_user_project_id,
        parent_resource=parent_resource_name,
        **keywords,
    )
    lookup.enforce_types(stack)
    check_deferred_auth(context, stack)
    with hidden.in_errors(stack):
        stack.validate()
    return stack


# updates ------------------------------------------------------------------------------------------------------------
def _patched_template(
    context: Any,
    current: Stack,
    template: Mapping[str, Any] | None,
    params: Params | None,
    files: Files | None,
    environment_files: list[str] | None,
    files_container: str | None,
    clear: set[str],
) -> Any:
    """PATCH: what was sent on top of what the stack has; parameters the new template does not know are dropped."""
    files = {**current.t.files, **fetch_files(context, files, files_container)}
    compiled = templates.compiled(current.t.t if template is None else template, files)
    sent = merge_environments(compiled, files, environment_files, params)
    kept = current.env.env_as_dict()
    kept[_PARAMETERS] = {name: value for name, value in kept[_PARAMETERS].items() if name not in clear}
    environment = _environment(kept)
    environment.load(copy.deepcopy(sent))
    schemata = compiled.param_schemata()
    for name in [name for name in environment.params if name not in schemata]:
        del environment.params[name]
    compiled.env = environment
    return compiled


def updated_stack(
    context: Any,
    current: Stack,
    template: Mapping[str, Any] | None,
    params: Params | None,
    files: Files | None,
    args: Mapping[str, Any] | None,
    environment_files: list[str] | None = None,
    files_container: str | None = None,
    template_id: int | None = None,
) -> Stack:
    """The stack as it is to become: validated, with the identity of the current one, not stored."""
    args = dict(args or {})
    patch = bool(args.get("existing", False))
    if patch:
        assert template_id is None, "Cannot specify template_id with PARAM_EXISTING"
        compiled = _patched_template(
            context,
            current,
            template,
            params,
            files,
            environment_files,
            files_container,
            set(args.get("clear_parameters") or ()),
        )
    else:
        compiled = new_template(context, template, params, files, environment_files, files_container, template_id)
    check_size(compiled)
    stack = stack_under(
        context,
        current,
        compiled,
        **{
            "timeout_mins": current.timeout_mins,
            "disable_rollback": current.disable_rollback,
            "converge": current.converge,
            "tags": current.tags if patch else [],
            **parse_args(args),
        },
    )
    changed = current.parameters.immutable_params_modified(stack.parameters, compiled.env.params)
    if changed:
        raise exceptions.ImmutableParameterModified(*changed)
    lookup.enforce_types(stack)
    check_deferred_auth(context, stack)
    with hidden.in_errors(stack):
        stack.validate()
    return stack


def stack_under(context: Any, current: Stack, template: Any, **keywords: Any) -> Stack:
    """A stack in memory that stands for the current one under another template. It has no id, and so no rows."""
    stack = Stack(
        current.context,
        current.name,
        template,
        owner_id=current.owner_id,
        username=current.username,
        stack_user_project_id=current.stack_user_project_id,
        user_creds_id=current.user_creds_id,
        nested_depth=current.nested_depth,
        current_traversal=current.current_traversal,
        prev_raw_template_id=current.prev_raw_template_id,
        parent_resource=current.parent_resource_name,
        tenant_id=current.tenant_id,
        strict_validate=current.strict_validate,
        **keywords,
    )
    stack.use_identity(current.identifier())
    return stack
