# SPDX-License-Identifier: Apache-2.0
"""Where a remote stack is, and what it tells of the refusals of the other service."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest
import requests
from keystoneauth1 import exceptions

from openkeel_heat.clients import rest_errors
from openkeel_heat.common.context import RequestContext
from openkeel_heat.common.exceptions import ResourceInError, SnapshotNotFound, UpdateReplace
from openkeel_heat.resources.heat import remote_stack_credentials
from tests.unit.resources.fakes import FakeStack, hot


def answer(status: int, body: str) -> requests.Response:
    response = requests.Response()
    response.status_code = status
    response._content = body.encode()
    response.headers["Content-Type"] = "application/json"
    return response


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (
            404,
            json.dumps({"error": {"message": "The Stack (x) could not be found.", "type": "EntityNotFound"}}),
            "HTTPNotFound: ERROR: The Stack (x) could not be found.",
        ),
        (400, json.dumps({"title": "Bad Request"}), "HTTPBadRequest: ERROR: Internal Error"),
        (400, json.dumps({"error": {"traceback": None}}), "HTTPBadRequest: ERROR: Internal Error"),
        (409, json.dumps(["odd"]), "HTTPConflict: ERROR: Internal Error"),
        (502, "<html>", "HTTPBadGateway: ERROR: <html>"),
        (418, "short", "HeatError: ERROR: short"),
    ],
)
def test_refusal(kept: Any, status: int, body: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the words of the other service's own client."""

    class Adapter:
        def request(self, path: str, method: str, raise_exc: bool, **_options: Any) -> requests.Response:
            assert not raise_exc
            return answer(status, body)

    monkeypatch.setattr(kept, "_api", Adapter)
    with pytest.raises(rest_errors.RestError) as caught:
        kept._call("GET", "/stacks/x")
    assert f"{type(caught.value).__name__}: {caught.value}" == told
    assert kept.client_plugin().is_not_found(caught.value) == (status == 404)


