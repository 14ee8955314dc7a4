# SPDX-License-Identifier: Apache-2.0
"""Scaling groups and what belongs to them, on a stack in memory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openkeel_heat.common import exceptions as exception
from openkeel_heat.resources.aws.lb import haproxy
from openkeel_heat.resources.kit import lifecycle, scaling
from openkeel_heat.resources.kit.lifecycle import Pause
from openkeel_heat.resources.kit.resource import NoActionRequired
from tests.unit.resources.fakes import Driver, FakeStack, drive, hot, test_resource


class ScalingStack(FakeStack):
    """Remembers what groups tell."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.told: list[tuple[Any, ...]] = []
        self.configured: list[tuple[str, list[str]]] = []

    def notify_scaling(self, suffix: str, **what: Any) -> None:
        self.told.append((suffix, what["adjustment"], what["adjustment_type"], what["capacity"], what["message"]))

    def update_resource(self, name: str, change: Any) -> Any:
        self.configured.append((name, list(change.args[0])))
        yield from ()


def group_of(size: int = 2, **properties: Any) -> Any:
    """A created group."""
    stack = ScalingStack(
        hot(
            {
                "g": {
                    "type": "OS::Heat::AutoScalingGroup",
                    "properties": {
                        "min_size": 1,
                        "max_size": 5,
                        "desired_capacity": size,
                        "resource": test_resource(value="x"),
                        **properties,
                    },
                }
            }
        )
    )
    group = stack["g"]
    driver = Driver(lifecycle.create(group), group).run(until=Pause)
    stack.nested_stacks.finish()
    driver.run()
    return group


def members(group: Any) -> dict[str, Any]:
    (child,) = group.stack.nested_stacks.children.values()
    return dict(child["template"].t.get("resources") or {})


def all_of(steps: Any, group: Any, status: str = "COMPLETE", reason: str = "") -> None:
    """Take the steps of a scaling; the members are done with at once."""
    for _step in steps:
        group.stack.nested_stacks.finish(status=status, reason=reason)


# scaling ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"type": 3}, "type type must be string"),
        ({"properties": "x"}, "properties type must be object"),
        ({"properties": None}, "properties type must be object"),
        ({"metadata": []}, "metadata type must be object"),
        ({"depends_on": 1}, "depends_on type must be list or string"),
        ({"depends_on": [1]}, "depends_on must be a list of strings"),
        ({"deletion_policy": {}}, "deletion_policy type must be string"),
        ({"update_policy": ""}, "update_policy type must be object"),
        ({"description": 1}, "description type must be string"),
    ],
)
def test_a_wrong_definition_is_told_of_whatever_the_size(size: int, wrong: dict[str, Any], words: str) -> None:
    """Members have random names, and there may be none."""
    props = {"min_size": size, "max_size": 2, "resource": {**test_resource(value="x"), **wrong}}
    stack = FakeStack(hot({"g": {"type": "OS::Heat::AutoScalingGroup", "properties": props}}))
    with pytest.raises(exception.StackValidationFailed, match=f"resources.g<nested_stack>: Resource member {words}$"):
        stack["g"].validate()


def test_a_scaling_is_told_of_and_begins_a_cooldown() -> None:
    group = group_of()
    all_of(group.adjusting(1, "change_in_capacity", None, 60), group)
    assert len(members(group)) == 3
    assert group.stack.told == [
        ("start", 1, "change_in_capacity", 2, f"Start resizing the group {group.FnGetRefId()}"),
        ("end", 1, "change_in_capacity", 3, f"End resizing the group {group.FnGetRefId()}"),
    ]
    assert list(group.metadata_get(refresh=True)["cooldown_end"].values()) == ["change_in_capacity : 1"]
    assert "scaling" not in group.stack.store.data(group)
    with pytest.raises(NoActionRequired):
        all_of(group.adjusting(1, "change_in_capacity"), group)


def test_a_failure_is_told_of_and_begins_none() -> None:
    group = group_of()
    before = group.metadata_get(refresh=True)["cooldown_end"]
    with pytest.raises(exception.ResourceFailure):
        all_of(group.adjusting(1, "change_in_capacity", None, 60), group, "FAILED", "no luck")
    assert [(told[0], told[3]) for told in group.stack.told] == [("start", 2), ("error", 3)]
    metadata = group.metadata_get(refresh=True)
    assert metadata["cooldown_end"] == before and metadata["scaling_in_progress"] is False


