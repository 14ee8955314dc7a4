# SPDX-License-Identifier: Apache-2.0
"""RPC methods about software configs and deployments."""

from __future__ import annotations

from typing import Any

from openkeel_heat.engine.operations import software
from openkeel_heat.engine.service.endpoint import Endpoints, endpoint


class SoftwareEndpoints(Endpoints):
    @endpoint
    def show_software_config(self, context: Any, config_id: str) -> Any:
        return software.show_config(context, config_id)

    @endpoint
    def list_software_configs(
        self, context: Any, limit: Any = None, marker: Any = None, tenant_safe: bool = True
    ) -> Any:
        return software.list_configs(context, limit, marker, tenant_safe)

    @endpoint
    def create_software_config(
        self, context: Any, group: Any, name: Any, config: Any, inputs: Any, outputs: Any, options: Any
    ) -> Any:
        return software.create_config(context, group, name, config, inputs, outputs, options)

    @endpoint
    def delete_software_config(self, context: Any, config_id: str) -> None:
        software.delete_config(context, config_id)

    @endpoint
    def list_software_deployments(self, context: Any, server_id: Any) -> Any:
        return software.list_deployments(context, server_id)

    @endpoint
    def metadata_software_deployments(self, context: Any, server_id: Any) -> Any:
        return software.metadata(context, server_id)

    @endpoint
    def show_software_deployment(self, context: Any, deployment_id: str) -> Any:
        return software.show_deployment(context, deployment_id)

    @endpoint
    def check_software_deployment(self, context: Any, deployment_id: str, timeout: Any) -> Any:
        return software.check_deployment(context, deployment_id, timeout)

    @endpoint
    def create_software_deployment(
        self,
        context: Any,
        server_id: Any,
        config_id: Any,
        input_values: Any,
        action: Any,
        status: Any,
        status_reason: Any,
        stack_user_project_id: Any,
        deployment_id: Any = None,
    ) -> Any:
        return software.create_deployment(
            context,
            server_id,
            config_id,
            input_values,
            action,
            status,
            status_reason,
            stack_user_project_id,
            deployment_id,
        )

    @endpoint
    def signal_software_deployment(self, context: Any, deployment_id: str, details: Any, updated_at: Any) -> Any:
        return software.signal_deployment(self.runtime, context, deployment_id, details, updated_at)

    @endpoint
    def update_software_deployment(
        self,
        context: Any,
        deployment_id: str,
        config_id: Any,
        input_values: Any,
        output_values: Any,
        action: Any,
        status: Any,
        status_reason: Any,
        updated_at: Any,
    ) -> Any:
        return software.update_deployment(
            self.runtime,
            context,
            deployment_id,
            config_id,
            input_values,
            output_values,
            action,
            status,
            status_reason,
            updated_at,
        )

    @endpoint
    def delete_software_deployment(self, context: Any, deployment_id: str) -> None:
        software.delete_deployment(self.runtime, context, deployment_id)
