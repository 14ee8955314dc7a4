# SPDX-License-Identifier: Apache-2.0
"""Environments beyond the recorded vectors."""

from __future__ import annotations

from typing import Any

import pytest

from openkeel_heat.common import exceptions as exception
from openkeel_heat.template import env_merge, environment, limits, registry, text
from openkeel_heat.template.environment import Environment
from tests.unit.template.helpers import template


class Plugin:
    class support_status:
        status = "SUPPORTED"
        version = "1.0"

    @classmethod
    def getdoc(cls) -> str:
        return "A plugin."


class Kit:
    def template_resource_class(self) -> Any:
        return Plugin

    def read_template(self, template_name: str, user_resource: bool) -> str:
        return "text of %s for %s" % (template_name, "user" if user_resource else "operator")

    def generate_class(self, name: str, data: str, param_defaults: Any) -> Any:
        return name, data, dict(param_defaults)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Environment:
    monkeypatch.setattr(registry, "_kit", Kit())
    env = Environment({}, user_env=False)
    env.register_class("OS::A", Plugin)
    env.load({"resource_registry": {"OS::Mapped": "OS::A", "OS::File": "file:///etc/t.yaml"}})
    environment.set_global(env)
    return env


def test_classes_are_loaded_when_asked_for(known: Environment) -> None:
    loaded = []
    known.register_class("OS::Lazy", environment.LazyClass(lambda: loaded.append(1) or Plugin))
    assert Environment().get_resource_info("OS::Lazy").name == "OS::Lazy"
    assert not loaded
    assert Environment().get_class("OS::Lazy") is Plugin
    assert Environment().get_class_to_instantiate("OS::Lazy") is Plugin
    assert loaded == [1]


def test_the_global_environment_may_be_made_late(known: Environment) -> None:
    environment.set_global(lambda: known)
    assert Environment().get_class("OS::A") is Plugin


def test_a_mapping_of_the_operator_is_kept_with_the_stack(known: Environment) -> None:
    env = Environment()
    env.get_class("OS::Mapped")
    assert env.registry.as_dict() == {"resources": {}, "OS::Mapped": "OS::A"}


def test_an_entry_for_one_resource_does_not_become_that_of_all(known: Environment) -> None:
    env = Environment({"resource_registry": {"resources": {"r": {"My::T": "OS::A"}}}})
    assert env.get_class("My::T", "r") is Plugin
    with pytest.raises(exception.EntityNotFound):
        env.get_class("My::T", "other")


