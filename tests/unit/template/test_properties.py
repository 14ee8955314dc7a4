# SPDX-License-Identifier: Apache-2.0
"""What holds for every template: it is stored and read without loss, and edits that are taken back leave no trace."""

from __future__ import annotations

import copy
import json
import random as randomness
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings, strategies as st

from openkeel_heat.template import Template, nodes, text
from openkeel_heat.template.environment import Environment
from openkeel_heat.template.scope import StackDefinition
from tests.unit.template import strategies
from tests.unit.template.helpers import node

QUICK = settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def snapshot(template: Template) -> dict[str, Any]:
    """All that can be known of a template in a stack whose resources are there."""
    data = {name: node(name, value={"of": name}) for name in strategies.NAMES}
    scope = StackDefinition(template, resource_data=data)
    return {
        "names": list(template.definitions),
        "enabled": scope.enabled_rsrc_names(),
        "rendered": {name: bound.render_hot() for name, bound in scope.resource_definitions().items()},
        "frozen": {name: bound.freeze().render_hot() for name, bound in scope.resource_definitions().items()},
        "policies": {name: bound.deletion_policy() for name, bound in scope.resource_definitions().items()},
        "edges": sorted(scope.dependencies().edges(), key=repr),
        "static": {name: one.static_references for name, one in template.definitions.items()},
        "static_template": template.static_references,
        "wanted": {name: scope.wanted_attributes(name) for name in strategies.NAMES},
        "parameters": {name: scope.parameters[name] for name in template.param_schemata()},
        "outputs": {name: output.get_value() for name, output in template.outputs(scope).items()},
        "needed": {name: output.required_resource_names() for name, output in template.outputs(scope).items()},
    }


@QUICK
@given(strategies.sound_templates())
def test_sound_templates_pass_every_check(data: dict[str, Any]) -> None:
    template = Template(data)
    template.validate()
    scope = StackDefinition(template, resource_data={name: node(name, value=1) for name in strategies.NAMES})
    scope.parameters.validate()
    scope.conditions.validate()
    for bound in scope.resource_definitions().values():
        bound.validate()
    for output in template.outputs(scope).values():
        output.validate()
    order = list(scope.dependencies())
    assert set(order) == scope.enabled_rsrc_names()


@QUICK
@given(strategies.sound_templates())
def test_a_template_survives_its_texts_and_its_row(data: dict[str, Any]) -> None:
    written = {
        "yaml": yaml.safe_dump(data, sort_keys=False),
        "json": json.dumps(data),
        "flow": yaml.safe_dump(data, sort_keys=False, default_flow_style=True, allow_unicode=True),
    }
    for source in written.values():
        read = text.parse(source)
        assert read == data
        stored = json.loads(json.dumps(read))
        assert stored == data
        assert snapshot(Template(stored)) == snapshot(Template(data))


@QUICK
@given(strategies.sound_templates(conditions=False))
def test_what_is_rendered_means_the_same(data: dict[str, Any]) -> None:
    """A template put together from the definitions of another is that other one, with its conditions decided."""
    template = Template(data)
    bare = Template({**data, "resources": {}})
    for definition in StackDefinition(template).resource_definitions().values():
        bare.add_resource(definition)
    before, after = snapshot(template), snapshot(bare)
    for key in ("names", "frozen", "edges", "policies", "wanted", "outputs"):
        assert after[key] == before[key], key


@QUICK
@given(strategies.sound_templates())
def test_a_definition_read_again_is_the_same(data: dict[str, Any]) -> None:
    scope = StackDefinition(Template(data))
    for bound in scope.resource_definitions().values():
        again = bound.reparse(scope, scope.t)
        again._condition = bound._condition
        assert again.freeze(deletion_policy=None)._properties == bound.freeze()._properties
        assert not (again - bound).properties_changed()


class Editor:
    """Edits of a template, each with what takes it back."""

    def __init__(self, template: Template, random: Any) -> None:
        self.template, self.random = template, random

    def edit(self) -> Any:
        names = list(self.template.t["resources"])
        edits = [self.add] + ([self.remove, self.change, self.depend, self.rename_condition] if names else [])
        return self.random.choice(edits)(names)

    def _put(self, resources: dict[str, Any]) -> None:
        """Resources in the place of the present ones."""
        from openkeel_heat.template.definition import BoundDefinition

        self.template.remove_all_resources()
        for name, raw in resources.items():
            self.template.add_resource(BoundDefinition(name, "X"))
            self.template.t["resources"][name] = raw
        self.template._changed()

    def _edited(self, resources: dict[str, Any]) -> Any:
        before = copy.deepcopy(self.template.t["resources"])
        self._put(resources)
        return lambda: self._put(before)

    def add(self, names: list[str]) -> Any:
        resources = copy.deepcopy(self.template.t["resources"])
        properties = {"v": {"get_attr": [names[0], "value"]}} if names else {}
        resources["new%d" % self.random.randrange(3)] = {"type": "X", "properties": properties}
        return self._edited(resources)

    def remove(self, names: list[str]) -> Any:
        before = copy.deepcopy(self.template.t["resources"])
        self.template.remove_resource(self.random.choice(names))
        return lambda: self._put(before)

    def change(self, names: list[str]) -> Any:
        resources = copy.deepcopy(self.template.t["resources"])
        resources[self.random.choice(names)]["properties"] = {"value": {"get_param": "p_map"}}
        return self._edited(resources)

    def depend(self, names: list[str]) -> Any:
        resources = copy.deepcopy(self.template.t["resources"])
        below, above = sorted(self.random.choices(names, k=2), key=names.index)
        if below != above:
            resources[above]["depends_on"] = [below]
        return self._edited(resources)

    def rename_condition(self, names: list[str]) -> Any:
        resources = copy.deepcopy(self.template.t["resources"])
        resources[self.random.choice(names)]["condition"] = self.random.choice(strategies.CONDITIONS)
        return self._edited(resources)


