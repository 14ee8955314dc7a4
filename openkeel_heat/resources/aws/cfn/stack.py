# SPDX-License-Identifier: Apache-2.0
"""AWS::CloudFormation::Stack: a nested stack whose template is fetched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.stack_resource import StackResource


class NestedStack(StackResource):
    """A stack inside the stack, to put templates together. Its attributes are ``Outputs.NAME``."""

    PROPERTIES = (TEMPLATE_URL, TIMEOUT_IN_MINS, PARAMETERS) = ("TemplateURL", "TimeoutInMinutes", "Parameters")

    properties_schema = {
        TEMPLATE_URL: properties.Schema(
            properties.Schema.STRING, _("URL of the template."), required=True, update_allowed=True
        ),
        TIMEOUT_IN_MINS: properties.Schema(
            properties.Schema.INTEGER, _("Minutes that creating the stack may take."), update_allowed=True
        ),
        PARAMETERS: properties.Schema(properties.Schema.MAP, _("Parameters of the stack."), update_allowed=True),
    }

    def child_template(self) -> Any:
        from openkeel_heat.common import urlfetch
        from openkeel_heat.template import text

        url = self.properties[self.TEMPLATE_URL]
        try:
            data = urlfetch.get(url)
        except OSError as ex:
            raise ValueError(_("Could not fetch remote template '%(url)s': %(exc)s") % {"url": url, "exc": ex}) from ex
        return text.parse(data.decode("utf-8"), url)

    def child_params(self) -> Any:
        return self.properties[self.PARAMETERS] or {}

    def handle_create(self) -> Any:
        return self._start_child(None)

    def handle_adopt(self, resource_data: Mapping[str, Any] | None = None) -> Any:
        return self._start_child(resource_data)

    def _start_child(self, adopt_data: Mapping[str, Any] | None) -> None:
        self.create_with_template(
            self.child_template(), self.child_params(), self.properties[self.TIMEOUT_IN_MINS], adopt_data=adopt_data
        )

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: Any) -> Any:
        # What is at the URL may have changed though no property has.
        self.properties = json_snippet.properties(self.properties_schema, self.context)
        return self.update_with_template(
            self.child_template(), self.child_params(), self.properties[self.TIMEOUT_IN_MINS]
        )

    def get_attribute(self, key: str, *path: Any) -> Any:
        prefix, _dot, output = key.partition(".")
        try:
            if prefix != "Outputs" or not output:
                raise exception.NotFound()
            value = self.get_output(output)
        except exception.NotFound:
            raise exception.InvalidTemplateAttribute(resource=self.name, key=key) from None
        return attributes.select_from_attribute(value, path)

    def get_reference_id(self) -> Any:
        identity = self.nested_identifier()
        return str(self.name) if identity is None else identity.arn()


def resource_mapping() -> dict[str, type[Resource]]:
    return {"AWS::CloudFormation::Stack": NestedStack}
