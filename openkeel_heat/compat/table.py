# SPDX-License-Identifier: Apache-2.0
"""Which module of ours stands behind each ``heat.*`` module.

A plain text is a module that is given out itself. :func:`gather` makes a module of several: names that differ, and
perhaps a module for all the rest. Packages above a named module need no row.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Mapping

OURS = "openkeel_heat"


@dataclasses.dataclass(frozen=True)
class Entry:
    target: str | None = None
    names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Other names are below this one, so it has to be a package, whatever the target is.
    is_package: bool = False
    #: The names are there from the import on, for loaders that look into the dictionary of the module.
    at_once: bool = False

    @property
    def is_alias(self) -> bool:
        return self.target is not None and not self.names and not self.is_package


def gather(rest: str | None = None, **names: str) -> Entry:
    """``name="module:attribute"`` pairs; everything else comes from *rest*. Modules are named below our package."""
    return Entry(rest and f"{OURS}.{rest}", {name: f"{OURS}.{reference}" for name, reference in names.items()})


def script(**names: str) -> Entry:
    """What a WSGI container loads: uWSGI takes the application from the module's dictionary, and asks for nothing."""
    return dataclasses.replace(gather(**names), at_once=True)


MODULES: dict[str, str | Entry] = {
    # --- common
    "heat.common.exception": "common.exceptions",
    "heat.common.i18n": "common.i18n",
    "heat.common.identifier": "common.identifier",
    "heat.common.netutils": "common.netutils",
    "heat.common.profiler": "common.profiler",
    "heat.common.policy": "common.policy",
    "heat.common.urlfetch": "common.urlfetch",
    "heat.common.messaging": "rpc.messaging",
    "heat.common.config": gather("common.config", load_paste_app="api.paste:load_app"),
    "heat.common.context": gather(
        "common.context",
        ContextMiddleware="api.middleware.context:ContextMiddleware",
        ContextMiddleware_filter_factory="api.middleware.context:filter_factory",
        request_context="rpc.server:request_context",
        list_opts="common.config:list_trustee_opts",
    ),
    "heat.common.wsgi": gather(
        app_factory="api.paste:app_factory",
        filter_factory="api.paste:filter_factory",
        list_opts="common.config:list_wsgi_opts",
        Middleware="compat.wsgi:Middleware",
    ),
    "heat.common.param_utils": gather("common.params", delim_string_to_list="common.params:split_list"),
    "heat.common.short_id": gather(get_id="common.names:short_id", generate_id="common.names:new_short_id"),
    "heat.common.timeutils": gather(
        "common.clock",
        Duration="compat.shims:Duration",
        retry_backoff_delay="common.clock:backoff",
        str_duration_format="common.clock:WIRE_FORMAT",
    ),
    "heat.common.password_gen": gather("compat.password_gen"),
    "heat.common.endpoint_utils": gather(get_auth_uri="common.config:get_auth_uri"),
    "heat.common.service_utils": gather(
        engine_alive="rpc.listener_client:engine_alive", generate_engine_id="compat.shims:generate_engine_id"
    ),
    "heat.common.cache": gather("clients.cache", list_opts="common.config:list_cache_opts"),
    "heat.common.crypt": gather("db.crypt", list_opts="common.config:list_crypt_opts"),
    "heat.common.template_format": "template.text",
    "heat.common.environment_format": gather(
        "template.text", parse="template.text:parse_environment", validate="template.text:validate_environment"
    ),
    "heat.common.environment_util": "template.env_merge",
    "heat.common.serializers": "api.cfn.serializer",
    "heat.common.auth_password": gather(filter_factory="api.middleware.auth_password:filter_factory"),
    "heat.common.auth_url": gather(filter_factory="api.middleware.auth_url:filter_factory"),
    "heat.common.noauth": gather(filter_factory="api.middleware.noauth:filter_factory"),
    "heat.common.custom_backend_auth": gather(filter_factory="api.middleware.custom_backend:filter_factory"),
    "heat.policies": gather(list_rules="common.policies:list_rules"),
    "heat.version": gather(version_info="compat.shims:version_info"),
    # --- rpc
    "heat.rpc.api": "rpc.api",
    "heat.rpc.worker_api": "rpc.worker_api",
    "heat.rpc.client": "rpc.client",
    "heat.rpc.worker_client": "rpc.worker_client",
    "heat.rpc.listener_client": "rpc.listener_client",
    # --- api
    "heat.api": gather(pipeline_factory="api.paste:pipeline_factory", root_app_factory="api.paste:root_app_factory"),
    "heat.api.openstack": gather(
        faultwrap_filter="api.middleware.fault:faultwrap_filter",
        version_negotiation_filter="api.middleware.versions:native_filter",
    ),
    "heat.api.openstack.v1": gather(API="api.native.app:API"),
    "heat.api.openstack.wsgi": gather(init_application="compat.wsgi:init_api"),
    "heat.api.cfn": gather(version_negotiation_filter="api.middleware.versions:cfn_filter"),
    "heat.api.cfn.v1": gather(API="api.cfn.app:API"),
    "heat.api.cfn.wsgi": gather(init_application="compat.wsgi:init_cfn"),
    "heat.api.aws.ec2token": gather(
        "api.cfn.ec2token",
        EC2Token_filter_factory="api.cfn.ec2token:filter_factory",
        list_opts="common.config:list_ec2_opts",
    ),
    "heat.wsgi.api": script(application="api.wsgi:api_application"),
    "heat.wsgi.cfn": script(application="api.wsgi:cfn_application"),
    "heat.cmd.engine": "cmd.engine",
    "heat.cmd.manage": "cmd.manage",
    "heat.cmd.status": "cmd.status",
    # --- template language
    "heat.engine.environment": "template.environment",
    "heat.engine.parameters": "template.parameters",
    "heat.engine.parameter_groups": "template.parameter_groups",
    "heat.engine.dependencies": "template.graph",
    "heat.engine.template": "template.template",
    "heat.engine.function": "compat.function",
    "heat.engine.conditions": "template.conditions",
    "heat.engine.output": "template.output",
    "heat.engine.node_data": "template.node_data",
    "heat.engine.rsrc_defn": gather("template.definition", ResourceDefinition="template.definition:BoundDefinition"),
    "heat.engine.stk_defn": "template.scope",
    "heat.engine.template_files": "template.files",
    "heat.engine.hot.functions": gather("template.hot.functions", list_opts="common.config:list_functions_opts"),
    "heat.engine.hot.parameters": "template.hot.parameters",
    "heat.engine.hot.template": "template.hot.template",
    "heat.engine.cfn.functions": "template.cfn.functions",
    "heat.engine.cfn.parameters": "template.cfn.parameters",
    "heat.engine.cfn.template": "template.cfn.template",
    # --- the plug-in kit
    "heat.engine.resource": gather(
        "resources.kit.resource",
        UpdateReplace="common.exceptions:UpdateReplace",
        UpdateInProgress="common.exceptions:UpdateInProgress",
    ),
    "heat.engine.properties": "resources.kit.properties",
    "heat.engine.status": gather(ResourceStatus="resources.kit.record:ResourceStatus"),
    "heat.common.grouputils": "resources.kit.groups",
    "heat.scaling.cooldown": gather(CooldownMixin="resources.kit.cooldown:CooldownMixin"),
    "heat.scaling.lbutils": gather(reconfigure_loadbalancers="compat.scaling:reconfigure_loadbalancers"),
    "heat.scaling.scalingutil": "resources.kit.scaling",
    "heat.scaling.rolling_update": gather(
        needs_update="resources.kit.groups:needs_update", next_batch="resources.kit.groups:next_batch"
    ),
    "heat.scaling.template": gather(
        make_template="resources.kit.groups:make_template",
        member_definitions="resources.kit.groups:member_definitions",
    ),
    "heat.engine.attributes": "resources.kit.attributes",
    "heat.engine.constraints": "resources.kit.constraints",
    "heat.engine.constraint.common_constraints": "resources.kit.common_constraints",
    "heat.engine.support": "resources.kit.support",
    "heat.engine.translation": "resources.kit.translation",
    "heat.engine.scheduler": "compat.scheduler",
    "heat.engine.lifecycle_plugin": gather(LifecyclePlugin="compat.shims:LifecyclePlugin"),
    "heat.engine.resources": gather("resources", list_opts="common.config:list_resources_opts"),
    "heat.engine.resources.stack_resource": "resources.kit.stack_resource",
    "heat.engine.resources.stack_user": "resources.kit.stack_user",
    "heat.engine.resources.signal_responder": "resources.kit.signal_responder",
    "heat.engine.resources.template_resource": "resources.kit.template_resource",
    "heat.engine.resources.wait_condition": "resources.kit.wait_condition",
    "heat.engine.resources.server_base": "resources.kit.server_base",
    "heat.engine.resources.volume_base": "resources.cinder.any_volume",
    "heat.engine.resources.scheduler_hints": "resources.kit.scheduler_hints",
    "heat.engine.resources.openstack.neutron.vpnservice": gather(
        "resources.neutron.vpnservice",
        IKEPolicy="resources.neutron.vpn_policies:IKEPolicy",
        IPsecPolicy="resources.neutron.vpn_policies:IPsecPolicy",
    ),
    "heat.engine.resources.openstack.neutron.lbaas.health_monitor": "resources.neutron.lbaas",
    "heat.engine.resources.openstack.neutron.lbaas.l7policy": "resources.neutron.lbaas",
    "heat.engine.resources.openstack.neutron.lbaas.l7rule": "resources.neutron.lbaas",
    "heat.engine.resources.openstack.neutron.lbaas.listener": "resources.neutron.lbaas",
    "heat.engine.resources.openstack.neutron.lbaas.loadbalancer": "resources.neutron.lbaas",
    "heat.engine.resources.openstack.neutron.lbaas.pool": "resources.neutron.lbaas",
    "heat.engine.resources.openstack.neutron.lbaas.pool_member": "resources.neutron.lbaas",
    "heat.engine.software_config_io": "resources.kit.software_io",
    # --- engine
    "heat.engine.stack": "engine.stack",
    "heat.engine.notification": gather(
        "rpc.notifier",
        get_default_level="rpc.notifier:default_level",
        list_opts="common.config:list_notification_opts",
    ),
    "heat.engine.notification.autoscaling": gather(send="compat.scaling:send"),
    # --- clients
    "heat.engine.clients": gather("clients", list_opts="common.config:list_clients_opts"),
    "heat.engine.clients.client_exception": "clients.errors",
    "heat.engine.clients.client_plugin": "clients.plugin",
    "heat.engine.clients.default_client_plugin": "clients.plugin",
    "heat.engine.clients.microversion_mixin": "clients.microversions",
    "heat.engine.clients.os": "clients.constants",
    "heat.engine.clients.os.barbican": gather(
        "clients.barbican",
        SecretConstraint="resources.kit.client_constraints:SecretConstraint",
        ContainerConstraint="resources.kit.client_constraints:ContainerConstraint",
    ),
    "heat.engine.clients.os.cinder": gather(
        "clients.cinder",
        VolumeConstraint="resources.cinder.custom_constraints:VolumeConstraint",
        VolumeSnapshotConstraint="resources.cinder.custom_constraints:VolumeSnapshotConstraint",
        VolumeTypeConstraint="resources.cinder.custom_constraints:VolumeTypeConstraint",
        VolumeBackupConstraint="resources.cinder.custom_constraints:VolumeBackupConstraint",
        QoSSpecsConstraint="resources.cinder.custom_constraints:QoSSpecsConstraint",
    ),
    "heat.engine.clients.os.glance": gather(
        "clients.glance", ImageConstraint="resources.glance.custom_constraints:ImageConstraint"
    ),
    "heat.engine.clients.os.heat_plugin": "clients.heat",
    "heat.engine.clients.os.neutron": "clients.neutron",
    "heat.engine.clients.os.neutron.lbaas_constraints": "resources.neutron.custom_constraints",
    "heat.engine.clients.os.neutron.neutron_constraints": "resources.neutron.custom_constraints",
    "heat.engine.clients.os.neutron.taas_constraints": "resources.neutron.custom_constraints",
    "heat.engine.clients.os.nova": gather(
        "clients.nova",
        ServerConstraint="resources.nova.custom_constraints:ServerConstraint",
        KeypairConstraint="resources.nova.custom_constraints:KeypairConstraint",
        FlavorConstraint="resources.nova.custom_constraints:FlavorConstraint",
        HostConstraint="resources.nova.custom_constraints:HostConstraint",
    ),
    "heat.engine.clients.os.openstacksdk": gather(
        "clients.sdk", SegmentConstraint="resources.neutron.custom_constraints:SegmentConstraint"
    ),
    "heat.engine.clients.os.keystone": "clients.keystone",
    "heat.engine.clients.os.keystone.keystone_constraints": "resources.keystone.custom_constraints",
    "heat.engine.clients.os.keystone.heat_keystoneclient": gather(
        "clients.keystone_backend", list_opts="common.config:list_keystone_backend_opts"
    ),
    "heat.engine.clients.os.zaqar": gather(
        "clients.zaqar", QueueConstraint="resources.kit.client_constraints:QueueConstraint"
    ),
}

#: Whole families: concrete resource types and clients live in modules of the same name below ours.
PREFIXES = {
    "heat.engine.resources.openstack": "resources",
    "heat.engine.resources.aws": "resources.aws",
    "heat.engine.clients.os": "clients",
}


def _packages() -> set[str]:
    """Every name that has others below it."""
    found = set(PREFIXES)
    for name in [*MODULES, *PREFIXES]:
        parts = name.split(".")
        found.update(".".join(parts[:length]) for length in range(1, len(parts)))
    return found


PACKAGES = _packages()


def find(name: str) -> Entry | None:
    """The entry of a ``heat.*`` module, or None when it is not ours to give."""
    row = MODULES.get(name)
    if isinstance(row, Entry):
        return row
    if row is not None:
        return Entry(f"{OURS}.{row}", is_package=name in PACKAGES)
    if name in PACKAGES:
        return Entry(is_package=True)
    for prefix, ours in PREFIXES.items():
        if name.startswith(f"{prefix}."):
            target = f"{OURS}.{ours}.{name[len(prefix) + 1 :]}"
            return Entry(target) if _exists(target) else None
    return None


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
