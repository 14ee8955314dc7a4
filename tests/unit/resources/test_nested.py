# SPDX-License-Identifier: Apache-2.0
"""Resources that are stacks: template resources and groups."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from openkeel_heat.common import clock, exceptions as exception
from openkeel_heat.resources.kit import groups, lifecycle, properties, registry
from openkeel_heat.resources.kit.lifecycle import Pause
from openkeel_heat.resources.kit.stack_resource import StackResource
from tests.unit.resources.fakes import Driver, FakeNested, FakeStack, drive, hot, test_resource

CHILD = """
heat_template_version: 2016-10-14
description: a child
parameters:
  size: {type: number, default: 1}
  names: {type: comma_delimited_list, default: ''}
  extra: {type: json, default: {}}
  need: {type: string}
resources:
  inner: {type: OS::Heat::TestResource, properties: {value: {get_param: need}}}
outputs:
  out: {value: {get_attr: [inner, output]}, description: what it says}
"""

URL = "http://example.com/child.yaml"


def template_stack(files: Any = None, **props: Any) -> FakeStack:
    return FakeStack(hot({"t": {"type": URL, "properties": props}}), files={URL: CHILD} if files is None else files)


def running(resource: Any) -> Driver:
    return Driver(lifecycle.create(resource), resource).run(until=Pause)


def finished(resource: Any, **outputs: Any) -> Any:
    driver = running(resource)
    resource.stack.nested_stacks.finish(**outputs)
    driver.run()
    return resource


# --- template resources


def test_schema_of_a_template() -> None:
    resource = template_stack(need="x")["t"]
    assert {name: schema.type for name, schema in resource.properties_schema.items()} == {
        "size": "Number",
        "names": "List",
        "extra": "Map",
        "need": "String",
    }
    assert resource.properties_schema["need"].required
    assert set(resource.attributes_schema) == {"out", "show"}
    assert resource.attributes_schema["out"].description == "what it says"


@pytest.mark.parametrize(
    ("outputs", "told"),
    [
        ("[out]", "'list' object has no attribute 'items'"),
        ("{out: 1}", "\"outputs\" must contain a map of output maps. Found a [<class 'int'>] instead"),
        ("{out: {value: 1, foo: 2}}", '"foo" is not a valid keyword inside a output definition'),
    ],
)
def test_wrong_outputs_of_the_child_are_told(outputs: str, told: str) -> None:
    child = f"heat_template_version: 2016-10-14\noutputs: {outputs}"
    resource = template_stack(files={URL: child})["t"]
    with pytest.raises(exception.StackValidationFailed) as caught:
        resource.validate_template()
    assert str(caught.value) == told


def test_parameters_of_the_child() -> None:
    resource = template_stack(need="x", names=["a", "b"], extra=[{"k": 1}], size="3")["t"]
    assert resource.child_params() == {"need": "x", "names": "a,b", "extra": '[{"k": 1}]', "size": 3}
    assert template_stack(need="x", names=[])["t"].child_params()["names"] == ""


def test_maps_in_a_list_are_flattened() -> None:
    resource = template_stack(need="x", names=[{"k": "v"}])["t"]
    assert resource.child_params()["names"] == ".member.0.k=v"


def test_create_of_a_template_resource() -> None:
    stack = template_stack(need="x")
    resource = stack["t"]
    driver = running(resource)
    ((child_id, child),) = stack.nested_stacks.children.items()
    assert child["name"] == resource.physical_resource_name()
    assert child["template"].env.params == {"need": "x"}
    assert child["template"].files == {URL: CHILD}
    assert stack.store.writes == [("physical_id", child_id)]
    assert driver.steps[-1].wake_on == ("stack", child_id)
    stack.nested_stacks.finish(out="done")
    driver.run()
    assert driver.short == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]
    assert resource.FnGetAtt("out") == "done"
    assert resource.FnGetRefId() == "arn:openstack:heat::project:stacks/%s/%s" % (child["name"], child_id)
    with pytest.raises(exception.InvalidTemplateAttribute):
        resource.FnGetAtt("nothing")


def test_failure_of_the_child() -> None:
    resource = template_stack(need="x")["t"]
    driver = running(resource)
    resource.stack.nested_stacks.finish(
        status="FAILED", reason="Resource CREATE failed: ValueError: resources.inner: no luck"
    )
    with pytest.raises(exception.ResourceFailure):
        driver.run()
    assert driver.states[-1][2] == "ValueError: resources.t.resources.inner: no luck"


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (
            exception.StackValidationFailed(
                error="Property error", path=["resources", "a", "properties"], message="Property b not assigned"
            ),
            "resources.t: Property error: resources.a.properties: Property b not assigned",
        ),
        (exception.RequestLimitExceeded(message="enough"), "resources.t: Request limit exceeded: enough"),
        (exception.Forbidden("no\nTraceback"), "resources.t: You are not authorized to use no"),
    ],
)
def test_what_is_wrong_with_the_child_is_told_in_its_own_words(
    monkeypatch: pytest.MonkeyPatch, refusal: Exception, reason: str
) -> None:
    def refuse(*_args: Any, **_more: Any) -> None:
        raise refusal

    monkeypatch.setattr(FakeNested, "create", refuse)
    with pytest.raises(exception.ResourceFailure) as caught:
        running(template_stack(need="x")["t"])
    assert str(caught.value) == reason


def test_missing_parameter_of_the_child() -> None:
    with pytest.raises(exception.StackValidationFailed, match="Property need not assigned"):
        template_stack()["t"].validate()


def test_errors_inside_name_the_way() -> None:
    stack = template_stack(need="x", files={URL: CHILD.replace("{value: {get", "{valu: {get", 1)})
    with pytest.raises(exception.StackValidationFailed) as caught:
        stack["t"].validate()
    assert str(caught.value) == (
        "Property error: resources.t<%s>.resources.inner.properties: Unknown Property valu" % URL
    )


def test_template_that_is_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    from openkeel_heat.common import urlfetch

    def refused(url: str, allowed_schemes: Any) -> bytes:
        raise urlfetch.URLFetchError("Failed to retrieve template from %s" % url)

    monkeypatch.setattr(urlfetch, "get", refused)
    with pytest.raises(exception.StackValidationFailed, match='Could not fetch remote template "%s"' % URL):
        template_stack(files={}, need="x")["t"].validate()


def test_fetched_once_and_handed_to_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    from openkeel_heat.common import urlfetch

    fetched = []

    def get(url: str, allowed_schemes: Any) -> bytes:
        fetched.append(allowed_schemes)
        return CHILD.encode()

    monkeypatch.setattr(urlfetch, "get", get)
    stack = template_stack(files={}, need="x")
    running(stack["t"])
    (child,) = stack.nested_stacks.children.values()
    assert child["template"].files == {URL: CHILD}
    assert fetched == [("http", "https")]


def facade_stack(child: str) -> FakeStack:
    env = {"resource_registry": {"OS::Heat::RandomString": "mine.yaml"}}
    return FakeStack(hot({"t": {"type": "OS::Heat::RandomString"}}), env=env, files={"mine.yaml": child})


FACADE = """
heat_template_version: 2016-10-14
parameters:
%s
outputs:
  value: {value: x}
  show: {value: y}
