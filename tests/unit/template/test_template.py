# SPDX-License-Identifier: Apache-2.0
"""Templates: versions, sections, definitions in order, and building of nested templates."""

from __future__ import annotations

import copy
from importlib import metadata
from typing import Any

import pytest

from openkeel_heat.common import exceptions as exception
from openkeel_heat.template import Template, template as module
from openkeel_heat.template.definition import BoundDefinition
from openkeel_heat.template.hot.template import HOTemplate20210416
from openkeel_heat.template.nodes import FunctionNode
from openkeel_heat.template.output import OutputDefinition
from openkeel_heat.template.scope import StackDefinition
from tests.unit.template.helpers import stack, template


def resources(source: str, **params: Any) -> Any:
    return stack(source, **params).resource_definitions()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("resources: {a: {bogus: 1, type: X}}", "Invalid keyword(s) inside a resource definition: bogus"),
        ("resources: {a: {properties: {}}}", "'Resource a is missing \"type\"'"),
        ("resources: {a: {type: 5}}", "Resource a type type must be string"),
        ("resources: {a: {type: X, properties: [1]}}", "Resource a properties type must be object"),
        ("resources: {a: {type: X, metadata: x}}", "Resource a metadata type must be object"),
        ("resources: {a: {type: X, depends_on: {b: 1}}}", "Resource a depends_on type must be list or string"),
        ("resources: {a: {type: X, depends_on: [1]}}", "Resource a depends_on must be a list of strings"),
        ("resources: {a: {type: X, deletion_policy: Keep}}", 'Invalid deletion policy "Keep"'),
        ("resources: {a: {type: X, deletion_policy: Keep, description: [1]}}", 'Invalid deletion policy "Keep"'),
        (
            "parameters: {p: {type: json, default: {}}}\nresources: {a: {type: X, deletion_policy: {get_param: p}}}",
            "unhashable type: 'dict'",
        ),
        ("resources: {a: {type: X, update_policy: 1}}", "Resource a update_policy type must be object"),
        ("resources: {a: {type: X, description: [1]}}", "Resource a description type must be string"),
        ("resources: {a: {type: X, external_id: [1]}}", "Resource a external_id type must be string"),
        ("resources: {a: {type: X, condition: [1]}}", "Resource a condition type must be string_or_boolean"),
        ("resources: {a: {type: X, condition: nope}}", 'resources.a.condition: Invalid condition "nope"'),
        (
            "resources: {a: {type: X, properties: {p: {list_join: x}}}}",
            'resources.a.properties.p.list_join: Incorrect arguments to "list_join"',
        ),
        ("resources: {1: {type: X}}", "sequence item 1: expected str instance, int found"),
    ],
)
def test_what_is_wrong_with_a_definition(source: str, message: str) -> None:
    with pytest.raises(exception.StackValidationFailed) as caught:
        resources(source)
    assert str(caught.value).startswith(message)


def test_the_first_error_of_the_template_is_told() -> None:
    source = """
conditions: {c: true}
resources:
  a: {type: X, properties: {p: {if: [nope, 1, 2]}}}
  b: {bogus: 1}
"""
    with pytest.raises(exception.StackValidationFailed, match='Invalid condition "nope"'):
        resources(source)


def test_what_a_condition_leaves_out_must_be_well_formed_all_the_same() -> None:
    with pytest.raises(exception.StackValidationFailed):
        resources("conditions: {c: false}\nresources: {a: {type: X, condition: c, properties: [1]}}")


def test_one_definition_is_found_beside_a_broken_one() -> None:
    scope = stack("resources: {a: {type: X}, b: {bogus: 1}}")
    assert scope.resource_definition("a").resource_type == "X"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "outputs: {o: 5}",
            "Output validation error: outputs.o: Output definitions must be a map. Found a int instead",
        ),
        (
            "outputs: {o: {description: x}}",
            "Output validation error: outputs.o: Each output definition must contain a value key.",
        ),
        ("outputs: {o: {value: 1, condition: nope}}", 'outputs.o.condition: Invalid condition "nope"'),
    ],
)
def test_what_is_wrong_with_an_output(source: str, message: str) -> None:
    with pytest.raises(exception.StackValidationFailed) as caught:
        stack(source).enabled_output_names()
    assert str(caught.value) == message


def test_an_output_left_out_has_no_value() -> None:
    scope = stack("conditions: {c: false}\noutputs: {o: {value: 1, condition: c, description: d}}")
    assert scope.output_definition("o").get_value() is None
    assert scope.output_definition("o").description() == "d"


def test_compiled_once_shared_by_stacks() -> None:
    shared = template(
        "parameters: {p: {type: string, default: x}}\nresources: {a: {type: X, properties: {v: {get_param: p}}}}"
    )
    definitions = shared.definitions
    first, second = StackDefinition(shared), StackDefinition(shared)
    assert first.resource_definition("a") is not second.resource_definition("a")
    assert shared.definitions is definitions
    assert len(shared.resource_definitions) == 1
    assert list(shared.resource_definitions(first)) == ["a"]


