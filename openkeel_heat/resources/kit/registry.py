# SPDX-License-Identifier: Apache-2.0
"""From the name of a resource type to its class, imported at first use.

Types of this project stand in a static table ``name -> 'module:Class'``. Modules found in
``plugin_dirs`` are third-party: their ``available_resource_mapping()`` or ``resource_mapping()``
add to it, ``constraint_mapping()`` likewise for custom constraints. They are imported when the
table is asked for, as Heat does at start-up.

The *global environment* is what every user environment falls back to: all types, and
the files of ``environment_dir``.
"""

from __future__ import annotations

import functools
import importlib
import os
import threading
from collections.abc import Iterator, Mapping, MutableMapping
from importlib import metadata
from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.resources.kit import plugin_modules
from openkeel_heat.template import environment
from openkeel_heat.template.registry import set_type_filter

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource

LOG = logging.getLogger(__name__)

_HEAT = "openkeel_heat.resources.heat."

_AWS = "openkeel_heat.resources.aws."

_CINDER = "openkeel_heat.resources.cinder."

_IDENTITY = "openkeel_heat.resources.keystone."

_NEUTRON = "openkeel_heat.resources.neutron."

_COMPUTE = "openkeel_heat.resources.nova."

# In the order in which they are listed.
BUILT_IN: dict[str, str] = {
    "AWS::AutoScaling::AutoScalingGroup": _AWS + "autoscaling.autoscaling_group:AutoScalingGroup",
    "AWS::AutoScaling::LaunchConfiguration": _AWS + "autoscaling.launch_config:LaunchConfiguration",
    "AWS::AutoScaling::ScalingPolicy": _AWS + "autoscaling.scaling_policy:AWSScalingPolicy",
    "AWS::CloudFormation::Stack": _AWS + "cfn.stack:NestedStack",
    "AWS::CloudFormation::WaitCondition": _AWS + "cfn.wait_condition:WaitCondition",
    "AWS::CloudFormation::WaitConditionHandle": _AWS + "cfn.wait_condition_handle:WaitConditionHandle",
    "AWS::EC2::EIP": _AWS + "ec2.eip:ElasticIp",
    "AWS::EC2::EIPAssociation": _AWS + "ec2.eip:ElasticIpAssociation",
    "AWS::EC2::Instance": _AWS + "ec2.instance:Instance",
    "AWS::EC2::InternetGateway": _AWS + "ec2.internet_gateway:InternetGateway",
    "AWS::EC2::NetworkInterface": _AWS + "ec2.network_interface:NetworkInterface",
    "AWS::EC2::RouteTable": _AWS + "ec2.route_table:RouteTable",
    "AWS::EC2::SecurityGroup": _AWS + "ec2.security_group:SecurityGroup",
    "AWS::EC2::Subnet": _AWS + "ec2.subnet:Subnet",
    "AWS::EC2::SubnetRouteTableAssociation": _AWS + "ec2.route_table:SubnetRouteTableAssociation",
    "AWS::EC2::VPC": _AWS + "ec2.vpc:VPC",
    "AWS::EC2::VPCGatewayAttachment": _AWS + "ec2.internet_gateway:VPCGatewayAttachment",
    "AWS::EC2::Volume": _AWS + "ec2.volume:Volume",
    "AWS::EC2::VolumeAttachment": _AWS + "ec2.volume:VolumeAttachment",
    "AWS::ElasticLoadBalancing::LoadBalancer": _AWS + "lb.loadbalancer:LoadBalancer",
    "AWS::IAM::AccessKey": _AWS + "iam.user:AccessKey",
    "AWS::IAM::User": _AWS + "iam.user:User",
    "AWS::S3::Bucket": _AWS + "s3.s3:S3Bucket",
    "OS::Cinder::EncryptedVolumeType": _CINDER + "encrypted_volume_type:CinderEncryptedVolumeType",
    "OS::Cinder::QoSAssociation": _CINDER + "qos_specs:QoSAssociation",
    "OS::Cinder::QoSSpecs": _CINDER + "qos_specs:QoSSpecs",
    "OS::Cinder::Quota": _CINDER + "quota:CinderQuota",
    "OS::Cinder::Volume": _CINDER + "volume:CinderVolume",
    "OS::Cinder::VolumeAttachment": _CINDER + "volume:CinderVolumeAttachment",
    "OS::Cinder::VolumeType": _CINDER + "volume_type:CinderVolumeType",
    "OS::Glance::Image": "openkeel_heat.resources.glance.image:GlanceImage",
    "OS::Glance::WebImage": "openkeel_heat.resources.glance.image:GlanceWebImage",
    "OS::Heat::AccessPolicy": _HEAT + "access_policy:AccessPolicy",
    "OS::Heat::AutoScalingGroup": _HEAT + "autoscaling_group:AutoScalingResourceGroup",
    "OS::Heat::CloudConfig": _HEAT + "cloud_config:CloudConfig",
    "OS::Heat::Delay": _HEAT + "delay:Delay",
    "OS::Heat::DeployedServer": _HEAT + "deployed_server:DeployedServer",
    "OS::Heat::HARestarter": _HEAT + "ha_restarter:Restarter",
    "OS::Heat::InstanceGroup": _HEAT + "instance_group:InstanceGroup",
    "OS::Heat::MultipartMime": _HEAT + "multi_part:MultipartMime",
    "OS::Heat::None": _HEAT + "none_resource:NoneResource",
    "OS::Heat::RandomString": _HEAT + "random_string:RandomString",
    "OS::Heat::ResourceChain": _HEAT + "resource_chain:ResourceChain",
    "OS::Heat::ResourceGroup": _HEAT + "resource_group:ResourceGroup",
    "OS::Heat::ScalingPolicy": _HEAT + "scaling_policy:AutoScalingPolicy",
    "OS::Heat::SoftwareComponent": _HEAT + "software_component:SoftwareComponent",
    "OS::Heat::SoftwareConfig": _HEAT + "software_config:SoftwareConfig",
    "OS::Heat::SoftwareDeployment": _HEAT + "software_deployment:SoftwareDeployment",
    "OS::Heat::SoftwareDeploymentGroup": _HEAT + "software_deployment:SoftwareDeploymentGroup",
    "OS::Heat::SoftwareDeployments": _HEAT + "software_deployment:SoftwareDeployments",
    "OS::Heat::Stack": _HEAT + "remote_stack:RemoteStack",
    "OS::Heat::StructuredConfig": _HEAT + "structured_config:StructuredConfig",
    "OS::Heat::StructuredDeployment": _HEAT + "structured_config:StructuredDeployment",
    "OS::Heat::StructuredDeploymentGroup": _HEAT + "structured_config:StructuredDeploymentGroup",
    "OS::Heat::StructuredDeployments": _HEAT + "structured_config:StructuredDeployments",
    "OS::Heat::SwiftSignal": _HEAT + "swiftsignal:SwiftSignal",
    "OS::Heat::SwiftSignalHandle": _HEAT + "swiftsignal:SwiftSignalHandle",
    "OS::Heat::TestResource": _HEAT + "test_resource:TestResource",
    "OS::Heat::UpdateWaitConditionHandle": _HEAT + "wait_condition_handle:UpdateWaitConditionHandle",
    "OS::Heat::Value": _HEAT + "value:Value",
    "OS::Heat::WaitCondition": _HEAT + "wait_condition:HeatWaitCondition",
    "OS::Heat::WaitConditionHandle": _HEAT + "wait_condition_handle:HeatWaitConditionHandle",
    "OS::Keystone::Domain": _IDENTITY + "domain:KeystoneDomain",
    "OS::Keystone::Endpoint": _IDENTITY + "endpoint:KeystoneEndpoint",
    "OS::Keystone::Group": _IDENTITY + "group:KeystoneGroup",
    "OS::Keystone::GroupRoleAssignment": _IDENTITY + "role_assignments:KeystoneGroupRoleAssignment",
    "OS::Keystone::Project": _IDENTITY + "project:KeystoneProject",
    "OS::Keystone::Region": _IDENTITY + "region:KeystoneRegion",
    "OS::Keystone::Role": _IDENTITY + "role:KeystoneRole",
    "OS::Keystone::Service": _IDENTITY + "service:KeystoneService",
    "OS::Keystone::User": _IDENTITY + "user:KeystoneUser",
    "OS::Keystone::UserRoleAssignment": _IDENTITY + "role_assignments:KeystoneUserRoleAssignment",
    "OS::Neutron::AddressScope": _NEUTRON + "address_scope:AddressScope",
    "OS::Neutron::ExtraRoute": _NEUTRON + "extraroute:ExtraRoute",
    "OS::Neutron::ExtraRouteSet": _NEUTRON + "extrarouteset:ExtraRouteSet",
    "OS::Neutron::Firewall": _NEUTRON + "firewall:Firewall",
    "OS::Neutron::FirewallPolicy": _NEUTRON + "firewall:FirewallPolicy",
    "OS::Neutron::FirewallRule": _NEUTRON + "firewall:FirewallRule",
    "OS::Neutron::FloatingIP": _NEUTRON + "floatingip:FloatingIP",
    "OS::Neutron::FloatingIPAssociation": _NEUTRON + "floatingip:FloatingIPAssociation",
    "OS::Neutron::FloatingIPPortForward": _NEUTRON + "floatingip:FloatingIPPortForward",
    "OS::Neutron::FlowClassifier": _NEUTRON + "sfc.flow_classifier:FlowClassifier",
    "OS::Neutron::HealthMonitor": _NEUTRON + "loadbalancer:HealthMonitor",
    "OS::Neutron::IKEPolicy": _NEUTRON + "vpn_policies:IKEPolicy",
    "OS::Neutron::IPsecPolicy": _NEUTRON + "vpn_policies:IPsecPolicy",
    "OS::Neutron::IPsecSiteConnection": _NEUTRON + "vpnservice:IPsecSiteConnection",
    "OS::Neutron::L2Gateway": _NEUTRON + "l2_gateway:L2Gateway",
    "OS::Neutron::L2GatewayConnection": _NEUTRON + "l2_gateway_connection:L2GatewayConnection",
    "OS::Neutron::LBaaS::HealthMonitor": _NEUTRON + "lbaas:HealthMonitor",
    "OS::Neutron::LBaaS::L7Policy": _NEUTRON + "lbaas:L7Policy",
    "OS::Neutron::LBaaS::L7Rule": _NEUTRON + "lbaas:L7Rule",
    "OS::Neutron::LBaaS::Listener": _NEUTRON + "lbaas:Listener",
    "OS::Neutron::LBaaS::LoadBalancer": _NEUTRON + "lbaas:LoadBalancer",
    "OS::Neutron::LBaaS::Pool": _NEUTRON + "lbaas:Pool",
    "OS::Neutron::LBaaS::PoolMember": _NEUTRON + "lbaas:PoolMember",
    "OS::Neutron::LoadBalancer": _NEUTRON + "loadbalancer:LoadBalancer",
    "OS::Neutron::MeteringLabel": _NEUTRON + "metering:MeteringLabel",
    "OS::Neutron::MeteringRule": _NEUTRON + "metering:MeteringRule",
    "OS::Neutron::Net": _NEUTRON + "net:Net",
    "OS::Neutron::NetworkGateway": _NEUTRON + "network_gateway:NetworkGateway",
    "OS::Neutron::Pool": _NEUTRON + "loadbalancer:Pool",
    "OS::Neutron::PoolMember": _NEUTRON + "loadbalancer:PoolMember",
    "OS::Neutron::Port": _NEUTRON + "port:Port",
    "OS::Neutron::PortChain": _NEUTRON + "sfc.port_chain:PortChain",
    "OS::Neutron::PortPair": _NEUTRON + "sfc.port_pair:PortPair",
    "OS::Neutron::PortPairGroup": _NEUTRON + "sfc.port_pair_group:PortPairGroup",
    "OS::Neutron::ProviderNet": _NEUTRON + "provider_net:ProviderNet",
    "OS::Neutron::QoSBandwidthLimitRule": _NEUTRON + "qos:QoSBandwidthLimitRule",
    "OS::Neutron::QoSDscpMarkingRule": _NEUTRON + "qos:QoSDscpMarkingRule",
    "OS::Neutron::QoSMinimumBandwidthRule": _NEUTRON + "qos:QoSMinimumBandwidthRule",
    "OS::Neutron::QoSMinimumPacketRateRule": _NEUTRON + "qos:QoSMinimumPacketRateRule",
    "OS::Neutron::QoSPolicy": _NEUTRON + "qos:QoSPolicy",
    "OS::Neutron::Quota": _NEUTRON + "quota:NeutronQuota",
    "OS::Neutron::RBACPolicy": _NEUTRON + "rbac_policy:RBACPolicy",
    "OS::Neutron::Router": _NEUTRON + "router:Router",
    "OS::Neutron::RouterGateway": _NEUTRON + "router:RouterGateway",
    "OS::Neutron::RouterInterface": _NEUTRON + "router:RouterInterface",
    "OS::Neutron::SecurityGroup": _NEUTRON + "security_group:SecurityGroup",
    "OS::Neutron::SecurityGroupRule": _NEUTRON + "security_group_rule:SecurityGroupRule",
    "OS::Neutron::Segment": _NEUTRON + "segment:Segment",
    "OS::Neutron::Subnet": _NEUTRON + "subnet:Subnet",
    "OS::Neutron::SubnetPool": _NEUTRON + "subnetpool:SubnetPool",
    "OS::Neutron::TaaS::TapFlow": _NEUTRON + "taas.tap_flow:TapFlow",
    "OS::Neutron::TaaS::TapService": _NEUTRON + "taas.tap_service:TapService",
    "OS::Neutron::Trunk": _NEUTRON + "trunk:Trunk",
    "OS::Neutron::VPNService": _NEUTRON + "vpnservice:VPNService",
    "OS::Nova::Flavor": _COMPUTE + "flavor:NovaFlavor",
    "OS::Nova::FloatingIP": _COMPUTE + "floatingip:NovaFloatingIp",
    "OS::Nova::FloatingIPAssociation": _COMPUTE + "floatingip:NovaFloatingIpAssociation",
    "OS::Nova::HostAggregate": _COMPUTE + "host_aggregate:HostAggregate",
    "OS::Nova::KeyPair": _COMPUTE + "keypair:KeyPair",
    "OS::Nova::Quota": _COMPUTE + "quota:NovaQuota",
    "OS::Nova::Server": _COMPUTE + "server:Server",
    "OS::Nova::ServerGroup": _COMPUTE + "server_group:ServerGroup",
    "OS::Swift::Container": "openkeel_heat.resources.swift.container:SwiftContainer",
}

