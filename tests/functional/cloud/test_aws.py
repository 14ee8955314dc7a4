# SPDX-License-Identifier: Apache-2.0
"""Users with keys and stacks in stacks, as AWS names them, on the real services, side by side with Heat 27.0.1.

Groups of AWS::AutoScaling and load balancers are not among them: their instances name no network, and 27.0.1 asks Nova
for such servers in a way that novaclient refuses nowadays ("nics are required after microversion 2.36").
"""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fixtures.api import Stack
from tests.fixtures.comparison import Both
from tests.fixtures.polling import NotInTime, until

pytestmark = [pytest.mark.cloud, pytest.mark.keystone, pytest.mark.services]


def template(resources: dict[str, Any], outputs: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"HeatTemplateFormatVersion": "2012-12-12", "Resources": resources, "Outputs": outputs or {}, **more}


def get(resource: str, attribute: str) -> dict[str, Any]:
    return {"Value": {"Fn::GetAtt": [resource, attribute]}}


def nested(stack: Stack, resource: str) -> Stack:
    """The stack of a resource, by the link to it."""

    def found() -> Stack | None:
        reply = stack.api.send("GET", f"{stack.path}/resources/{resource}")
        links = reply.json()["resource"]["links"] if reply.status_code == 200 else []
        href = next((link["href"] for link in links if link["rel"] == "nested"), None)
        return None if href is None else Stack(stack.api, *href.rsplit("/", 2)[1:])

    try:
        inner = until(found, f"{stack.name} has a stack for {resource}", 300)
    except NotInTime as error:
        raise NotInTime(f"{error}\n{json.dumps(stack.summary(), indent=1)}") from None
    assert isinstance(inner, Stack)
    return inner


def members(stack: Stack) -> dict[str, tuple[str, str]]:
    """Type and state of the resources of a nested stack."""
    return {name: (one["resource_type"], one["resource_status"]) for name, one in stack.resources().items()}


def test_a_user_with_a_key(both: Both, service: Any) -> None:
    resources = {
        "user": {"Type": "AWS::IAM::User", "Properties": {"Policies": []}},
        "key": {"Type": "AWS::IAM::AccessKey", "Properties": {"UserName": {"Ref": "user"}}},
    }
    outputs = {
        "user": {"Value": {"Ref": "user"}},
        "id": {"Value": {"Ref": "key"}},
        "name": get("key", "UserName"),
        "secret": get("key", "SecretAccessKey"),
    }
    # Each has a secret of its own; where 27.0.1 shows the key it takes the name of the resource for that of the user.
    ignore = {"outputs.secret", "key.SecretAccessKey", "key.UserName"}
    pair = both.create(template(resources, outputs)).compare(ignore)
    users = [each.resource("user")["physical_resource_id"] for each in pair.stacks]
    for each, user in zip(pair.stacks, users, strict=True):
        kept = service.get("identity", f"/users/{user}/credentials/OS-EC2")["credentials"]
        told = each.outputs()
        assert [(one["access"], one["secret"]) for one in kept] == [(told["id"], told["secret"])]
    pair.action("suspend", "SUSPEND_COMPLETE").compare(ignore)
    enabled = [service.get("identity", f"/users/{user}")["user"]["enabled"] for user in users]
    assert enabled[0] == enabled[1]
    pair.action("resume", "RESUME_COMPLETE").compare(ignore)
    pair.action("check", "CHECK_COMPLETE").compare(ignore)
    pair.delete()
    assert [service.send("GET", "identity", f"/users/{user}").status_code for user in users] == [404, 404]


@pytest.fixture
def pages() -> Iterator[tuple[str, dict[str, Any]]]:
    """A web server: its URL, and what it has."""
    content: dict[str, Any] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(content[self.path]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *words: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", content
    server.shutdown()


def test_a_stack_in_a_stack(both: Both, service: Any, pages: tuple[str, dict[str, Any]]) -> None:
    url, content = pages

    def inner(**props: Any) -> dict[str, Any]:
        volume = {"Type": "OS::Cinder::Volume", "Properties": {"size": {"Ref": "size"}, **props}}
        return template(
            {"volume": volume},
            {"volume": {"Value": {"Ref": "volume"}}, "size": {"Value": {"Ref": "size"}}},
            Parameters={"size": {"Type": "Number"}},
        )

    def stack(page: str, size: int) -> dict[str, Any]:
        properties = {"TemplateURL": url + page, "Parameters": {"size": size}, "TimeoutInMinutes": "10"}
        resources = {"inner": {"Type": "AWS::CloudFormation::Stack", "Properties": properties}}
        return template(resources, {name: get("inner", f"Outputs.{name}") for name in ("volume", "size")})

    content["/one"], content["/two"] = inner(), inner(metadata={"k": "v"})

    def sizes() -> list[int]:
        volumes = [nested(each, "inner").resource("volume")["physical_resource_id"] for each in pair.stacks]
        return [service.get("volumev3", f"/volumes/{volume}")["volume"]["size"] for volume in volumes]

    pair = both.create(stack("/one", 1)).compare()
    assert sizes() == [1, 1]
    pair.update(stack("/one", 2)).compare()
    assert sizes() == [2, 2]
    pair.update(stack("/two", 2)).compare()
    inside = [members(nested(each, "inner")) for each in pair.stacks]
    assert inside[0] == inside[1]
    pair.action("suspend", "SUSPEND_COMPLETE").compare()
    pair.action("resume", "RESUME_COMPLETE").compare()
    pair.delete()
