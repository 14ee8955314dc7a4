# SPDX-License-Identifier: Apache-2.0
"""A nested stack that its user deletes by itself, behind the back of the stack that holds it."""

from __future__ import annotations

from typing import Any

import pytest

from openkeel_heat.db import stacks
from tests.fixtures import templates
from tests.fixtures.polling import until
from tests.unit.engine.convergence.life import Life

hot = templates.hot

MEMBER = (
    "heat_template_version: 2018-08-31\nparameters: {v: {type: string}}\nresources:\n"
    "  inner: {type: OS::Heat::TestResource,\n"
    "          properties: {value: {get_param: v}, action_wait_secs: {create: %d}}}\n"
)


def holder(value: str) -> Any:
    return hot({"m": {"type": "member.yaml", "properties": {"v": value}}})


def identity_of(child_id: str) -> dict[str, str]:
    row = stacks.get(child_id)
    return {"tenant": row.tenant, "stack_name": row.name, "stack_id": row.id, "path": ""}


def change(life: Life, value: str) -> None:
    life.client.update_stack(life.engine.context(), life.identity, holder(value), {}, {"member.yaml": MEMBER % 0}, {})


def test_the_next_update_makes_another(life):
    life.create(holder("1"), files={"member.yaml": MEMBER % 0})
    child = life.resources()["m"].nova_instance
    life.client.delete_stack(life.engine.context(), identity_of(child), cast=False)
    until(lambda: stacks.get(child) is None, "the nested stack is gone")
    change(life, "2")
    life.settle("UPDATE_COMPLETE")
    successor = life.resources()["m"].nova_instance
    assert successor != child and stacks.get(successor).status == "COMPLETE"


@pytest.mark.parametrize("status", ["IN_PROGRESS", "FAILED"])
def test_one_that_is_being_deleted_is_not_waited_for(life, status):
    """Its creation was stopped and its deletion begun between two looks at it."""
    life.create(holder("1"), files={"member.yaml": MEMBER % 20}, wait=False)
    child = until(lambda: life.resources()["m"].nova_instance, "the nested stack is there")
    stacks.update(child, {"action": "DELETE", "status": status})
    reason = life.settle_state("CREATE_FAILED", 10).status_reason
    assert reason == f"Resource CREATE failed: EntityNotFound: resources.m: The Stack ({child}) could not be found."
    stacks.update(child, {"action": "CREATE", "status": "IN_PROGRESS"})