def test_while_it_is_scaled_others_do_nothing() -> None:
    group = group_of()
    first = group.adjusting(1, "change_in_capacity")
    next(first)
    assert group.metadata_get(refresh=True)["scaling_in_progress"] is True
    with pytest.raises(NoActionRequired, match="due to scaling activity"):
        next(group.adjusting(1, "change_in_capacity"))
    all_of(first, group)
    assert len(members(group)) == 3


@pytest.mark.parametrize(("adjustment", "kind"), [(2, "exact_capacity"), (0, "change_in_capacity")])
def test_without_a_change_nothing_is_done(adjustment: int, kind: str) -> None:
    group = group_of()
    with pytest.raises(NoActionRequired):
        next(group.adjusting(adjustment, kind))
    assert group.stack.told == [] and not group.metadata_get(refresh=True)["scaling_in_progress"]


def test_a_group_that_is_not_complete_is_not_scaled() -> None:
    group = group_of()
    group.status = group.FAILED
    with pytest.raises(NoActionRequired):
        next(group.adjusting(1))


def test_an_engine_that_stops_leaves_the_rest_to_others() -> None:
    """Flag and note stay; whoever takes the note over waits for the members and ends the scaling."""
    group = group_of()
    steps = group.adjusting(1, "change_in_capacity", None, 60)
    next(steps)
    steps.close()
    note = group.stack.store.data(group)["scaling"]
    assert json.loads(note)["engine_id"] == "engine"
    assert group.metadata_get(refresh=True)["scaling_in_progress"] is True
    assert group.take_over_scaling(note.replace('"engine"', '"other"'), "new") is None
    plan = group.take_over_scaling(note, "new")
    assert json.loads(group.stack.store.data(group)["scaling"])["engine_id"] == "new"
    assert group.take_over_scaling(note, "late") is None
    group.stack.nested_stacks.template(group.resource_id).id = 7  # it is another one than before
    all_of(group.resume_scaling(plan), group)
    assert len(members(group)) == 3
    assert [told[0] for told in group.stack.told] == ["start", "end"]
    assert "scaling" not in group.stack.store.data(group)
    assert group.metadata_get(refresh=True)["scaling_in_progress"] is False


def test_a_scaling_that_did_not_reach_the_members_is_begun_by_who_takes_it_over() -> None:
    group = group_of()
    plan = group._begin_scaling(60, lambda: _plan(group))
    assert len(members(group)) == 2
    all_of(group.resume_scaling(plan), group)
    assert len(members(group)) == 3 and group.metadata_get(refresh=True)["scaling_in_progress"] is False


def _plan(group: Any) -> Any:
    from openkeel_heat.resources.kit.cooldown import Scaling

    return Scaling(1, scaling.CHANGE_IN_CAPACITY, 60, 2, 3, group._members_template_id())


def test_a_scaling_whose_flag_was_cleared_is_not_finished() -> None:
    group = group_of()
    next(group.adjusting(1, "change_in_capacity"))
    note = group.stack.store.data(group)["scaling"]
    group.handle_metadata_reset()
    assert group.metadata_get(refresh=True)["scaling_in_progress"] is False
    assert group.take_over_scaling(note, "new") is None


# signals ------------------------------------------------------------------------------------------------------------
def test_a_signal_goes_on_in_steps_and_has_its_event_in_the_end() -> None:
    group = group_of()
    stack = group.stack
    policy = _policy(stack)
    steps = policy.signalling({"previous": "ok", "current": "alarm", "reason": "load"}, False)
    pause = next(steps)
    assert pause.wake_on == ("stack", group.resource_id) and stack.store.events == []
    all_of(steps, group)
    assert stack.store.events == [("SIGNAL", "COMPLETE", "alarm state changed from ok to alarm (load)")]
    assert len(members(group)) == 3


def test_a_signal_without_effect_has_no_event() -> None:
    group = group_of(5)
    assert list(_policy(group.stack).signalling(None, False)) == []
    assert group.stack.store.events == []


