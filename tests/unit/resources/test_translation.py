# SPDX-License-Identifier: Apache-2.0
"""Translation rules, one kind at a time and together."""

from __future__ import annotations

from typing import Any

import pytest

from openkeel_heat.clients import patience
from openkeel_heat.common import exceptions as exception
from openkeel_heat.resources.kit.properties import Properties, Schema
from openkeel_heat.resources.kit.translation import Translation, TranslationRule as Rule

S = Schema


class Finder:
    def __init__(self) -> None:
        self.asked: list[Any] = []

    def find(self, value: Any) -> str:
        self.asked.append(value)
        if value == "bad":
            raise ValueError("no such name")
        return "id-of-%s" % value

    def find_entity(self, entity: str, value: Any) -> str:
        return "%s-%s" % (entity, value)


def props(schema: dict[str, Any], data: dict[str, Any], make_rules: Any, **kwargs: Any) -> Properties:
    made = Properties(schema, data)
    made.update_translation(make_rules(made), **kwargs)
    return made


NEW_AND_OLD = {"new": S(S.STRING), "old": S(S.STRING)}


def renamed(made: Properties) -> list[Rule]:
    return [Rule(made, Rule.REPLACE, ["new"], value_path=["old"])]


def test_replace_from_another_property() -> None:
    found = props(NEW_AND_OLD, {"old": "x"}, renamed)
    assert found["new"] == "x" and found["old"] is None
    assert props(NEW_AND_OLD, {"new": "y"}, renamed)["new"] == "y"


def test_both_is_an_error() -> None:
    with pytest.raises(
        exception.StackValidationFailed, match="Cannot define the following properties at the same time: new, old"
    ):
        props(NEW_AND_OLD, {"new": "x", "old": "y"}, renamed).validate()


def test_replace_inside_a_list() -> None:
    schema = {"nets": S(S.LIST, schema=S(S.MAP, schema={"uuid": S(S.STRING), "network": S(S.STRING)}))}
    found = props(
        schema,
        {"nets": [{"uuid": "a"}, {"network": "b"}]},
        lambda made: [Rule(made, Rule.REPLACE, ["nets", "network"], value_name="uuid")],
    )
    assert found["nets"] == [{"uuid": None, "network": "a"}, {"uuid": None, "network": "b"}]


def test_replace_by_a_constant() -> None:
    found = props(NEW_AND_OLD, {"new": "x"}, lambda made: [Rule(made, Rule.REPLACE, ["new"], value="fixed")])
    assert found["new"] == "fixed"


def test_add() -> None:
    schema = {"many": S(S.LIST), "one": S(S.STRING)}

    def rules(made: Properties) -> list[Rule]:
        return [Rule(made, Rule.ADD, ["many"], value_path=["one"]), Rule(made, Rule.DELETE, ["one"])]

    found = props(schema, {"many": ["a"], "one": "b"}, rules)
    assert found["many"] == ["a", "b"] and found["one"] is None
    assert props(schema, {"many": ["a"]}, rules)["many"] == ["a"]
    assert props(schema, {"one": "b"}, rules)["many"] == ["b"]


def test_resolve_asks_once() -> None:
    finder = Finder()
    found = props(
        {"image": S(S.STRING)},
        {"image": "cirros"},
        lambda made: [Rule(made, Rule.RESOLVE, ["image"], client_plugin=finder, finder="find")],
    )
    assert (found["image"], found["image"], finder.asked) == ("id-of-cirros", "id-of-cirros", ["cirros"])


def test_resolve_inside_lists_and_with_an_entity() -> None:
    finder = Finder()
    schema = {"nets": S(S.LIST, schema=S(S.MAP, schema={"network": S(S.STRING)}))}
    found = props(
        schema,
        {"nets": [{"network": "a"}, {"network": "b"}]},
        lambda made: [
            Rule(made, Rule.RESOLVE, ["nets", "network"], client_plugin=finder, finder="find_entity", entity="net")
        ],
    )
    assert found["nets"] == [{"network": "net-a"}, {"network": "net-b"}]


