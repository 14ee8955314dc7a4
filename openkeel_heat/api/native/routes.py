# SPDX-License-Identifier: Apache-2.0
"""The table of the native API.

Each row says: methods, path behind ``/v1``, ``module:function`` in this package, policy rule, what the function wants
as a body.  A path of a stack (``STACK``) hands its name and id over as one identity.

Groups matter only for the answers to methods that a path does not have: in each group, behind the last row, every
path of the group answers the missing methods with 405 and OPTIONS with the list of those it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

METHODS = ("HEAD", "GET", "POST", "PUT", "PATCH", "DELETE")

#: A body: not taken, taken if there is one, wanted.
NONE, OPTIONAL, WANTED = "none", "optional", "wanted"
#: Policies that are no rule: the project is compared and nothing else / the function itself asks.
PROJECT_ONLY, BY_FUNCTION = "project-only", "by-function"

TENANT = "/{tenant_id}"
STACK = TENANT + "/stacks/{stack_name}/{stack_id}"
RESOURCE = STACK + "/resources/{resource_name}"
SNAPSHOT = STACK + "/snapshots/{snapshot_id}"


class Route(NamedTuple):
    methods: str
    path: str
    function: str
    policy: str
    body: str = NONE

    @property
    def identified_stack(self) -> bool:
        """The function gets ``identity`` in place of the stack's name and id."""
        return "{stack_id}" in self.path


class Missing(NamedTuple):
    """The answer to a method that a path does not have; for OPTIONS the list of those it has."""

    path: str
    methods: tuple[str, ...]
    allowed: str


_LOOKUP = "GET,POST,PUT,PATCH,DELETE"

STACKS = (
    Route("POST", TENANT + "/validate", "validation:validate_template", "stacks:validate_template", WANTED),
    Route("GET", TENANT + "/resource_types", "resource_types:index", "stacks:list_resource_types"),
    Route("GET", TENANT + "/resource_types/{type_name}", "resource_types:schema", "stacks:resource_schema"),
    Route(
        "GET", TENANT + "/resource_types/{type_name}/template", "resource_types:template", "stacks:generate_template"
    ),
    Route("GET", TENANT + "/template_versions", "template_versions:index", "stacks:list_template_versions"),
    Route(
        "GET",
        TENANT + "/template_versions/{template_version}/functions",
        "template_versions:functions",
        "stacks:list_template_functions",
    ),
    Route("GET", TENANT + "/stacks", "stacks:index", "stacks:index"),
    Route("POST", TENANT + "/stacks", "stacks:create", "stacks:create", WANTED),
    Route("POST", TENANT + "/stacks/preview", "stacks:preview", "stacks:preview", WANTED),
    Route("GET", TENANT + "/stacks/detail", "stacks:detail", "stacks:detail"),
    Route(_LOOKUP, TENANT + "/stacks/{stack_name}", "lookup:lookup", "stacks:lookup", OPTIONAL),
    Route(_LOOKUP, TENANT + r"/stacks/{stack_name:arn\x3A.*}", "lookup:lookup", "stacks:lookup", OPTIONAL),
    Route(
        "GET",
        TENANT + "/stacks/{stack_name}/{path:resources|events|template|actions|environment|files}",
        "lookup:lookup",
        "stacks:lookup",
        OPTIONAL,
    ),
    Route(
        "POST",
        TENANT + "/stacks/{stack_name}/{path:resources|events|template|actions}",
        "lookup:lookup",
        "stacks:lookup",
        OPTIONAL,
    ),
    Route("GET", STACK, "stacks:show", "stacks:show"),
    Route("GET", STACK + "/template", "stacks:template", "stacks:template"),
    Route("GET", STACK + "/environment", "stacks:environment", "stacks:environment"),
    Route("GET", STACK + "/files", "stacks:files", "stacks:files"),
    Route("PUT", STACK, "stacks:update", "stacks:update", WANTED),
    Route("PATCH", STACK, "stacks:update_patch", PROJECT_ONLY, WANTED),
    Route("PUT", STACK + "/preview", "stacks:preview_update", "stacks:preview_update", WANTED),
    Route("PATCH", STACK + "/preview", "stacks:preview_update_patch", "stacks:preview_update_patch", WANTED),
    Route("DELETE", STACK, "stacks:delete", "stacks:delete"),
    Route("DELETE", STACK + "/abandon", "stacks:abandon", "stacks:abandon"),
    Route("GET", STACK + "/export", "stacks:export", "stacks:export"),
    Route("POST", STACK + "/snapshots", "snapshots:create", "stacks:snapshot", WANTED),
    Route("GET", SNAPSHOT, "snapshots:show", "stacks:show_snapshot"),
    Route("DELETE", SNAPSHOT, "snapshots:delete", "stacks:delete_snapshot"),
    Route("GET", STACK + "/snapshots", "snapshots:index", "stacks:list_snapshots"),
    Route("POST", SNAPSHOT + "/restore", "snapshots:restore", "stacks:restore_snapshot"),
    Route("GET", STACK + "/outputs", "outputs:index", "stacks:list_outputs"),
    Route("GET", STACK + "/outputs/{output_key}", "outputs:show", "stacks:show_output"),
)

