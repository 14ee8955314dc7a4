# SPDX-License-Identifier: Apache-2.0
"""Entry points: those that we declare are Heat's, and each of them resolves; commands are Heat's and more."""

from __future__ import annotations

import importlib
import json
import pathlib
import tomllib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
THEIRS = json.loads((ROOT / "tests" / "contract" / "data" / "entry-points.json").read_text())["entry_points"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OURS = PROJECT["entry-points"]

# Types of these services come with issues of their own, and their clients and constraints with them.
SERVED = {"heat.clients": 5, "heat.constraints": 15, "heat.templates": 19}
CASES = [(group, name) for group, names in OURS.items() for name in names]


@pytest.mark.parametrize(("group", "name"), CASES)
def test_declared(group: str, name: str) -> None:
    value = OURS[group][name]
    if name in THEIRS.get(group, {}):
        assert value == THEIRS[group][name]
    module, _, attribute = value.partition(":")
    assert getattr(importlib.import_module(module), attribute) is not None


@pytest.mark.parametrize("group", sorted(THEIRS))
def test_theirs(group: str) -> None:
    if group == "wsgi_scripts":
        for name in THEIRS[group]:
            assert (ROOT / "openkeel_heat" / "cmd" / "scripts" / name).exists()
        return
    ours = PROJECT["scripts"] if group == "console_scripts" else OURS.get(group, {})
    served = [name for name in THEIRS[group] if name in ours]
    print(f"{group}: {len(served)} of {len(THEIRS[group])}")
    assert len(served) >= SERVED.get(group, len(THEIRS[group]))
