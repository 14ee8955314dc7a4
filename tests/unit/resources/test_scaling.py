# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of scaling: new sizes, batches, cooldowns; templates of groups; handlers in steps."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from openkeel_heat.resources.kit import groups, scaling, stepwise

NOW = datetime.datetime(2026, 1, 31, 12, 0, 0)
EARLIER, LATER = "2026-01-31T11:59:30", "2026-01-31T12:00:30.5"

EXACT, CHANGE, PERCENT = scaling.ADJUSTMENT_TYPES


@pytest.mark.parametrize(
    ("current", "adjustment", "kind", "step", "wanted"),
    [
        (3, 1, CHANGE, None, 4),
        (3, -1, CHANGE, None, 2),
        (3, 9, CHANGE, None, 8),  # no more than the maximum
        (3, -9, CHANGE, None, 1),  # no fewer than the minimum
        (3, 1.9, CHANGE, None, 4),  # members are whole
        (3, -1.9, CHANGE, None, 2),
        (3, 5, EXACT, None, 5),
        (3, 0, EXACT, None, 1),
        (3, 5.9, EXACT, None, 5),
        (4, 50, PERCENT, None, 6),
        (4, 60, PERCENT, None, 6),  # 2.4 members more are 2
        (4, -60, PERCENT, None, 2),
        (4, 5, PERCENT, None, 5),  # a fifth of a member is one
        (4, -5, PERCENT, None, 3),
        (4, 5, PERCENT, 3, 7),  # at least three
        (4, -50, PERCENT, 3, 1),
        (6, 100, PERCENT, 3, 8),
        (4, 0, PERCENT, 3, 4),  # nothing is nothing
        (4, 1, CHANGE, 3, 5),  # a step has a meaning for percentages only
        (3, 1, "ChangeInCapacity", None, 4),
        (3, 5, "ExactCapacity", None, 5),
        (4, 50, "PercentChangeInCapacity", None, 6),
    ],
)
def test_new_capacity(current: int, adjustment: float, kind: str, step: int | None, wanted: int) -> None:
    assert scaling.calculate_new_capacity(current, adjustment, kind, step, 1, 8) == wanted


def test_an_empty_group_grows_by_a_percentage() -> None:
    assert scaling.calculate_new_capacity(0, 50, PERCENT, 1, 0, 8) == 1
    assert scaling.calculate_new_capacity(0, -50, PERCENT, 1, 0, 8) == 0


def test_of_limits_that_contradict_each_other_the_maximum_holds() -> None:
    assert scaling.calculate_new_capacity(3, 1, CHANGE, None, 5, 2) == 2


@pytest.mark.parametrize(
    ("target", "capacity", "size", "in_service", "wanted"),
    [
        (0, 0, 1, 0, []),
        (3, 3, 1, 0, [(3, 1), (3, 1), (3, 1)]),
        (3, 3, 2, 0, [(3, 2), (3, 1)]),
        (3, 3, 5, 0, [(3, 3)]),
        (3, 3, 1, 3, [(4, 1), (4, 1), (4, 1), (3, 0)]),
        (3, 3, 2, 3, [(5, 2), (4, 1), (3, 0)]),
        (3, 3, 2, 2, [(4, 2), (3, 1)]),
        (2, 4, 1, 0, [(2, 1), (2, 1)]),
    ],
)
def test_batches(target: int, capacity: int, size: int, in_service: int, wanted: list[tuple[int, int]]) -> None:
    assert list(scaling.batches(target, capacity, size, in_service)) == wanted


@pytest.mark.parametrize("target", range(6))
@pytest.mark.parametrize("capacity", range(6))
@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("in_service", [0, 1, 3, 9])
def test_batches_end_with_the_size_and_every_member_changed(
    target: int, capacity: int, size: int, in_service: int
) -> None:
    plan = list(scaling.batches(target, capacity, size, in_service))
    assert len(plan) <= target + 2
    assert ([capacity, *(step[0] for step in plan)])[-1] == target
    assert sum(changed for _size, changed in plan) >= target
    assert all(changed <= size for _size, changed in plan)
    assert all(after - changed >= min(in_service, target, capacity) for after, changed in plan)


# cooldown -----------------------------------------------------------------------------------------------------------
BUSY, RESTING = "due to scaling activity", "due to cooldown, cooldown 60"


