# SPDX-License-Identifier: Apache-2.0
"""Line ends in names, paths, queries and headers make no header; headers of a client make no identity."""

from __future__ import annotations

import socket
from urllib.parse import quote, urlsplit

import pytest

from tests.fixtures import faked_token
from tests.fixtures.access import SMALL, Site

EVIL = "a\r\nX-Evil: yes\r\nSet-Cookie: a=b\r\n\r\n<b>"
FORMS = [
    quote(EVIL, safe=""),
    quote("a\nX-Evil: yes", safe=""),
    quote("a\rX-Evil: yes", safe=""),
    quote("a\u010d\u010aX-Evil: yes", safe=""),
    quote("a\u0085X-Evil: yes\u2028", safe=""),
]


def raw(site: Site, text: bytes, cfn: bool = False) -> bytes:
    """What the service answers to these bytes."""
    address = urlsplit(site.cfn_root if cfn else site.root)
    with socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=30) as connection:
        connection.sendall(text)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    return answer


def ask(site: Site, path: str, headers: dict[str, str] | None = None, method: str = "GET", cfn: bool = False) -> bytes:
    token = site.personas["member"].headers["X-Auth-Token"]
    lines = [f"{method} {path} HTTP/1.1", "Host: h", "Connection: close", f"X-Auth-Token: {token}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return raw(site, ("\r\n".join(lines) + "\r\n\r\n").encode(), cfn)


def head_of(answer: bytes) -> bytes:
    head, _, _body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 "), answer[:200]
    return head


@pytest.mark.parametrize("form", FORMS)
def test_paths_and_queries(faked_site: Site, form: str) -> None:
    project = faked_site.owner.project
    stack = faked_site.stack("S")
    arn = quote(f"arn:openstack:heat::{project}:stacks/", safe="") + form + quote(f"/{stack.id}", safe="")
    for path in (
        f"/v1/{project}/stacks/{form}",
        f"/v1/{project}/stacks/{arn}",
        f"/v1/{form}/stacks",
        f"/v1/{project}{stack.path}/resources/{form}",
        f"/v1/{project}/stacks/{stack.name}?a={form}&{form}=b",
        f"/v1/{project}/stacks/{stack.name}/events?marker={form}",
        f"/v1/{project}/stacks?limit=1&sort_keys={form}",
        f"/{form}",
        f"/v1/{project}/resource_types/{form}",
    ):
        head = head_of(ask(faked_site, path))
        assert b"\nX-Evil" not in head and b"\nSet-Cookie" not in head, path
        assert b"\rX-Evil" not in head, path
    for path in (
        f"/v1/?Action={form}",
        f"/v1/?Action=DescribeStacks&StackName={form}",
        f"/v1/signal/{arn}",
        f"/v1/waitcondition/{form}",
        f"/v1/stacks/{form}",
    ):
        head = head_of(ask(faked_site, path, method="PUT" if "waitcondition" in path else "GET", cfn=True))
        assert b"X-Evil" not in head, path


def test_names_of_stacks(faked_site: Site) -> None:
    for name in (EVIL, "a\nb", "a\n", "a\r", "a/b", "a b", "a\u2028", "a\x00b", "\u00e4", "<script>"):
        reply = faked_site.owner.send("POST", "/stacks", {"stack_name": name, "template": SMALL})
        assert reply.status_code == 400, name
        assert "Location" not in reply.headers and "X-Evil" not in reply.headers
        assert reply.headers["Content-Type"].startswith("application/json")


@pytest.mark.parametrize(
    "given",
    [
        "req-x\r\n X-Evil: yes",
        "req-" + "a" * 4000,
        "<script>",
        "req-1; drop table",
        "req-00000000-0000-4000-8000-00000000000g",
        "\u00e4",
    ],
)
def test_request_ids(faked_site: Site, given: str) -> None:
    """Of a request id that a client sends only one of the right form is taken over, and never as the own."""
    head = head_of(ask(faked_site, "/v1/owner/stacks", {"X-OpenStack-Request-ID": given}))
    assert b"X-Evil" not in head and given.encode() not in head
    assert head.lower().count(b"x-openstack-request-id: req-") == 1


def test_what_a_client_says_of_itself_does_not_count(faked_site: Site) -> None:
    """Headers that middleware makes are the middleware's."""
    claims = {
        "X-Roles": "admin",
        "X-Project-Id": "elsewhere",
        "X-User-Id": "admin",
        "X-Identity-Status": "Confirmed",
        "X-Is-Admin-Project": "True",
        "X-Tenant-Id": "elsewhere",
        "X_Roles": "admin",
        "X-Role": "admin",
    }
    token = faked_token.token("owner", "reader", "reader")
    lines = [f"{name}: {value}" for name, value in {**claims, "X-Auth-Token": token}.items()]
    for method, path, status in (
        ("GET", "/v1/owner/stacks", b"200"),
        ("GET", "/v1/elsewhere/stacks", b"403"),
        ("GET", "/v1/owner/services", b"403"),
        ("DELETE", f"/v1/owner{faked_site.stack('S').path}", b"403"),
    ):
        request = "\r\n".join([f"{method} {path} HTTP/1.1", "Host: h", "Connection: close", *lines]) + "\r\n\r\n"
        answer = raw(faked_site, request.encode())
        assert answer.split(b" ", 2)[1] == status, (method, path, answer[:200])


def test_an_access_key_in_a_header_opens_nothing(faked_site: Site) -> None:
    """A stack user who knows the key of another resource does not get at its metadata with it."""
    import json

    stack = faked_site.stack("S")
    shown = faked_site.owner.get(f"{stack.path}/resources/server")["resource"]["physical_resource_id"]
    user = faked_site.personas["stack_user"]
    stranger = faked_token.token(user.project, "somebody-else", "heat_stack_user")
    for access in (faked_site.server_user()["user_id"], shown):
        creds = json.dumps({"ec2Credentials": {"access": access, "signature": "s"}})
        api = faked_site.api("stack_user")
        api.http.headers.update({"X-Auth-Token": stranger, "X-Auth-EC2-Creds": creds})
        assert api.send("GET", f"{stack.path}/resources/server/metadata").status_code == 403
    own = faked_site.api("stack_user")
    assert own.send("GET", f"{stack.path}/resources/server/metadata").status_code == 200


def test_hosts(faked_site: Site) -> None:
    """A host that is none does not come back as a part of a header."""
    for host in ("h\r\n X-Evil: yes", "h\tX-Evil", "h/../x", "a b"):
        request = (
            f"GET /v1/owner/stacks/{faked_site.stack('S').name} HTTP/1.1\r\nHost: {host}\r\n"
            f"Connection: close\r\nX-Auth-Token: {faked_site.personas['member'].headers['X-Auth-Token']}\r\n\r\n"
        )
        head = head_of(raw(faked_site, request.encode()))
        assert b"\nX-Evil" not in head and b"\n X-Evil" not in head, host


def test_urls_into_the_service_itself(faked_site: Site) -> None:
    """Neither a template nor a nested one is fetched from where only the service can reach."""
    api = faked_site.owner
    for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "2130706433"):
        url = f"http://{host}:{urlsplit(faked_site.root).port}/healthcheck"
        nested = {"heat_template_version": "2018-08-31", "resources": {"n": {"type": url + ".yaml"}}}
        for path in ("/stacks", "/stacks/preview", "/validate"):
            reply = api.send("POST", path, {"stack_name": "never", "template_url": url})
            assert reply.status_code == 400
            assert f"Failed to retrieve template from {url}" in reply.json()["error"]["message"]
            reply = api.send("POST", path, {"stack_name": "never", "template": nested})
            assert reply.status_code == 400 and f"from {url}.yaml" in reply.json()["error"]["message"], reply.text
    for scheme in ("file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x", "/etc/passwd"):
        reply = api.send("POST", "/stacks", {"stack_name": "never", "template_url": scheme})
        assert reply.status_code == 400 and "root:" not in reply.text
