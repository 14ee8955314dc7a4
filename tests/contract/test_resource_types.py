# SPDX-License-Identifier: Apache-2.0
"""Each built resource type declares what the same type of Heat declares, apart from descriptions."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from openkeel_heat import clients
from openkeel_heat.resources.kit import constraints, registry, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.signal_responder import SignalResponder
from openkeel_heat.resources.kit.stack_resource import StackResource
from openkeel_heat.resources.kit.stack_user import StackUser
from openkeel_heat.resources.kit.translation import TranslationRule

CONTRACT = json.loads((pathlib.Path(__file__).parent / "data" / "resource-types.json").read_text())["types"]
BUILT = sorted(registry.BUILT_IN)
HOOKS = {hook for entry in CONTRACT.values() for hook in entry["hooks"]}

FLAGS = (
    "always_replace_on_check_failed",
    "default_client_name",
    "entity",
    "physical_resource_name_limit",
    "required_service_extension",
    "requires_deferred_auth",
    "signal_needs_metadata_updates",
    "strict_dependency",
)


def load(name: str) -> Any:
    return registry.load(registry.BUILT_IN[name])


def status_of(status: support.SupportStatus | None) -> Any:
    if status is None:
        return None
    entry = {
        "has_message": status.message is not None,
        "previous_status": status_of(status.previous_status),
        "status": status.status,
        "version": status.version,
    }
    if status.substitute_class is not None:
        entry["substitute_class"] = status.substitute_class.__name__
    return entry


def their_status(entry: dict[str, Any]) -> dict[str, Any]:
    """The same of the contract; our classes live in other modules."""
    if "substitute_class" not in entry:
        return entry
    return {**entry, "substitute_class": entry["substitute_class"].rpartition(".")[2]}


def constraint_of(constraint: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {"kind": constraint._name(), "has_description": constraint.description is not None}
    if isinstance(constraint, constraints.Range):
        entry.update(min=constraint.min, max=constraint.max)
    elif isinstance(constraint, constraints.AllowedValues):
        entry.update(allowed=list(constraint.allowed), is_list_of_values=True)
    elif isinstance(constraint, constraints.AllowedPattern):
        entry.update(pattern=constraint.pattern)
    elif isinstance(constraint, constraints.CustomConstraint):
        entry.update(name=constraint.name)
    elif isinstance(constraint, constraints.Modulo):
        entry.update(step=constraint.step, offset=constraint.offset)
    return entry


def _plain(status: support.SupportStatus) -> bool:
    return status_of(status) == status_of(support.PLAIN)


def property_of(schema: Any) -> dict[str, Any]:
    entry = {
        key: getattr(schema, key)
        for key in ("allow_conversion", "immutable", "implemented", "required", "type", "update_allowed")
    }
    if schema.default is not None:
        entry["default"] = schema.default
    if schema.constraints:
        entry["constraints"] = [constraint_of(constraint) for constraint in schema.constraints]
    if not _plain(schema.support_status):
        entry["support_status"] = status_of(schema.support_status)
    if schema.schema is not None:
        entry["schema"] = properties_of(schema.schema)
    return entry


def properties_of(schema: Any) -> dict[str, Any]:
    return {name: property_of(entry) for name, entry in schema.items()}


def attributes_of(schema: Any) -> dict[str, Any]:
    found = {}
    for name, entry in schema.items():
        found[name] = {"cache_mode": entry.cache_mode, "type": entry.type}
        if not _plain(entry.support_status):
            found[name]["support_status"] = status_of(entry.support_status)
    return found


def hooks_of(cls: Any) -> set[str]:
    """Names of the hooks that classes more derived than the base define."""
    own = cls.__mro__[: cls.__mro__.index(Resource)]
    return {hook for hook in HOOKS if any(hook in vars(klass) for klass in own)}


def test_the_built_types_are_known() -> None:
    assert set(BUILT) <= set(CONTRACT)
    print("%d of %d types" % (len(BUILT), len(CONTRACT)))


@pytest.mark.parametrize("name", BUILT)
def test_properties(name: str) -> None:
    assert properties_of(load(name).properties_schema) == CONTRACT[name]["properties"]


@pytest.mark.parametrize("name", BUILT)
def test_property_order(name: str) -> None:
    assert list(load(name).properties_schema) == CONTRACT[name]["property_order"]


@pytest.mark.parametrize("name", BUILT)
def test_every_property_and_attribute_is_described(name: str) -> None:
    cls = load(name)
    for schema in (*cls.properties_schema.values(), *cls.attributes_schema.values()):
        assert schema.description
    assert cls.__doc__


@pytest.mark.parametrize("name", BUILT)
def test_attributes(name: str) -> None:
    cls = load(name)
    assert attributes_of(cls.attributes_schema) == CONTRACT[name]["attributes"]
    assert attributes_of(cls.base_attributes_schema) == CONTRACT[name]["base_attributes"]


@pytest.mark.parametrize("name", BUILT)
def test_update_policy(name: str) -> None:
    assert properties_of(load(name).update_policy_schema) == CONTRACT[name]["update_policy_schema"]


@pytest.mark.parametrize("name", BUILT)
def test_flags(name: str) -> None:
    cls, expected = load(name), CONTRACT[name]
    assert {flag: getattr(cls, flag) for flag in FLAGS} == {flag: expected[flag] for flag in FLAGS}
    assert list(cls.no_signal_actions) == expected["no_signal_actions"]
    assert list(cls.update_allowed_properties) == expected["update_allowed_properties"]
    assert status_of(cls.support_status) == their_status(expected["support_status"])
    assert cls.is_hidden() == expected["hidden"]
    assert issubclass(cls, StackResource) == expected["is_stack_resource"]
    assert issubclass(cls, StackUser) == expected["is_stack_user"]
    assert issubclass(cls, SignalResponder) == expected["is_signal_responder"]
    assert cls.__name__ == expected["class"].rpartition(".")[2]


@pytest.mark.parametrize("name", BUILT)
def test_hooks(name: str) -> None:
    """What Heat's class defines ours defines too. Ours may define more (resuming needs some)."""
    missing = set(CONTRACT[name]["hooks"]) - hooks_of(load(name))
    assert not missing