RESOURCES = (
    Route("GET", STACK + "/resources", "resources:index", "resource:index"),
    Route("GET", RESOURCE, "resources:show", "resource:show"),
    Route("GET", RESOURCE + "/metadata", "resources:metadata", "resource:metadata"),
    Route("POST", RESOURCE + "/signal", "resources:signal", "resource:signal", OPTIONAL),
    Route("PATCH", RESOURCE, "resources:mark_unhealthy", "resource:mark_unhealthy", WANTED),
)

EVENTS = (
    Route("GET", STACK + "/events", "events:index", "events:index"),
    Route("GET", RESOURCE + "/events", "events:index", "events:index"),
    Route("GET", RESOURCE + "/events/{event_id}", "events:show", "events:show"),
)

ACTIONS = (Route("POST", STACK + "/actions", "actions:action", BY_FUNCTION, OPTIONAL),)

BUILD_INFO = (Route("GET", TENANT + "/build_info", "build_info:show", "build_info:build_info"),)

_CONFIGS = TENANT + "/software_configs"
SOFTWARE_CONFIGS = (
    Route("GET", _CONFIGS, "software_configs:index", "software_configs:index"),
    Route("POST", _CONFIGS, "software_configs:create", "software_configs:create", WANTED),
    Route("GET", _CONFIGS + "/{config_id}", "software_configs:show", "software_configs:show"),
    Route("DELETE", _CONFIGS + "/{config_id}", "software_configs:delete", "software_configs:delete"),
)

_DEPLOYMENTS = TENANT + "/software_deployments"
_DEPLOYMENT = _DEPLOYMENTS + "/{deployment_id}"
SOFTWARE_DEPLOYMENTS = (
    Route("GET", _DEPLOYMENTS, "software_deployments:index", "software_deployments:index"),
    Route(
        "GET", _DEPLOYMENTS + "/metadata/{server_id}", "software_deployments:metadata", "software_deployments:metadata"
    ),
    Route("POST", _DEPLOYMENTS, "software_deployments:create", "software_deployments:create", WANTED),
    Route("GET", _DEPLOYMENT, "software_deployments:show", "software_deployments:show"),
    Route("PUT", _DEPLOYMENT, "software_deployments:update", "software_deployments:update", WANTED),
    Route("DELETE", _DEPLOYMENT, "software_deployments:delete", "software_deployments:delete"),
)

#: Its path has no 405 and no OPTIONS: what it does not have is 404.
SERVICES = (Route("GET", TENANT + "/services", "services:index", "service:index"),)

GROUPS = (STACKS, RESOURCES, EVENTS, ACTIONS, BUILD_INFO, SOFTWARE_CONFIGS, SOFTWARE_DEPLOYMENTS)


def table() -> Iterator[Route | Missing]:
    """All rows in the order in which they are tried."""
    for group in GROUPS:
        yield from group
        paths: dict[str, list[str]] = {}
        for route in group:
            paths.setdefault(route.path, []).extend(route.methods.split(","))
        for path, methods in paths.items():
            allowed = ",".join(methods)
            yield Missing(path, tuple(method for method in METHODS if method not in methods), allowed)
            yield Missing(path, ("OPTIONS",), allowed)
    yield from SERVICES