"""


@pytest.mark.parametrize(
    "params, text",
    [
        (
            "  length: {type: string, default: x}",
            "Property length type mismatch between facade OS::Heat::RandomString "
            r"\(Integer\) and provider \(String\)",
        ),
        ("  more: {type: string}", "Provider requires property more unknown in facade"),
    ],
)
def test_facade(params: str, text: str) -> None:
    with pytest.raises(exception.StackValidationFailed, match=text):
        resource = facade_stack(FACADE % params)["t"]
        resource._validate_against_facade(
            resource.stack.env.get_resource_info(resource.type(), ignore=resource.resource_info).get_class()
        )


def test_facade_that_fits() -> None:
    facade_stack(FACADE % "  length: {type: number, default: 3}")["t"].validate()


def test_attribute_missing_in_a_facade() -> None:
    child = "heat_template_version: 2016-10-14\nparameters:\n  length: {type: number, default: 3}\n"
    with pytest.raises(exception.StackValidationFailed, match="Attribute value for facade"):
        facade_stack(child)["t"].validate()


# --- nested stacks in general


def test_a_child_made_by_a_dead_engine_is_found() -> None:
    resource = template_stack(need="x")["t"]
    running(resource).generator.close()
    child_id = resource.resource_id
    resource.resource_id = None
    driver = Driver(lifecycle.resume_action(resource), resource)
    driver.step()
    assert resource.resource_id == child_id
    assert len(resource.stack.nested_stacks.children) == 1
    resource.stack.nested_stacks.finish()
    assert driver.run().short == ["CREATE_COMPLETE"]


def test_a_child_never_made_is_made() -> None:
    resource = template_stack(need="x")["t"]
    Driver(lifecycle.create(resource), resource).step()
    driver = Driver(lifecycle.resume_action(resource), resource)
    driver.step()
    assert len(resource.stack.nested_stacks.children) == 1


def updated(resource: Any, **props: Any) -> Driver:
    after = template_stack(**props).defn.resource_definition("t")
    resource.stack.action = "UPDATE"
    return Driver(lifecycle.update(resource, after, new_template_id=2), resource)


def test_update_of_the_child() -> None:
    resource = finished(template_stack(need="x")["t"])
    driver = updated(resource, need="y").run(until=Pause)
    (child,) = resource.stack.nested_stacks.children.values()
    assert child["template"].env.params == {"need": "y"}
    resource.stack.nested_stacks.finish()
    assert driver.run().short == ["UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"]


def test_update_when_the_child_is_gone() -> None:
    resource = finished(template_stack(need="x")["t"])
    resource.stack.nested_stacks.children.clear()
    with pytest.raises(exception.UpdateReplace):
        updated(resource, need="y").run()


def test_update_of_a_child_that_was_never_made() -> None:
    resource = finished(template_stack(need="x")["t"])
    resource.stack.nested_stacks.children.clear()
    resource.resource_id = None
    resource._needs_update = lambda *args, **kwargs: True
    driver = updated(resource, need="y").run(until=Pause)
    (child,) = resource.stack.nested_stacks.children.values()
    assert child["action"] == "CREATE" and "resources" not in child["template"].t
    resource.stack.nested_stacks.finish()
    driver.step()
    assert child["action"] == "UPDATE" and "resources" in child["template"].t
    resource.stack.nested_stacks.finish()
    assert driver.run().short == ["UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"]


def test_rollback_lets_the_child_roll_back() -> None:
    resource = finished(template_stack(need="x")["t"])
    nested = resource.stack.nested_stacks
    driver = updated(resource, need="y")
    resource.stack.action = "ROLLBACK"
    (child_id,) = nested.children
    nested.children[child_id].update(action="ROLLBACK", status="IN_PROGRESS")
    driver.run(until=Pause)
    assert nested.calls[-1] == ("cancel", child_id, True)
    nested.finish()
    assert driver.run().short[-1] == "UPDATE_COMPLETE"


def test_cancellation_goes_to_the_child() -> None:
    resource = template_stack(need="x")["t"]
    driver = running(resource)

    class Cancelled(BaseException):
        pass

    driver.throw(Cancelled())
    assert resource.stack.nested_stacks.calls[-1] == ("cancel", resource.resource_id, False)


def test_delete_of_the_child() -> None:
    resource = finished(template_stack(need="x")["t"])
    driver = Driver(lifecycle.delete(resource), resource).run(until=Pause)
    resource.stack.nested_stacks.finish()
    assert driver.run().short == ["DELETE_IN_PROGRESS", "DELETE_COMPLETE"]


@pytest.mark.parametrize("action", ["suspend", "check"])
def test_actions_of_the_child(action: str) -> None:
    resource = finished(template_stack(need="x")["t"])
    driver = Driver(getattr(lifecycle, action)(resource), resource).run(until=Pause)
    resource.stack.nested_stacks.finish()
    assert driver.run().short[-1] == "%s_COMPLETE" % action.upper()


class WithParameters(StackResource):
    """As plug-ins have it: their handlers leave the parameters to ``child_params``."""

    properties_schema = {"size": properties.Schema(properties.Schema.INTEGER, update_allowed=True)}

    def child_template(self) -> Any:
        return {"heat_template_version": "2016-10-14", "parameters": {"size": {"type": "number"}}}

    def child_params(self) -> Any:
        return {"size": self.properties["size"]}

    def handle_create(self) -> Any:
        return self.create_with_template(self.child_template())

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: Any) -> Any:
        self.properties = json_snippet.properties(self.properties_schema, self.context)
        return self.update_with_template(self.child_template())


def test_parameters_that_a_handler_does_not_give_are_those_of_the_child() -> None:
    def stack(size: int) -> FakeStack:
        return FakeStack(hot({"r": {"type": "Test::WithParameters", "properties": {"size": size}}}))

    registry.global_env().register_class("Test::WithParameters", WithParameters)
    resource = finished(stack(3)["r"])
    nested = resource.stack.nested_stacks
    assert nested.template(resource.resource_id).env.params == {"size": 3}
    driver = Driver(lifecycle.update(resource, stack(4).defn.resource_definition("r")), resource).run(until=Pause)
    assert nested.template(resource.resource_id).env.params == {"size": 4}
    nested.finish()
    driver.run()
    assert resource.state == ("UPDATE", "COMPLETE")


def test_depth_is_limited() -> None:
    stack = template_stack(need="x")
    stack.nested_depth = 5
    with pytest.raises(exception.RequestLimitExceeded, match="Recursion depth exceeds 5."):
        stack["t"].create_with_template({})


def test_a_template_that_contains_itself() -> None:
    text = 'heat_template_version: 2016-10-14\nresources:\n  t: {type: "%s"}\n' % URL
    with pytest.raises(exception.StackValidationFailed, match="Recursion depth exceeds 5."):
        FakeStack(hot({"t": {"type": URL}}), files={URL: text})["t"].validate()


# --- groups


def group_stack(policy: Any = None, outputs: Any = None, **props: Any) -> FakeStack:
    props.setdefault("resource_def", test_resource(value="v%index%"))
    definition: dict[str, Any] = {"type": "OS::Heat::ResourceGroup", "properties": props}
    if policy is not None:
        definition["update_policy"] = policy
    return FakeStack(hot({"g": definition}, **({"outputs": outputs} if outputs else {})))


def members(resource: Any) -> dict[str, Any]:
    (child,) = resource.stack.nested_stacks.children.values()
    return child["template"].t.get("resources") or {}


def test_members_of_a_group() -> None:
    resource = group_stack(count=2)["g"]
    assert resource.child_template() == {
        "heat_template_version": "2015-04-30",
        "resources": {
            "0": {"type": "OS::Heat::TestResource", "properties": {"value": "v0"}},
            "1": {"type": "OS::Heat::TestResource", "properties": {"value": "v1"}},
        },
        "outputs": {"refs_map": {"value": {"0": {"get_resource": "0"}, "1": {"get_resource": "1"}}}},
    }


def test_outputs_of_a_group_are_those_that_are_read() -> None:
    outputs = {
        "a": {"value": {"get_attr": ["g", "output"]}},
        "b": {"value": {"get_attr": ["g", "refs"]}},
        "c": {"value": {"get_attr": ["g", "attributes", "output"]}},
        "d": {"value": {"get_attr": ["g", "resource.0.output"]}},
        "e": {"value": {"get_attr": ["g", "resource.0"]}},
        "f": {"value": {"get_attr": ["g", "removed_rsrc_list"]}},
    }
    found = group_stack(outputs=outputs, count=1)["g"].child_template()["outputs"]
    assert found == {
        "output": {"value": [{"get_attr": ["0", "output"]}]},
        "refs": {"value": [{"get_resource": "0"}]},
        "attributes, output": {"value": {"0": {"get_attr": ["0", "output"]}}},
        "resource.0.output": {"value": {"get_attr": ["0", "output"]}},
        "refs_map": {"value": {"0": {"get_resource": "0"}}},
    }


def test_index_variable() -> None:
    resource = group_stack(
        count=1,
        index_var="!n!",
        resource_def={
            "type": "OS::Heat::TestResource",
            "properties": {"value": "v!n!%index%"},
            "metadata": {"k": "!n!"},
        },
    )["g"]
    assert resource.child_template()["resources"]["0"] == {
        "type": "OS::Heat::TestResource",
        "properties": {"value": "v0%index%"},
        "metadata": {"k": "!n!"},
    }


def test_empty_group() -> None:
    resource = group_stack(count=0, resource_def={"type": "No::Such"})["g"]
    resource.validate()
    assert resource.child_template() == {"heat_template_version": "2015-04-30", "outputs": {"refs_map": {"value": {}}}}


def test_unknown_type_in_a_group() -> None:
    with pytest.raises(exception.StackValidationFailed, match="The Resource Type .No::Such. could not be found"):
        group_stack(resource_def={"type": "No::Such"})["g"].validate()


def test_group_attributes() -> None:
    resource = finished(
        group_stack(count=2)["g"],
        refs_map={"0": "r0", "1": "r1"},
        refs=["r0", "r1"],
        output=["a", "b"],
        **{"attributes, output": {"0": "a"}},
    )
    assert resource.FnGetAtt("refs") == ["r0", "r1"] and resource.FnGetAtt("refs", 1) == "r1"
    assert resource.FnGetAtt("output") == ["a", "b"]
    assert resource.FnGetAtt("attributes", "output") == {"0": "a"}
    assert resource.FnGetAtt("resource.1") == "r1"
    assert resource.FnGetAtt("removed_rsrc_list") == []
    with pytest.raises(exception.NotFound, match="Member '7' not found in group resource 'g'"):
        resource.FnGetAtt("resource.7")
    with pytest.raises(exception.InvalidTemplateAttribute):
        resource.FnGetAtt("attributes")


def group_update(resource: Any, policy: Any = None, **props: Any) -> Driver:
    after = group_stack(policy, **props).defn.resource_definition("g")
    resource.stack.action = "UPDATE"
    return Driver(lifecycle.update(resource, after, new_template_id=2), resource)


def steps_of(driver: Driver, resource: Any) -> list[dict[str, Any]]:
    """The members after each batch."""
    seen = []
    for _round in range(50):
        driver.step()
        if driver.done:
            return seen
        nested = resource.stack.nested_stacks
        if any(child["status"] == "IN_PROGRESS" for child in nested.children.values()):
            values = {name: entry["properties"]["value"] for name, entry in members(resource).items()}
            if not seen or seen[-1] != values:
                seen.append(values)
            nested.finish()
    raise AssertionError("did not end")


def test_resize() -> None:
    resource = finished(group_stack(count=1)["g"])
    assert steps_of(group_update(resource, count=3), resource) == [{"0": "v0", "1": "v1", "2": "v2"}]


def test_removal_policies() -> None:
    resource = finished(group_stack(count=3)["g"], refs_map={"0": "r0", "1": "r1", "2": "r2"})
    driver = group_update(resource, count=2, removal_policies=[{"resource_list": ["r1", 0]}])
    assert steps_of(driver, resource) == [{"2": "v2", "3": "v3"}]
    assert resource.data()["name_blacklist"] == "0,1"
    driver = group_update(resource, count=2, removal_policies=[{"resource_list": ["2"]}])
    assert steps_of(driver, resource) == [{"3": "v3", "4": "v4"}]
    driver = group_update(resource, count=2, removal_policies=[{"resource_list": []}], removal_policies_mode="update")
    assert steps_of(driver, resource) == [{"0": "v0", "1": "v1"}]


def test_rolling_update() -> None:
    policy = {"rolling_update": {"max_batch_size": 2, "min_in_service": 1}}
    resource = finished(group_stack(policy, count=3)["g"])
    driver = group_update(resource, policy, count=3, resource_def=test_resource(value="w%index%"))
    assert steps_of(driver, resource) == [
        {"0": "v0", "1": "w1", "2": "w2"},
        {"0": "w0", "1": "w1", "2": "w2"},
    ]


def test_rolling_update_rests_between_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr(clock, "monotonic", lambda: next(ticks))
    policy = {"rolling_update": {"max_batch_size": 1, "pause_time": 3}}
    resource = finished(group_stack(policy, count=2)["g"])
    driver = group_update(resource, policy, count=2, resource_def=test_resource(value="w%index%"))
    assert len(steps_of(driver, resource)) == 2
    assert {1, 2} <= set(driver.pauses)


def test_rolling_update_that_would_time_out() -> None:
    policy = {"rolling_update": {"max_batch_size": 1, "pause_time": 10000}}
    resource = finished(group_stack(policy, count=2)["g"])
    driver = group_update(resource, policy, count=2, resource_def=test_resource(value="w"))
    with pytest.raises(exception.ResourceFailure, match="will result in stack update timeout."):
        driver.run()


def test_batch_create() -> None:
    resource = group_stack({"batch_create": {"max_batch_size": 2}}, count=3)["g"]
    driver = Driver(lifecycle.create(resource), resource)
    assert steps_of(driver, resource) == [{}, {"0": "v0", "1": "v1"}, {"0": "v0", "1": "v1", "2": "v2"}]
    assert driver.short == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]


# --- pure


@pytest.mark.parametrize(
    "target, current, size, in_service, expected",
    [
        (4, 4, 2, 0, [(4, 2), (4, 2)]),
        (4, 4, 4, 0, [(4, 4)]),
        (4, 4, 5, 0, [(4, 4)]),
        (4, 4, 4, 4, [(8, 4), (8, 4), (4, 0)]),
        (4, 4, 4, 1, [(5, 4), (4, 1)]),
        (5, 3, 2, 0, [(5, 2), (5, 2), (5, 1)]),
        (3, 5, 2, 0, [(3, 2), (3, 1)]),
        (0, 4, 2, 0, [(0, 0)]),
        (4, 0, 2, 0, [(2, 2), (4, 2)]),
    ],
)
def test_batches(target: int, current: int, size: int, in_service: int, expected: list[Any]) -> None:
    assert list(groups.batches(target, current, size, in_service)) == expected


def test_member_definitions() -> None:
    old = [("a", 1), ("b", 1), ("c", 1)]
    names = iter("xyz")
    assert list(groups.member_definitions(old, 2, 2, 1, lambda: next(names))) == [("b", 2), ("c", 1)]  # type: ignore[arg-type]
    assert list(groups.member_definitions(old, 2, 4, 2, lambda: next(names))) == [  # type: ignore[arg-type]
        ("a", 2),
        ("b", 1),
        ("c", 1),
        ("x", 2),
    ]
    assert list(groups.member_definitions(old, 2, 0, 0, lambda: next(names))) == []  # type: ignore[arg-type]


def test_all_of_them_are_stack_resources() -> None:
    assert issubclass(type(group_stack()["g"]), StackResource)
    assert drive(iter([]), None).done  # type: ignore[arg-type]