class _AnyValue(dict[str, Any]):
    """Properties that all have a value that names them."""

    def get(self, key: str, default: Any = None) -> Any:
        return "<property %s>" % key

    def __missing__(self, key: str) -> str:
        return "<property %s>" % key


def rule_of(rule: TranslationRule) -> dict[str, Any]:
    entry: dict[str, Any] = {"rule": rule.rule, "path": rule.translation_path}
    for key in ("value", "value_name", "value_path", "finder", "entity"):
        if getattr(rule, key) is not None:
            entry[key] = getattr(rule, key)
    if rule.client_plugin is not None:
        entry["client_plugin"] = rule.client_plugin.asked_for
        assert callable(getattr(rule.client_plugin, str(rule.finder)))
    return entry


class _Plugins:
    """Client plug-ins that have nothing but their class."""

    @property
    def clients(self) -> _Plugins:
        return self

    def client_plugin(self, name: str) -> Any:
        plugin = object.__new__(clients.plugin_class(name))
        plugin.asked_for = name
        return plugin


@pytest.mark.parametrize("name", BUILT)
def test_translation_rules(name: str) -> None:
    cls = load(name)
    resource = object.__new__(cls)
    resource.stack = _Plugins()
    found = [rule_of(rule) for rule in cls.translation_rules(resource, _AnyValue()) or []]
    assert found == CONTRACT[name]["translation_rules"]


@pytest.mark.parametrize("template_type", ["cfn", "hot"])
@pytest.mark.parametrize("name", BUILT)
def test_generated_template(name: str, template_type: str) -> None:
    """Every type gives a template, those with properties of any type too."""
    cls = load(name)
    template = cls.resource_to_template(name, template_type)
    shown = {
        key
        for key, schema in cls.properties_schema.items()
        if schema.implemented and schema.support_status.status != support.HIDDEN
    }
    section, resources, outputs = (
        ("parameters", "resources", "outputs") if template_type == "hot" else ("Parameters", "Resources", "Outputs")
    )
    assert set(template[section]) == shown
    assert list(template[resources]) == [cls.__name__]
    told = {key for key, schema in cls.attributes_schema.items() if schema.support_status.status != support.HIDDEN}
    assert set(template[outputs]) >= {"show", "OS::stack_id", *told}
