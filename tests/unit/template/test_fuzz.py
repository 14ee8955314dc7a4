# SPDX-License-Identifier: Apache-2.0
"""Whatever a user sends: an answer or an error of the vocabulary, soon.

Seeds are fixed (``derandomize``) and bounds small, so that a run takes seconds and is the same everywhere.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings, strategies as st

from openkeel_heat.common import exceptions as exception
from openkeel_heat.template import Template, env_merge, limits, nodes, text
from openkeel_heat.template.environment import Environment
from openkeel_heat.template.parameter_groups import ParameterGroups
from openkeel_heat.template.sandbox import SandboxError
from openkeel_heat.template.scope import StackDefinition
from tests.unit.template import strategies
from tests.unit.template.helpers import node

#: what callers turn into an answer with status 400
REFUSALS = (exception.HeatException, ValueError)
#: what a function may raise when it is given a wrong value; its caller adds where
WRONG_VALUES = (*REFUSALS, TypeError, KeyError, AttributeError, SandboxError)

#: seconds of CPU for all questions about one template; a deadline of hypothesis would count the work of others
LIMIT = 3.0

FUZZ = settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)


@pytest.fixture(autouse=True, scope="module")
def small_bounds() -> Any:
    before = limits.current()
    limits.configure(dataclasses.replace(before, max_value_size=20_000, max_collection_items=500, yaql_seconds=0.5))
    yield
    limits.configure(before)


def attempt(allowed: tuple[type[Exception], ...], function: Callable[..., Any], *arguments: Any) -> Any:
    """The value of a call, None where it refuses; any other error fails the test."""
    try:
        return function(*arguments)
    except allowed as exc:
        if isinstance(exc, exception.HeatException):
            assert exc.message or str(exc)
        return None


def look_at_everything(data: dict[str, Any], env: Environment | None = None) -> None:
    started = time.process_time()
    _look_at_everything(data, env)
    assert time.process_time() - started < LIMIT


def _look_at_everything(data: dict[str, Any], env: Environment | None) -> None:
    """All that an engine asks of a template, each thing whatever became of the one before."""
    template = attempt(REFUSALS, lambda: Template(data, env=env))
    if template is None:
        return
    attempt(REFUSALS, template.validate)
    attempt(REFUSALS, lambda: ParameterGroups(template).validate())
    scope = attempt(REFUSALS, StackDefinition, template)
    if scope is None:
        return
    for name in strategies.NAMES:
        scope.update_resource_data(name, node(name, x={"a": [1, "b"]}, y="text"))
    attempt(REFUSALS, scope.parameters.validate)
    attempt(REFUSALS, lambda: scope.conditions.validate())
    attempt(REFUSALS, lambda: list(scope.dependencies()))
    for bound in (attempt(REFUSALS, scope.resource_definitions) or {}).values():
        attempt(REFUSALS, bound.validate)
        attempt(WRONG_VALUES, lambda one=bound: list(one.all_dep_attrs()))
        for part in (bound._properties, bound._metadata, bound._update_policy):
            answer(attempt(WRONG_VALUES, nodes.resolve, part))
        attempt(WRONG_VALUES, bound.freeze)
        attempt(WRONG_VALUES, bound.render_hot)
    for output in (attempt(REFUSALS, template.outputs, scope) or {}).values():
        attempt(REFUSALS, output.validate)
        answer(attempt(WRONG_VALUES, output.get_value))
    attempt(WRONG_VALUES, scope.wanted_attributes, "r0")


def answer(value: Any) -> None:
    """What can be resolved can be sent and stored: it is JSON, and not more of it than allowed."""
    sent = json.dumps(value, allow_nan=False)
    assert len(sent) < 10 * limits.current().max_value_size


@FUZZ
@given(strategies.any_templates())
def test_any_template(data: dict[str, Any]) -> None:
    look_at_everything(data)


@settings(FUZZ, max_examples=150)
@given(
    strategies.any_templates().map(
        lambda data: {
            "HeatTemplateFormatVersion": "2012-12-12",
            "Parameters": {"p_text": {"Type": "String", "Default": "x"}},
            "Mappings": data.get("parameters"),
            "Conditions": data.get("conditions"),
            "Resources": data.get("resources"),
            "Outputs": data.get("outputs"),
        }
    )
)
def test_any_template_of_the_other_format(data: dict[str, Any]) -> None:
    look_at_everything({key: value for key, value in data.items() if value is not None})


@settings(FUZZ, max_examples=300)
@given(strategies.ANYTHING)
def test_any_value(snippet: Any) -> None:
    data = {
        "heat_template_version": "2021-04-16",
        "parameters": strategies.PARAMETERS,
        "conditions": {"c0": True, "c1": {"not": "c0"}, "c2": {"equals": [{"get_param": "p_text"}, "text"]}},
        "resources": {name: {"type": "OS::Heat::Value"} for name in strategies.NAMES},
        "outputs": {"o": {"value": snippet}},
    }
    look_at_everything(data)


@settings(FUZZ, max_examples=200)
@given(
    st.dictionaries(st.sampled_from(list(strategies.PARAMETERS)), strategies.ANYTHING, max_size=3),
    st.dictionaries(st.sampled_from(list(strategies.PARAMETERS)), strategies.ANYTHING, max_size=2),
)
def test_any_value_of_parameters(given_values: dict[str, Any], defaults: dict[str, Any]) -> None:
    data = {
        "heat_template_version": "2021-04-16",
        "parameters": strategies.PARAMETERS,
        "outputs": {name: {"value": {"get_param": name}} for name in strategies.PARAMETERS},
    }
    look_at_everything(data, Environment({"parameters": given_values, "parameter_defaults": defaults}))


REGISTRIES = st.recursive(
    strategies.SCALARS,
    lambda inner: st.dictionaries(
        st.sampled_from(
            ["resources", "r0", "a", "a*", "*", "a.yaml", "hooks", "restricted_actions", "OS::Heat::Value"]
        ),
        inner,
        max_size=3,
    ),
    max_leaves=6,
)


@settings(FUZZ, max_examples=200)
@given(REGISTRIES, st.sampled_from(["a", "ab", "b", "OS::Heat::Value", ""]))
def test_any_registry(registry: Any, kind: str) -> None:
    if not isinstance(registry, dict):
        return
    env = attempt(REFUSALS, Environment, {"resource_registry": registry})
    if env is not None:
        attempt(REFUSALS, env.registry.get_resource_info, kind, "r0")
        attempt(REFUSALS, env.registry.matches_hook, "r0", "pre-create")
        json.dumps(env.env_as_dict())


ENVIRONMENTS = st.dictionaries(st.sampled_from([*text.ENVIRONMENT_SECTIONS, "x"]), strategies.ANYTHING, max_size=4)


@settings(FUZZ, max_examples=200)
@given(st.lists(ENVIRONMENTS, min_size=1, max_size=2))
def test_any_environment_files(environments: list[Any]) -> None:
    template = Template({"heat_template_version": "2021-04-16", "parameters": strategies.PARAMETERS})
    files = {str(index): json.dumps(data) for index, data in enumerate(environments)}
    merged: dict[str, Any] = {}
    attempt(REFUSALS, env_merge.merge_environments, list(files), files, merged, template.param_schemata())


TEXTS = st.one_of(
    st.text(max_size=40),
    st.lists(
        st.sampled_from(
            [
                "heat_template_version: ",
                "2021-04-16",
                "\n",
                "a",
                ": ",
                "- ",
                "{",
                "}",
                "[",
                "]",
                ",",
                '"',
                "'",
                "&x ",
                "*x",
                "<<: ",
                "!!int ",
                "!x ",
                "9" * 30,
                "1e999",
                ".nan",
                "NaN",
                "0x",
                "\\ud800",
                "\\u0041",
                "\t",
                "  ",
                "|",
                ">",
                "#",
                "---",
                "\0",
                "\ufeff",
                "1:2",
                "~",
                "parameters",
            ]
        ),
        max_size=25,
    ).map("".join),
)


@settings(FUZZ, max_examples=600)
@given(TEXTS)
def test_any_text(source: str) -> None:
    for parse in (text.parse, text.simple_parse, text.parse_environment):
        found = attempt(REFUSALS, parse, source)
        if found is not None:
            json.dumps(found, allow_nan=False).encode()


@settings(FUZZ, max_examples=150)
@given(strategies.sound_templates(), st.randoms(use_true_random=False))
def test_a_text_with_slips(data: dict[str, Any], random: Any) -> None:
    source = list(random.choice([yaml.safe_dump, json.dumps])(data))
    for _slip in range(random.randint(1, 3)):
        place = random.randrange(len(source))
        source[place] = random.choice(["", ":", " ", "\n", '"', "{", "[", "-", "*", "&", "!", "\t", source[place] * 2])
    found = attempt(REFUSALS, text.parse, "".join(source))
    if found is not None:
        look_at_everything(found)