def test_parameter_defaults_do_not_get_into_the_template() -> None:
    shared = template("parameters: {p: {type: string, default: x}}")
    assert shared.param_schemata({"p": "y"})["p"].default == "y"
    assert shared.t["parameters"]["p"]["default"] == "x"
    assert shared.param_schemata()["p"].default == "x"


def test_building_a_nested_template() -> None:
    built = Template.create_empty_template(version=("heat_template_version", "2021-04-16"))
    built.add_resource(BoundDefinition("a", "X", properties={"p": 1}))
    built.add_resource(BoundDefinition("b", "X", properties={"p": {"get_resource": "a"}}, depends=["a", "gone"]))
    built.add_output(OutputDefinition("o", {"get_attr": ["b", "x"]}, "text"))
    assert built.t["resources"]["b"] == {"type": "X", "properties": {"p": {"get_resource": "a"}}, "depends_on": ["a"]}
    assert built.t["outputs"] == {"o": {"value": {"get_attr": ["b", "x"]}, "description": "text"}}
    scope = StackDefinition(built)
    assert scope.resource_definition("b").required_resource_names() == {"a"}
    built.remove_resource("b")
    assert set(built.definitions) == {"a"}
    assert copy.deepcopy(built).t == built.t
    assert built.without_resources().t["resources"] == {}


def test_building_a_nested_template_of_the_other_kind() -> None:
    built = Template({"HeatTemplateFormatVersion": "2012-12-12"})
    built.add_resource(BoundDefinition("a", "X", properties={"p": 1}))
    built.add_resource(BoundDefinition("b", "X", depends=["a"], deletion_policy="Retain"))
    assert built.t["Resources"] == {
        "a": {"Type": "X", "Properties": {"p": 1}},
        "b": {"Type": "X", "DependsOn": "a", "DeletionPolicy": "Retain"},
    }


def test_merging_of_snippets_takes_parameters_and_conditions() -> None:
    base = template("parameters: {a: {type: string}}\nresources: {r: {type: X}}")
    base.merge_snippets(template("parameters: {b: {type: string}}\nconditions: {c: true}\nresources: {s: {type: X}}"))
    assert set(base.t["parameters"]) == {"a", "b"}
    assert base.t["conditions"] == {"c": True}
    assert set(base.t["resources"]) == {"r"}


def test_ref_of_cfn_is_a_resource_or_a_parameter() -> None:
    data = {
        "HeatTemplateFormatVersion": "2012-12-12",
        "Parameters": {"p": {"Type": "String", "Default": "x"}},
        "Resources": {"a": {"Type": "X"}, "b": {"Type": "X", "Properties": {"a": {"Ref": "a"}, "p": {"Ref": "p"}}}},
    }
    definition = StackDefinition(Template(data)).resource_definition("b")
    assert definition.required_resource_names() == {"a"}
    assert definition.freeze()._properties == {"a": "a", "p": "x"}


class Twice(FunctionNode):
    """A function that a plugin adds."""

    def result(self, scope: Any) -> Any:
        return [self.args, self.args]


class PluginTemplate(HOTemplate20210416):
    functions = {**HOTemplate20210416.functions, "twice": Twice}


def test_plugins_add_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    class Entry:
        name = "heat_template_version.2999-01-01"

        def load(self) -> Any:
            return PluginTemplate

    monkeypatch.setattr(module, "_classes", {})
    monkeypatch.setattr(metadata, "entry_points", lambda **kwargs: [Entry()])
    made = Template({"heat_template_version": "2999-01-01", "outputs": {"o": {"value": {"twice": "a"}}}})
    assert type(made) is PluginTemplate
    assert StackDefinition(made).output_definition("o").get_value() == ["a", "a"]


class ForeignFunction:
    """A function for the interface of Heat: made with a stack."""

    def __init__(self, stack: Any, fn_name: str, args: Any) -> None:
        self.stack, self.fn_name, self.args = stack, fn_name, args

    def result(self) -> str:
        return "%s of %s" % (self.args["x"].result(), self.stack.parameters["p"])

    def validate(self) -> None:
        raise ValueError("never valid")

    def dependencies(self, path: str) -> Any:
        return [self.stack.resource("r")]

    def all_dep_attrs(self) -> Any:
        return [("r", "attr")]


class ForeignTemplate(HOTemplate20210416):
    functions = {**HOTemplate20210416.functions, "mine": ForeignFunction}


def test_functions_of_plugins_for_heat() -> None:
    data = {
        "heat_template_version": "2021-04-16",
        "parameters": {"p": {"type": "string", "default": "q"}},
        "resources": {
            "r": {"type": "X"},
            "s": {"type": "X", "properties": {"v": {"mine": {"x": {"get_resource": "r"}}}}},
        },
    }
    definition = StackDefinition(ForeignTemplate(data)).resource_definition("s")
    assert definition.freeze()._properties == {"v": "r of q"}
    assert definition.required_resource_names() == {"r"}
    assert list(definition.dep_attrs("r")) == ["attr"]
    with pytest.raises(exception.StackValidationFailed, match="Properties.v.mine: never valid"):
        definition.validate()
