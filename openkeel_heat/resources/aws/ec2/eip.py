# SPDX-License-Identifier: Apache-2.0
"""AWS::EC2::EIP and AWS::EC2::EIPAssociation: floating IPs, by their addresses or ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.clients.errors import EntityMatchNotFound
from openkeel_heat.clients.rest import RestClient
from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.aws.ec2 import internet_gateway, vpc
from openkeel_heat.resources.aws.ec2.unshown import UnshownResource
from openkeel_heat.resources.kit import attributes, constraints, support
from openkeel_heat.resources.kit.properties import Schema
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.succession import is_anothers
from openkeel_heat.resources.neutron.neutron import without_status

FLOATING_IPS, PORTS = "/v2.0/floatingips", "/v2.0/ports"


class ElasticIp(UnshownResource):
    """An address of the external network, of an instance if one is named."""

    PROPERTIES = (DOMAIN, INSTANCE_ID) = ("Domain", "InstanceId")

    ATTRIBUTES = (ALLOCATION_ID,) = ("AllocationId",)

    properties_schema = {
        DOMAIN: Schema(
            Schema.STRING,
            _("Where addresses come from."),
            support_status=support.SupportStatus(
                status=support.DEPRECATED,
                message=_("All addresses are of VPCs now; there is no need to say so."),
                version="9.0.0",
            ),
            constraints=[constraints.AllowedValues(["vpc"])],
        ),
        INSTANCE_ID: Schema(
            Schema.STRING,
            _("Reference to the instance."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("nova.server")],
        ),
    }

    attributes_schema = {
        ALLOCATION_ID: attributes.Schema(_("Id of the address."), type=attributes.Schema.STRING),
    }

    default_client_name = "nova"

    # A floating IP has no name: its description tells whose it is.
    api_object = without_status("floatingips", "floatingip", name="description")
    not_sent = PROPERTIES

    def __init__(self, name: str, definition: Any, stack: Any) -> None:
        super().__init__(name, definition, stack)
        self.ipaddress: str | None = None

    @property
    def api(self) -> RestClient:
        client: RestClient = self.client_plugin("neutron").api
        return client

    def create_body(self, props: dict[str, Any]) -> dict[str, Any]:
        return {
            **super().create_body(props),
            "floating_network_id": internet_gateway.external_network_id(self.api),
        }

    def check_create_complete(self, made: Any) -> bool:
        if not super().check_create_complete(made):
            return False
        if self.properties[self.INSTANCE_ID]:
            self._associate(self.properties[self.INSTANCE_ID])
        return True

    def _associate(self, instance_id: str | None) -> None:
        if instance_id:
            self.client_plugin().associate_floatingip(instance_id, self.resource_id)
        else:
            self.client_plugin().dissociate_floatingip(self.resource_id)

    repeatable_update = True

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> None:
        if self.INSTANCE_ID in prop_diff:
            self._associate(prop_diff[self.INSTANCE_ID])

    def _ipaddress(self) -> str:
        if self.ipaddress is None and self.resource_id is not None:
            with self.client_plugin("neutron").ignore_not_found:
                self.ipaddress = self.shown_recently()["floating_ip_address"]
        return self.ipaddress or ""

    def get_reference_id(self) -> Any:
        return str(self._ipaddress() or self.name)

    def _resolve_attribute(self, name: str) -> Any:
        return str(self.resource_id)


class ElasticIpAssociation(Resource):
    """An address of an instance, or of one of its interfaces."""

    PROPERTIES = (INSTANCE_ID, EIP, ALLOCATION_ID, NETWORK_INTERFACE_ID) = (
        "InstanceId",
        "EIP",
        "AllocationId",
        "NetworkInterfaceId",
    )

    properties_schema = {
        INSTANCE_ID: Schema(
            Schema.STRING,
            _("Reference to the instance."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("nova.server")],
        ),
        EIP: Schema(
            Schema.STRING,
            _("The address."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("ip_addr")],
        ),
        ALLOCATION_ID: Schema(Schema.STRING, _("Id of the address."), update_allowed=True),
        NETWORK_INTERFACE_ID: Schema(Schema.STRING, _("Reference to the interface."), update_allowed=True),
    }

    default_client_name = "nova"

    # To be associated once more with the same port is no error.
    repeatable_create = True
    repeatable_update = True

    def get_reference_id(self) -> Any:
        return self.physical_resource_name_or_FnGetRefId()

    def validate(self) -> Any:
        super().validate()
        given = {name for name in self.PROPERTIES if self._is_given(name)}
        if len(given & {self.EIP, self.ALLOCATION_ID}) != 1:
            raise exception.StackValidationFailed(message=_("Either 'EIP' or 'AllocationId' must be provided."))
        if self.EIP in given and self.INSTANCE_ID not in given:
            raise exception.StackValidationFailed(message=_("Must specify 'InstanceId' if you specify 'EIP'."))
        if not given & {self.INSTANCE_ID, self.NETWORK_INTERFACE_ID}:
            raise exception.PropertyUnspecifiedError(self.INSTANCE_ID, self.NETWORK_INTERFACE_ID)

    def _is_given(self, name: str) -> bool:
        """Whether it has a value, or will have one once what it refers to is made."""
        data = self.properties.data
        return bool(self.properties[name] or (name in data and self.properties._find_deps_any_in_init(data[name])))

    # the two ways
    def _associate(self, props: Mapping[str, Any]) -> str:
        """Give the address to the instance or interface; what the association goes by."""
        address, allocation_id = props.get(self.EIP), props.get(self.ALLOCATION_ID)
        if address:
            self.client_plugin().associate_floatingip_address(props.get(self.INSTANCE_ID), address)
            return str(address)
        port = self._port(props.get(self.NETWORK_INTERFACE_ID), props.get(self.INSTANCE_ID))
        self._lead_outside(allocation_id, port["network_id"])
        self._set_port(allocation_id, port["id"])
        return str(allocation_id)

    def _api(self) -> Any:
        return self.client_plugin("neutron").api

    def _port(self, interface_id: str | None, instance_id: str | None) -> dict[str, Any]:
        wanted = {"id": interface_id} if interface_id else {"device_id": instance_id}
        found = self._api().list(PORTS, "ports", wanted)
        if not found:
            raise exception.NotFound(_("Failed to update, can not found port info."))
        return dict(found[0])

    def _lead_outside(self, allocation_id: Any, network_id: str) -> None:
        """The router of the VPC has to lead to the network of the address."""
        api = self._api()
        router = vpc.router_for_vpc(api, network_id)
        if router is not None:
            outside = api.show("%s/%s" % (FLOATING_IPS, allocation_id), "floatingip")["floating_network_id"]
            vpc.set_gateway(api, router["id"], outside)

    def _set_port(self, allocation_id: Any, port_id: str | None) -> None:
        self._api().put("%s/%s" % (FLOATING_IPS, allocation_id), json={"floatingip": {"port_id": port_id}})

    def _dissociate(self, props: Mapping[str, Any]) -> None:
        if props[self.EIP]:
            self.client_plugin().dissociate_floatingip_address(props[self.EIP])
        else:
            self._set_port(props[self.ALLOCATION_ID], None)

    def _dissociate_if_there(self, props: Mapping[str, Any]) -> None:
        try:
            self._dissociate(props)
        except EntityMatchNotFound:
            # The address is nobody's any more.
            return
        except Exception as ex:
            self.client_plugin("neutron").ignore_not_found(ex)

    # life cycle
    def handle_create(self) -> None:
        self.resource_id_set(self._associate(self.properties))

    def needs_replace_with_prop_diff(
        self, changed_properties_set: set[str], after_props: Any, before_props: Any
    ) -> bool:
        """Another address can be given to the same port, or the same address to another port, not both."""
        if not changed_properties_set & {self.ALLOCATION_ID, self.EIP}:
            return False
        moved = changed_properties_set & {self.INSTANCE_ID, self.NETWORK_INTERFACE_ID}
        return any(after_props.get(name) for name in moved)

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> None:
        if not prop_diff:
            return
        before = dict(self.properties)
        if prop_diff.get(self.EIP) or prop_diff.get(self.ALLOCATION_ID):
            self._dissociate_if_there(before)
        after = {**before, **prop_diff}
        if prop_diff.get(self.INSTANCE_ID) and self.NETWORK_INTERFACE_ID not in prop_diff:
            # The instance is what is meant now.
            after[self.NETWORK_INTERFACE_ID] = None
        self.resource_id_set(self._associate(after))

    def handle_delete(self) -> None:
        if self.resource_id is not None and not is_anothers(self, ElasticIpAssociation._address):
            self._dissociate_if_there(self.properties)

    def _address(self) -> tuple[Any, Any]:
        return self.properties[self.EIP], self.properties[self.ALLOCATION_ID]


def resource_mapping() -> dict[str, type[Resource]]:
    return {"AWS::EC2::EIP": ElasticIp, "AWS::EC2::EIPAssociation": ElasticIpAssociation}