def test_a_class_is_looked_up_once_until_something_changes(known: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    original = registry.ResourceRegistry.get_resource_info

    def ask(self: Any, resource_type: str, *args: Any, **kwargs: Any) -> Any:
        asked.append(resource_type)
        return original(self, resource_type, *args, **kwargs)

    monkeypatch.setattr(registry.ResourceRegistry, "get_resource_info", ask)
    env = Environment({"resource_registry": {"My::T": "OS::A"}})

    def classes(*names: str) -> list[Any]:
        return [env.registry.get_class_to_instantiate("My::T", name) for name in names]

    assert classes(*(f"r{number}" for number in range(100))) == [Plugin] * 100
    assert asked.count("My::T") == 1

    class Other(Plugin):
        pass

    known.register_class("OS::B", Other)
    env.registry.load({"My::T": "OS::B"})
    assert classes("r") == [Other]
    known.register_class("OS::B", Plugin)
    assert classes("r") == [Plugin]
    env.registry.load({"resources": {"s": {"My::T": "OS::A"}, "t": {"hooks": "pre-create"}}})
    known.register_class("OS::B", Other)
    assert classes("r", "s", "t", "s") == [Other, Plugin, Other, Plugin]
    env.registry.load({"My::T": None})
    assert classes("s") == [Plugin]
    for _ in range(2):  # what is not found is not remembered
        with pytest.raises(exception.StackValidationFailed):
            classes("r")


@pytest.mark.parametrize("entry", ["My::T", "hooks", {"My::T": {"x": "y"}}])
def test_what_says_nothing_of_the_type_of_a_resource_is_passed_over(known: Environment, entry: Any) -> None:
    env = Environment({"resource_registry": {"My::T": "OS::A", "resources": {"r": entry}}})
    assert env.get_class("My::T", "r") is Plugin


def test_hooks_of_a_resource_are_no_entries_of_one_inside_it_that_is_called_hooks(known: Environment) -> None:
    env = Environment({"resource_registry": {"resources": {"r": {"hooks": "pre-create", "My::T": "OS::A"}}}})
    for name in ("r", "hooks", "My::T"):
        env.registry.remove_resources_except(name)
    assert env.registry.as_dict() == {"resources": {}}


def test_a_map_of_the_registry_where_a_type_stands(known: Environment) -> None:
    env = Environment({"resource_registry": {"My::T": "OS::A"}})
    with pytest.raises(exception.StackValidationFailed, match='has both a type and a map for "My::T"'):
        env.load({"resource_registry": {"My::T": {"a": "b"}}})


def test_templates_as_types(known: Environment) -> None:
    env = Environment({"resource_registry": {"My::T": "x.yaml"}, "parameter_defaults": {"p": 1}})
    assert env.get_class("My::T", files={"x.yaml": "given"}) == ("My::T", "given", {"p": 1})
    assert env.get_class("My::T") == ("My::T", "text of x.yaml for user", {"p": 1})
    assert env.get_class("OS::File")[1] == "text of file:///etc/t.yaml for operator"
    info = env.get_resource_info("My::T")
    env.registry.remove_item(info)
    with pytest.raises(exception.EntityNotFound):
        env.get_resource_info("My::T")


def test_types_are_listed(known: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    known.register_class("OS::B", Plugin)
    assert known.get_types() == ["OS::A", "OS::File", "OS::B"]
    assert known.get_types(type_name="OS::[AB]$") == ["OS::A", "OS::B"]
    assert known.get_types(type_name="(") == []
    assert known.get_types(version="2.0") == []
    assert known.get_types(support_status="DEPRECATED") == []
    assert known.get_types(type_name="OS::A", with_description=True) == [
        {"resource_type": "OS::A", "description": "A plugin."}
    ]
    monkeypatch.setattr(registry, "_default_allowed", lambda context, name, cls: name == "OS::B")
    assert known.get_types("context") == ["OS::B"]
    with pytest.raises(exception.Invalid, match="Invalid support status"):
        known.get_types(support_status="bogus")


def test_an_environment_does_not_share_its_defaults() -> None:
    given = {"parameter_defaults": {"p": 1}}
    Environment(given).load({"parameter_defaults": {"p": 2}})
    assert given == {"parameter_defaults": {"p": 1}}


def test_a_directory_of_environments(tmp_path: Any) -> None:
    (tmp_path / "a.yaml").write_text("resource_registry: {A: B}")
    (tmp_path / "b.yaml").write_text("resource_registry: [")
    (tmp_path / "c.yaml").write_text("resource_registry: {resources: {a: {hooks: bogus}}}")
    (tmp_path / "d.yaml").write_text("resource_registry: {C: D}")
    env = Environment({}, user_env=False)
    environment.read_global_environment(env, str(tmp_path))
    assert {name for name in env.registry._registry if name != "resources"} == {"A", "C"}


@pytest.mark.parametrize("section", ["event_sinks", "encrypted_param_names"])
@pytest.mark.parametrize("content", ["5", "true", "a", "{type: x}"])
def test_sections_that_are_lists(section: str, content: str) -> None:
    source = "%s: %s" % (section, content)
    with pytest.raises(ValueError, match='environment section "%s" is not a list' % section):
        text.parse_environment(source)
    with pytest.raises(exception.StackValidationFailed, match='env0.* "%s" is not a list' % section):
        merged("parameters: {}", source)
    assert text.parse_environment("%s: ''" % section) == {section: ""}


@pytest.mark.parametrize("sinks", [5, True, "a", {"type": "x"}])
def test_event_sinks_that_came_past_the_check_of_a_text(sinks: Any) -> None:
    with pytest.raises(exception.StackValidationFailed, match='section "event_sinks" is not a list'):
        Environment({"event_sinks": sinks})


def merged(template_source: str, *files: str, **before: Any) -> dict[str, Any]:
    names = ["env%d" % n for n in range(len(files))]
    params: dict[str, Any] = {"parameters": {}, "parameter_defaults": {}, "resource_registry": {}, **before}
    tmpl = template(template_source)
    env_merge.merge_environments(names, dict(zip(names, files, strict=True)), params, tmpl.param_schemata())
    return params


STRATEGY = "parameter_merge_strategies: {p: %s}\n"


@pytest.mark.parametrize(
    ("kind", "strategy", "first", "second", "value"),
    [
        ("number", "merge", "1", "2.5", 3.5),
        ("string", "merge", "a", "b", "ab"),
        ("comma_delimited_list", "merge", '"a,b"', "c", "a,b,c"),
        ("comma_delimited_list", "merge", "[a]", '"b,c"', ["a", "b", "c"]),
        ("json", "merge", "{a: {x: 1}}", "{a: {y: 2}}", {"a": {"y": 2}}),
        ("json", "deep_merge", "{a: {x: 1, n: 1}}", "{a: {y: 2, n: 2}}", {"a": {"x": 1, "y": 2, "n": 2}}),
        ("json", "deep_merge", "{a: b, l: [1]}", "{a: c, l: [2]}", {"a": "bc", "l": [1, 2]}),
        ("json", "deep_merge", "{a: 1}", "{a: text}", {"a": "text"}),
    ],
)
def test_merge_strategies(kind: str, strategy: str, first: str, second: str, value: Any) -> None:
    head = STRATEGY % strategy
    result = merged(
        "parameters: {p: {type: %s}}" % kind,
        head + "parameters: {p: %s}" % first,
        head + "parameters: {p: %s}" % second,
    )
    assert result["parameters"] == {"p": value}


@pytest.mark.parametrize(
    ("kind", "first", "second", "why"),
    [
        ("json", "3", "{a: 1}", '"3" is not a map'),
        ("json", "{a: 1}", "[b]", "\"['b']\" is not a map"),
        ("json", "'[1]'", "'{\"a\": 1}'", '"[1]" is not a map'),
        ("comma_delimited_list", "[a]", "3", '"3" is not a list'),
        ("comma_delimited_list", "{a: 1}", "b", "\"{'a': 1}\" is not a list"),
    ],
)
@pytest.mark.parametrize("strategy", ["merge", "deep_merge"])
def test_what_cannot_be_merged(kind: str, first: str, second: str, why: str, strategy: str) -> None:
    head = STRATEGY % strategy
    with pytest.raises(exception.StackValidationFailed) as raised:
        merged(
            "parameters: {p: {type: %s}}" % kind,
            head + "parameters: {p: %s}" % first,
            head + "parameters: {p: %s}" % second,
        )
    assert str(raised.value) == "Invalid parameter in environment %s." % why


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("string", "x" * 1000),
        ("comma_delimited_list", "a,b"),
        ("comma_delimited_list", "[a, b]"),
        ("json", "{a: %s}" % ("x" * 1000)),
        ("json", "{a: [1, 2]}"),
    ],
)
def test_a_file_that_is_merged_again_and_again(kind: str, given: str) -> None:
    files = {"e": STRATEGY % "deep_merge" + "parameters: {p: %s}" % given}
    schemata = template("parameters: {p: {type: %s}}" % kind).param_schemata()
    with limits.request(), pytest.raises(exception.RequestLimitExceeded):
        env_merge.merge_environments(["e"] * 100_000, files, {"parameters": {}}, schemata)


def test_a_file_that_comes_again_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    original = text.parse_environment
    monkeypatch.setattr(text, "parse_environment", lambda source: read.append(source) or original(source))
    params: dict[str, Any] = {"parameters": {}}
    files = {"e": STRATEGY % "merge" + "parameters: {p: a}", "f": "parameters: {p: b}"}
    schemata = template("parameters: {p: {type: string}}").param_schemata()
    env_merge.merge_environments(["e", "e", "e"], files, params, schemata)
    assert params == {"parameters": {"p": "aaa"}}
    assert read == [files["e"]]


def test_merging_leaves_the_files_alone() -> None:
    first = {"a": [1]}
    assert env_merge.merge_map(first, {"a": [2]}, deep_merge=True) == {"a": [1, 2]}
    assert first == {"a": [1]}
