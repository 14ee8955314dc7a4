# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::DeployedServer: a server that somebody else has set up."""

from __future__ import annotations

from typing import Any

from oslo_config import cfg

from openkeel_heat.common import config as options
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.server_base import BaseServer


class DeployedServer(BaseServer):
    """Stands for a server outside of the cloud, so that software can be deployed to it.

    Nothing is made but what the agent on the server needs to find its deployments.
    """

    default_client_name = "heat"

    # All that it makes it finds again.
    repeatable_create = True

    PROPERTIES = (NAME, METADATA, SOFTWARE_CONFIG_TRANSPORT, DEPLOYMENT_SWIFT_DATA) = (
        "name",
        "metadata",
        "software_config_transport",
        "deployment_swift_data",
    )

    _SOFTWARE_CONFIG_TRANSPORTS = (POLL_SERVER_CFN, POLL_SERVER_HEAT, POLL_TEMP_URL, ZAQAR_MESSAGE) = (
        "POLL_SERVER_CFN",
        "POLL_SERVER_HEAT",
        "POLL_TEMP_URL",
        "ZAQAR_MESSAGE",
    )

    _DEPLOYMENT_SWIFT_DATA_KEYS = (CONTAINER, OBJECT) = ("container", "object")

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the server."), update_allowed=True),
        METADATA: properties.Schema(
            properties.Schema.MAP,
            _("Has no effect."),
            update_allowed=True,
            support_status=support.SupportStatus(
                status=support.DEPRECATED,
                message=_("This property will be ignored"),
                version="9.0.0",
                previous_status=support.SupportStatus(status=support.SUPPORTED, version="8.0.0"),
            ),
        ),
        SOFTWARE_CONFIG_TRANSPORT: properties.Schema(
            properties.Schema.STRING,
            _(
                "How the server gets its metadata. POLL_SERVER_CFN: from the CloudFormation API, with a key pair. "
                "POLL_SERVER_HEAT: from the native API, with the credentials of a user. POLL_TEMP_URL: from a "
                "temporary URL of Swift. ZAQAR_MESSAGE: from a queue."
            ),
            default=options.register_all(cfg.CONF).default_software_config_transport,
            update_allowed=True,
            constraints=[constraints.AllowedValues(_SOFTWARE_CONFIG_TRANSPORTS)],
        ),
        DEPLOYMENT_SWIFT_DATA: properties.Schema(
            properties.Schema.MAP,
            _(
                "With POLL_TEMP_URL: the object where the metadata are. Without it the container is named like the "
                "resource, and the object by a UUID."
            ),
            support_status=support.SupportStatus(version="9.0.0"),
            default={},
            update_allowed=True,
            schema={
                CONTAINER: properties.Schema(
                    properties.Schema.STRING, _("Name of the container."), constraints=[constraints.Length(min=1)]
                ),
                OBJECT: properties.Schema(
                    properties.Schema.STRING, _("Name of the object."), constraints=[constraints.Length(min=1)]
                ),
            },
        ),
    }

    ATTRIBUTES = (NAME_ATTR, OS_COLLECT_CONFIG) = ("name", "os_collect_config")

    attributes_schema = {
        NAME_ATTR: attributes.Schema(_("Name of the server."), type=attributes.Schema.STRING),
        OS_COLLECT_CONFIG: attributes.Schema(
            _("Configuration for the agent on the server, with which it finds its deployments."),
            type=attributes.Schema.MAP,
            support_status=support.SupportStatus(version="9.0.0"),
            cache_mode=attributes.Schema.CACHE_NONE,
        ),
    }

    def __init__(self, name: str, json_snippet: Any, stack: Any) -> None:
        super().__init__(name, json_snippet, stack)
        self._register_access_key()

    def user_data_software_config(self) -> bool:
        return True

    def handle_create(self) -> Any:
        self.resource_id_set(self.uuid)
        self._create_transport_credentials(self.properties)
        self._populate_deployments_metadata(self.metadata_get(True), self.properties)
        return self.resource_id

    def can_resume_polling(self, action: str) -> bool:
        # The id says nothing of the rest.
        return False

    def _delete(self) -> Any:
        self._delete_queue()
        self._delete_user()
        self._delete_temp_url()


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::DeployedServer": DeployedServer}
