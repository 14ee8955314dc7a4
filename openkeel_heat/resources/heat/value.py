# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::Value: gives a name to an expression."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource

# Types as templates name them, in Heat's order.
_TYPES = {
    "string": properties.Schema.STRING,
    "number": properties.Schema.NUMBER,
    "comma_delimited_list": properties.Schema.LIST,
    "json": properties.Schema.MAP,
    "boolean": properties.Schema.BOOLEAN,
}


class Value(Resource):
    """Makes the value of an expression an attribute, for use in several places."""

    support_status = support.SupportStatus(version="7.0.0")

    deferred_resource_id = True
    repeatable_create = True
    repeatable_update = True

    PROPERTIES = (VALUE, TYPE) = ("value", "type")

    ATTRIBUTES = (VALUE_ATTR,) = ("value",)

    properties_schema = {
        VALUE: properties.Schema(properties.Schema.ANY, _("The expression."), required=True, update_allowed=True),
        TYPE: properties.Schema(
            properties.Schema.STRING,
            _("Type that the value must have."),
            constraints=[constraints.AllowedValues(list(_TYPES))],
            update_allowed=True,
        ),
    }

    attributes_schema = {
        VALUE_ATTR: attributes.Schema(_("What the expression stands for.")),
    }

    def reparse(self, client_resolve: bool = True) -> None:
        super().reparse(client_resolve)
        try:
            wanted = _TYPES.get(self.properties[self.TYPE])
        except ValueError:
            return  # what is wrong with it is told by the validation, which names the place
        if wanted is not None:
            # A type that is none is found by the constraint.
            self.properties.props[self.VALUE] = properties.Property(
                properties.Schema(wanted, _("The expression."), required=True, update_allowed=True), self.VALUE
            )

    def handle_create(self) -> None:
        self.resource_id_set(self.physical_resource_name())

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: Any) -> None:
        """Everything changes in place; the base stores the new properties."""

    def _resolve_attribute(self, name: str) -> Any:
        if name != self.VALUE_ATTR:
            return None
        return self.frozen_definition().properties(self.properties_schema, self.context)[self.VALUE]


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::Value": Value}
