# SPDX-License-Identifier: Apache-2.0
"""Small facts that both sides of every wire rely on: identities, names, arguments, times."""

from __future__ import annotations

import datetime
import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from openkeel_heat.common import clock, names, params
from openkeel_heat.common.identifier import EventIdentifier, HeatIdentifier, ResourceIdentifier

DATA = pathlib.Path(__file__).parent / "data"
MISC = json.loads((DATA / "misc-vectors.json").read_text())
IDENTITY = json.loads((DATA / "rpc.json").read_text())["stack_identity"]


def _parse_adopt(text: str) -> Any:
    parsed = yaml.safe_load(text)
    if not isinstance(parsed, dict):
        raise ValueError("The template is not a JSON object or YAML mapping.")
    return parsed


def _isotime(text: str | None) -> str | None:
    return clock.isotime(None if text is None else datetime.datetime.fromisoformat(text))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "HeatIdentifier": lambda *args: dict(HeatIdentifier(*args)),
    "HeatIdentifier.arn": lambda *args: HeatIdentifier(*args).arn(),
    "HeatIdentifier.from_arn": lambda arn: dict(HeatIdentifier.from_arn(arn)),
    "HeatIdentifier.from_arn_url": lambda url: dict(HeatIdentifier.from_arn_url(url)),
    "ResourceIdentifier": lambda *args: dict(ResourceIdentifier(*args)),
    "extract_args": lambda given: params.extract_args(given, _parse_adopt),
    "extract_bool": lambda value: params.extract_bool("n", value),
    "extract_int": lambda *args: params.extract_int("n", *args),
    "extract_tags": params.extract_tags,
    "extract_template_type": params.extract_template_type,
    "isotime": _isotime,
    "parse_isoduration": clock.parse_isoduration,
    "reduce_physical_resource_name": names.reduce_physical_resource_name,
    "short_id.get_id": names.short_id,
    "translate_filters": params.translate_filters,
}

CASES = [(name, case) for name in FUNCTIONS for case in MISC[name]]


@pytest.mark.parametrize(("name", "case"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_vectors(name: str, case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises((ValueError, TypeError)) as raised:
            FUNCTIONS[name](*case["args"])
        assert type(raised.value).__name__ == case["error"]["class"]
        if case["error"]["class"] == "ValueError":
            assert str(raised.value) == case["error"]["message"]
    else:
        assert FUNCTIONS[name](*case["args"]) == case["result"]


def test_count() -> None:
    print(f"{len(CASES)} vectors of {len(FUNCTIONS)} helpers")
    assert len(CASES) > 120


def test_written_forms() -> None:
    wanted = IDENTITY["examples"]
    resource = ResourceIdentifier("t e", "n", "id1", "", "a b")
    assert resource.arn_url_path() == wanted["arn_url_path"]
    assert resource.url_path() == wanted["url_path"]
    assert ResourceIdentifier("t e", "n-1", "id1", "", "a b").arn() == wanted["arn"]
    stack = HeatIdentifier("t", "n", "id1")
    assert dict(stack) == wanted["stack"]
    assert dict(ResourceIdentifier(**stack, resource_name="res")) == wanted["resource"]
    event = EventIdentifier(**ResourceIdentifier(**stack, resource_name="res"), event_id="ev1")
    assert dict(event) == wanted["event"]
    assert (event.event_id, event.resource_name) == ("ev1", "res")
    assert dict(event.stack()) == dict(stack)
    assert dict(event.resource().stack()) == dict(stack)


def test_attributes() -> None:
    identity = HeatIdentifier("t", "s", "i")
    assert (identity.tenant, identity.stack_name, identity.stack_id, identity.path) == ("t", "s", "i", "")
    assert ResourceIdentifier("t", "s", "i", "/resources/r").resource_name == "r"
    with pytest.raises(AttributeError):
        identity.nonsense  # noqa: B018
    with pytest.raises(KeyError):
        identity["nonsense"]
    for written in (identity.arn(), ResourceIdentifier("t/:", "s ü", "i", "", "r é:x").arn()):
        assert HeatIdentifier.from_arn(written).arn() == written
