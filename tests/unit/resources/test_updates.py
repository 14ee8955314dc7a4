# SPDX-License-Identifier: Apache-2.0
"""Live state, immutable properties, and what plugins override to decide about updates."""

from __future__ import annotations

from typing import Any

import pytest
from oslo_config import cfg

from openkeel_heat.common import exceptions as exception
from openkeel_heat.resources.kit import attributes, lifecycle, properties
from openkeel_heat.resources.kit.node_data import NodeData
from openkeel_heat.resources.kit.resource import Resource
from tests.unit.resources.fakes import Driver, FakeClients, FakeStack, drive, hot

S = properties.Schema


class NotFoundError(Exception):
    pass


class Plugin:
    service_types = ["thing"]

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.things = self

    def client(self) -> Any:
        return self

    def get(self, key: str) -> dict[str, Any]:
        if key not in self.objects:
            raise NotFoundError(key)
        return self.objects[key]

    def delete(self, key: str) -> None:
        self.get(key)
        del self.objects[key]

    def is_not_found(self, ex: BaseException) -> bool:
        return isinstance(ex, NotFoundError)

    def is_conflict(self, ex: BaseException) -> bool:
        return False

    @property
    def ignore_not_found(self) -> Any:
        import contextlib

        return contextlib.suppress(NotFoundError)

    def does_endpoint_exist(self, service_type: str, service_name: str) -> bool:
        return True


class Thing(Resource):
    """A thing of a service."""

    default_client_name = "thing"
    entity = "things"

    properties_schema = {
        "name": S(S.STRING, update_allowed=True),
        "size": S(S.INTEGER, update_allowed=True, default=1),
        "colour": S(S.STRING),
        "place": S(S.STRING, immutable=True),
    }
    attributes_schema = {
        "size": attributes.Schema("Its size.", type=attributes.Schema.INTEGER),
        "now": attributes.Schema("Never the same.", cache_mode=attributes.Schema.CACHE_NONE),
    }
    updates: list[dict[str, Any]] = []

    def handle_create(self) -> None:
        self.client().objects["id"] = {"size": self.properties["size"], "name": "made up"}
        self.resource_id_set("id")

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> None:
        self.updates.append(prop_diff)

    def _resolve_attribute(self, name: str) -> Any:
        return self._show_resource().get("size")


def stack_of(plugin: Plugin, **props: Any) -> FakeStack:
    stack = FakeStack(hot({"r": {"type": "T", "properties": props}}), clients=FakeClients(thing=plugin))
    stack.context.clients = stack.clients
    stack.env.register_class("T", Thing)
    return stack


@pytest.fixture
def plugin() -> Plugin:
    Thing.updates = []
    return Plugin()


def created(plugin: Plugin, **props: Any) -> Any:
    resource = stack_of(plugin, **props)["r"]
    drive(lifecycle.create(resource), resource)
    return resource


def update(resource: Any, plugin: Plugin, **props: Any) -> Driver:
    return Driver(lifecycle.update(resource, stack_of(plugin, **props).defn.resource_definition("r")), resource)


def test_only_what_changed_is_updated(plugin: Plugin) -> None:
    resource = created(plugin, size=1, name="a")
    update(resource, plugin, size=2, name="a").run()
    assert Thing.updates == [{"size": 2}]


def test_a_property_taken_back_goes_to_its_default(plugin: Plugin) -> None:
    resource = created(plugin, size=5, name="a")
    update(resource, plugin).run()
    assert Thing.updates == [{"size": 1, "name": None}]


def test_a_property_that_cannot_change_replaces(plugin: Plugin) -> None:
    with pytest.raises(exception.UpdateReplace):
        update(created(plugin, colour="red"), plugin, colour="blue").run()


def test_immutable(plugin: Plugin) -> None:
    driver = update(created(plugin, place="here"), plugin, place="there")
    with pytest.raises(
        exception.ResourceFailure,
        match=r"NotSupported: resources.r: Update to properties place of r "
        r"\(T\) is not supported.",
    ):
        driver.run()
    assert driver.short == ["UPDATE_IN_PROGRESS", "UPDATE_FAILED"]


@pytest.fixture
def observing() -> Any:
    cfg.CONF.set_override("observe_on_update", True)
    yield
    cfg.CONF.clear_override("observe_on_update")


