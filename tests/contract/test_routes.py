# SPDX-License-Identifier: Apache-2.0
"""The table of the native API against the recorded one: every path and method, policy rule and answer class."""

from __future__ import annotations

import configparser
import pathlib
from typing import Any

import pytest

from openkeel_heat.api import paste
from openkeel_heat.api.middleware import fault
from openkeel_heat.api.native import routes
from openkeel_heat.common import exceptions, policies
from tests.contract import api_harness as harness

RECORDED = harness.load("routes.json")
NATIVE = RECORDED["native"]
ACTIONS = [route for route in NATIVE if route["kind"] == "action"]
OURS = [row for row in routes.table() if isinstance(row, routes.Route)]
MISSING = [row for row in routes.table() if isinstance(row, routes.Missing)]


def key(methods: list[str], path: str) -> tuple[str, str]:
    return ",".join(methods), path


def test_every_route_in_its_order() -> None:
    recorded = [key(route["methods"], route["path"]) for route in ACTIONS]
    ours = [(row.methods, "/v1" + row.path) for row in OURS]
    assert ours == recorded
    print(f"routes: {len(ours)} rows, {sum(len(row.methods.split(',')) for row in OURS)} path and method pairs")


@pytest.mark.parametrize("kind", ["reject", "options"])
def test_twins(kind: str) -> None:
    recorded = {
        (route["path"], tuple(route["methods"]), route["allowed_methods"])
        for route in NATIVE
        if route["kind"] == kind and route["methods"]
    }
    ours = {
        ("/v1" + row.path, row.methods, row.allowed)
        for row in MISSING
        if (row.methods == ("OPTIONS",)) is (kind == "options")
    }
    assert ours == recorded
    print(f"{kind}: {len(ours)}")


@pytest.mark.parametrize("recorded", ACTIONS, ids=lambda r: f"{','.join(r['methods'])} {r['path']}")
def test_policy(recorded: dict[str, Any]) -> None:
    row = next(r for r in OURS if (r.methods, "/v1" + r.path) == key(recorded["methods"], recorded["path"]))
    registered = {rule.name for rule in policies.list_rules()}
    if isinstance(recorded["policy"], str):
        assert row.policy == recorded["policy"]
        assert row.policy in registered
    else:
        assert row.policy in (routes.PROJECT_ONLY, routes.BY_FUNCTION)
        assert set(recorded["policy"]) <= registered
    # These pass the stack on as one identity; the recording has it for all but the actions, which do it later.
    assert row.identified_stack == recorded["identified_stack"] or row.policy == routes.BY_FUNCTION


#: Errors of the client's making that Heat answers with 500.
BETTER_STATUS = {"InvalidExternalResourceDependency": 400, "InvalidRestrictedAction": 400}


def test_fault_map() -> None:
    recorded = RECORDED["fault_error_map"]
    ours = {name: {"status": error.code, "title": error.title} for name, error in fault.ERROR_STATUS.items()}
    assert {name: ours.pop(name)["status"] for name in BETTER_STATUS} == BETTER_STATUS
    assert ours == recorded
    print(f"error map: {len(ours)}")


def test_native_status_of_every_error() -> None:
    """What each class of the vocabulary becomes, by itself and through its bases."""
    count = 0
    for name, recorded in harness.load("exceptions.json")["heat.common.exception"].items():
        status = recorded.get("native_status")
        if status is None:
            continue
        assert fault.http_error(getattr(exceptions, name)).code == BETTER_STATUS.get(name, status), name
        count += 1
    assert count > 60
    print(f"statuses of errors: {count}")


# --- api-paste.ini


def _sections(path: pathlib.Path) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser(delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(path.read_text().replace("\n/: ", "\n/ = ").replace("\n/healthcheck: ", "\n/healthcheck = "))
    return {name: dict(parser.items(name)) for name in parser.sections()}


def test_our_paste_file_has_heats_pipelines() -> None:
    ini = pathlib.Path(__file__).parents[2] / "etc" / "heat" / "api-paste.ini"
    ours = _sections(ini)
    recorded = harness.load("paste.json")["sections"]
    # CloudWatch is gone; its filter is a leftover of Heat's file.
    assert set(recorded) - set(ours) == {"filter:cwversionnegotiation"}
    for name, section in recorded.items():
        if name not in ours or name == "filter:cors":  # ours reads the configuration of the process
            continue
        for option, value in section.items():
            found: Any = ours[name][option]
            if isinstance(value, list):
                assert found.split() == value
            elif value in paste.EXPORTS:
                assert found == paste.EXPORTS[value]
                assert paste.resolve(found) is paste.resolve(value)
            else:
                assert found == value


@pytest.mark.parametrize("name", sorted(paste.EXPORTS))
def test_factories_exist(name: str) -> None:
    assert callable(paste.resolve(name))
