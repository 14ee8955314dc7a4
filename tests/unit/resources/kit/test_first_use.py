# SPDX-License-Identifier: Apache-2.0
"""What a declaration of an API object cannot show before the service answers: the first use says where it is wrong."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.clients import polling, rest
from openkeel_heat.clients.service import RestClientPlugin
from openkeel_heat.common import exceptions
from openkeel_heat.resources.kit import attributes, lifecycle, properties, registry
from openkeel_heat.resources.kit.rest import ApiObject, RestResource
from openkeel_heat.resources.kit.translation import TranslationRule
from tests.fixtures.rest_server import Collection, FakeCloud, RestServer
from tests.unit.resources.fakes import Driver, drive, hot

pytestmark = pytest.mark.usefixtures("option")


class Plugin(RestClientPlugin):
    NAME = "library"
    service_types = ["library"]
    LISTS_ALL = True

    def _create(self, version: str | None = None) -> Any:
        return self.api


def thing(**declared: Any) -> type[RestResource]:
    """A type like others, but for what is declared."""
    return type(
        "Thing",
        (RestResource,),
        {
            "default_client_name": "library",
            "api_object": ApiObject("/things", "thing"),
            "properties_schema": {"size": properties.Schema("Integer", update_allowed=True)},
            "attributes_schema": {"weight": attributes.Schema("Its weight.")},
            **declared,
        },
    )


@pytest.fixture
def service() -> Iterator[RestServer]:
    with RestServer() as running:
        yield running
    registry.reset()


@pytest.fixture
def things(service: RestServer) -> Collection:
    return service.collection("/things", "thing", defaults={"weight_g": 5})


@pytest.fixture
def cloud(service: RestServer, monkeypatch: pytest.MonkeyPatch) -> FakeCloud:
    monkeypatch.setattr(rest, "FIRST_PAUSE", 0.005)
    cloud = FakeCloud(library=service)
    cloud.clients._plugins["library"] = Plugin(cloud.context)
    return cloud


def stack_of(cloud: FakeCloud, cls: type[RestResource], **props: Any) -> Any:
    registry.global_env().register_class("Test::Thing", cls)
    return cloud.stack(hot({"t": {"type": "Test::Thing", "properties": props}}))


def failure(cloud: FakeCloud, cls: type[RestResource]) -> str:
    """The reason that a user reads of a creation that fails."""
    made = stack_of(cloud, cls, size=1)["t"]
    with pytest.raises(exceptions.ResourceFailure) as caught:
        drive(lifecycle.create(made), made)
    return str(caught.value)


def created(cloud: FakeCloud, cls: type[RestResource], **props: Any) -> Any:
    made = stack_of(cloud, cls, **props)["t"]
    assert drive(lifecycle.create(made), made).short[-1] == "CREATE_COMPLETE"
    return made


# methods without an answer --------------------------------------------------------------------------------------------


def test_a_body_that_was_not_returned(cloud: FakeCloud, things: Collection, service: RestServer) -> None:
    wrong = thing(create_body=lambda self, props: None)
    told = "TypeError: resources.t: Thing.create_body answered NoneType, not the fields to be sent"
    assert failure(cloud, wrong) == told
    assert service.count("POST") == 0


def test_a_change_that_was_not_returned(cloud: FakeCloud, things: Collection) -> None:
    """It is not taken for one that needs no request."""
    cls = thing(update_body=lambda self, prop_diff: None)
    made = created(cloud, cls, size=1)
    after = stack_of(cloud, cls, size=2).defn.resource_definition("t")
    with pytest.raises(exceptions.ResourceFailure, match="Thing.update_body answered NoneType"):
        drive(lifecycle.update(made, after), made)


def test_an_error_that_was_not_returned(cloud: FakeCloud, service: RestServer) -> None:
    service.collection("/things", "thing", states=["ERROR"])
    wrong = thing(api_object=ApiObject("/things", "thing", status="status"), error_of=lambda self, shown, status: None)
    told = "TypeError: resources.t: Thing.error_of answered NoneType, not an error; the object went to status ERROR"
    assert failure(cloud, wrong) == told


# fields that the service does not show --------------------------------------------------------------------------------


def test_a_state_that_the_service_does_not_show(cloud: FakeCloud, things: Collection) -> None:
    wrong = thing(api_object=ApiObject("/things", "thing", status="phase"))
    told = failure(cloud, wrong)
    assert 'Resource is not built (the service shows no "phase") - Unknown status None' in told


def test_an_attribute_that_the_service_does_not_show(
    cloud: FakeCloud, things: Collection, caplog: pytest.LogCaptureFixture
) -> None:
    """It has no value, as some services have fewer fields than others; once it is told why."""
    made = created(cloud, thing(), size=1)
    assert (made.FnGetAtt("weight"), made.FnGetAtt("weight")) == (None, None)
    assert [text for text in caplog.messages if "weight" in text] == [
        "Attribute weight of Thing has no value: the service shows no weight, only created_at, id, name, size, weight_g"
    ]
    caplog.clear()
    assert created(cloud, thing(attribute_fields={"weight": "weight_g"}), size=1).FnGetAtt("weight") == 5
    assert "has no value" not in caplog.text


def test_an_id_that_the_service_does_not_show(cloud: FakeCloud, things: Collection) -> None:
    """Looked for after a lost answer, too."""
    made = stack_of(cloud, thing(api_object=ApiObject("/things", "thing", id="uuid")), size=1)["t"]
    made.record.id, made.record.uuid, made.record.action = 1, str(uuid.uuid4()), "CREATE"
    things.add(name=made.physical_resource_name())
    with pytest.raises(exceptions.Error, match='what the service has in /things shows no field "uuid"'):
        made.find_physical()


def test_objects_with_another_id_are_waited_for_together(cloud: FakeCloud, service: RestServer) -> None:
    """Lists tell objects apart by "id": those of other services are shown one by one."""
    found = service.collection("/things", "thing", states=["BUILD", "BUILD", "ACTIVE"])
    found.on_create = lambda made, request: made.update(uuid=made["id"])

    def handler(request: Any, id_: str) -> tuple[int, Any]:
        status, body = found.show(request, id_)
        return status, {"thing": {name: value for name, value in body["thing"].items() if name != "id"}}

    def listed(request: Any) -> tuple[int, Any]:
        return 200, {"things": [{k: v for k, v in one.items() if k != "id"} for one in found.objects.values()]}

    service.route("GET", "/things/(.+)", handler)
    service.route("GET", "/things", listed)
    cls = thing(api_object=ApiObject("/things", "thing", id="uuid", status="status"))
    stacks = [stack_of(cloud, cls, size=number)["t"] for number in range(polling.ENOUGH + 1)]
    lives = [(made, lifecycle.create(made)) for made in stacks]
    drivers = [Driver(life, made) for made, life in lives]
    for _round in range(20):
        for driver in drivers:
            if not driver.done:
                driver.step()
    assert [driver.short[-1] for driver in drivers] == ["CREATE_COMPLETE"] * len(drivers)


# translation ----------------------------------------------------------------------------------------------------------


def resolving(path: list[str], finder: str | None) -> Any:
    def rules(self: Any, props: Any) -> list[TranslationRule]:
        return [TranslationRule(props, "Resolve", path, client_plugin=self.client_plugin(), finder=finder)]

    return rules


NESTED = {
    "size": properties.Schema("Integer"),
    "rows": properties.Schema(
        "List", schema=properties.Schema("Map", schema={"room": properties.Schema("String")}), default=[]
    ),
    "free": properties.Schema("Map", default={}),
}


@pytest.mark.parametrize(
    ("path", "finder", "mistakes"),
    [
        (["size"], "find", []),
        (["rows", "room"], "find", []),
        (["free", "anything"], "find", []),
        (["sise"], "find", ["Resolve sise: there is no such property"]),
        (["rows", "rom"], "find", ["Resolve rows.rom: there is no such property"]),
        (["size", "room"], "find", ["Resolve size.room: there is no such property"]),
        (["size"], "find_siez", ["Resolve size: Plugin has no finder find_siez"]),
        (["size"], None, ["Resolve size: Plugin has no finder None"]),
    ],
)
def test_rules_that_do_nothing(
    path: list[str], finder: str | None, mistakes: list[str], cloud: FakeCloud, caplog: pytest.LogCaptureFixture
) -> None:
    stack = stack_of(cloud, thing(properties_schema=NESTED, translation_rules=resolving(path, finder)))
    for _twice in range(2):
        stack["t"].reparse()
        assert stack["t"].properties is not None
    assert caplog.messages == [f"Translation rules of Thing: {what}" for what in mistakes]
