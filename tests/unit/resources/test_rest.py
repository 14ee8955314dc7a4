# SPDX-License-Identifier: Apache-2.0
"""Types that are declarations: their life against a service, and what becomes of faults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.clients import polling, rest
from openkeel_heat.clients.service import RestClientPlugin
from openkeel_heat.common import exceptions
from openkeel_heat.resources.kit import acting, attributes, lifecycle, properties, registry, rest as kit
from openkeel_heat.resources.kit.rest import ApiObject, RestResource
from openkeel_heat.resources.kit.resuming import resume_action
from tests.fixtures.rest_server import Collection, FakeCloud, RestServer
from tests.unit.conftest import Option
from tests.unit.resources.fakes import Driver, drive, hot

pytestmark = pytest.mark.usefixtures("option", "types")


class WidgetPlugin(RestClientPlugin):
    NAME = "widget"
    service_types = ["widget"]
    LISTS_ALL = True

    def _create(self, version: str | None = None) -> Any:
        return None


class Widget(RestResource):
    """What most types are: a schema, where the objects are, and names that differ."""

    default_client_name = "widget"
    api_object = ApiObject("/widgets", "widget", status="status")
    renamed = {"colour": "color"}
    not_sent = ("comment",)
    attribute_fields = {"weight": "weight_g"}

    properties_schema = {
        "name": properties.Schema("String", update_allowed=True),
        "colour": properties.Schema("String", update_allowed=True),
        "size": properties.Schema("Integer"),
        "comment": properties.Schema("String", update_allowed=True),
        "value_specs": properties.Schema("Map", default={}, update_allowed=True),
    }
    attributes_schema = {
        "weight": attributes.Schema("Its weight."),
        "color": attributes.Schema("Its colour."),
    }


class Plain(RestResource):
    """Without a state: done when the service has answered."""

    default_client_name = "widget"
    api_object = ApiObject("/plains", "plain", name="")
    properties_schema = {"size": properties.Schema("Integer", update_allowed=True)}


@pytest.fixture(scope="module")
def types() -> Iterator[None]:
    known = registry.global_env()
    for name, cls in (("Test::Rest::Widget", Widget), ("Test::Rest::Plain", Plain)):
        known.register_class(name, cls)
    yield
    registry.reset()


@pytest.fixture
def service() -> Iterator[RestServer]:
    with RestServer() as running:
        yield running


@pytest.fixture
def widgets(service: RestServer) -> Collection:
    return service.collection(
        "/widgets", "widget", states=["BUILD", "ACTIVE"], deleting=["ACTIVE"], defaults={"weight_g": 5}
    )


@pytest.fixture
def cloud(service: RestServer, monkeypatch: pytest.MonkeyPatch) -> FakeCloud:
    monkeypatch.setattr(rest, "FIRST_PAUSE", 0.005)
    cloud = FakeCloud(widget=service)
    cloud.clients._plugins["widget"] = WidgetPlugin(cloud.context)
    return cloud


def make(cloud: FakeCloud, kind: str = "Widget", **props: Any) -> Any:
    stack = cloud.stack(hot({"w": {"type": f"Test::Rest::{kind}", "properties": props}}))
    return stack["w"]


def created(cloud: FakeCloud, **props: Any) -> Any:
    resource = make(cloud, **props)
    assert drive(lifecycle.create(resource), resource).short[-1] == "CREATE_COMPLETE"
    return resource


def updated(cloud: FakeCloud, resource: Any, **props: Any) -> Driver:
    after = cloud.stack(hot({"w": {"type": resource.type(), "properties": props}})).defn.resource_definition("w")
    return drive(lifecycle.update(resource, after), resource)


# a life ------------------------------------------------------------------------------------------


def test_a_life(cloud: FakeCloud, service: RestServer, widgets: Collection) -> None:
    widget = created(cloud, colour="red", size=3, comment="not for the service", value_specs={"extra": 1})
    body = {"color": "red", "size": 3, "extra": 1, "name": widget.physical_resource_name()}
    assert service.bodies("POST") == [{"widget": body}]
    assert widget.resource_id in widgets.objects

    asked = len(service.requests)
    assert (widget.FnGetAtt("weight"), widget.FnGetAtt("color")) == (5, "red")
    assert len(service.requests) == asked, "what was seen at the end of the creation is still good"
    assert widget.FnGetAtt("show")["id"] == widget.resource_id

    updated(cloud, widget, colour="blue", size=3, name="mine", value_specs={"extra": 1, "more": 2})
    assert service.bodies("PUT") == [{"widget": {"color": "blue", "name": "mine", "more": 2}}]
    assert widget.FnGetAtt("color") == "blue"
    updated(cloud, widget, colour="blue", size=3, value_specs={"extra": 1, "more": 2})
    assert service.bodies("PUT")[-1] == {"widget": {"name": widget.physical_resource_name()}}

    checked = drive(lifecycle.check(widget), widget)
    assert checked.states == [("CHECK", "COMPLETE", "CHECK not supported for Test::Rest::Widget")]
    assert drive(lifecycle.delete(widget), widget).short[-1] == "DELETE_COMPLETE"
    assert widgets.objects == {}


def test_a_deletion_that_fails_is_not_waited_for(cloud: FakeCloud, service: RestServer, widgets: Collection) -> None:
    widget = created(cloud)
    widgets.deleting = ["PENDING_DELETE", "PENDING_DELETE", *["ERROR"] * 20]
    with pytest.raises(exceptions.ResourceFailure, match="Went to status ERROR"):
        drive(lifecycle.delete(widget), widget)
    assert widget.state == ("DELETE", "FAILED")
    widgets.deleting = []
    assert drive(lifecycle.delete(widget), widget).short[-1] == "DELETE_COMPLETE"


def test_one_that_had_failed_before_is_waited_for(cloud: FakeCloud, service: RestServer, widgets: Collection) -> None:
    widget = created(cloud)
    widgets.deleting = ["ERROR", "ERROR", "ERROR", "ERROR"]
    assert drive(lifecycle.delete(widget), widget).short[-1] == "DELETE_COMPLETE"


def test_without_a_state_an_action_is_one_request(cloud: FakeCloud, service: RestServer) -> None:
    service.collection("/plains", "plain")
    plain = created(cloud, kind="Plain", size=1)
    updated(cloud, plain, size=2)
    drive(lifecycle.delete(plain), plain)
    assert [one.method for one in service.requests] == ["POST", "PUT", "DELETE"]
    assert service.bodies("POST") == [{"plain": {"size": 1}}]


def test_what_is_no_field_is_not_sent(cloud: FakeCloud, service: RestServer, widgets: Collection) -> None:
    widget = created(cloud, comment="before")
    assert updated(cloud, widget, comment="after").short[-1] == "UPDATE_COMPLETE"
    assert service.count("PUT") == 0


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("ERROR", 'ResourceInError: resources.w: Went to status ERROR due to "Unknown"'),
        ("ODD", 'ResourceUnknownStatus: resources.w: Resource is not built - Unknown status ODD due to "Unknown"'),
    ],
)
def test_an_object_that_does_not_get_ready(
    cloud: FakeCloud, widgets: Collection, option: Option, state: str, reason: str
) -> None:
    option("action_retry_limit", 0)
    widgets.states = ["BUILD", state]
    widget = make(cloud)
    driver = Driver(lifecycle.create(widget), widget)
    with pytest.raises(exceptions.ResourceFailure):
        driver.run()
    assert driver.states[-1] == ("CREATE", "FAILED", reason)


# the world changes -------------------------------------------------------------------------------


def test_an_object_removed_behind_our_back(cloud: FakeCloud, service: RestServer, widgets: Collection) -> None:
    widget = created(cloud)
    widgets.objects.clear()
    driver = Driver(lifecycle.check(widget), widget)
    with pytest.raises(exceptions.ResourceFailure, match="could not be found|not found"):
        driver.run()
    assert driver.short[-1] == "CHECK_FAILED"
    assert widget.FnGetAtt("show") is None
    assert drive(lifecycle.delete(widget), widget).short[-1] == "DELETE_COMPLETE"


def test_live_state_is_told_by_the_names_of_properties(cloud: FakeCloud, widgets: Collection) -> None:
    widget = created(cloud, colour="red", value_specs={"extra": 1})
    shown = {**widgets.objects[widget.resource_id], "color": "green", "extra": 2, "name": "made up"}
    assert widget.parse_live_resource_data(widget.properties, shown) == {"colour": "green", "value_specs": {"extra": 2}}


# faults ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("found_at_once", [True, False])
def test_a_creation_whose_answer_is_lost_finds_its_own(
    cloud: FakeCloud, service: RestServer, widgets: Collection, found_at_once: bool
) -> None:
    widgets.add(name="another", color="red")
    service.fault("POST", "/widgets", cut=True, after=True)
    if not found_at_once:
        # The service shows it late.
        late = iter([False, True])
        service.route(
            "GET", "/widgets", lambda request: widgets.list(request) if next(late, True) else (200, {"widgets": []})
        )
    widget = created(cloud, colour="red")
    assert service.count("POST") == 1 and len(widgets.objects) == 2
    assert widgets.objects[widget.resource_id]["name"] == widget.physical_resource_name()
    assert widget.data() == {}


@pytest.mark.parametrize("answer", [b"<html>Welcome</html>", b"", {}, {"widget": {}}, {"widget": None}, []])
def test_a_creation_with_an_answer_that_says_nothing_finds_its_own(
    cloud: FakeCloud, service: RestServer, widgets: Collection, answer: Any
) -> None:
    """Something before the service answered in its place; what was made must not be forgotten."""

    def create(request: Any) -> tuple[int, Any]:
        widgets.create(request)
        return 201, answer

    service.route("POST", "/widgets", create)
    res = make(cloud)
    drive(lifecycle.create(res), res)
    assert [res.resource_id] == list(widgets.objects)


def test_a_creation_that_did_not_arrive_is_repeated(cloud: FakeCloud, service: RestServer, widgets: Collection) -> None:
    service.fault("POST", "/widgets", cut=True)
    created(cloud)
    assert service.count("POST") == 2 and len(widgets.objects) == 1


def test_a_given_name_is_no_proof(cloud: FakeCloud, service: RestServer, widgets: Collection) -> None:
    import datetime

    widgets.add("stranger", name="mine", created_at="2001-01-01T00:00:00Z")
    service.fault("POST", "/widgets", cut=True, after=True)
    widget = make(cloud, name="mine")
    widget.record.created_at = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    drive(lifecycle.create(widget), widget)
    assert len(widgets.objects) == 2 and widget.resource_id not in (None, "stranger")


def test_who_deletes_looks_for_what_may_have_been_made(
    cloud: FakeCloud, service: RestServer, widgets: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kit, "LOOKS", 0)
    service.fault("POST", "/widgets", cut=True, after=True)
    widget = make(cloud)
    driver = Driver(lifecycle.create(widget), widget)
    with pytest.raises(exceptions.ResourceFailure):
        driver.run()
    assert widget.resource_id is None and len(widgets.objects) == 1
    widget.data_set(kit.UNSURE, "1")
    assert drive(lifecycle.delete(widget), widget).short[-1] == "DELETE_COMPLETE"
    assert widgets.objects == {}


@pytest.mark.parametrize("carried_out", [True, False])
def test_a_service_that_broke_down_over_a_creation(
    cloud: FakeCloud, service: RestServer, widgets: Collection, carried_out: bool
) -> None:
    """Nobody knows whether there is an object: it is not made again, and who deletes the resource looks for it."""
    service.fault("POST", "/widgets", status=500, message="no disk", after=carried_out)
    widget = make(cloud)
    driver = Driver(lifecycle.create(widget), widget)
    with pytest.raises(exceptions.ResourceFailure, match="no disk"):
        driver.run()
    assert service.count("POST") == 1 and len(widgets.objects) == int(carried_out)
    assert drive(lifecycle.delete(widget), widget).short[-1] == "DELETE_COMPLETE"
    assert widgets.objects == {}


def test_an_engine_that_died_before_it_wrote_the_id(cloud: FakeCloud, service: RestServer, widgets: Collection) -> None:
    widget = make(cloud)
    driver = Driver(lifecycle.create(widget), widget).run(until=lifecycle.Transition)
    widget.handle_create()
    widget.record.nova_instance = None
    driver.generator.close()
    widget.record.action, widget.record.status = "CREATE", "IN_PROGRESS"
    assert drive(resume_action(widget), widget).short[-1] == "CREATE_COMPLETE"
    assert service.count("POST") == 1 and widget.resource_id in widgets.objects


@pytest.mark.parametrize("status", [429, 503])
def test_a_service_that_says_later_makes_a_pause_and_holds_no_thread(
    cloud: FakeCloud, service: RestServer, widgets: Collection, status: int
) -> None:
    service.fault("POST", "/widgets", status=status, headers={"Retry-After": "17"})
    widget = make(cloud)
    driver = drive(lifecycle.create(widget), widget)
    assert driver.short[-1] == "CREATE_COMPLETE" and 17.0 in driver.pauses
    service.fault("DELETE", "/widgets/.*", status=status, headers={"Retry-After": "18"})
    assert 18.0 in drive(lifecycle.delete(widget), widget).pauses


def test_a_storm_of_failures_is_waited_out(cloud: FakeCloud, service: RestServer, widgets: Collection) -> None:
    for path, method in (("/widgets", "POST"), ("/widgets/.*", "GET"), ("/widgets/.*", "DELETE")):
        service.fault(method, path, times=8, status=503)
    widget = created(cloud)
    assert drive(lifecycle.delete(widget), widget).short[-1] == "DELETE_COMPLETE"


def test_patience_ends(
    cloud: FakeCloud, service: RestServer, widgets: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acting, "LONGEST_PATIENCE", 1.0)
    service.fault("POST", "/widgets", times=1000, status=503, message="closed")
    widget = make(cloud)
    driver = Driver(lifecycle.create(widget), widget)
    with pytest.raises(exceptions.ResourceFailure, match="closed"):
        driver.run(1000)
    assert driver.short[-1] == "CREATE_FAILED" and 0 < sum(driver.pauses) < 30


@pytest.mark.parametrize(
    ("status", "text"),
    [(403, "Forbidden: resources.w: Quota exceeded (HTTP 403)"), (400, "BadRequest: resources.w: Quota exceeded")],
)
def test_what_the_service_says_is_the_reason(
    cloud: FakeCloud, service: RestServer, widgets: Collection, status: int, text: str
) -> None:
    service.fault("POST", "/widgets", status=status, message="Quota exceeded")
    widget = make(cloud)
    driver = Driver(lifecycle.create(widget), widget)
    with pytest.raises(exceptions.ResourceFailure):
        driver.run()
    assert driver.states[-1][2].startswith(text)
    # A repeat is a new start: nothing was made, so there is nothing to delete.
    assert drive(lifecycle.delete(widget), widget).short[-1] == "DELETE_COMPLETE"
    assert service.changes() == ["POST /widgets"]


def test_handlers_of_several_steps_are_not_called_twice_unless_they_say_so() -> None:
    class Steps(Widget):
        def handle_create(self) -> Any:
            return None

    class Careful(Steps):
        repeatable_create = True

    class Derived(Steps):
        pass

    assert [cls.repeatable_create for cls in (Widget, Steps, Careful, Derived)] == [True, False, True, False]
    assert Steps.repeatable_update


# together ----------------------------------------------------------------------------------------


def test_many_in_progress_are_listed_not_shown(
    cloud: FakeCloud, service: RestServer, widgets: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "SPACING", 0.0)
    widgets.states = ["BUILD"] * 4 + ["ACTIVE"]
    kinds = {f"w{number}": {"type": "Test::Rest::Widget"} for number in range(20)}
    stack = cloud.stack(hot(kinds))
    drivers = [Driver(lifecycle.create(stack[name]), stack[name]) for name in kinds]
    for _round in range(100):
        for driver in drivers:
            if not driver.done:
                driver.step()
        if all(driver.done for driver in drivers):
            break
    assert {driver.short[-1] for driver in drivers} == {"CREATE_COMPLETE"}
    assert service.count("GET", "/widgets/.+") <= 4
    assert service.count("GET") < 20


def test_a_service_that_stays_away_is_asked_less_and_less() -> None:
    """Not at all any more after two minutes; one that says how long it needs is asked then."""
    error, waited, pauses = RuntimeError("away"), 0.0, []
    error.again_in = 0.3  # type: ignore[attr-defined]
    while waited <= acting.LONGEST_PATIENCE:
        pause, waited = acting.pause_asked(error, waited)
        pauses.append(pause)
    assert pauses == sorted(pauses) and pauses[0] == 0.3 and pauses[-1] == acting.LONGEST_PAUSE
    assert len(pauses) < 30
    with pytest.raises(RuntimeError, match="away"):
        acting.pause_asked(error, waited)
    error.again_in = 20.0  # type: ignore[attr-defined]
    assert acting.pause_asked(error, 1.0) == (20.0, 21.0)
