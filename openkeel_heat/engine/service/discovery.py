# SPDX-License-Identifier: Apache-2.0
"""RPC methods about what the engine offers, and about the service itself."""

from __future__ import annotations

from typing import Any

from openkeel_heat.engine.operations import discovery
from openkeel_heat.engine.service.endpoint import Endpoints, endpoint


class DiscoveryEndpoints(Endpoints):
    @endpoint
    def get_revision(self, context: Any) -> Any:
        return discovery.revision()

    @endpoint
    def list_services(self, context: Any) -> Any:
        return discovery.services()

    @endpoint
    def authenticated_to_backend(self, context: Any) -> Any:
        return context.clients.authenticated()

    @endpoint
    def list_resource_types(
        self,
        context: Any,
        support_status: Any = None,
        type_name: Any = None,
        heat_version: Any = None,
        with_description: bool = False,
    ) -> Any:
        return discovery.resource_types(context, support_status, type_name, heat_version, with_description)

    @endpoint
    def resource_schema(self, context: Any, type_name: str, with_description: bool = False) -> Any:
        return discovery.resource_schema(context, type_name, with_description)

    @endpoint
    def generate_template(self, context: Any, type_name: str, template_type: str = "cfn") -> Any:
        return discovery.generate_template(context, type_name, template_type)

    @endpoint
    def list_template_versions(self, context: Any) -> Any:
        return discovery.template_versions()

    @endpoint
    def list_template_functions(self, context: Any, template_version: str, with_condition: bool = False) -> Any:
        return discovery.template_functions(template_version, with_condition)
