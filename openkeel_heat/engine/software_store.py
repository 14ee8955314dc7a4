# SPDX-License-Identifier: Apache-2.0
"""Software configs and deployments for resources (``resources.kit.software``): the operations of this very engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openkeel_heat.common import clock, exceptions
from openkeel_heat.engine.operations import runtime, software, software_metadata

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource


class EngineSoftware:
    """Stateless: one for the process."""

    def show_config(self, resource: Resource, config_id: str) -> dict[str, Any]:
        return software.show_config(resource.context, config_id)

    def create_config(self, resource: Resource, values: Mapping[str, Any]) -> dict[str, Any]:
        return software.create_config(resource.context, **_complete(values), config_id=values.get("id"))

    def delete_config(self, resource: Resource, config_id: str) -> None:
        try:
            software.delete_config(resource.context, config_id)
        except exceptions.NotFound:
            pass

    def show_deployment(self, resource: Resource, deployment_id: str) -> dict[str, Any]:
        return software.show_deployment(resource.context, deployment_id)

    def deploy(
        self, resource: Resource, deployment_id: str, config: Mapping[str, Any], values: Mapping[str, Any]
    ) -> dict[str, Any]:
        return software.deploy(runtime.current(), resource.context, deployment_id, _complete(config), values)

    def cancel_deployment(self, resource: Resource, deployment_id: str, reason: str) -> None:
        software.cancel_deployment(runtime.current(), resource.context, deployment_id, reason)

    def delete_deployment(self, resource: Resource, deployment_id: str) -> None:
        software.undeploy(resource.context, deployment_id)

    def signal_deployment(self, resource: Resource, deployment_id: str, details: Any) -> str | None:
        # Who waits for it is woken when the signal of the resource has been handled.
        return software.signal_deployment(None, resource.context, deployment_id, details, clock.utcnow().isoformat())

    def knows_server(self, resource: Resource, server_id: str) -> bool:
        return software_metadata.knows_server(resource.context, server_id)


def _complete(values: Mapping[str, Any]) -> dict[str, Any]:
    """All that makes a config, empty where nothing is given."""
    return {
        "group": values.get("group"),
        "name": values.get("name"),
        "config": values.get("config"),
        "inputs": values.get("inputs") or [],
        "outputs": values.get("outputs") or [],
        "options": values.get("options") or {},
    }


SOFTWARE = EngineSoftware()