def _policy(stack: Any) -> Any:
    group_id = next(iter(stack.nested_stacks.children))
    policies = ScalingStack(
        hot(
            {
                "p": {
                    "type": "OS::Heat::ScalingPolicy",
                    "properties": {
                        "auto_scaling_group_id": group_id,
                        "scaling_adjustment": 1,
                        "adjustment_type": "change_in_capacity",
                    },
                }
            }
        )
    )
    policy = policies["p"]
    policy.action, policy.status = "CREATE", "COMPLETE"
    policies.resource_by_refid = stack.resource_by_refid  # type: ignore[method-assign]
    policy.stack.store = stack.store
    policy._stored_properties_data = dict(policy.properties.data)
    return policy


# load balancers -----------------------------------------------------------------------------------------------------
LISTENER = {"InstancePort": 8080, "LoadBalancerPort": 80, "Protocol": "HTTP"}
CHECK = {"HealthyThreshold": 2, "UnhealthyThreshold": 3, "Interval": 10, "Timeout": 5, "Target": "HTTP:8080/"}


def test_configuration_of_haproxy() -> None:
    lines = haproxy.config(LISTENER, CHECK, ["10.0.0.1", "10.0.0.2"]).splitlines()
    assert "    bind *:80" in lines
    assert "    timeout check 5s" in lines
    assert lines[-2:] == [
        "    server server1 10.0.0.1:8080 check inter 10s fall 3 rise 2",
        "    server server2 10.0.0.2:8080 check inter 10s fall 3 rise 2",
    ]
    assert haproxy.config(LISTENER, None, ["10.0.0.1"]).endswith("    server server1 10.0.0.1:8080\n")


def test_a_configuration_is_put_into_a_template_of_its_own() -> None:
    template = haproxy.template()
    haproxy.set_config(template["Resources"]["LB_instance"]["Metadata"], "new")
    assert template != haproxy.template()


