# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::SubnetPool: prefixes that subnets are cut from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.common import exceptions, netutils
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron import declare
from openkeel_heat.resources.neutron.neutron import NeutronResource, without_status


class SubnetPool(NeutronResource):
    """A pool of prefixes that subnets are cut from."""

    required_service_extension = "subnet_allocation"

    entity = "subnetpool"

    support_status = declare.since("6.0.0")

    api_object = without_status("subnetpools", "subnetpool")

    renamed = {"address_scope": "address_scope_id"}

    PROPERTIES = (
        NAME,
        PREFIXES,
        ADDRESS_SCOPE,
        DEFAULT_QUOTA,
        DEFAULT_PREFIXLEN,
        MIN_PREFIXLEN,
        MAX_PREFIXLEN,
        IS_DEFAULT,
        TENANT_ID,
        SHARED,
        TAGS,
    ) = (
        "name",
        "prefixes",
        "address_scope",
        "default_quota",
        "default_prefixlen",
        "min_prefixlen",
        "max_prefixlen",
        "is_default",
        "tenant_id",
        "shared",
        "tags",
    )

    properties_schema = {
        NAME: declare.NAME,
        PREFIXES: properties.Schema(
            properties.Schema.LIST,
            _("Prefixes of the pool. An update may only widen them."),
            required=True,
            update_allowed=True,
            constraints=[constraints.Length(min=1)],
            schema=properties.Schema(properties.Schema.STRING, constraints=[constraints.CustomConstraint("net_cidr")]),
        ),
        ADDRESS_SCOPE: properties.Schema(
            properties.Schema.STRING,
            _("Address scope of the pool, by name or id."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("neutron.address_scope")],
        ),
        DEFAULT_QUOTA: properties.Schema(
            properties.Schema.INTEGER,
            _("How much of the pool one project may take."),
            update_allowed=True,
            constraints=[constraints.Range(min=0)],
        ),
        DEFAULT_PREFIXLEN: properties.Schema(
            properties.Schema.INTEGER,
            _("Length of the prefix of a subnet that does not say which."),
            update_allowed=True,
            constraints=[constraints.Range(min=0)],
        ),
        MIN_PREFIXLEN: properties.Schema(
            properties.Schema.INTEGER,
            _("Shortest prefix that can be taken."),
            update_allowed=True,
            constraints=[constraints.Range(min=0)],
        ),
        MAX_PREFIXLEN: properties.Schema(
            properties.Schema.INTEGER,
            _("Longest prefix that can be taken."),
            update_allowed=True,
            constraints=[constraints.Range(min=0)],
        ),
        IS_DEFAULT: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether it is the default pool of its IP version. By default only administrators may make it that."),
            update_allowed=True,
            default=False,
        ),
        TENANT_ID: properties.Schema(
            properties.Schema.STRING, _("Project that owns it. Only administrators give another than their own.")
        ),
        SHARED: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether all projects may use it. By default only administrators may say so."),
            default=False,
        ),
        TAGS: declare.tags("9.0.0"),
    }

    def validate(self) -> Any:
        super().validate()
        bounds = [
            (name, self.properties[name]) for name in (self.MIN_PREFIXLEN, self.DEFAULT_PREFIXLEN, self.MAX_PREFIXLEN)
        ]
        least, default, most = bounds
        for low, high, told in (
            (least, most, (most, least)),
            (default, most, (most, default)),
            (least, default, (least, default)),
        ):
            if low[1] and high[1] and low[1] > high[1]:
                (key1, value1), (key2, value2) = told
                raise exceptions.StackValidationFailed(
                    message=_("Illegal prefix bounds: %(key1)s=%(value1)s, %(key2)s=%(value2)s.")
                    % {"key1": key1, "value1": value1, "key2": key2, "value2": value2}
                )
        return None

    def fields(self, props: Mapping[str, Any]) -> dict[str, Any]:
        scope = props.get(self.ADDRESS_SCOPE)
        return super().fields({**props, self.ADDRESS_SCOPE: self._scope_id(scope)} if scope else props)

    def _scope_id(self, scope: str) -> str:
        plugin = self.client_plugin()
        return str(plugin.find_resourceid_by_name_or_id(plugin.RES_TYPE_ADDRESS_SCOPE, scope))

    def parse_live_resource_data(self, resource_properties: Any, resource_data: Any) -> dict[str, Any]:
        found = super().parse_live_resource_data(resource_properties, resource_data)
        scope = resource_properties.get(self.ADDRESS_SCOPE)
        if scope and self.ADDRESS_SCOPE in found and found[self.ADDRESS_SCOPE] == self._scope_id(scope):
            del found[self.ADDRESS_SCOPE]
        return found

    def change_parts(self, prop_diff: dict[str, Any]) -> None:
        """What is refused is refused before anything is changed."""
        if self.PREFIXES in prop_diff:
            old, new = self.properties[self.PREFIXES], prop_diff[self.PREFIXES]
            if not netutils.is_prefix_subset(old, new):
                raise exceptions.StackValidationFailed(
                    message=_("Property %(key)s updated value %(new)s should be superset of existing value %(old)s.")
                    % {"key": self.PREFIXES, "new": sorted(new), "old": sorted(old)}
                )
        super().change_parts(prop_diff)


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Neutron::SubnetPool": SubnetPool}
