# SPDX-License-Identifier: Apache-2.0
"""A stack as functions see it: what is enabled, who needs whom, which attributes are wanted."""

from __future__ import annotations

from typing import Any

import pytest

from openkeel_heat.common import exceptions as exception
from openkeel_heat.template import definition as definitions, nodes
from openkeel_heat.template.definition import BoundDefinition
from tests.unit.template.helpers import node, stack

SOURCE = """
parameters: {p: {type: string, default: x}}
conditions: {c: {equals: [{get_param: p}, x]}}
resources:
  a: {type: X, properties: {v: {get_param: p}}}
  b:
    type: Y
    condition: c
    depends_on: a
    metadata: {m: {get_attr: [a, one]}}
    properties: {v: {get_attr: [a, two, k, 0]}, w: {get_attr: [a]}}
  d: {type: X, depends_on: b}
outputs:
  o: {value: {get_attr: [a, three]}}
  q: {value: {get_attr: [b, four]}}
"""


def test_conditions_decide_what_there_is() -> None:
    with_b, without = stack(SOURCE), stack(SOURCE, p="other")
    assert with_b.enabled_rsrc_names() == {"a", "b", "d"}
    assert without.enabled_rsrc_names() == {"a", "d"}
    assert without.all_rsrc_names() == {"a", "b", "d"}
    assert "b" in with_b and "b" not in without
    assert without.all_resource_types() == {"X"}
    with pytest.raises(KeyError):
        without.resource_definition("b")
    with pytest.raises(KeyError):
        without["b"]


def test_depends_on_what_is_left_out_is_no_edge() -> None:
    assert sorted(stack(SOURCE).dependencies().edges()) == [("b", "a"), ("d", "b")]
    assert sorted(stack(SOURCE, p="other").dependencies().edges()) == [("a", None), ("d", None)]


def test_depends_on_what_does_not_exist() -> None:
    with pytest.raises(exception.InvalidTemplateReference) as caught:
        stack("resources: {a: {type: X, depends_on: z}}").dependencies()
    assert str(caught.value) == 'The specified reference "z" (in a) is incorrect.'


def test_a_slash_in_a_name() -> None:
    with pytest.raises(exception.StackValidationFailed, match='Resource name may not contain "/"'):
        stack("resources: {a/b: {type: X}}").dependencies()


def test_an_external_resource_depends_on_nothing() -> None:
    assert (
        stack("resources: {a: {type: X}, b: {type: X, external_id: id, properties: {v: {get_resource: a}}}}")
        .resource_definition("b")
        .required_resource_names()
        == set()
    )
    with pytest.raises(exception.InvalidExternalResourceDependency):
        stack("resources: {a: {type: X}, b: {type: X, external_id: id, depends_on: a}}").dependencies()


def test_wanted_attributes() -> None:
    scope = stack(SOURCE)
    assert scope.wanted_attributes("a") == {"one", ("two", "k", 0), "*", "three"}
    assert scope.wanted_attributes("a", in_outputs=False) == {"one", ("two", "k", 0), "*"}
    assert scope.wanted_attributes("a", in_resources=False) == {"three"}
    assert scope.wanted_attributes("b", in_outputs=["o"]) == frozenset()
    assert scope.wanted_attributes("b", in_outputs=["q", "gone"]) == {"four"}
    assert scope.wanted_attributes("d") == frozenset()


def test_wanted_attributes_may_hang_on_what_is_known() -> None:
    scope = stack(
        "resources: {a: {type: X}, b: {type: X}, c: {type: X, properties: "
        "{v: {get_attr: [a, {get_attr: [b, which]}]}}}}"
    )
    assert not scope.t.static_references
    assert scope.wanted_attributes("a") == {None}
    scope.update_resource_data("b", node("b", which="size"))
    assert scope.wanted_attributes("a") == {"size"}


def test_static_references() -> None:
    assert stack("resources: {a: {type: X, properties: {v: {get_attr: [a, b]}}}}").t.static_references
    assert not stack("conditions: {c: true}\noutputs: {o: {value: {if: [c, 1]}}}").t.static_references


def test_news_of_a_resource_show_in_values() -> None:
    scope = stack("resources: {a: {type: X}}\noutputs: {o: {value: {get_attr: [a, x]}}}")
    assert scope.output_definition("o").get_value() is None
    scope.update_resource_data("a", node("a", x=1))
    assert scope.output_definition("o").get_value() == 1
    assert scope["a"].state == ("CREATE", "COMPLETE")


def test_outputs_that_cannot_work_hold_nothing_up() -> None:
    assert (
        stack("outputs: {o: {value: {get_attr: [nope, x]}}}").output_definition("o").required_resource_names() == set()
    )


class Props(dict[str, Any]):
    pass


@pytest.fixture
def factory(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(schema: Any, data: Any, resolver: Any, **rest: Any) -> Any:
        return Props({name: resolver(data[name]) for name in data}, rest=rest)

    monkeypatch.setattr(definitions, "_properties_factory", make)


@pytest.mark.usefixtures("factory")
def test_properties_come_from_the_kit() -> None:
    bound = stack(SOURCE).resource_definition("a")
    bound.set_translation_rules(["rule"], client_resolve=False)
    props = bound.properties({}, "ctx")
    assert props["v"] == "x"
    assert props["rest"] == {
        "context": "ctx",
        "section": "Properties",
        "rsrc_description": "",
        "rules": ["rule"],
        "client_resolve": False,
    }


def test_freezing() -> None:
    scope = stack(SOURCE, {"a": node("a", one=1)})
    frozen = scope.resource_definition("a").freeze()
    assert frozen._properties == {"v": "x"}
    assert frozen.freeze() is frozen
    assert frozen.freeze(properties={"v": "y"})._properties == {"v": "y"}
    assert frozen.freeze(metadata={})._metadata is None


def test_equality_is_that_of_the_snippets() -> None:
    one, other = stack(SOURCE).resource_definition("a"), stack(SOURCE, p="other").resource_definition("a")
    assert one == other and hash(one) == hash(other)
    assert (other - one).properties_changed()
    assert not (other - one).metadata_changed()
    assert one != BoundDefinition("a", "X", properties={"v": "x"})
    assert not one - BoundDefinition("a", "X", properties={"v": "x"})


def test_reading_a_definition_again_in_another_stack() -> None:
    one, other = stack(SOURCE), stack(SOURCE, p="other")
    again = one.resource_definition("a").reparse(other, other.t)
    assert nodes.resolve(again._properties) == {"v": "other"}


def test_policies() -> None:
    scope = stack("""
parameters: {keep: {type: boolean, default: true}}
conditions: {c: {get_param: keep}}
resources:
  a: {type: X, deletion_policy: {if: [c, retain, delete]}}
  b: {type: X}
  e: {type: X, external_id: id}
""")
    assert [scope.resource_definition(name).deletion_policy() for name in "abe"] == ["Retain", "Delete", "Retain"]


def test_one_resource_costs_nothing_for_the_others() -> None:
    source = "resources:\n" + "".join(
        "  r%d: {type: X, properties: {v: {get_attr: [r%d, x]}}}\n" % (n, max(n - 1, 0)) for n in range(200)
    )
    scope = stack(source, {"r7": node("r7", x=1)})
    bound = scope.resource_definition("r8")
    assert nodes.resolve(bound._properties) == {"v": 1}
    assert bound.required_resource_names() == {"r7"}
    assert set(scope._bound) == {"r8"}
    assert set(scope._enabled) == {"r7", "r8"}