@pytest.mark.parametrize(
    ("where", "url"),
    [
        ({}, "http://own/v1/p"),
        ({"region_name": "there"}, "http://own/v1/p"),
        ({"credential_secret_id": "secret"}, "http://other-cloud/v1/q"),
    ],
)
def test_the_url_in_the_configuration_is_not_that_of_other_clouds(
    where: dict[str, str], url: str, option: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """But it is that of all regions of this one."""

    class Auth:
        def get_endpoint(self, session: Any, **kwargs: Any) -> str:
            return "http://other-cloud/v1/q"

        def get_token(self, session: Any) -> str:
            return "token"

    properties = {"template": "heat_template_version: 2016-10-14", "context": where}
    resource = FakeStack(hot({"r": {"type": "OS::Heat::Stack", "properties": properties}}))["r"]
    resource.context = RequestContext(project_id="p", auth_plugin=Auth(), is_admin=False, overwrite=False)
    monkeypatch.setattr(remote_stack_credentials, "of_secret", lambda clients, secret: Auth())
    monkeypatch.setattr(RequestContext, "_create_auth_plugin", lambda self: Auth())
    option("url", "http://own/v1/%(tenant_id)s", "clients_heat")
    assert resource._api().endpoint_override == url


class Snapshots:
    """Another Heat with one stack and one snapshot, which is deleted in its own time."""

    def __init__(self, *states: str) -> None:
        self.states = list(states)
        self.calls: list[tuple[str, str]] = []

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        self.calls.append((method, path))
        if path == "/stacks/remote-id":
            return {"stack": {"stack_name": "n", "id": "remote-id"}}
        assert path.startswith("/stacks/n/remote-id/snapshots"), "the API knows no other path of snapshots"
        if method == "POST":
            return {"id": "s"}
        if method == "GET":
            if not self.states:
                raise exceptions.NotFound()
            return {"snapshot": {"status": self.states.pop(0), "status_reason": "why", "data": {"template": {"t": 1}}}}
        return None


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A remote stack that is there."""
    properties = {"template": "heat_template_version: 2016-10-14"}
    resource = FakeStack(hot({"r": {"type": "OS::Heat::Stack", "properties": properties}}))["r"]
    resource.context = RequestContext(project_id="p", is_admin=False, overwrite=False)
    resource.stack.clients = resource.context.clients
    monkeypatch.setattr(resource, "resource_id", "remote-id")
    return resource


def test_a_snapshot_is_restored(kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    api = Snapshots("COMPLETE")
    monkeypatch.setattr(kept, "_call", api)
    assert kept.handle_snapshot() == "s" and kept.data()["snapshot_id"] == "s"
    monkeypatch.setattr(kept, "resource_id", None)  # as in the stack that a snapshot has
    restored = kept.handle_restore(kept.t, {"resource_id": "remote-id", "resource_data": {"snapshot_id": "s"}})
    assert restored.properties(kept.properties_schema)["template"] == '{"t": 1}'
    assert ("GET", "/stacks/n/remote-id/snapshots/s") in api.calls


def test_an_engine_that_dies_during_the_snapshot(kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one waits for that snapshot; the next snapshot of the stack is another one."""
    api = Snapshots()
    monkeypatch.setattr(kept, "_call", api)
    for traversal, made in (("one", 1), ("one", 1), ("two", 2)):
        monkeypatch.setattr(kept.stack, "current_traversal", traversal)
        assert kept.handle_snapshot() == "s"
        assert [method for method, _path in api.calls].count("POST") == made


def test_a_snapshot_that_is_gone_is_not_restored(kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_call", Snapshots())
    with pytest.raises(SnapshotNotFound, match="remote-id"):
        kept.handle_restore(kept.t, {"resource_id": "remote-id", "resource_data": {"snapshot_id": "s"}})


def test_the_deletion_of_a_snapshot_is_waited_for(kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stack, which may be deleted next, would fail over it."""
    monkeypatch.setattr(kept, "_call", Snapshots("COMPLETE", "COMPLETE", "IN_PROGRESS"))
    path = kept.handle_delete_snapshot({"resource_data": {"snapshot_id": "s"}})
    assert [kept.check_delete_snapshot_complete(path) for _poll in range(3)] == [False, False, True]


def test_the_deletion_of_a_snapshot_fails(kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_call", Snapshots("COMPLETE", "FAILED"))
    path = kept.handle_delete_snapshot({"resource_data": {"snapshot_id": "s"}})
    with pytest.raises(ResourceInError, match="why"):
        kept.check_delete_snapshot_complete(path)


@pytest.mark.parametrize("states", [("FAILED",), ()], ids=["it failed", "somebody deleted it"])
def test_a_snapshot_that_nobody_waits_for(kept: Any, states: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_call", Snapshots(*states))
    path = kept.handle_delete_snapshot({"resource_data": {"snapshot_id": "s"}})
    assert path is None and kept.check_delete_snapshot_complete(path)


def test_a_stack_that_is_deleted_takes_its_snapshots_along(kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    api = Snapshots("COMPLETE")
    monkeypatch.setattr(kept, "_call", api)
    kept.stack.action = "DELETE"
    assert kept.handle_delete_snapshot({"resource_data": {"snapshot_id": "s"}}) is None and api.calls == []


def test_a_resource_without_a_snapshot(kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_call", Snapshots())
    assert kept.handle_delete_snapshot({"resource_data": None}) is None


@pytest.mark.parametrize("action", ["CREATE", "UPDATE", "CHECK"])
@pytest.mark.parametrize(
    ("told", "replaced"),
    [("UPDATE_FAILED", False), ("CREATE_FAILED", False), ("DELETE_COMPLETE", True), (None, True)],
)
def test_what_failed_is_mended_where_it_is_there(
    kept: Any, action: str, told: str | None, replaced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def call(method: str, path: str, body: Any = None) -> Any:
        if told is None:
            raise exceptions.NotFound()
        return {"stack": {"stack_status": told}}

    monkeypatch.setattr(kept, "_call", call)
    kept.action, kept.status = action, kept.FAILED
    expected = pytest.raises(UpdateReplace) if replaced or action == "CHECK" else contextlib.nullcontext()
    with expected:
        assert kept._needs_update(None, None, None, None, None)


def test_what_was_never_made_is_made(kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "resource_id", None)
    kept.action, kept.status = kept.CREATE, kept.FAILED
    with pytest.raises(UpdateReplace):
        kept._needs_update(None, None, None, None, None)


@pytest.mark.parametrize(
    ("shown", "outputs"),
    [({}, None), ({"outputs": []}, {}), ({"outputs": [{"output_key": "k", "output_value": 1}]}, {"k": 1})],
)
def test_outputs(kept: Any, shown: dict[str, Any], outputs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stack that is deleted is shown for some time, without any."""
    monkeypatch.setattr(kept, "_call", lambda method, path, body=None: {"stack": shown})
    assert kept._resolve_attribute("outputs") == outputs
