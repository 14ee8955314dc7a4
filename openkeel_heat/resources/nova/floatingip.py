# SPDX-License-Identifier: Apache-2.0
"""OS::Nova::FloatingIP and OS::Nova::FloatingIPAssociation: floating IPs as they were while Nova had them."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.aws.ec2.unshown import UnshownResource
from openkeel_heat.resources.kit import attributes, constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject
from openkeel_heat.resources.kit.succession import is_anothers


def _hidden(in_favour_of: str) -> support.SupportStatus:
    message = _("Please use %s instead.") % in_favour_of
    return support.SupportStatus(
        status=support.HIDDEN,
        message=message,
        version="11.0.0",
        previous_status=support.SupportStatus(
            status=support.DEPRECATED,
            message=message,
            version="9.0.0",
            previous_status=support.SupportStatus(version="2014.1"),
        ),
    )


class NovaFloatingIp(UnshownResource):
    """A floating IP of the project; of the network service's object its two attributes are what is told."""

    support_status = _hidden("OS::Neutron::FloatingIP")
    # It has no name: its description tells whose it is.
    api_object = ApiObject("/v2.0/floatingips", "floatingip", name="description")

    PROPERTIES = (POOL,) = ("pool",)

    ATTRIBUTES = (POOL_ATTR, IP) = ("pool", "ip")

    properties_schema = {
        POOL: properties.Schema(
            properties.Schema.STRING,
            _("The external network of the address; it need not be given where there is only one."),
        ),
    }

    attributes_schema = {
        POOL_ATTR: attributes.Schema(_("ID of the external network."), type=attributes.Schema.STRING),
        IP: attributes.Schema(_("The address."), type=attributes.Schema.STRING),
    }

    attribute_fields = {POOL_ATTR: "floating_network_id", IP: "floating_ip_address"}

    def client_plugin(self, name: str | None = None) -> Any:
        return super().client_plugin(name or "neutron")

    def _default_client_plugin(self) -> Any:
        return self.client_plugin()

    def _external_network(self) -> str:
        pool = self.properties[self.POOL]
        neutron = self.client_plugin()
        if pool:
            return str(neutron.find_resourceid_by_name_or_id(neutron.RES_TYPE_NETWORK, pool))
        found = self.api.list("/v2.0/networks", "networks", {"router:external": True})
        if len(found) != 1:
            raise exception.Error(_("Expected 1 external network, found %d") % len(found))
        return str(found[0]["id"])

    def create_body(self, props: dict[str, Any]) -> dict[str, Any]:
        return {"floating_network_id": self._external_network(), "description": self.physical_resource_name()}

    def _resolve_attribute(self, name: str) -> Any:
        return None if self.resource_id is None else str(super()._resolve_attribute(name))


class NovaFloatingIpAssociation(Resource):
    """Leads a floating IP to a server."""

    support_status = _hidden("OS::Neutron::FloatingIPAssociation")
    default_client_name = "nova"
    repeatable_create = True
    repeatable_update = True

    PROPERTIES = (SERVER, FLOATING_IP) = ("server_id", "floating_ip")

    properties_schema = {
        SERVER: properties.Schema(
            properties.Schema.STRING,
            _("ID of the server."),
            required=True,
            update_allowed=True,
            constraints=[constraints.CustomConstraint("nova.server")],
        ),
        FLOATING_IP: properties.Schema(
            properties.Schema.STRING,
            _("ID of the floating IP."),
            required=True,
            update_allowed=True,
        ),
    }

    def get_reference_id(self) -> Any:
        return self.physical_resource_name_or_FnGetRefId()

    def handle_create(self) -> Any:
        self._associate(self.properties)

    def _associate(self, props: Any) -> None:
        self.client_plugin().associate_floatingip(props[self.SERVER], props[self.FLOATING_IP])
        self.resource_id_set(str(self.id))

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Any:
        if not prop_diff:
            return
        if self.FLOATING_IP in prop_diff:
            self.handle_delete()
        self._associate({**self.properties, **prop_diff})

    def handle_delete(self) -> Any:
        if self.resource_id is not None and not is_anothers(self, lambda one: one.properties[self.FLOATING_IP]):
            with self.client_plugin().ignore_not_found:
                self.client_plugin().dissociate_floatingip(self.properties[self.FLOATING_IP])


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Nova::FloatingIP": NovaFloatingIp,
        "OS::Nova::FloatingIPAssociation": NovaFloatingIpAssociation,
    }
