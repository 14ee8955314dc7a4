# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::RBACPolicy: leave for others to use an object."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron import declare, rules
from openkeel_heat.resources.neutron.neutron import NeutronResource, without_status

#: Kinds that finders know by another name.
_KINDS = {"qos_policy": "policy"}


class RBACPolicy(NeutronResource):
    """Leave for another project, or all, to use an object of this one."""

    required_service_extension = "rbac-policies"

    entity = "rbac_policy"

    support_status = declare.since("6.0.0")

    api_object = without_status("rbac-policies", "rbac_policy", "rbac_policies", name="")

    PROPERTIES = (OBJECT_TYPE, TARGET_TENANT, ACTION, OBJECT_ID, TENANT_ID) = (
        "object_type",
        "target_tenant",
        "action",
        "object_id",
        "tenant_id",
    )

    OBJECT_TYPE_KEYS = (
        OBJECT_NETWORK,
        OBJECT_QOS_POLICY,
        OBJECT_SECURITY_GROUP,
        OBJECT_ADDRESS_SCOPE,
        OBJECT_SUBNETPOOL,
    ) = (
        "network",
        "qos_policy",
        "security_group",
        "address_scope",
        "subnetpool",
    )

    ACTION_KEYS = (ACCESS_AS_SHARED, ACCESS_AS_EXTERNAL) = ("access_as_shared", "access_as_external")

    SUPPORTED_TYPES_ACTIONS = {
        OBJECT_NETWORK: [ACCESS_AS_SHARED, ACCESS_AS_EXTERNAL],
        OBJECT_QOS_POLICY: [ACCESS_AS_SHARED],
        OBJECT_SECURITY_GROUP: [ACCESS_AS_SHARED],
        OBJECT_ADDRESS_SCOPE: [ACCESS_AS_SHARED],
        OBJECT_SUBNETPOOL: [ACCESS_AS_SHARED],
    }

    properties_schema = {
        OBJECT_TYPE: properties.Schema(
            properties.Schema.STRING,
            _("Type of the object."),
            required=True,
            constraints=[constraints.AllowedValues(OBJECT_TYPE_KEYS)],
        ),
        TARGET_TENANT: properties.Schema(
            properties.Schema.STRING, _("Project that may use it; * for all."), required=True, update_allowed=True
        ),
        ACTION: properties.Schema(
            properties.Schema.STRING,
            _("What the project may do with it. Only networks can be used as external ones."),
            required=True,
            constraints=[constraints.AllowedValues(ACTION_KEYS)],
        ),
        OBJECT_ID: properties.Schema(properties.Schema.STRING, _("The object, by name or id."), required=True),
        TENANT_ID: properties.Schema(
            properties.Schema.STRING, _("Project that owns it. Only administrators give another than their own.")
        ),
    }

    def translation_rules(self, props: Any) -> list[Any]:
        kind = props[self.OBJECT_TYPE]
        return [rules.find(self, props, _KINDS.get(kind, kind), self.OBJECT_ID)]

    def validate(self) -> Any:
        super().validate()
        action, object_type = self.properties[self.ACTION], self.properties[self.OBJECT_TYPE]
        valid = self.SUPPORTED_TYPES_ACTIONS[object_type]
        if action not in valid:
            section = self.stack.t.get_section_name(self.properties.error_prefix[0])
            raise exceptions.StackValidationFailed(
                error="Property error",
                path=[self.stack.t.RESOURCES, self.t.name, section, self.ACTION],
                message=_('Invalid action "%(action)s" for object type %(obj_type)s. Valid actions: %(valid_actions)s')
                % {"action": action, "obj_type": object_type, "valid_actions": ", ".join(valid)},
            )
        return None

    def find_physical(self) -> str | None:
        """There is one at most for an object, an action and a project."""
        wanted = self.create_body(self.given_properties())
        found = self.api.list("/v2.0/rbac-policies", "rbac_policies", params=wanted)
        mine = [policy for policy in found if all(policy.get(key) == value for key, value in wanted.items())]
        return str(mine[0]["id"]) if len(mine) == 1 else None


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Neutron::RBACPolicy": RBACPolicy}
