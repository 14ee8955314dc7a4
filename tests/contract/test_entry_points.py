# SPDX-License-Identifier: Apache-2.0
"""Entry points: what other programs find by name, and paste files."""

from __future__ import annotations

import importlib
import json
import pathlib
import tomllib
from typing import Any

import pytest

from openkeel_heat.compat import finder

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
WANTED = json.loads((HERE / "data" / "entry-points.json").read_text())["entry_points"]
PASTE = json.loads((HERE / "data" / "paste.json").read_text())["sections"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OURS = PROJECT["entry-points"]

GENERATORS = ("oslo.config.opts", "oslo.config.opts.defaults", "oslo.policy.enforcer", "oslo.policy.policies")
FACTORIES = sorted(
    {
        value
        for section in PASTE.values()
        for key, value in section.items()
        if isinstance(value, str) and ":" in value and value.startswith("heat.")
    }
)


def loaded(reference: str) -> Any:
    module, _, attribute = reference.partition(":")
    return getattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize("group", GENERATORS)
def test_generators_find_us(group: str) -> None:
    for name in WANTED[group]:
        assert callable(loaded(OURS[group][name])), name
        assert callable(loaded(WANTED[group][name])), name


def test_console_scripts() -> None:
    assert set(WANTED["console_scripts"]) <= set(PROJECT["scripts"])


@pytest.mark.parametrize("reference", FACTORIES)
def test_paste_factories(reference: str) -> None:
    assert callable(loaded(reference))


@pytest.mark.parametrize("module", ["heat.wsgi.api", "heat.wsgi.cfn"])
def test_wsgi_modules(module: str) -> None:
    assert callable(importlib.import_module(module).application)


def test_sample_of_the_generator() -> None:
    """Each namespace lists options that the generator can write."""
    from oslo_config import cfg

    total = 0
    for name, reference in OURS["oslo.config.opts"].items():
        for group, options in loaded(reference)():
            assert group is None or isinstance(group, str), name
            for option in options:
                assert isinstance(option, cfg.Opt)
                total += 1
    rules = loaded(OURS["oslo.policy.policies"]["heat"])()
    print(f"{total} options, {len(rules)} rules, {len(FACTORIES)} paste factories, {len(GENERATORS)} generator groups")
    assert len(rules) == 100


def test_the_finder_is_there_once() -> None:
    assert finder.install() is finder.install()