def look(template: Template) -> None:
    """Have everything compiled and indexed, whatever comes of it."""
    try:
        snapshot(template)
    except Exception:
        return


@QUICK
@given(strategies.sound_templates(), st.integers(0, 2**32))
def test_edits_that_are_taken_back_leave_no_trace(data: dict[str, Any], seed: int) -> None:
    original = copy.deepcopy(data)
    template = Template(copy.deepcopy(data), env=Environment({}))
    before = snapshot(template)
    editor = Editor(template, randomness.Random(seed))
    inverses = []
    for _edit in range(editor.random.randint(1, 6)):
        inverses.append(editor.edit())
        look(template)
    for inverse in reversed(inverses):
        inverse()
        look(template)
    assert template.t == original
    assert snapshot(template) == before
    fresh = Template(original)
    old, new = StackDefinition(fresh), StackDefinition(template)
    for name in old.enabled_rsrc_names():
        assert not new.resource_definition(name) - old.resource_definition(name)


# the algebra of conditions --------------------------------------------------------------------------------------------

FACTS = st.fixed_dictionaries({"x": st.booleans(), "y": st.booleans(), "word": st.sampled_from(["a", "b", ""])})

FORMULAS = st.recursive(
    st.sampled_from(["x", "y", "named", True, False])
    | st.sampled_from(["a", "b", ""]).map(lambda word: {"equals": [{"get_param": "word"}, word]})
    | st.lists(st.sampled_from(["a", "b", ""]), max_size=3).map(
        lambda words: {"contains": [{"get_param": "word"}, words]}
    ),
    lambda inner: (
        inner.map(lambda one: {"not": one})
        | st.lists(inner, min_size=2, max_size=3).map(lambda some: {"and": some})
        | st.lists(inner, min_size=2, max_size=3).map(lambda some: {"or": some})
    ),
    max_leaves=8,
)


def holds(formula: Any, facts: dict[str, Any], named: Any) -> bool:
    """The model: what a condition means."""
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, str):
        return holds(named, facts, False) if formula == "named" else facts[formula]
    ((name, args),) = formula.items()
    if name == "equals":
        return bool(facts["word"] == args[1])
    if name == "contains":
        return facts["word"] in args[1]
    if name == "not":
        return not holds(args, facts, named)
    combine = all if name == "and" else any
    return combine(holds(one, facts, named) for one in args)


#: values with decisions inside; a decision without its last part takes its item along when it does not hold
DECISIONS = st.recursive(
    st.integers(0, 9),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
        st.tuples(FORMULAS, inner, inner).map(lambda parts: {"if": list(parts)}),
        st.tuples(FORMULAS, inner).map(lambda parts: {"if": list(parts)}),
    ),
    max_leaves=8,
)

GONE = object()


def decided(value: Any, facts: dict[str, Any], named: Any) -> Any:
    if isinstance(value, dict):
        if list(value) == ["if"]:
            formula, *branches = value["if"]
            if holds(formula, facts, named):
                return decided(branches[0], facts, named)
            return decided(branches[1], facts, named) if len(branches) == 2 else GONE
        parts = {key: decided(one, facts, named) for key, one in value.items()}
        return {key: one for key, one in parts.items() if one is not GONE}
    if isinstance(value, list):
        return [one for one in (decided(item, facts, named) for item in value) if one is not GONE]
    return value


@settings(QUICK, max_examples=300)
@given(FACTS, FORMULAS, FORMULAS, DECISIONS)
def test_conditions_mean_what_the_model_says(facts: dict[str, Any], named: Any, formula: Any, value: Any) -> None:
    if "named" in json.dumps(named) or isinstance(named, str):
        named = {"and": [True, named if isinstance(named, str) and named != "named" else False]}
    data = {
        "heat_template_version": "2021-04-16",
        "parameters": {"word": {"type": "string", "default": facts["word"]}},
        "conditions": {"x": facts["x"], "y": facts["y"], "named": named, "whole": {"and": [formula, True]}},
        "resources": {
            "r": {"type": "X", "condition": formula, "properties": {"v": value}},
            "s": {"type": "X", "depends_on": "r"},
        },
        "outputs": {"o": {"value": value}, "p": {"value": 1, "condition": formula}},
    }
    expected = holds(formula, facts, named)
    scope = StackDefinition(Template(data))
    scope.conditions.validate()
    assert scope.conditions.is_enabled("whole") is expected
    assert ("r" in scope) is expected
    assert sorted(scope.dependencies().edges()) == [("s", "r")] if expected else [("s", None)]
    assert scope.output_definition("p").get_value() == (1 if expected else None)
    wanted = decided(value, facts, named)
    assert scope.output_definition("o").get_value() == (None if wanted is GONE else wanted)
    if expected:
        properties = nodes.resolve(scope.resource_definition("r")._properties)
        assert properties == ({} if wanted is GONE else {"v": wanted})
        rendered = scope.resource_definition("r").render_hot()["properties"]
        assert nodes.resolve(scope.t.parse(scope, rendered)) == properties
