# SPDX-License-Identifier: Apache-2.0
"""What the types of the identity service have in common.

They are plain objects of the API's version 3, without a state: made when the service has answered. A property that an
update leaves out is taken back, which the service understands as null. What failed is repaired as long as it is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, support
from openkeel_heat.resources.kit.rest import RestResource
from openkeel_heat.resources.kit.translation import TranslationRule
from openkeel_heat.resources.kit.updates import of_what_was_asked_for

NEEDS_V3 = _("Needs version 3 of the identity API.")


def domain_property(description: str) -> properties.Schema:
    """The domain that an object is in."""
    return properties.Schema(
        properties.Schema.STRING,
        description,
        default="default",
        update_allowed=True,
        constraints=[constraints.CustomConstraint("keystone.domain")],
    )


def shown(description: str, kind: str, since: str) -> attributes.Schema:
    """An attribute that there is since a version of Heat."""
    return attributes.Schema(description, type=kind, support_status=support.SupportStatus(version=since))


class KeystoneResource(RestResource):
    default_client_name = "keystone"

    # Names are there once, and with a project or user goes all that it has.
    repairable = True

    #: Properties that name an object: the plug-in's finder, whose id takes the place of the name.
    finders: ClassVar[Mapping[str, str]] = {}

    def translation_rules(self, props: properties.Properties) -> list[TranslationRule]:
        return [
            TranslationRule(props, TranslationRule.RESOLVE, [name], client_plugin=self.client_plugin(), finder=finder)
            for name, finder in self.finders.items()
        ]

    def parse_live_resource_data(self, resource_properties: properties.Properties, resource_data: Any) -> Any:
        found = super().parse_live_resource_data(resource_properties, resource_data)
        return of_what_was_asked_for(resource_properties, found)

    def client(self, name: str | None = None, version: str | None = None) -> Any:
        """Collections by name, ``client().users``: what plugins that build on these types call."""
        found = super().client(name, version)
        return found.client if name in (None, self.default_client_name) else found
