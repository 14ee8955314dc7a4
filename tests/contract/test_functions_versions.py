# SPDX-License-Identifier: Apache-2.0
"""What each version of the language has: functions, sections, keys, policies; and how templates are read."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from openkeel_heat.template import Template, environment, nodes, text
from openkeel_heat.template.attributes import select_from_attribute
from openkeel_heat.template.functions.references import Removed
from openkeel_heat.template.template import get_template_class, template_classes

FOLDER = pathlib.Path(__file__).parent / "data"
FUNCTIONS = json.loads((FOLDER / "functions.json").read_text())
MISC = json.loads((FOLDER / "misc-vectors.json").read_text())


@pytest.fixture(autouse=True)
def no_global_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_global", None)


def class_of(version: str) -> Any:
    key, _dot, value = version.partition(".")
    return get_template_class({key: value})


def error_of(exc: Exception) -> dict[str, str]:
    return {"class": type(exc).__name__, "message": str(exc)}


def by_class_name() -> dict[str, Any]:
    return {class_of("%s.%s" % version).__name__: class_of("%s.%s" % version) for version in template_classes()}


@pytest.mark.parametrize("name", list(FUNCTIONS["classes"]))
def test_what_a_version_has(name: str) -> None:
    facts = FUNCTIONS["classes"][name]
    cls = by_class_name()[name]
    assert list(cls.SECTIONS) == facts["sections"]
    assert dict(cls.deletion_policies) == facts["deletion_policies"]
    assert list(cls.RESOURCE_KEYS) == facts["resource_keys"]
    assert list(cls.OUTPUT_KEYS) == facts["output_keys"]
    for table, mine in ((facts["functions"], cls.functions), (facts["condition_functions"], cls.condition_functions)):
        assert set(mine) == set(table)
        for function, entry in table.items():
            node = mine[function]
            assert (node is Removed) is entry["removed"], function
            assert node.__name__ == entry["class"].rpartition(".")[2], function
            assert bool(getattr(node, "is_macro", False)) is entry["macro"], function
    if "parameter_schema_keys" in facts:
        assert list(cls.param_schema_class.KEYS) == facts["parameter_schema_keys"]
        assert list(cls.param_schema_class.TYPES) == facts["parameter_types"]


@pytest.mark.parametrize(("version", "policies"), list(MISC["deletion_policies"].items()))
def test_deletion_policies(version: str, policies: dict[str, str]) -> None:
    assert dict(class_of(version).deletion_policies) == policies


def test_an_empty_template() -> None:
    assert list(Template.create_empty_template().version) == FUNCTIONS["default_empty_template_version"]


@pytest.mark.parametrize("vector", MISC["template_format.parse"], ids=lambda v: repr(v["args"][0])[:60])
def test_texts(vector: dict[str, Any]) -> None:
    try:
        parsed = text.parse(*vector["args"])
    except ValueError as exc:
        # where in the text the error is, is left out of the vectors
        kept = [line for line in str(exc).splitlines() if not line.startswith(("  in ", "    "))]
        assert {"class": "ValueError", "message": "\n".join(kept)} == vector["error"]
    else:
        assert parsed == vector["result"]


def sections(data: dict[str, Any]) -> dict[str, Any]:
    template = Template(data)
    out: dict[str, Any] = {"class": type(template).__name__}
    for section in template.SECTIONS:
        try:
            out[section] = template[section]
        except Exception as exc:
            out[section] = error_of(exc)
    return out


@pytest.mark.parametrize("vector", MISC["Template"], ids=lambda v: json.dumps(v["args"][0])[:80])
def test_sections(vector: dict[str, Any]) -> None:
    try:
        got = sections(vector["args"][0])
    except Exception as exc:
        want = vector["error"]
        if "any order" in want["message"]:
            assert str(exc).startswith(want["message"].partition("<")[0])
        else:
            assert error_of(exc) == want
        return
    want = dict(vector["result"])
    if want.get("resources", {}).get("class") == "AttributeError":
        # a list of resources: the same words, in an error that crosses every wire
        want["resources"] = {**want["resources"], "class": "StackValidationFailed"}
    assert got == want


@pytest.mark.parametrize("vector", MISC["Template.validate"], ids=lambda v: json.dumps(v["args"][0])[:80])
def test_validation(vector: dict[str, Any]) -> None:
    try:
        Template(vector["args"][0]).validate()
    except Exception as exc:
        assert error_of(exc) == vector["error"]
    else:
        assert vector["result"] == "valid"


@pytest.mark.parametrize("vector", MISC["select_from_attribute"], ids=lambda v: json.dumps(v["args"]))
def test_paths_into_attributes(vector: dict[str, Any]) -> None:
    value, path = vector["args"]
    if value == {"1": "x"} and path == [1] and vector["result"] == "x":
        # the key was a number, which JSON turns into a text
        value = {1: "x"}
    assert select_from_attribute(value, path) == vector["result"]


def test_functions_in_conditions_are_told_apart() -> None:
    table = Template({"heat_template_version": "2016-10-14"}).parser_condition_functions()
    assert table["get_file"] is nodes.Invalid
    assert table["Ref"] is Removed
