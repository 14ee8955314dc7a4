# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a type that a plugin declares, told when its module is loaded.

A declaration is not code that would fail: a name in it that nothing reads is passed over, and a schema without a type
breaks whatever shows it. So each type of a module is looked at before it is known by its name. One with *faults* could
not be used, or would not do what it says: it is left out, and the log says why. Of *remarks* the author is told.

Types that were written for Heat are only held to what makes them unusable.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties
from openkeel_heat.resources.kit.plugin_modules import mapping_of
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import VALUE_SPECS, RestResource

LOG = logging.getLogger(__name__)

_ACTIONS = ("create", "update", "delete", "suspend", "resume", "check", "snapshot", "adopt", "restore")
_FORMS = ("handle_{}", "check_{}_complete", "handle_{}_cancel")
#: What the kit looks for in a class, beside what the base class has.
HANDLERS = frozenset(form.format(action) for action in _ACTIONS for form in _FORMS) | {
    "handle_signal",
    "handle_delete_snapshot",
    "handle_snapshot_delete",
    "check_delete_snapshot_complete",
}
#: How alike two names are if one is likely to be a slip of the other.
ALIKE = 0.86


def types_of(module: Any) -> dict[str, type[Resource]]:
    """The types of a plugin module that can be used; of the others, and of remarks, the log tells."""
    found = {}
    for name, cls in mapping_of(module, "available_resource_mapping", "resource_mapping").items():
        where = {"name": name, "module": getattr(module, "__file__", None) or module.__name__}
        wrong = faults(cls)
        if wrong:
            LOG.error("Resource type %(name)s of %(module)s is left out: %(why)s", {**where, "why": "; ".join(wrong)})
            continue
        for remark in remarks(cls):
            LOG.warning("Resource type %(name)s of %(module)s: %(what)s", {**where, "what": remark})
        found[name] = cls
    return found


def faults(cls: Any) -> list[str]:
    """Why a type cannot be used as it is."""
    if not isinstance(cls, type):
        return [_("%r is no class") % (cls,)]
    if not issubclass(cls, Resource):
        return [_("%s is not derived from Resource") % cls.__name__]
    found = [
        *_of_properties(cls, "properties_schema"),
        *_of_properties(cls, "update_policy_schema"),
        *_of_attributes(cls),
    ]
    if issubclass(cls, RestResource) and not found:
        found = [*_of_rest_type(cls), *_of_values(cls)]
    return found


def remarks(cls: type[Resource]) -> list[str]:
    """What is likely to be a mistake in a type without faults."""
    found = list(_of_caches(cls))
    if issubclass(cls, RestResource):
        return found + list(_of_names(cls))
    return found + list(_of_values(cls))


# --- schemata


def _declared(cls: type[Resource], name: str) -> Any:
    """A map of a class; what is computed for each object (a property) cannot be judged."""
    value = getattr(cls, name)
    return {} if value is None or isinstance(value, property) else value


def _kind(value: Any) -> str:
    return type(value).__name__


def _of_properties(cls: type[Resource], name: str) -> Iterator[str]:
    schema = _declared(cls, name)
    if not isinstance(schema, Mapping):
        yield _("%(where)s is no map but of type %(kind)s") % {"where": name, "kind": _kind(schema)}
        return
    for key, entry in schema.items():
        where = f"{name}[{key!r}]"
        if not isinstance(entry, Mapping) or isinstance(entry, attributes.Schema):
            yield _("%(where)s is no properties.Schema but of type %(kind)s") % {"where": where, "kind": _kind(entry)}
            continue
        try:
            properties.Schema.from_legacy(entry)
        except (exceptions.InvalidSchemaError, AttributeError, TypeError, ValueError) as error:
            yield f"{where}: {error}"


def _of_attributes(cls: type[Resource]) -> Iterator[str]:
    schema = _declared(cls, "attributes_schema")
    if not isinstance(schema, Mapping):
        yield _("%(where)s is no map but of type %(kind)s") % {"where": "attributes_schema", "kind": _kind(schema)}
        return
    for key, entry in schema.items():
        if not isinstance(entry, attributes.Schema):
            yield _("%(where)s is no attributes.Schema but of type %(kind)s") % {
                "where": f"attributes_schema[{key!r}]",
                "kind": _kind(entry),
            }


