# SPDX-License-Identifier: Apache-2.0
"""Signals, metadata and files in the Swift and the Zaqar of the test bed."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from keystoneauth1 import exceptions as errors
from oslo_config import cfg

from openkeel_heat.common import config, exceptions
from openkeel_heat.common.context import RequestContext
from tests.fixtures import testbed


def _up(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


pytestmark = [pytest.mark.keystone]
swift = pytest.mark.skipif(not _up(8080), reason="the Swift of the test bed is not up")
zaqar = pytest.mark.skipif(not _up(8888), reason="the Zaqar of the test bed is not up")


@pytest.fixture(scope="module")
def context() -> Iterator[RequestContext]:
    """Of the demo user, with the configuration that the test bed wrote."""
    config.register_all()
    cfg.CONF(["--config-file", str(testbed.PRODUCT_CONF)], project="heat")
    demo = testbed.demo_environment()
    user = {"name": demo["OS_USERNAME"], "password": demo["OS_PASSWORD"], "domain": {"name": "Default"}}
    scope = {"project": {"name": demo["OS_PROJECT_NAME"], "domain": {"name": "Default"}}}
    answer = requests.post(
        f"{testbed.KEYSTONE}/auth/tokens",
        json={"auth": {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope}},
        timeout=30,
    )
    body = answer.json()
    yield RequestContext(
        auth_token=answer.headers["X-Subject-Token"],
        auth_token_info=body,
        user_id=body["token"]["user"]["id"],
        project_id=body["token"]["project"]["id"],
        roles=[role["name"] for role in body["token"]["roles"]],
        is_admin=False,
        overwrite=False,
    )
    cfg.CONF.reset()


@pytest.fixture
def container(context: RequestContext) -> Iterator[str]:
    client = context.clients.client("swift")
    name = "okh soft " + secrets.token_hex(4)
    client.put_container(name)
    yield name
    with context.clients.client_plugin("swift").ignore_not_found:
        while entries := client.get_container(name)[1]:
            for entry in entries:
                client.delete_object(name, entry["name"])
        client.delete_container(name)


@swift
def test_objects(context: RequestContext, container: str) -> None:
    plugin = context.clients.client_plugin("swift")
    client = plugin.client()
    assert client.url.endswith(f"AUTH_{context.project_id}")
    client.put_object(container, "a b/ü", "text")
    headers, body = client.get_object(container, "a b/ü")
    assert body == b"text" and headers["Content-Length"] == headers["content-length"] == "4"
    assert plugin.parse_last_modified(client.head_object(container, "a b/ü")["last-modified"]).year > 2000
    headers, entries = client.get_container(container)
    assert [entry["name"] for entry in entries] == ["a b/ü"] and headers["x-container-bytes-used"] == "4"
    with pytest.raises(errors.Conflict) as conflict:
        client.delete_container(container)
    assert plugin.is_conflict(conflict.value) and not plugin.is_not_found(conflict.value)
    client.delete_object(container, "a b/ü")
    with pytest.raises(errors.NotFound) as missing:
        client.get_object(container, "a b/ü")
    assert plugin.is_not_found(missing.value)


@swift
def test_temporary_urls(context: RequestContext, container: str) -> None:
    plugin = context.clients.client_plugin("swift")
    put, get = (plugin.get_temp_url(container, "an object", method=verb) for verb in ("PUT", "GET"))
    assert requests.put(put, "body", timeout=10).status_code == 201
    assert requests.get(get, timeout=10).text == "body"
    assert requests.get(put, timeout=10).status_code == 401
    assert requests.put(plugin.get_temp_url(container, "x", timeout=-1), "", timeout=10).status_code == 401
    assert plugin.is_valid_temp_url_path(f"/v1/AUTH_{context.project_id}/{container}/an object")


@swift
def test_each_signal_is_a_version(context: RequestContext, container: str) -> None:
    plugin = context.clients.client_plugin("swift")
    client = plugin.client()
    url = plugin.get_signal_url(container, "signal")
    for number in range(3):
        assert requests.put(url, json.dumps({"id": number}), timeout=10).status_code == 201
    bodies = [client.get_object(container, entry["name"])[1] for entry in client.get_container(container)[1]]
    assert sorted(bodies) == sorted([b"in progress", *(json.dumps({"id": number}).encode() for number in range(3))])


@swift
def test_files_of_a_container(context: RequestContext, container: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = context.clients.client_plugin("swift")
    for name in ("a.yaml", "b.yaml"):
        plugin.client().put_object(container, name, f"# {name}")
    assert plugin.get_files_from_container(container, ["b.yaml"]) == {"a.yaml": "# a.yaml"}
    with pytest.raises(exceptions.NotFound, match="Could not fetch files from container nowhere, reason: "):
        plugin.get_files_from_container("nowhere")
    cfg.CONF.set_override("max_json_body_size", 3)
    try:
        with pytest.raises(exceptions.DownloadLimitExceeded, match=r"\(16 bytes\) exceeds maximum allowed \(3 bytes\)"):
            plugin.get_files_from_container(container)
    finally:
        cfg.CONF.clear_override("max_json_body_size")
    plugin.client().put_object(container, "c", b"\xff")
    with pytest.raises(exceptions.Invalid, match="c is no UTF-8 text"):
        plugin.get_files_from_container(container)


@zaqar
def test_queue(context: RequestContext) -> None:
    plugin = context.clients.client_plugin("zaqar")
    queue = plugin.client().queue("okh-soft-" + secrets.token_hex(4))
    try:
        assert queue.pop() == []
        queue.post([{"body": {"n": number}, "ttl": 300} for number in range(3)])
        assert [message.body for message in queue.pop()] == [{"n": 0}]
        assert [message.body for message in queue.pop(2)] == [{"n": 1}, {"n": 2}]
        queue.post({"body": "text", "ttl": 300})
        signed = queue.signed_url(["messages"], methods=["GET", "DELETE"])
        project = signed.pop("project")
        assert project == context.project_id
        stranger = plugin.create_from_signed_url(project, **signed).queue(queue.name)
        assert [message.body for message in stranger.pop()] == ["text"]
        with pytest.raises(errors.HttpError):
            stranger.post({"body": 1, "ttl": 300})
        tenant = plugin.create_for_tenant(context.project_id, context.auth_token).queue(queue.name)
        tenant.post({"body": 2, "ttl": 300})
        assert [message.body for message in queue.messages(echo=True)] == [2]
        assert plugin.create_for_tenant(context.project_id, None) is None
    finally:
        queue.delete()


@zaqar
def test_event_sink(context: RequestContext) -> None:
    from openkeel_heat.clients.zaqar import ZaqarEventSink

    name = "okh-soft-" + secrets.token_hex(4)
    event: dict[str, Any] = {"type": "os.heat.event", "payload": {"resource_name": "r"}}
    ZaqarEventSink(name, ttl=300).consume(context, event)
    queue = context.clients.client("zaqar").queue(name)
    try:
        (message,) = queue.pop()
        assert message.body == event
    finally:
        queue.delete()