def test_balancers_learn_of_members_before_and_after_each_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a batch those that will change in it are left out; in the end all are in service."""
    group = group_of(2)
    left_out: list[set[str]] = []

    def reload(exclude: Any = ()) -> Any:
        left_out.append(set(exclude))
        yield from ()

    monkeypatch.setattr(group, "_lb_reload", reload)
    group.properties = group.t.freeze(
        properties={**group.properties.data, "resource": test_resource(value="y")}
    ).properties(group.properties_schema)
    all_of(group._replacing(0, 1, 0), group)
    first, second = sorted(members(group))
    assert left_out in ([{first}, {second}, set()], [{second}, {first}, set()])
    assert "rolling_target" not in group.stack.store.data(group)


def test_balancers_use_the_members_in_service() -> None:
    stack = ScalingStack(
        hot(
            {
                "g": {
                    "type": "OS::Heat::InstanceGroup",
                    "properties": {
                        "AvailabilityZones": [],
                        "LaunchConfigurationName": "lc",
                        "Size": 2,
                        "LoadBalancerNames": ["lb", "other"],
                    },
                }
            }
        )
    )
    group = stack["g"]
    stack.nested_stacks.children["child"] = {
        "name": "x",
        "template": FakeStack(hot({"a": test_resource(), "b": test_resource(), "c": test_resource()})).t,
        "action": "UPDATE",
        "status": "COMPLETE",
        "reason": "",
        "failed": ["b"],
        "outputs": {"references": {"a": "id-a", "b": "id-b", "c": "id-c"}},
    }
    group.record.nova_instance = "child"
    assert list(group._lb_reload()) == []
    assert stack.configured == [("lb", ["id-a", "id-c"]), ("other", ["id-a", "id-c"])]
    list(group._lb_reload(exclude={"a"}))
    assert stack.configured[-1] == ("other", ["id-c"])


# what belongs to groups ---------------------------------------------------------------------------------------------
def test_an_access_policy_names_resources_of_the_stack() -> None:
    stack = FakeStack(
        hot({"p": {"type": "OS::Heat::AccessPolicy", "properties": {"AllowedResources": ["a"]}}, "a": test_resource()})
    )
    stack["p"].validate()
    assert stack["p"].access_allowed("a") and not stack["p"].access_allowed("b")
    nowhere = FakeStack(hot({"p": {"type": "OS::Heat::AccessPolicy", "properties": {"AllowedResources": ["b"]}}}))
    with pytest.raises(exception.StackValidationFailed, match="AccessPolicy resource b not in stack"):
        nowhere["p"].validate()


@pytest.mark.parametrize(
    ("policies", "allowed"),
    [
        (None, {"a": True, "b": True}),
        (["p"], {"a": True, "b": False}),
        (["p", "q"], {"a": False, "b": False}),
        ([{"PolicyName": "of IAM"}], {"a": True, "b": True}),
    ],
)
def test_what_a_user_may_read(policies: Any, allowed: dict[str, bool]) -> None:
    stack = FakeStack(
        hot(
            {
                "p": {"type": "OS::Heat::AccessPolicy", "properties": {"AllowedResources": ["a"]}},
                "q": {"type": "OS::Heat::AccessPolicy", "properties": {"AllowedResources": ["b"]}},
                "a": test_resource(),
                "b": test_resource(),
                "u": {"type": "AWS::IAM::User", "properties": {} if policies is None else {"Policies": policies}},
            }
        )
    )
    assert {name: stack["u"].access_allowed(name) for name in ("a", "b")} == allowed


@pytest.mark.parametrize("policy", ["a", "nobody"])
def test_a_user_with_a_policy_that_is_none_fails(policy: str) -> None:
    stack = FakeStack(
        hot({"a": test_resource(), "u": {"type": "AWS::IAM::User", "properties": {"Policies": [policy]}}})
    )
    with pytest.raises(exception.ResourceFailure, match="The Referenced Attribute"):
        drive(lifecycle.create(stack["u"]), stack["u"])


def test_a_restarter_does_nothing() -> None:
    stack = FakeStack(hot({"r": {"type": "OS::Heat::HARestarter", "properties": {"InstanceId": "x"}}}))
    assert drive(lifecycle.create(stack["r"]), stack["r"]).short == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]
    assert stack["r"].is_hidden()


@pytest.mark.parametrize(
    ("name", "properties", "size", "more", "tags"),
    [
        ("OS::Heat::InstanceGroup", {"Size": 2}, 2, {}, [("metering.groupname", "g")]),
        (
            "AWS::AutoScaling::AutoScalingGroup",
            {"MinSize": 1, "MaxSize": 3, "VPCZoneIdentifier": ["net"]},
            1,
            {"SubnetId": "net"},
            [("metering.groupname", "g"), ("metering.AutoScalingGroupName", "g")],
        ),
        (
            "AWS::AutoScaling::AutoScalingGroup",
            {"MinSize": 1, "MaxSize": 3, "DesiredCapacity": 3, "Tags": [{"Key": "metering.x", "Value": "v"}]},
            3,
            {},
            [("metering.x", "v"), ("metering.AutoScalingGroupName", "g")],
        ),
    ],
)
def test_members_of_a_launch_configuration(
    name: str, properties: dict[str, Any], size: int, more: dict[str, Any], tags: list[tuple[str, str]]
) -> None:
    """What was given of the launch configuration, with tags that name the group; instances unless mapped otherwise."""
    given = {"ImageId": "image", "InstanceType": "m1", "NovaSchedulerHints": [{"Key": "a", "Value": "b"}]}
    stack = ScalingStack(
        hot(
            {
                "lc": {"type": "AWS::AutoScaling::LaunchConfiguration", "properties": given},
                "g": {
                    "type": name,
                    "properties": {"AvailabilityZones": [], "LaunchConfigurationName": "lc", **properties},
                },
            }
        )
    )
    stack["lc"]._stored_properties_data = dict(stack["lc"].properties.data)
    Driver(lifecycle.create(stack["g"]), stack["g"]).run(until=Pause)
    (child,) = stack.nested_stacks.children.values()
    made = child["template"]
    assert made.env.user_env_as_dict()["resource_registry"]["OS::Heat::ScaledResource"] == "AWS::EC2::Instance"
    expected = {**given, **more, "Tags": [{"Key": key, "Value": value} for key, value in tags]}
    assert [snippet["Properties"] for snippet in made.t["Resources"].values()] == [expected] * size