_PURE = "openkeel_heat.resources.kit.common_constraints:"
_VOLUME = "openkeel_heat.resources.cinder.custom_constraints:"

_NETWORK = "openkeel_heat.resources.neutron.custom_constraints:"
_CLIENT = "openkeel_heat.resources.kit.client_constraints:"

# Of constraints that ask a service only those that are built; others are entry points of their clients.
BUILT_IN_CONSTRAINTS: dict[str, str] = {
    "barbican.container": _CLIENT + "ContainerConstraint",
    "barbican.secret": _CLIENT + "SecretConstraint",
    "cinder.backup": _VOLUME + "VolumeBackupConstraint",
    "cinder.qos_specs": _VOLUME + "QoSSpecsConstraint",
    "cinder.snapshot": _VOLUME + "VolumeSnapshotConstraint",
    "cinder.volume": _VOLUME + "VolumeConstraint",
    "cinder.vtype": _VOLUME + "VolumeTypeConstraint",
    "cron_expression": _PURE + "CRONExpressionConstraint",
    "dns_domain": _PURE + "DNSDomainConstraint",
    "dns_name": _PURE + "DNSNameConstraint",
    "expiration": _PURE + "ExpirationConstraint",
    "glance.image": "openkeel_heat.resources.glance.custom_constraints:ImageConstraint",
    "ip_addr": _PURE + "IPConstraint",
    "ip_or_cidr": _PURE + "IPCIDRConstraint",
    "iso_8601": _PURE + "ISO8601Constraint",
    "json_string": _PURE + "JsonStringConstraint",
    "keystone.domain": _IDENTITY + "custom_constraints:KeystoneDomainConstraint",
    "keystone.group": _IDENTITY + "custom_constraints:KeystoneGroupConstraint",
    "keystone.project": _IDENTITY + "custom_constraints:KeystoneProjectConstraint",
    "keystone.region": _IDENTITY + "custom_constraints:KeystoneRegionConstraint",
    "keystone.role": _IDENTITY + "custom_constraints:KeystoneRoleConstraint",
    "keystone.service": _IDENTITY + "custom_constraints:KeystoneServiceConstraint",
    "keystone.user": _IDENTITY + "custom_constraints:KeystoneUserConstraint",
    "mac_addr": _PURE + "MACConstraint",
    "net_cidr": _PURE + "CIDRConstraint",
    "neutron.address_scope": _NETWORK + "AddressScopeConstraint",
    "neutron.flow_classifier": _NETWORK + "FlowClassifierConstraint",
    "neutron.lbaas.listener": _NETWORK + "ListenerConstraint",
    "neutron.lbaas.loadbalancer": _NETWORK + "LoadbalancerConstraint",
    "neutron.lbaas.pool": _NETWORK + "PoolConstraint",
    "neutron.lbaas.provider": _NETWORK + "LBaasV2ProviderConstraint",
    "neutron.network": _NETWORK + "NetworkConstraint",
    "neutron.port": _NETWORK + "PortConstraint",
    "neutron.port_pair": _NETWORK + "PortPairConstraint",
    "neutron.port_pair_group": _NETWORK + "PortPairGroupConstraint",
    "neutron.qos_policy": _NETWORK + "QoSPolicyConstraint",
    "neutron.router": _NETWORK + "RouterConstraint",
    "neutron.security_group": _NETWORK + "SecurityGroupConstraint",
    "neutron.segment": _NETWORK + "SegmentConstraint",
    "neutron.subnet": _NETWORK + "SubnetConstraint",
    "neutron.subnetpool": _NETWORK + "SubnetPoolConstraint",
    "neutron.taas.tap_flow": _NETWORK + "TapFlowConstraint",
    "neutron.taas.tap_service": _NETWORK + "TapServiceConstraint",
    "nova.flavor": _COMPUTE + "custom_constraints:FlavorConstraint",
    "nova.host": _COMPUTE + "custom_constraints:HostConstraint",
    "nova.keypair": _COMPUTE + "custom_constraints:KeypairConstraint",
    "nova.server": _COMPUTE + "custom_constraints:ServerConstraint",
    "rel_dns_name": _PURE + "RelativeDNSNameConstraint",
    "test_constr": _PURE + "TestConstraintDelay",
    "timezone": _PURE + "TimezoneConstraint",
    "zaqar.queue": _CLIENT + "QueueConstraint",
}

