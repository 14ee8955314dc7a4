# SPDX-License-Identifier: Apache-2.0
"""A stack is deleted, or its update cancelled, while the compute service is just making its servers: none is left.

The requests stand still at the proxy: one before the service sees it, one before its answer is seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fixtures.api import Stack
from tests.fixtures.faulty_proxy import Hold, Rule
from tests.fixtures.polling import until
from tests.functional.cloud.conftest import Faulty

pytestmark = [pytest.mark.cloud, pytest.mark.keystone, pytest.mark.services, pytest.mark.timeout(900)]

LIMIT = 500.0


def template(*servers: str) -> dict[str, Any]:
    props = {"image": "cirros", "flavor": "m1.tiny", "networks": [{"allocate_network": "none"}]}
    resources: dict[str, Any] = {name: {"type": "OS::Nova::Server", "properties": props} for name in servers}
    return {
        "heat_template_version": "2021-04-16",
        "resources": {"word": {"type": "OS::Heat::RandomString"}, **resources},
    }


@pytest.fixture
def started(faulty: Faulty) -> Iterator[list[Stack]]:
    """Stacks of the test; none of them, and nothing of theirs, is left."""
    stacks: list[Stack] = []
    yield stacks
    faulty.proxy.mend()
    for stack in stacks:
        stack.delete(wait=False)
        stack.wait_gone(LIMIT)
        assert faulty.objects(stack.name) == []


def held(faulty: Faulty) -> list[Rule]:
    """Of the next two servers that are asked for one is not made yet, and one is made."""
    return [faulty.proxy.when("compute", "POST", "/servers$", Hold(carried_out=made)) for made in (False, True)]


def wait_for(rules: list[Rule]) -> None:
    until(lambda: all(rule.met.is_set() for rule in rules), "both servers are asked for", LIMIT)


def let_go(rules: list[Rule]) -> None:
    for rule in rules:
        assert isinstance(rule.happening, Hold)
        rule.happening.let_go()


def test_a_stack_deleted_while_its_servers_are_made(faulty: Faulty, started: list[Stack]) -> None:
    rules = held(faulty)
    stack = faulty.api().create(template("one", "two"), wait=False)
    started.append(stack)
    wait_for(rules)
    stack.delete(wait=False)
    until(lambda: stack.status == "DELETE_IN_PROGRESS", "the deletion has begun", LIMIT)
    let_go(rules)
    stack.wait_gone(LIMIT)
    assert faulty.objects(stack.name) == []


def test_an_update_cancelled_while_it_makes_servers(faulty: Faulty, started: list[Stack]) -> None:
    stack = faulty.api().create(template(), wait=False)
    started.append(stack)
    stack.wait("CREATE_COMPLETE", limit=LIMIT)
    rules = held(faulty)
    stack.update(template("one", "two"), wait=None)
    wait_for(rules)
    stack.action("cancel_update")
    until(lambda: stack.status == "ROLLBACK_IN_PROGRESS", "the rollback has begun", LIMIT)
    let_go(rules)
    stack.wait("ROLLBACK_COMPLETE", limit=LIMIT)
    assert faulty.objects(stack.name) == [] and set(stack.resources()) == {"word"}


def test_an_update_stopped_while_it_makes_servers_goes_on_with_the_next(faulty: Faulty, started: list[Stack]) -> None:
    """Without a rollback what was begun stays with the stack; the next update has one server each."""
    stack = faulty.api().create(template(), wait=False)
    started.append(stack)
    stack.wait("CREATE_COMPLETE", limit=LIMIT)
    rules = held(faulty)
    stack.update(template("one", "two"), wait=None)
    wait_for(rules)
    stack.action("cancel_without_rollback")
    let_go(rules)
    stack.wait("UPDATE_FAILED", limit=LIMIT)
    assert stack.show()["stack_status_reason"] == "Stack UPDATE cancelled"
    stack.update(template("one", "two"), wait=None)
    stack.wait("UPDATE_COMPLETE", limit=LIMIT)
    assert len(faulty.objects(stack.name)) == 2
