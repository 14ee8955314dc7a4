# SPDX-License-Identifier: Apache-2.0
"""Values, conversions and error texts of properties and constraints, as recorded of Heat."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from openkeel_heat.resources.kit import attributes, constraints, properties
from openkeel_heat.resources.kit.resource import Resource

VECTORS = json.loads((pathlib.Path(__file__).parent / "data" / "misc-vectors.json").read_text())
S = properties.Schema

INNER = {"k": S(S.STRING, required=True), "n": S(S.INTEGER, default=3)}

NAMED_SCHEMATA = {
    "map{k: String required, n: Integer default 3}": S(S.MAP, schema=INNER),
    "list of map{k, n}": S(S.LIST, schema=S(S.MAP, schema=INNER)),
}

NAMED_CONSTRAINTS = {
    "Range(1,3)": ("Integer", constraints.Range(1, 3)),
    "Range(min=1)": ("Number", constraints.Range(min=1)),
    "Range(max=1)": ("Number", constraints.Range(max=1)),
    "Length(1,3)": ("String", constraints.Length(1, 3)),
    "Length list": ("List", constraints.Length(max=1)),
    "Length map": ("Map", constraints.Length(min=1)),
    "Modulo(2,1)": ("Integer", constraints.Modulo(2, 1)),
    "AllowedValues": ("String", constraints.AllowedValues(["a", "b"])),
    "AllowedValues ints": ("Integer", constraints.AllowedValues([1, 2])),
    "AllowedValues list": ("List", constraints.AllowedValues(["a", "b"])),
    "AllowedPattern": ("String", constraints.AllowedPattern("[a-z]+")),
    "described": ("Integer", constraints.Range(1, 3, description="MY MESSAGE")),
}


def _error(ex: Exception) -> dict[str, str]:
    return {"class": type(ex).__name__, "message": str(ex)}


def outcome(schema: Any, value: Any) -> dict[str, Any]:
    # A null in the vectors stands for a value that is not given.
    data = {} if value is None else {"p": value}
    found: dict[str, Any] = {}
    try:
        properties.Properties({"p": schema}, data).validate()
        found["valid"] = True
    except Exception as ex:
        found["validate_error"] = _error(ex)
    try:
        got = properties.Properties({"p": schema}, data)["p"]
        found.update(value=got, value_type=type(got).__name__)
    except Exception as ex:
        found["value_error"] = _error(ex)
    return found


def ids(vectors: list[dict[str, Any]]) -> list[str]:
    return [
        "%d-%s" % (index, vector.get("schema") or vector.get("constraint") or vector.get("type"))
        for index, vector in enumerate(vectors)
    ]


def _value(raw: Any) -> Any:
    if isinstance(raw, dict) and set(raw) == {"__float__"}:
        return float(raw["__float__"])
    return raw


@pytest.mark.parametrize("vector", VECTORS["property_values"], ids=ids(VECTORS["property_values"]))
def test_property_value(vector: dict[str, Any]) -> None:
    if "schema" in vector:
        schema = NAMED_SCHEMATA[vector["schema"]]
    else:
        schema = S(vector["type"], default=vector.get("default"), required=vector.get("required", False))
    assert outcome(schema, _value(vector["value"])) == vector["result"]


@pytest.mark.parametrize("vector", VECTORS["constraint_messages"], ids=ids(VECTORS["constraint_messages"]))
def test_constraint_text(vector: dict[str, Any]) -> None:
    _kind, constraint = NAMED_CONSTRAINTS[vector["constraint"]]
    assert outcome(S(vector["type"], constraints=[constraint]), vector["value"]) == vector["result"]


def test_select_from_attribute() -> None:
    for vector in VECTORS["select_from_attribute"]:
        value, path = vector["args"]
        found = [attributes.select_from_attribute(value, path)]
        if isinstance(value, dict) and any(isinstance(key, int) for key in path):
            # JSON made text of keys that were numbers; the vectors have both kinds.
            with_numbers = {int(key) if key.isdigit() else key: entry for key, entry in value.items()}
            found.append(attributes.select_from_attribute(with_numbers, path))
        assert vector["result"] in found, vector


def test_reduce_physical_resource_name() -> None:
    for vector in VECTORS["reduce_physical_resource_name"]:
        if "error" in vector:
            with pytest.raises((ValueError, TypeError)) as caught:
                Resource.reduce_physical_resource_name(*vector["args"])
            assert _error(caught.value) == vector["error"]
        else:
            assert Resource.reduce_physical_resource_name(*vector["args"]) == vector["result"]


def test_deletion_policies() -> None:
    for policy in VECTORS["deletion_policy_values"]:
        if policy != "Snapshot":
            Resource.validate_deletion_policy(policy)