BUILT_IN_EVENT_SINKS: dict[str, str] = {
    "zaqar-queue": "openkeel_heat.clients.zaqar:ZaqarEventSink",
}

_lock = threading.RLock()
_types: TypeTable | None = None
_plugin_constraints: dict[str, Any] = {}
_global_env: Any = None


def load(target: str) -> Any:
    """The object that ``'module:Name'`` names."""
    module, _sep, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


class TypeTable(Mapping[str, "type[Resource]"]):
    """Mapping of type names to classes; importing happens in ``[]``, not in iteration."""

    def __init__(self, targets: Mapping[str, str | type[Resource]] | None = None) -> None:
        self._targets: dict[str, str | type[Resource]] = dict(targets or {})

    def __getitem__(self, name: str) -> type[Resource]:
        target = self._targets[name]
        if isinstance(target, str):
            target = self._targets[name] = load(target)
        return target

    def __contains__(self, name: object) -> bool:
        return name in self._targets

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._targets))

    def __len__(self) -> int:
        return len(self._targets)

    def target(self, name: str) -> str | type[Resource]:
        """The class, or ``'module:Class'`` while it is not imported."""
        return self._targets[name]

    def register(self, name: str, target: str | type[Resource]) -> None:
        """Add or replace a type."""
        self._targets[name] = target


