# SPDX-License-Identifier: Apache-2.0
"""Lists, filters, paging, names in paths, redirects, policy, errors of the native API."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import oslo_messaging
import pytest

from openkeel_heat.api.native import routes
from openkeel_heat.api.router import Router
from openkeel_heat.common import exceptions
from tests.contract import api_harness as harness

TENANT = "/v1/test_tenant_id"
STACK = TENANT + "/stacks/s1/aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"


def get(engine: Any, path: str, **headers: str) -> harness.Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return harness.request(harness.native(engine), "GET", path, headers=named)


# --- lists


def test_detail_takes_the_filters_of_a_list(engine: Any) -> None:
    """Heat ignores them."""
    get(engine, TENANT + "/stacks/detail?name=a&name=b&limit=2&show_nested=true&tags=x,y&sort_keys=name&sort_dir=desc")
    args = engine.sent[0]["args"]
    assert args["filters"] == {"name": ["a", "b"]}
    assert (args["limit"], args["show_nested"], args["tags"]) == (2, True, ["x", "y"])
    assert (args["sort_keys"], args["sort_dir"]) == (["name"], "desc")


def test_count_gets_the_filters_of_the_list(engine: Any) -> None:
    reply = get(engine, TENANT + "/stacks?with_count=true&status=CREATE_COMPLETE&tags=x&show_hidden=1x&name=")
    assert reply.status == 400
    get(engine, TENANT + "/stacks?with_count=True&status=CREATE_COMPLETE&tags=x&show_hidden=TRUE&name=")
    listed, counted = (sent["args"] for sent in engine.sent)
    assert listed["filters"] == counted["filters"] == {"status": "CREATE_COMPLETE"}
    assert listed["tags"] == counted["tags"] == ["x"]
    assert listed["show_hidden"] is counted["show_hidden"] is True


@pytest.mark.parametrize("path", ["/stacks?sort_dir=up", "/stacks/s1/x/events?sort_dir=up"])
def test_unknown_sort_direction(engine: Any, path: str) -> None:
    reply = get(engine, TENANT + path)
    assert reply.status == 400
    assert '"sort_dir"' in reply.json["error"]["message"]


def test_next_page_keeps_the_query(engine: Any) -> None:
    reply = get(engine, TENANT + "/stacks?name=a%26b&limit=1&marker=m&name=%C3%A9")
    assert reply.json["links"] == [
        {
            "rel": "next",
            "href": "http://api/v1/test_tenant_id/stacks?name=a%26b&limit=1&name=%C3%A9&marker=uuid-0001",
        }
    ]


def test_unknown_sort_key_is_the_engines_affair(engine: Any) -> None:
    """Horizon sends one."""
    assert get(engine, TENANT + "/stacks?sort_key=name").status == 200
    assert engine.sent[0]["args"]["filters"] is None


@pytest.mark.parametrize("query", ["%ff=1", "name=%ff"])
def test_query_that_is_no_text(engine: Any, query: str) -> None:
    assert get(engine, f"{TENANT}/stacks?{query}").status == 400


def test_last_page_of_a_resources_events(engine: Any) -> None:
    """Heat: 404. A resource without any event is 404 still."""
    engine.answers = {**engine.answers, "list_events": []}
    assert get(engine, STACK + "/resources/a/events?marker=m").json == {"events": []}
    assert get(engine, STACK + "/events").json == {"events": []}
    reply = get(engine, STACK + "/resources/a/events")
    assert (reply.status, reply.json["error"]["message"]) == (404, "No events found for resource a")


@pytest.mark.parametrize(("value", "flag"), [("true", True), ("True", True), ("false", False), ("1", False)])
def test_description_of_a_type(engine: Any, value: str, flag: bool) -> None:
    """Heat never passes the flag on."""
    assert get(engine, f"{TENANT}/resource_types/X?with_description={value}").status == 200
    assert engine.sent[0]["args"]["with_description"] is flag


def test_unknown_ignorable_error(engine: Any) -> None:
    """Heat: 200 and the text of an object."""
    body = {"template": {"heat_template_version": "2018-08-31"}}
    path = TENANT + "/validate?ignore_errors=99001,12345"
    reply = harness.request(harness.native(engine), "POST", path, body)
    assert (reply.status, reply.json["error"]["message"]) == (400, "Invalid codes in ignore_errors : ['12345']")


# --- paths

NAMES = ["é", "日本", "a b", "a%b", "a;b", "a?b", "a#b", "a+b"]


@pytest.mark.parametrize("name", NAMES)
def test_names_in_paths(engine: Any, name: str) -> None:
    """Heat answers 404 to those that are not ASCII."""
    quoted = quote(name, safe="")
    get(engine, f"{STACK}/resources/{quoted}")
    get(engine, f"{STACK}/outputs/{quoted}")
    assert engine.sent[0]["args"]["resource_name"] == name
    assert engine.sent[1]["args"]["output_key"] == name


@pytest.mark.parametrize("name", NAMES)
def test_links_are_encoded(engine: Any, name: str) -> None:
    found = dict(engine.answers["describe_stack_resource"])
    found["resource_name"] = name
    found["resource_identity"] = {**found["resource_identity"], "path": f"/resources/{name}"}
    engine.answers = {**engine.answers, "describe_stack_resource": found}
    links = get(engine, f"{STACK}/resources/x").json["resource"]["links"]
    assert links[0]["href"].endswith("/resources/" + quote(name))
    assert links[1]["href"] == "http://api/v1/test_tenant_id/stacks/s1/uuid-0001"


def test_path_that_is_no_text(engine: Any) -> None:
    assert get(engine, TENANT + "/%ff").status == 400


def test_redirect_cannot_inject_headers(engine: Any) -> None:
    arn = quote("arn:openstack:heat::test_tenant_id:stacks/a\r\nX-Evil: 1/b", safe="")
    reply = get(engine, f"{TENANT}/stacks/{arn}")
    assert reply.status == 302
    assert "\r" not in reply.headers["location"]
    assert "x-evil" not in reply.headers


def test_redirect_by_arn_with_escaped_slashes(engine: Any) -> None:
    arn = quote("arn:openstack:heat::test_tenant_id:stacks/s1/x", safe="")
    assert get(engine, f"{TENANT}/stacks/{arn}?a=1").headers["location"] == f"http://api{TENANT}/stacks/s1/x?a=1"


def test_a_resource_below_a_name_alone(engine: Any) -> None:
    assert get(engine, TENANT + "/stacks/NAME/resources/X").status == 404


def test_router_order() -> None:
    router = Router((("GET",), row.path, row) for row in routes.table() if "GET" in getattr(row, "methods", ""))
    for path, function in (
        ("/t/stacks/detail", "stacks:detail"),
        ("/t/stacks/preview", "lookup:lookup"),
        ("/t/stacks/a/events", "lookup:lookup"),
        ("/t/stacks/a/b", "stacks:show"),
        ("/t/stacks/arn:a:b/c/d/e/f/g/h/i/j/k/l/m/n", "lookup:lookup"),
        ("/t/stacks/a/b/resources/c/events/d", "events:show"),
    ):
        match = router.match("GET", path)
        assert match is not None
        assert getattr(match.target, "function", None) == function
    assert router.match("GET", "/t/stacks/a/") is None


# --- who may


def test_project_of_the_path(engine: Any) -> None:
    for method, path, body in (
        ("GET", "/v1/other/stacks", None),
        ("PATCH", "/v1/other/stacks/a/b", {}),
        ("POST", "/v1/other/stacks/a/b/actions", {"check": None}),
    ):
        assert harness.request(harness.native(engine), method, path, body).status == 403
    assert engine.sent == []


@pytest.mark.parametrize(
    ("method", "path", "body", "rule"),
    [
        ("POST", STACK + "/actions", {"suspend": None}, "actions:suspend"),
        ("PATCH", STACK, {}, "stacks:update_no_change"),
        ("PATCH", STACK, {"tags": "x"}, "stacks:update_patch"),
        ("DELETE", STACK, None, "stacks:delete"),
    ],
)
def test_readers_do_not_write(engine: Any, method: str, path: str, body: Any, rule: str) -> None:
    reply = harness.request(harness.native(engine), method, path, body, {"X-Roles": "reader"})
    assert reply.status == 403
    assert reply.json["error"]["message"] == f"You are not authorized to use {rule}."
    assert engine.sent == []


# --- errors


def test_no_engine(engine: Any) -> None:
    engine.answers = {**engine.answers, "list_services": oslo_messaging.MessagingTimeout()}
    reply = get(engine, TENANT + "/services", X_Roles="admin,member,reader")
    assert (reply.status, reply.json["error"]["message"]) == (503, "All heat engines are down.")


class EntityNotFound_Remote(exceptions.EntityNotFound):
    def __str__(self) -> str:
        return "wrong\nTraceback (most recent call last):\n secret"


def test_remote_error(engine: Any) -> None:
    error = EntityNotFound_Remote(entity="Stack", name="x")
    engine.answers = {**engine.answers, "show_stack": error}
    reply = get(engine, STACK)
    assert reply.status == 404
    assert reply.json["error"] == {
        "type": "EntityNotFound",
        "traceback": None,
        "message": "The Stack (x) could not be found.",
    }


def test_unexpected_error_tells_nothing(engine: Any) -> None:
    engine.answers = {**engine.answers, "show_stack": RuntimeError("password=secret")}
    reply = get(engine, STACK)
    assert reply.status == 500
    assert reply.json["error"] == {"type": "RuntimeError", "traceback": None}


def test_software_config_in_use(engine: Any) -> None:
    """Heat: 500."""
    error = exceptions.InvalidRestrictedAction(message="in use")
    engine.answers = {**engine.answers, "delete_software_config": error}
    reply = harness.request(harness.native(engine), "DELETE", TENANT + "/software_configs/x")
    assert (reply.status, reply.json["title"], reply.json["error"]["type"]) == (
        409,
        "Conflict",
        "InvalidRestrictedAction",
    )