def test_no_look_up_without_clients() -> None:
    finder = Finder()
    found = props(
        {"image": S(S.STRING)},
        {"image": "cirros"},
        lambda made: [Rule(made, Rule.RESOLVE, ["image"], client_plugin=finder, finder="find")],
        client_resolve=False,
    )
    assert found["image"] == "cirros" and finder.asked == []


def test_errors_of_finders() -> None:
    def rules(made: Properties) -> list[Rule]:
        return [Rule(made, Rule.RESOLVE, ["image"], client_plugin=Finder(), finder="find")]

    with pytest.raises(ValueError, match="no such name"):
        props({"image": S(S.STRING)}, {"image": "bad"}, rules)["image"]
    assert props({"image": S(S.STRING)}, {"image": "bad"}, rules, ignore_resolve_error=True)["image"] == "bad"


def test_replace_then_resolve() -> None:
    finder = Finder()
    found = props(
        NEW_AND_OLD,
        {"old": "x"},
        lambda made: [
            Rule(made, Rule.RESOLVE, ["new"], client_plugin=finder, finder="find"),
            *renamed(made),
        ],
    )
    assert found["new"] == "id-of-x"


@pytest.mark.parametrize(
    "kwargs, text",
    [
        ({"rule": "Move", "translation_path": ["a"]}, "There is no rule Move"),
        ({"rule": Rule.ADD, "translation_path": []}, "should be non-empty list"),
        ({"rule": Rule.ADD, "translation_path": ["a"], "value": "b"}, "must be list type when rule is Add"),
        ({"rule": Rule.REPLACE, "translation_path": ["a"], "value": "b", "value_name": "c"}, "mutually exclusive"),
        ({"rule": Rule.RESOLVE, "translation_path": ["a"]}, "should be specified for Resolve rule"),
    ],
)
def test_wrong_rules(kwargs: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Rule(None, **kwargs)


def test_list_indexes_do_not_count() -> None:
    assert Translation().cast_key_to_rule("a.0.b.12") == "a.b"


def test_who_deletes_waits_for_a_finder_that_is_asked_to_come_later() -> None:
    """A name in place of the id would be taken for an object that is gone, and the object stay."""

    class Late(Finder):
        def find(self, value: Any) -> str:
            raise patience.ComeBack(3)

    def rules(made: Properties) -> list[Rule]:
        return [Rule(made, Rule.RESOLVE, ["image"], client_plugin=Late(), finder="find")]

    with pytest.raises(patience.ComeBack):
        props({"image": S(S.STRING)}, {"image": "name"}, rules, ignore_resolve_error=True)["image"]


def test_an_error_of_a_finder_leaves_nothing_half_translated() -> None:
    """The other property's value is there before it is looked for."""

    class Once(Finder):
        def find(self, value: Any) -> str:
            return super().find(value if self.asked else "bad")

    finder = Once()

    def rules(made: Properties) -> list[Rule]:
        return [*renamed(made), Rule(made, Rule.RESOLVE, ["new"], client_plugin=finder, finder="find")]

    found = props(NEW_AND_OLD, {"old": "x"}, rules)
    with pytest.raises(ValueError, match="no such name"):
        found["new"]
    assert found["new"] == "id-of-x"


def test_values_are_added_once_though_a_finder_failed_in_between() -> None:
    class Once(Finder):
        def find(self, value: Any) -> str:
            return super().find(value if self.asked else "bad")

    finder = Once()

    def rules(made: Properties) -> list[Rule]:
        return [
            Rule(made, Rule.ADD, ["names"], value=["b"]),
            Rule(made, Rule.RESOLVE, ["names"], client_plugin=finder, finder="find"),
        ]

    found = props({"names": S(S.LIST)}, {"names": ["a"]}, rules)
    with pytest.raises(ValueError, match="no such name"):
        found["names"]
    assert found["names"] == ["id-of-a", "id-of-b"]
