# SPDX-License-Identifier: Apache-2.0
"""The templates of the public heat-templates collection, read as Heat 27.0.1 reads them.

The collection is not part of the project; the test is skipped where it is
absent (:mod:`tests.fixtures.corpus`).
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from openkeel_heat.template import Template, environment, text
from openkeel_heat.template.environment import Environment
from openkeel_heat.template.scope import StackDefinition
from tests.fixtures.corpus import CORPUS, EXPECTED, needs_corpus

HERE = pathlib.Path(__file__).resolve()
TYPES = json.loads((HERE.parent / "data" / "resource-types.json").read_text())["types"]

pytestmark = needs_corpus


def read(path: pathlib.Path, given: dict[str, Any]) -> dict[str, Any]:
    data = text.parse(path.read_text())
    template = Template(data)
    result: dict[str, Any] = {"version": list(template.version)}
    schemata = template.param_schemata()
    result["parameters"] = {
        name: {"type": schema.type, "hidden": schema.hidden, "required": schema.required}
        for name, schema in schemata.items()
    }
    result["given"] = {name: given.get(name, "x") for name, schema in schemata.items() if schema.required}
    template.env = Environment({"parameters": result["given"]})
    stack = StackDefinition(template)
    result["resources"] = {name: definition.resource_type for name, definition in stack.resource_definitions().items()}
    result["outputs"] = sorted(stack.enabled_output_names())
    weak = {
        name for name, kind in result["resources"].items() if not TYPES.get(kind, {}).get("strict_dependency", True)
    }
    graph = stack.dependencies(weak)
    result["requires"] = {name: sorted(graph.requires(name)) for name in result["resources"]}
    return result


@pytest.fixture(autouse=True)
def no_global_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_global", None)


@pytest.mark.parametrize("name", list(EXPECTED))
def test_template(name: str) -> None:
    assert CORPUS is not None
    expected = EXPECTED[name]
    try:
        got = read(CORPUS / name, expected.get("given", {}))
    except Exception as exc:
        assert "error" in expected
        assert str(exc) == expected["error"]["message"]
        return
    if "error" in expected:
        # the rest has no class, which only the registry of types knows
        assert "could not be found" in expected["error"]["message"]
        del got["requires"]
        expected = {key: value for key, value in expected.items() if key != "error"}
    assert got == expected


def test_no_template_is_left_out() -> None:
    print("%d templates" % len(EXPECTED))
    assert len(EXPECTED) == 160
