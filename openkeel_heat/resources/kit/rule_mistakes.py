# SPDX-License-Identifier: Apache-2.0
"""Translation rules that do nothing, told in the log when a type first makes them.

A rule whose path is no property is passed over, as in Heat: the service gets a name where an id was meant. One that
asks a finder which is not there fails only when somebody gives the property.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit.constraints import AnyIndexDict
from openkeel_heat.resources.kit.properties import Properties, Schema
from openkeel_heat.resources.kit.translation import TranslationRule

LOG = logging.getLogger(__name__)

_looked_at: set[type] = set()


def tell(cls: type, rules: Sequence[TranslationRule], properties: Properties) -> None:
    """Log what is wrong with the rules of a type, once."""
    if cls in _looked_at or not rules:
        return
    _looked_at.add(cls)
    for mistake in mistakes(rules, properties):
        LOG.warning("Translation rules of %(cls)s: %(what)s", {"cls": cls.__name__, "what": mistake})


def mistakes(rules: Sequence[TranslationRule], properties: Properties) -> Iterator[str]:
    schema = {name: prop.schema for name, prop in properties.props.items()}
    for rule in rules:
        where = {"rule": rule.rule, "path": ".".join(rule.translation_path)}
        if not _is_there(schema, rule.translation_path):
            yield _("%(rule)s %(path)s: there is no such property") % where
        if rule.client_plugin is not None and not callable(getattr(rule.client_plugin, rule.finder or "", None)):
            plugin = type(rule.client_plugin).__name__
            yield _("%(rule)s %(path)s: %(plugin)s has no finder %(finder)s") % {
                **where,
                "plugin": plugin,
                "finder": rule.finder,
            }


def _is_there(schema: Any, path: Sequence[str]) -> bool:
    for place, part in enumerate(path, 1):
        if not isinstance(schema, Mapping) or part not in schema:
            return False
        entry = Schema.from_legacy(schema[part])
        schema = _inside(entry)
        if schema is None:
            # What is in a map without a schema cannot be told.
            return place == len(path) or entry.type in (Schema.MAP, Schema.LIST, Schema.ANY)
    return True


def _inside(schema: Schema) -> Any:
    inner = schema.schema
    while isinstance(inner, AnyIndexDict):
        inner = inner.value.schema
    return inner
