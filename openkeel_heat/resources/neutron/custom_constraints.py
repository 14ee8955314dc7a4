# SPDX-License-Identifier: Apache-2.0
"""Custom constraints ``neutron.*``: the value is the name or the id of an object of the network service."""

from __future__ import annotations

from typing import Any

from openkeel_heat.clients import rest_errors
from openkeel_heat.clients.neutron import NeutronClientNoUniqueMatch
from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit.constraints import BaseCustomConstraint

CLIENT_NAME = "neutron"


class NeutronConstraint(BaseCustomConstraint):
    expected_exceptions: tuple[type[Exception], ...] = (rest_errors.NeutronClientException, exceptions.EntityNotFound)

    resource_name: str = ""
    #: What the service must have for it.
    extension: str | None = None

    def validate_with_client(self, client: Any, value: Any) -> None:
        plugin = client.client_plugin(CLIENT_NAME)
        if self.extension and not plugin.has_extension(self.extension):
            raise exceptions.EntityNotFound(entity="neutron extension", name=self.extension)
        self.find(plugin, value)

    def find(self, plugin: Any, value: Any) -> None:
        plugin.find_resourceid_by_name_or_id(self.resource_name, value)


class NeutronExtConstraint(NeutronConstraint):
    def find(self, plugin: Any, value: Any) -> None:
        plugin.resolve_ext_resource(self.resource_name, value)


class NetworkConstraint(NeutronConstraint):
    resource_name = "network"


class PortConstraint(NeutronConstraint):
    resource_name = "port"


class RouterConstraint(NeutronConstraint):
    resource_name = "router"


class SubnetConstraint(NeutronConstraint):
    resource_name = "subnet"


class SubnetPoolConstraint(NeutronConstraint):
    resource_name = "subnetpool"


class SecurityGroupConstraint(NeutronConstraint):
    resource_name = "security_group"


class AddressScopeConstraint(NeutronConstraint):
    resource_name = "address_scope"
    extension = "address-scope"


class QoSPolicyConstraint(NeutronConstraint):
    resource_name = "policy"
    extension = "qos"


class PortPairConstraint(NeutronExtConstraint):
    resource_name = "port_pair"
    extension = "sfc"


class PortPairGroupConstraint(NeutronExtConstraint):
    resource_name = "port_pair_group"
    extension = "sfc"


class FlowClassifierConstraint(NeutronExtConstraint):
    resource_name = "flow_classifier"
    extension = "sfc"


class TapServiceConstraint(NeutronExtConstraint):
    resource_name = "tap_service"
    extension = "taas"


class TapFlowConstraint(NeutronExtConstraint):
    resource_name = "tap_flow"
    extension = "taas"


class LoadbalancerConstraint(NeutronConstraint):
    resource_name = "loadbalancer"
    extension = "lbaasv2"


class ListenerConstraint(NeutronConstraint):
    resource_name = "listener"
    extension = "lbaasv2"


class PoolConstraint(NeutronConstraint):
    resource_name = "pool"
    extension = "lbaasv2"


class ProviderConstraint(BaseCustomConstraint):
    """The value is the name of a provider of a service that the network service hosts."""

    expected_exceptions = (exceptions.StackValidationFailed,)

    service_type: str | None = None

    def validate_with_client(self, client: Any, value: Any) -> None:
        names = client.client_plugin(CLIENT_NAME).service_providers(self.service_type)
        if value not in names:
            raise exceptions.StackValidationFailed(
                message=_("Unable to find neutron provider '%(provider)s', available providers are %(providers)s.")
                % {"provider": value, "providers": names}
            )


class LBaasV2ProviderConstraint(ProviderConstraint):
    service_type = "LOADBALANCERV2"


class TaaSProviderConstraint(ProviderConstraint):
    service_type = "TAPASASERVICE"


class SegmentConstraint(NeutronConstraint):
    expected_exceptions = (rest_errors.NeutronClientException, NeutronClientNoUniqueMatch)

    def validate_with_client(self, client: Any, value: Any) -> None:
        client.client_plugin("openstack").find_network_segment(value)