def types() -> TypeTable:
    """The table of this process, plugins included (loaded once)."""
    global _types
    with _lock:
        if _types is None:
            table = TypeTable(BUILT_IN)
            for module in list(plugin_modules.load_all(filter(os.path.isdir, cfg.CONF.plugin_dirs or ()))):
                # With a plugin comes the kit, which is not needed for a look at the table.
                from openkeel_heat.resources.kit import declarations

                for name, cls in declarations.types_of(module).items():
                    table.register(name, cls)
                _plugin_constraints.update(plugin_modules.mapping_of(module, "constraint_mapping"))
            _types = table
        return _types


def constraint(name: str) -> Any:
    """The class of a custom constraint, or None."""
    types()
    if name in _plugin_constraints:
        return _plugin_constraints[name]
    if name in BUILT_IN_CONSTRAINTS:
        return load(BUILT_IN_CONSTRAINTS[name])
    for entry in metadata.entry_points(group="heat.constraints", name=name):
        try:
            return entry.load()
        except Exception:
            LOG.exception("Failed to load constraint %s", name)
    return None


def constraint_names() -> set[str]:
    """Names of all known custom constraints (nothing is imported for it but plugin_dirs)."""
    types()
    found = {entry.name for entry in metadata.entry_points(group="heat.constraints")}
    return found | set(BUILT_IN_CONSTRAINTS) | set(_plugin_constraints)


