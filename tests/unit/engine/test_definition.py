# SPDX-License-Identifier: Apache-2.0
"""What a template means for a stack is made once and shared by the nodes of a traversal."""

from __future__ import annotations

from typing import Any

import pytest
from oslo_config import cfg

from openkeel_heat.common import config, identifier
from openkeel_heat.engine import templates
from openkeel_heat.engine.cache import Cache
from openkeel_heat.engine.definition import SharedDefinition, StackDefinition
from openkeel_heat.engine.node_data import NodeData

config.register_all(cfg.CONF)
IDENTITY = identifier.HeatIdentifier("project", "stack", "id")


def value(what: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::Value", "properties": {"value": what}}


def shared(resources: dict[str, Any], params: Any = None, **sections: Any) -> SharedDefinition:
    raw = {"heat_template_version": "2021-04-16", "resources": resources, **sections}
    return SharedDefinition(templates.compiled(raw, {}, params or {}), IDENTITY)


def data(name: str, **attributes: Any) -> NodeData:
    return NodeData(1, name, "uuid", f"{name}-ref", attributes, "CREATE", "COMPLETE")


def test_nodes_share_parameters_and_conditions() -> None:
    common = shared({"a": value("1"), "b": {**value("2"), "condition": "never"}}, conditions={"never": False})
    one, two = StackDefinition(None, common, {"a": data("a")}), StackDefinition(None, common)
    assert list(one) == ["a"] and "b" not in two and one.parameters is two.parameters
    assert one["a"].reference_id() == "a-ref" and two["a"].reference_id() == "a"
    with pytest.raises(KeyError):
        one.bound("b")


def test_wanted_attributes_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    resources = {"a": value("1"), "b": value({"get_attr": ["a", "value"]}), "c": value({"get_resource": "a"})}
    common = shared(resources, outputs={"o": {"value": {"get_attr": ["a", "show"]}}})
    calls = []
    real = SharedDefinition.wanted
    monkeypatch.setattr(
        SharedDefinition, "wanted", lambda self, context: calls.append(self._wanted) or real(self, context)
    )
    for _ in range(3):
        defn = StackDefinition(None, common)
        assert defn.wanted_attributes("a") == {"value", "show"}
        assert defn.wanted_attributes("a", in_outputs=False) == {"value"}
        assert defn.wanted_attributes("a", in_resources=False, in_outputs={"o"}) == {"show"}
        assert defn.wanted_attributes("a", in_resources=False, in_outputs={"no"}) == frozenset()
        assert defn.wanted_attributes("b") == frozenset()
    assert [one is None for one in calls].count(True) == 1


def test_a_path_that_hangs_on_another_resource_is_looked_at_anew() -> None:
    common = shared(
        {
            "a": value("1"),
            "b": value("2"),
            "c": value({"get_attr": ["a", {"get_attr": ["b", "value"]}]}),
            "d": value({"get_attr": ["a", {"get_param": "p"}]}),
        },
        {"parameters": {"p": "fixed"}},
        parameters={"p": {"type": "string"}},
    )
    assert StackDefinition(None, common, {"b": data("b", value="x")}).wanted_attributes("a") == {"x", "fixed"}
    assert StackDefinition(None, common, {"b": data("b", value="y")}).wanted_attributes("a") == {"y", "fixed"}
    assert StackDefinition(None, common).wanted_attributes("a") == {"fixed", None}  # b is not there yet


def test_new_data_is_seen() -> None:
    defn = StackDefinition(
        None,
        shared({"a": value("1")}, outputs={"o": {"value": {"get_attr": ["a", "value"]}}}),
        {"a": data("a", value="old")},
    )
    assert defn.outputs()["o"].get_value() == "old"
    defn.set_data([data("a", value="new")])
    assert defn.outputs()["o"].get_value() == "new"


def test_the_cache_is_bounded() -> None:
    cache = Cache(2)
    for key in "abc":
        cache.put(key, key)
        cache.get("a")
    assert (cache.get("a"), cache.get("b"), cache.get("c"), len(cache)) == ("a", None, "c", 2)
    cache.drop("a")
    assert cache.get("a") is None


def test_a_node_that_looks_for_one_resource_does_not_make_them_all() -> None:
    from openkeel_heat.common.context import RequestContext
    from openkeel_heat.engine.stack import Stack

    raw = {"heat_template_version": "2021-04-16", "resources": {f"r{n}": value(n) for n in range(100)}}
    stack = Stack(RequestContext(project_id="p", username="u"), "many", templates.compiled(raw))
    node = stack.for_node({"r7": data("r7").as_dict()})
    assert [
        found.name if found else None
        for found in (node.resource_by_refid(one) for one in ("r7-ref", "r9", "r7", "unknown"))
    ] == ["r7", "r9", None, None]
    assert node._resources is None and len(node.defn._bound) <= 3