def test_drift_is_mended(plugin: Plugin, observing: Any) -> None:
    resource = created(plugin, size=3)
    plugin.objects["id"]["size"] = 7
    update(resource, plugin, size=3).run()
    assert Thing.updates == [{"size": 3}]


def test_a_made_up_name_is_no_drift(plugin: Plugin, observing: Any) -> None:
    resource = created(plugin, size=3)
    assert update(resource, plugin, size=3).run().short == []
    assert Thing.updates == []


def test_an_object_that_is_gone_is_replaced(plugin: Plugin, observing: Any) -> None:
    resource = created(plugin, size=3)
    plugin.objects.clear()
    with pytest.raises(exception.UpdateReplace):
        update(resource, plugin, size=3).run()


def test_a_service_that_does_not_answer_is_no_reason(
    plugin: Plugin, observing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = created(plugin, size=3)

    def fails(key: str) -> Any:
        raise RuntimeError("no answer")

    monkeypatch.setattr(plugin, "get", fails)
    update(resource, plugin, size=4).run()
    assert Thing.updates == [{"size": 4}]


def test_delete_by_entity(plugin: Plugin) -> None:
    resource = created(plugin)
    drive(lifecycle.delete(resource), resource)
    assert plugin.objects == {}
    resource.state_reset()
    resource.action = "CREATE"
    drive(lifecycle.delete(resource), resource)


def test_attributes_are_asked_once(plugin: Plugin) -> None:
    resource = created(plugin, size=3)
    assert resource.FnGetAtt("size") == 3
    plugin.objects["id"]["size"] = 9
    assert resource.FnGetAtt("size") == 3 and resource.FnGetAtt("now") == 9
    assert resource.FnGetAtt("show") == {"size": 9, "name": "made up"}
    assert resource.attributes.has_new_cached_attrs()
    resource.store_attributes()
    assert resource.stack.store.writes[-1] == ("attributes", {"size": 3})
    plugin.objects.clear()
    assert resource.FnGetAtt("now") is None


def test_external_object_that_is_not_there(plugin: Plugin) -> None:
    stack = stack_of(plugin)
    resource = FakeStack(hot({"r": {"type": "T", "external_id": "x"}}), env=stack.env, clients=stack.clients)["r"]
    with pytest.raises(
        exception.StackValidationFailed, match=r"Invalid external resource: Resource x \(T\) can not be found."
    ):
        resource.validate_external()


def test_service_that_is_not_there(plugin: Plugin) -> None:
    plugin.does_endpoint_exist = lambda **kwargs: False  # type: ignore[method-assign,assignment]
    with pytest.raises(exception.ResourceTypeUnavailable, match="thing thing endpoint is not in service catalog."):
        stack_of(plugin)["r"].validate()


def test_node_data_has_what_others_read(plugin: Plugin) -> None:
    stack = FakeStack(
        hot(
            {
                "r": {"type": "T", "properties": {"size": 3}},
                "user": {"type": "OS::Heat::Value", "properties": {"value": {"get_attr": ["r", "size"]}}},
            },
            outputs={"o": {"value": {"get_attr": ["r", "now"]}}},
        ),
        clients=FakeClients(thing=plugin),
    )
    stack.env.register_class("T", Thing)
    resource = stack["r"]
    assert resource.node_data().as_dict()["attrs"] == {"size": None}
    drive(lifecycle.create(resource), resource)
    data = resource.node_data()
    assert isinstance(data, NodeData)
    assert data.as_dict() == {
        "id": resource.id,
        "name": "r",
        "reference_id": "id",
        "attrs": {"size": 3},
        "status": "COMPLETE",
        "action": "CREATE",
        "uuid": resource.uuid,
    }
    assert resource.node_data(for_outputs=True).as_dict()["attrs"] == {"size": 3, "now": 3}


def test_an_attribute_that_fails_is_raised_where_it_is_read(plugin: Plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = stack_of(plugin)
    resource = stack["r"]
    drive(lifecycle.create(resource), resource)

    def fails(key: str) -> Any:
        raise RuntimeError("no answer")

    monkeypatch.setattr(plugin, "get", fails)
    monkeypatch.setattr(stack.defn, "wanted_attributes", lambda *args: {"size"})
    data = resource.node_data()
    with pytest.raises(RuntimeError, match="no answer"):
        data.attribute("size")
    with pytest.raises(RuntimeError):
        data.as_dict()
