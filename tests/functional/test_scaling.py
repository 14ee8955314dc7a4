# SPDX-License-Identifier: Apache-2.0
"""Groups that scale: as Heat 27.0.1 does it (recorded), better where that leaves work undone, and through deaths.

The lives are in ``tests/fixtures/scaling.py``; ``data/scaling-lives.json`` is what 27.0.1 tells of them. With the
reference at hand it is asked again.
"""

from __future__ import annotations

import json
import pathlib
import threading
from collections import Counter
from typing import Any

import pytest

from tests.fixtures import scaling, testbed
from tests.fixtures.api import Api
from tests.fixtures.polling import until
from tests.fixtures.scaling import Group, member, policy, template
from tests.fixtures.service import AllInOne, Installation

RECORDED: dict[str, Any] = json.loads((pathlib.Path(__file__).parent / "data" / "scaling-lives.json").read_text())

NAMES = list(scaling.LIVES)
#: These take Heat 27.0.1 minutes.
LONG = {"batches", "definitions"}


def lived(name: str, api: Api) -> Any:
    """The transcript, as JSON gives it back."""
    return json.loads(json.dumps(scaling.LIVES[name](api)))


def test_every_life_is_recorded() -> None:
    assert sorted(RECORDED) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_embedded(api: Api, name: str) -> None:
    assert lived(name, api) == RECORDED[name]


@pytest.mark.services
@pytest.mark.keystone
@pytest.mark.parametrize("name", NAMES)
def test_three_daemons(three_daemons: tuple[Installation, str], name: str) -> None:
    installation, url = three_daemons
    assert lived(name, installation.client(url)) == RECORDED[name]


@pytest.mark.slow
@pytest.mark.keystone
@pytest.mark.reference
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in NAMES])
def test_the_reference_still_says_so(name: str) -> None:
    token, project = testbed.token()
    assert lived(name, Api(testbed.REFERENCE_URL, project, token)) == RECORDED[name]


# better than Heat ---------------------------------------------------------------------------------------------------
def test_members_changed_in_place_all_get_the_new_definition(stack: Any) -> None:
    """Keeping all in service takes one more for a while; the one that goes is one that was not changed."""
    made = stack(template(member("1"), desired_capacity=3))
    made.update(template(member("2"), desired_capacity=3, rolling_updates={"min_in_service": 3}))
    assert made.outputs() == {"size": 3, "values": ["2", "2", "2"]}


def test_a_rolling_update_that_fails_is_rolled_back(stack: Any) -> None:
    """All members get their definition back, those that failed at once: batches are for what is in service."""
    made = stack(template(member("1"), desired_capacity=3))
    broken = template(member("2", fail=True), desired_capacity=3, rolling_updates={"max_batch_size": 2})
    made.update(broken, None, disable_rollback=False)
    made.wait("ROLLBACK_COMPLETE")
    assert made.outputs() == {"size": 3, "values": ["1", "1", "1"]}


def test_the_size_before_a_failed_rolling_update_is_that_after_the_next(stack: Any) -> None:
    made = stack(template(member("1"), min_size=2))
    in_service = {"min_in_service": 2, "max_batch_size": 1}
    made.update(template(member("2", fail=True), min_size=2, rolling_updates=in_service), "UPDATE_FAILED")
    made.update(template(member("3"), min_size=2, rolling_updates=in_service))
    assert made.outputs() == {"size": 2, "values": ["3", "3"]}


def test_adjustments_of_parts_and_of_nothing(stack: Any) -> None:
    """A fraction is cut off; a percentage of an empty group lets it grow."""
    policies = {
        "grow": policy(50, "percent_change_in_capacity", min_adjustment_step=1, cooldown=0),
        "fraction": policy(1.7, cooldown=0),
    }
    group = Group(stack(template(member(), policies, min_size=0)))
    group.scale("grow", 1)
    group.scale("fraction", 2)


def test_a_step_without_percentages_is_refused_with_400(api: Api) -> None:
    body = {"stack_name": "scaling-step", "template": template(member(), {"up": policy(1, min_adjustment_step=2)})}
    reply = api.send("POST", "/stacks", body)
    assert reply.status_code == 400
    assert reply.json()["error"]["message"] == (
        "min_adjustment_step property should only be specified for "
        "adjustment_type with value percent_change_in_capacity."
    )


