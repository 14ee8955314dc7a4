# SPDX-License-Identifier: Apache-2.0
"""The recorded answers of Heat 27.0.1 are ours, on the embedded form and on the three daemons."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixtures import conformance, testbed
from tests.fixtures.service import AllInOne, Installation

FILES = ("stacks", "validation", "nested", "signals", "software")
CASES = [pytest.param(name, scenario, id=name) for name, scenario in conformance.scenarios(*FILES)]


def check(name: str, scenario: dict[str, Any], url: str, env: dict[str, str], has_keystone: bool = True) -> None:
    exchanges, failures = conformance.run(scenario, url, env)
    problems = failures + conformance.differences(conformance.recording(name), exchanges, has_keystone)
    if problems:
        pytest.fail("\n".join(problems[:100]), pytrace=False)


DISCOVERY = [pytest.param(name, scenario, id=name) for name, scenario in conformance.scenarios("discovery")]
CLOUD = [pytest.param(name, scenario, id=name) for name, scenario in conformance.scenarios("cloud")]


def test_all_scenarios_are_here() -> None:
    assert (len(CLOUD), len(DISCOVERY)) == (2, 1)
    assert len(CASES) == 21


@pytest.mark.parametrize(("name", "scenario"), CASES)
def test_embedded(cloud: AllInOne, name: str, scenario: dict[str, Any]) -> None:
    check(name, scenario, cloud.url, {"OS_AUTH_TYPE": "none"}, has_keystone=False)


@pytest.mark.services
@pytest.mark.keystone
@pytest.mark.parametrize(("name", "scenario"), CASES)
def test_three_daemons(three_daemons: tuple[Installation, str], name: str, scenario: dict[str, Any]) -> None:
    check(name, scenario, three_daemons[1], testbed.demo_environment())


@pytest.mark.services
@pytest.mark.keystone
@pytest.mark.parametrize(("name", "scenario"), DISCOVERY)
def test_discovery(three_daemons: tuple[Installation, str], name: str, scenario: dict[str, Any]) -> None:
    """Types, their schemas and templates, versions and functions; descriptions are in words of our own."""
    exchanges, failures = conformance.run(scenario, three_daemons[1], testbed.demo_environment())
    recorded, ours = (conformance.without_descriptions(one) for one in (conformance.recording(name), exchanges))
    problems = failures + conformance.differences(recorded, ours)
    if problems:
        pytest.fail("\n".join(problems[:400]), pytrace=False)


@pytest.mark.cloud
@pytest.mark.services
@pytest.mark.keystone
@pytest.mark.parametrize(("name", "scenario"), CLOUD)
def test_cloud(three_daemons: tuple[Installation, str], name: str, scenario: dict[str, Any]) -> None:
    """Resources of real services; the recording was made on the same test bed."""
    check(name, scenario, three_daemons[1], testbed.demo_environment())