def global_env() -> Any:
    """The global environment: all types registered, environment_dir loaded."""
    global _global_env
    with _lock:
        if _global_env is None:
            _global_env = _load_global_env()
        return _global_env


class _Constraints(Mapping[str, Any]):
    """All custom constraints by name; a class is imported in ``[]``."""

    def __getitem__(self, name: str) -> Any:
        found = constraint(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(constraint_names())

    def __len__(self) -> int:
        return len(constraint_names())


class _EntryPoints(MutableMapping[str, Any]):
    """Our plugins of a kind and those of its entry point group, loaded when asked for; others can be added."""

    def __init__(self, group: str, built_in: Mapping[str, str]) -> None:
        self._group = group
        self._built_in = built_in
        self._loaded: dict[str, Any] = {}

    def _entries(self) -> dict[str, Any]:
        return {entry.name: entry for entry in metadata.entry_points(group=self._group)}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = load(self._built_in[name]) if name in self._built_in else self._entries()[name].load()
        return self._loaded[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._loaded[name] = value

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._built_in, **self._entries(), **self._loaded})

    def __len__(self) -> int:
        return len(list(iter(self)))


def _load_global_env() -> Any:
    env = environment.Environment({}, user_env=False)
    table = types()
    for name in table:
        target = table.target(name)
        env.register_class(
            name,
            environment.LazyClass(functools.partial(table.__getitem__, name), target)
            if isinstance(target, str)
            else target,
        )
    env.constraints = _Constraints()  # type: ignore[assignment]
    env.event_sink_classes = _EntryPoints("heat.event_sinks", BUILT_IN_EVENT_SINKS)
    for entry in metadata.entry_points(group="heat.stack_lifecycle_plugins"):
        try:
            env.register_stack_lifecycle_plugin(entry.name, entry.load())
        except Exception:
            LOG.exception("Failed to load stack lifecycle plugin %s", entry.name)
    environment.read_global_environment(env, cfg.CONF.environment_dir)
    return env