@pytest.mark.parametrize(
    ("metadata", "cooldown", "refusal"),
    [
        ({}, 60, None),
        ({"scaling_in_progress": False}, 60, None),
        ({"scaling_in_progress": True}, 60, BUSY),
        ({"scaling_in_progress": True, "cooldown_end": {EARLIER: ""}}, 0, BUSY),
        ({"cooldown_end": {LATER: ""}}, 60, RESTING),
        ({"cooldown_end": {EARLIER: ""}}, 60, None),
        ({"cooldown_end": {LATER: ""}}, 0, "due to cooldown, cooldown 0"),  # another policy began it
        ({"cooldown_end": {LATER: ""}}, None, "due to cooldown, cooldown 0"),
        ({"cooldown_end": {LATER: ""}}, -5, "due to cooldown, cooldown 0"),
        ({"cooldown_end": {LATER: ""}}, 0.5, "due to cooldown, cooldown 0.5"),
        # as older releases wrote it: the moment of the last change
        ({"cooldown": {EARLIER: ""}}, 60, RESTING),
        ({"cooldown": {EARLIER: ""}}, 20, None),
        ({"cooldown": {EARLIER: ""}}, 0, None),
        ({EARLIER: "ChangeInCapacity : 1"}, 60, RESTING),
        ({EARLIER: "ChangeInCapacity : 1"}, 20, None),
        ({EARLIER: "ChangeInCapacity : 1", "scaling_in_progress": False}, 60, RESTING),
        # what is no moment: metadata of the template
        ({"role": "web"}, 60, None),
        ({"cooldown_end": {}}, 60, None),
    ],
)
def test_refusal(metadata: dict[str, Any], cooldown: float | None, refusal: str | None) -> None:
    assert scaling.refusal(metadata, cooldown, NOW) == refusal


@pytest.mark.parametrize(
    ("metadata", "cooldown", "changed", "wanted"),
    [
        (
            {"role": "web", "scaling_in_progress": True},
            60,
            True,
            {"role": "web", "cooldown_end": {"2026-01-31T12:01:00": "why"}},
        ),
        ({}, None, True, {"cooldown_end": {"2026-01-31T12:00:00": "why"}}),
        ({"cooldown_end": {LATER: "former"}}, 1, True, {"cooldown_end": {LATER: "why"}}),
        ({"cooldown_end": {LATER: "former"}}, 600, False, {"cooldown_end": {LATER: "former"}}),
    ],
)
def test_finished(metadata: dict[str, Any], cooldown: float | None, changed: bool, wanted: dict[str, Any]) -> None:
    assert scaling.finished(metadata, cooldown, "why", changed, NOW) == {**wanted, "scaling_in_progress": False}


def test_reset() -> None:
    assert scaling.reset({"scaling_in_progress": True, "a": 1}) == {"scaling_in_progress": False, "a": 1}
    assert scaling.reset({"a": 1}) == {"a": 1}


# templates ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "version", [("heat_template_version", "2015-04-30"), ("HeatTemplateFormatVersion", "2012-12-12")]
)
def test_members_are_read_as_they_were_written(version: tuple[str, str]) -> None:
    members = [("a", {"type": "T", "properties": {"type": 1}, "metadata": {}}), ("b", {"type": "T"})]
    template = groups.make_template(members, {"refs": 1}, version)
    assert list(groups.member_snippets(template).items()) == members
    assert groups.member_snippets(groups.make_template([], version=version)) == {}


def test_a_template_of_cloudformation() -> None:
    template = groups.make_template(
        [("a", {"type": "T", "deletion_policy": "Retain"})],
        {"o": {"Ref": "a"}},
        ("HeatTemplateFormatVersion", "2012-12-12"),
    )
    assert template == {
        "HeatTemplateFormatVersion": "2012-12-12",
        "Resources": {"a": {"Type": "T", "DeletionPolicy": "Retain"}},
        "Outputs": {"o": {"Value": {"Ref": "a"}}},
    }


# steps --------------------------------------------------------------------------------------------------------------
class Polled:
    poll_after: float | None = None
    poll_interval = 1.0

    def wake_key(self) -> str:
        return "key"


def test_a_handler_in_steps() -> None:
    done = []

    def steps() -> stepwise.Steps:
        yield None
        yield 5.0
        done.append("end")

    resource: Any = Polled()
    handler = stepwise.Stepwise(resource, steps())
    assert resource.poll_after is None and not handler.done
    assert not handler.advance() and resource.poll_after == 5.0
    assert handler.advance() and done == ["end"]
    assert handler.advance()


def test_an_interrupted_handler_clears_up_and_ends() -> None:
    seen = []

    def steps() -> stepwise.Steps:
        try:
            yield None
        except ValueError as ex:
            seen.append(str(ex))
            yield None
            raise

    resource: Any = Polled()
    handler = stepwise.Stepwise(resource, steps())
    handler.interrupt(ValueError("stop"))
    handler.interrupt(ValueError("again"))
    assert seen == ["stop"] and handler.advance()


def test_pauses_grow_up_to_the_interval_and_wake_on_the_members() -> None:
    def steps() -> stepwise.Steps:
        yield from [None, None, 7.0, None, None, None, None, None]

    resource: Any = Polled()
    pauses = list(stepwise.pauses(resource, steps()))
    assert [pause.seconds for pause in pauses] == [0.05, 0.1, 7.0, 0.4, 0.8, 1.0, 1.0, 1.0]
    assert {pause.wake_on for pause in pauses} == {"key"}
