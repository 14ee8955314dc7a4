# SPDX-License-Identifier: Apache-2.0
"""RPC methods about resources and events of stacks."""

from __future__ import annotations

from typing import Any

from openkeel_heat.engine.operations import events, resources
from openkeel_heat.engine.service.endpoint import Endpoints, endpoint


class ResourceEndpoints(Endpoints):
    @endpoint
    def describe_stack_resource(
        self, context: Any, stack_identity: Any, resource_name: str, with_attr: Any = None
    ) -> Any:
        return resources.describe(context, stack_identity, resource_name, with_attr)

    @endpoint
    def describe_stack_resources(self, context: Any, stack_identity: Any, resource_name: str | None) -> Any:
        return resources.describe_all(context, stack_identity, resource_name)

    @endpoint
    def list_stack_resources(
        self, context: Any, stack_identity: Any, nested_depth: int = 0, with_detail: bool = False, filters: Any = None
    ) -> Any:
        return resources.list_resources(context, stack_identity, nested_depth, with_detail, filters)

    @endpoint
    def find_physical_resource(self, context: Any, physical_resource_id: str) -> Any:
        return resources.find_physical(context, physical_resource_id)

    @endpoint
    def resource_mark_unhealthy(
        self,
        context: Any,
        stack_identity: Any,
        resource_name: str,
        mark_unhealthy: bool,
        resource_status_reason: Any = None,
    ) -> None:
        resources.mark_unhealthy(context, stack_identity, resource_name, mark_unhealthy, resource_status_reason)

    @endpoint
    def resource_signal(
        self, context: Any, stack_identity: Any, resource_name: str, details: Any, sync_call: bool = False
    ) -> Any:
        return resources.signal(self.runtime, context, stack_identity, resource_name, details, sync_call)

    @endpoint
    def list_events(
        self,
        context: Any,
        stack_identity: Any,
        filters: Any = None,
        limit: Any = None,
        marker: Any = None,
        sort_keys: Any = None,
        sort_dir: Any = None,
        nested_depth: Any = None,
    ) -> Any:
        return events.list_events(
            context,
            stack_identity,
            filters,
            nested_depth,
            limit=limit,
            marker=marker,
            sort_keys=sort_keys,
            sort_dir=sort_dir,
        )