class _TemplateResources:
    """Resources that are templates, for the registries of environments."""

    def template_resource_class(self) -> Any:
        from openkeel_heat.resources.kit.template_resource import TemplateResource

        return TemplateResource

    def read_template(self, template_name: str, user_resource: bool) -> str:
        from openkeel_heat.resources.kit import template_resource as module

        schemes = module.REMOTE_SCHEMES if user_resource else module.LOCAL_SCHEMES
        return module.TemplateResource.get_template_file(template_name, schemes)

    def generate_class(self, name: str, data: str, param_defaults: Mapping[str, Any]) -> Any:
        from openkeel_heat.resources.kit.template_resource import generate_class_from_template

        return generate_class_from_template(name, data, param_defaults)


def _visible(context: Any, name: str, cls: Any) -> bool:
    """Whether a context may see a type: its policy, and that its service is there."""
    from openkeel_heat.common import policy

    try:
        return policy.get_resource_enforcer().allows(context, name) and bool(cls.is_service_available(context)[0])
    except Exception as ex:
        LOG.debug("Type %(name)s is not shown: %(why)s", {"name": name, "why": ex})
        return False


environment.set_global(global_env)
environment.set_template_resource_kit(_TemplateResources())
set_type_filter(_visible)


def reset() -> None:
    """Forget everything loaded (SIGHUP, tests)."""
    global _types, _global_env
    with _lock:
        _types = None
        _global_env = None
        _plugin_constraints.clear()
        environment.set_global(global_env)
