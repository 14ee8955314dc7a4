# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::RandomString: a secret made up once."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions as exception, passwords
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, support, translation
from openkeel_heat.resources.kit.resource import Resource

_CLASSES = ("lettersdigits", "letters", "lowercase", "uppercase", "digits", "hexdigits", "octdigits")


class RandomString(Resource):
    """A random text, for passwords and the like.

    Characters come from named classes or from given sequences, each with a minimum.
    """

    support_status = support.SupportStatus(version="2014.1")

    deferred_resource_id = True
    deferred_data = True
    repeatable_create = True

    PROPERTIES = (LENGTH, SEQUENCE, CHARACTER_CLASSES, CHARACTER_SEQUENCES, SALT) = (
        "length",
        "sequence",
        "character_classes",
        "character_sequences",
        "salt",
    )

    _CHARACTER_CLASSES_KEYS = (CHARACTER_CLASSES_CLASS, CHARACTER_CLASSES_MIN) = ("class", "min")

    _CHARACTER_SEQUENCES = (CHARACTER_SEQUENCES_SEQUENCE, CHARACTER_SEQUENCES_MIN) = ("sequence", "min")

    ATTRIBUTES = (VALUE,) = ("value",)

    properties_schema = {
        LENGTH: properties.Schema(
            properties.Schema.INTEGER, _("Number of characters."), default=32, constraints=[constraints.Range(1, 512)]
        ),
        SEQUENCE: properties.Schema(
            properties.Schema.STRING,
            _("The class of characters to draw from."),
            constraints=[constraints.AllowedValues(list(_CLASSES))],
            support_status=support.SupportStatus(
                status=support.HIDDEN,
                version="5.0.0",
                previous_status=support.SupportStatus(
                    status=support.DEPRECATED, message=_("Use property %s.") % CHARACTER_CLASSES, version="2014.2"
                ),
            ),
        ),
        CHARACTER_CLASSES: properties.Schema(
            properties.Schema.LIST,
            _("Classes of characters to draw from."),
            schema=properties.Schema(
                properties.Schema.MAP,
                schema={
                    CHARACTER_CLASSES_CLASS: properties.Schema(
                        properties.Schema.STRING,
                        _("Name of the class."),
                        constraints=[constraints.AllowedValues(list(_CLASSES))],
                        default="lettersdigits",
                    ),
                    CHARACTER_CLASSES_MIN: properties.Schema(
                        properties.Schema.INTEGER,
                        _("Least number of characters of the class."),
                        default=1,
                        constraints=[constraints.Range(1, 512)],
                    ),
                },
            ),
            default=[{CHARACTER_CLASSES_CLASS: "lettersdigits", CHARACTER_CLASSES_MIN: 1}],
        ),
        CHARACTER_SEQUENCES: properties.Schema(
            properties.Schema.LIST,
            _("Sets of characters to draw from."),
            schema=properties.Schema(
                properties.Schema.MAP,
                schema={
                    CHARACTER_SEQUENCES_SEQUENCE: properties.Schema(
                        properties.Schema.STRING, _("The characters of the set."), required=True
                    ),
                    CHARACTER_SEQUENCES_MIN: properties.Schema(
                        properties.Schema.INTEGER,
                        _("Least number of characters of the set."),
                        default=1,
                        constraints=[constraints.Range(1, 512)],
                    ),
                },
            ),
        ),
        SALT: properties.Schema(
            properties.Schema.STRING, _("Any text; changing it replaces the resource, so that the secret is made anew.")
        ),
    }

    attributes_schema = {
        VALUE: attributes.Schema(
            _("The random text. References to the resource give it too."),
            cache_mode=attributes.Schema.CACHE_NONE,
            type=attributes.Schema.STRING,
        ),
    }

    def translation_rules(self, properties: Any) -> list[Any] | None:
        sequence = properties.get(self.SEQUENCE)
        if not sequence:
            return None
        rule = translation.TranslationRule
        return [
            rule(
                properties,
                rule.ADD,
                [self.CHARACTER_CLASSES],
                [{self.CHARACTER_CLASSES_CLASS: sequence, self.CHARACTER_CLASSES_MIN: 1}],
            ),
            rule(properties, rule.DELETE, [self.SEQUENCE]),
        ]

    def validate(self) -> None:
        super().validate()
        wanted = sum(
            entry[self.CHARACTER_CLASSES_MIN]
            for entry in (
                *(self.properties[self.CHARACTER_SEQUENCES] or ()),
                *(self.properties[self.CHARACTER_CLASSES] or ()),
            )
        )
        if wanted > self.properties[self.LENGTH]:
            raise exception.StackValidationFailed(
                message=_(
                    "Length property cannot be smaller than combined character class and character sequence minimums"
                )
            )

    def handle_create(self) -> None:
        if self.data().get(self.VALUE) is None:
            self.data_set(self.VALUE, self._generate(), redact=True)
        self.resource_id_set(self.physical_resource_name())

    def _generate(self) -> str:
        classes = [
            passwords.special_char_class(entry[self.CHARACTER_SEQUENCES_SEQUENCE], entry[self.CHARACTER_SEQUENCES_MIN])
            for entry in self.properties[self.CHARACTER_SEQUENCES] or ()
        ]
        classes += [
            passwords.named_char_class(entry[self.CHARACTER_CLASSES_CLASS], entry[self.CHARACTER_CLASSES_MIN])
            for entry in self.properties[self.CHARACTER_CLASSES] or ()
        ]
        return passwords.generate_password(self.properties[self.LENGTH], classes)

    def _resolve_attribute(self, name: str) -> Any:
        return self.data().get(self.VALUE) if name == self.VALUE else None

    def get_reference_id(self) -> Any:
        return str(self.name) if self.resource_id is None else self.data().get(self.VALUE)


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::RandomString": RandomString}