# many at once -------------------------------------------------------------------------------------------------------
def test_signals_at_once(stack: Any) -> None:
    """Each that had an effect has an event, and changed the size by one; none got lost in another."""
    made = stack(template(member(), {name: policy(1, cooldown=0) for name in ("a", "b", "c")}, max_size=30))
    group = Group(made)

    def signals(name: str) -> None:
        for _number in range(6):
            made.api.send("POST", f"{made.path}/resources/{name}/signal", {})

    threads = [threading.Thread(target=signals, args=(name,)) for name in ("a", "b", "c") for _copy in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: not group.metadata()["scaling_in_progress"], "the group is at rest", 60)
    grown = sum(len(group.signals_of(name)) for name in ("a", "b", "c"))
    assert grown >= 1
    group.settled(1 + grown)
    assert Counter(group.members().values()) == {"CREATE_COMPLETE": 1 + grown}


# the URLs -----------------------------------------------------------------------------------------------------------
URLS = {"alarm": {"get_attr": ["up", "alarm_url"]}, "signal": {"get_attr": ["up", "signal_url"]}}


def with_urls(**more: Any) -> dict[str, Any]:
    """A group whose policy is told by URLs; a wait condition's handle has a user of the stack with a token."""
    whole = template(member(), {"up": policy(1, cooldown=0)})
    whole["resources"]["handle"] = {"type": "OS::Heat::WaitConditionHandle"}
    whole["outputs"].update({name: {"value": value} for name, value in URLS.items()})
    whole["outputs"]["token"] = {"value": {"get_attr": ["handle", "token"]}}
    return whole


def test_alarm_url_embedded(stack: Any) -> None:
    group = Group(stack(with_urls()))
    assert scaling.call(group.stack.outputs()["alarm"]).status_code == 200
    group.settled(2)


@pytest.mark.services
@pytest.mark.keystone
def test_urls_with_keystone(three_daemons: tuple[Installation, str]) -> None:
    """The alarm URL is a permission in itself; the native one takes a token, that of a user of the stack will do."""
    installation, url = three_daemons
    api = installation.client(url)
    made = api.create(with_urls())
    group = Group(made)
    told = made.outputs()
    installation.cfn()
    assert scaling.call(told["alarm"]).status_code == 200
    group.settled(2)
    assert scaling.call(told["alarm"].replace("Signature=", "Signature=A")).status_code == 403
    path = told["signal"].partition(f"/{api.project}/")[2]
    users = Api(url, made.show()["stack_user_project_id"], told["token"])
    assert users.send("POST", f"/{path}", {}).status_code == 200
    group.settled(3)
    assert users.send("GET", f"{made.path}", {}).status_code == 403
    made.delete()


# deaths of engines --------------------------------------------------------------------------------------------------
def scaling_begun(group: Group, size: int) -> bool:
    return group.metadata().get("scaling_in_progress") is True and len(group.members()) == size


def test_killed_while_scaling(tmp_path: pathlib.Path) -> None:
    """The members are finished, the cooldown begins, and the group can be scaled again."""
    service = AllInOne(tmp_path).start()
    try:
        made = service.api().create(template(member(wait_secs=3), {"up": policy(2, cooldown=0)}))
        group = Group(made)
        group.signal("up")
        until(lambda: scaling_begun(group, 3), "new members are under way", 30)
        service.kill()
        service.start()
        group = Group(service.api().stack(made.name, made.id))
        group.settled(3, 90)
        assert list(group.metadata()["cooldown_end"].values()) == ["change_in_capacity : 2"]
        group.scale("up", 5)
    finally:
        service.stop()


def test_killed_in_a_rolling_update(tmp_path: pathlib.Path) -> None:
    """The update ends with every member changed, and with the size of before: the group was larger for a while."""
    service = AllInOne(tmp_path).start()
    try:
        made = service.api().create(template(member("1"), min_size=2))
        made.update(template(member("2", wait_secs=2), min_size=2, rolling_updates={"min_in_service": 2}), None)
        group = Group(made)
        until(lambda: len(group.members()) == 3, "the group is larger", 30)
        service.kill()
        service.start()
        again = service.api().stack(made.name, made.id)
        again.wait("UPDATE_COMPLETE")
        assert again.outputs() == {"size": 2, "values": ["2", "2"]}
    finally:
        service.stop()


@pytest.mark.services
@pytest.mark.keystone
@pytest.mark.timeout(300)
def test_another_engine_finishes(three_daemons: tuple[Installation, str]) -> None:
    """Of two engines the one that scales is killed; the other goes on without being told."""
    installation, url = three_daemons
    doomed = installation.engine(name="doomed-engine")
    made = installation.client(url).create(template(member(wait_secs=6), {"up": policy(2, cooldown=0)}))
    group = Group(made)
    group.signal("up")
    until(lambda: scaling_begun(group, 3), "new members are under way", 30)
    doomed.kill()
    group.settled(3, 120)
    group.scale("up", 5)
    made.delete()
