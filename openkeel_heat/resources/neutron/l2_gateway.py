# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::L2Gateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron.neutron import NeutronResource, without_status


class L2Gateway(NeutronResource):
    """Devices that join networks of the cloud with VLANs outside of it."""

    support_status = support.SupportStatus(version="12.0.0")
    required_service_extension = "l2-gateway"
    entity = "l2_gateway"
    api_object = without_status("l2-gateways", "l2_gateway")

    PROPERTIES = (NAME, DEVICES) = ("name", "devices")
    _DEVICE_KEYS = (DEVICE_NAME, INTERFACES) = ("device_name", "interfaces")
    _INTERFACE_KEYS = (INTERFACE_NAME, SEGMENTATION_ID) = ("name", "segmentation_id")

    properties_schema = {
        NAME: properties.Schema(
            properties.Schema.STRING,
            _("Name of the gateway; others may have the same."),
            required=True,
            update_allowed=True,
        ),
        DEVICES: properties.Schema(
            properties.Schema.LIST,
            _("The devices of the gateway."),
            required=True,
            update_allowed=True,
            schema=properties.Schema(
                properties.Schema.MAP,
                schema={
                    DEVICE_NAME: properties.Schema(properties.Schema.STRING, _("Name of the device."), required=True),
                    INTERFACES: properties.Schema(
                        properties.Schema.LIST,
                        _("Its interfaces that are used."),
                        required=True,
                        schema=properties.Schema(
                            properties.Schema.MAP,
                            schema={
                                INTERFACE_NAME: properties.Schema(
                                    properties.Schema.STRING, _("Name of the interface."), required=True
                                ),
                                SEGMENTATION_ID: properties.Schema(
                                    properties.Schema.LIST, _("Segments (VLANs) of the interface.")
                                ),
                            },
                        ),
                    ),
                },
            ),
        ),
    }

    def fields(self, props: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = _without_none(super().fields(props))
        return found


def _without_none(value: Any) -> Any:
    """The service takes no null, in no depth."""
    if isinstance(value, Mapping):
        return {key: _without_none(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, list | tuple):
        return [_without_none(entry) for entry in value if entry is not None]
    return value


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Neutron::L2Gateway": L2Gateway,
    }