def _of_caches(cls: type[Resource]) -> Iterator[str]:
    for key, entry in _declared(cls, "attributes_schema").items():
        if entry.cache_mode not in attributes.Schema.CACHE_MODES:
            yield _("attributes_schema[%(key)r]: there is no cache_mode %(mode)r, only %(modes)s") % {
                "key": key,
                "mode": entry.cache_mode,
                "modes": ", ".join(attributes.Schema.CACHE_MODES),
            }


def _of_values(cls: type[Resource]) -> Iterator[str]:
    """Schemata that are sound, and yet have no value."""
    for key, entry in _declared(cls, "properties_schema").items():
        yield from _of_value(f"properties_schema[{key!r}]", properties.Schema.from_legacy(entry))


def _of_value(where: str, schema: properties.Schema) -> Iterator[str]:
    inner = schema.schema
    if schema.type == schema.LIST and inner is not None and not isinstance(inner, constraints.AnyIndexDict):
        yield _("%s: the entries of a list have one schema: Schema(Schema.MAP, schema={…})") % where
        return
    if schema.default is not None:
        try:
            properties.Property(schema).get_value(None)
        except (exceptions.StackValidationFailed, TypeError, ValueError) as error:
            yield _("%(where)s: the default is no value for it: %(why)s") % {"where": where, "why": error}
    if inner is not None:
        for key, entry in inner.items():
            yield from _of_value(f"{where}[{key!r}]", properties.Schema.from_legacy(entry))


# --- objects of a REST API


def _of_rest_type(cls: type[RestResource]) -> Iterator[str]:
    if not hasattr(cls, "api_object"):
        yield _("api_object is not given")
    if not cls.default_client_name and cls.client_plugin is Resource.client_plugin and cls.api is RestResource.api:
        yield _("default_client_name is not given")
    known = _declared(cls, "properties_schema")
    if isinstance(cls.not_sent, str):
        yield _("not_sent is a text, not a tuple: write (%r,)") % cls.not_sent
    else:
        # A base class may leave out what only some of its types have.
        yield from _unknown("not_sent", vars(cls).get("not_sent", ()), known, _("property"))
    for name, schema, kind in (
        ("renamed", known, _("property")),
        ("attribute_fields", _declared(cls, "attributes_schema"), _("attribute")),
    ):
        names = getattr(cls, name)
        if not isinstance(names, Mapping):
            yield _("%(where)s is no map but of type %(kind)s") % {"where": name, "kind": _kind(names)}
        elif name in vars(cls):
            yield from _unknown(name, names, schema, kind)


def _unknown(where: str, names: Any, schema: Mapping[str, Any], kind: str) -> Iterator[str]:
    for name in names:
        if name in schema or name == VALUE_SPECS:
            continue
        text = _("%(where)s: there is no %(kind)s %(name)r") % {"where": where, "kind": kind, "name": name}
        yield text + _did_you_mean(name, schema)


def _did_you_mean(name: str, known: Any) -> str:
    alike = difflib.get_close_matches(str(name), [str(one) for one in known], 1, ALIKE)
    return _("; did you mean %r?") % alike[0] if alike else ""


def _of_names(cls: type[RestResource]) -> Iterator[str]:
    """Names of a class that are almost those that the kit reads."""
    ours = [one for one in cls.__mro__ if one.__module__.startswith("openkeel_heat.")]
    known = {name for one in ours for name in dir(one) if not name.startswith("_")} | {*HANDLERS, "api_object"}
    for one in cls.__mro__:
        if one in ours or one is object:
            continue
        for name in vars(one):
            if name.startswith("_") or name.isupper() or name in known:
                continue
            meant = _did_you_mean(name, known)
            if meant:
                yield _("nothing reads %(name)r of the class %(cls)s") % {"name": name, "cls": one.__name__} + meant
