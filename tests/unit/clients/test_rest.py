# SPDX-License-Identifier: Apache-2.0
"""Requests to services: what is sent again, what waits, what is told of failures, and what is found by a name."""

from __future__ import annotations

from typing import Any

import pytest

from openkeel_heat.clients import patience, rest, rest_errors
from openkeel_heat.clients.rest import RestClient, RestError
from openkeel_heat.common import exceptions
from tests.fixtures.rest_server import FakeCloud, Refusal, Request
from tests.unit.clients.conftest import Newest, WidgetPlugin, Widgets
from tests.unit.conftest import Option

#: As little as there is, so that nobody waits.
NOW = {"Retry-After": "0.01"}

pytestmark = pytest.mark.usefixtures("quick")


ONE = {"widget": {"name": "one"}}


def test_objects_come_out_of_their_envelopes(api: RestClient, widgets: Widgets) -> None:
    made = api.post("/widgets", json=ONE)["widget"]
    assert api.show(f"/widgets/{made['id']}", "widget") == made
    assert api.list("/widgets", "widgets") == [made]
    assert api.patch(f"/widgets/{made['id']}", json={"widget": {"size": 2}})["widget"]["size"] == 2
    assert api.delete(f"/widgets/{made['id']}") is None
    assert api.list("/widgets", "widgets") == []


@pytest.mark.parametrize(
    "following",
    [
        lambda url: {"widgets_links": [{"rel": "next", "href": f"{url}/widgets?marker=b&limit=2"}]},
        lambda url: {"next": "/v1/widgets?marker=b&limit=2"},
        lambda url: {"links": {"next": "http://unknown.example/widgets?marker=b&limit=2", "self": "x"}},
    ],
)
def test_a_list_has_all_pages(api: RestClient, widgets: Widgets, following: Any) -> None:
    def page(request: Request) -> tuple[int, Any]:
        if request.query.get("marker") == ["b"]:
            return 200, {"widgets": [{"id": "c"}], "links": {"next": None}}
        return 200, {"widgets": [{"id": "a"}, {"id": "b"}], **following(widgets.url)}

    widgets.route("GET", "/widgets", page)
    assert [one["id"] for one in api.list("/widgets", "widgets", {"color": "red"})] == ["a", "b", "c"]
    assert [one.query["color"] for one in widgets.requests] == [["red"], ["red"]]


# what is sent again ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST"])
@pytest.mark.parametrize("status", [429, 503])
def test_a_service_that_says_later_is_asked_again(api: RestClient, widgets: Widgets, method: str, status: int) -> None:
    widgets.widgets.add("w")
    path = "/widgets" if method == "POST" else "/widgets/w"
    widgets.fault(method, path, times=2, status=status, headers=NOW)
    api.request(method, path, json=ONE if method in ("PUT", "POST") else None)
    assert widgets.count(method) == 3


@pytest.mark.parametrize("status", [502, 504])
def test_a_service_that_was_lost_is_asked_again_if_that_does_no_harm(
    api: RestClient, widgets: Widgets, status: int
) -> None:
    widgets.widgets.add("w")
    widgets.fault("GET", "/widgets/w", status=status)
    api.get("/widgets/w")
    widgets.fault("POST", "/widgets", status=status)
    with pytest.raises(RestError) as caught:
        api.post("/widgets", json=ONE)
    assert rest.perhaps_carried_out(caught.value)
    assert (widgets.count("GET"), widgets.count("POST")) == (2, 1)


def test_a_connection_that_ended_after_a_creation_is_not_sent_again(api: RestClient, widgets: Widgets) -> None:
    widgets.fault("POST", "/widgets", cut=True, after=True)
    with pytest.raises(Exception, match="Unable to establish connection|Connection") as caught:
        api.post("/widgets", json=ONE)
    assert rest.perhaps_carried_out(caught.value)
    assert len(widgets.widgets.objects) == 1


def test_a_connection_that_was_never_made_is_tried_again(api: RestClient, widgets: Widgets) -> None:

    widgets.stop()

    from keystoneauth1 import exceptions as errors

    with patience.may_pause(), pytest.raises(errors.ConnectFailure) as caught:
        api.post("/widgets", json=ONE)
    assert patience.asked_pause(caught.value) is not None
    assert not rest.perhaps_carried_out(caught.value)


@pytest.mark.parametrize("status", [400, 403, 404, 409, 413, 500, 501])
def test_other_answers_are_final(api: RestClient, widgets: Widgets, status: int) -> None:
    # Quotas are told with a time of zero.
    widgets.fault("POST", "/widgets", status=status, headers={"Retry-After": "0"} if status == 413 else {})
    with pytest.raises(RestError) as caught:
        api.post("/widgets", json=ONE)
    assert caught.value.status == status and widgets.count("POST") == 1
    assert patience.asked_pause(caught.value) is None


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize(
    ("fault", "unknown"),
    [
        ({"status": 500}, True),
        ({"status": 502}, True),
        ({"cut": True}, True),
        ({"status": 409}, False),
        ({"status": 503, "headers": NOW}, False),
    ],
)
def test_who_cannot_tell_what_was_done_is_told_so(
    api: RestClient, widgets: Widgets, method: str, fault: dict[str, Any], unknown: bool
) -> None:
    widgets.fault(method, ".*", times=9, **fault)
    with pytest.raises(Exception) as caught:
        api.request(method, "/widgets", json={"widget": {}})
    assert rest.outcome_unknown(caught.value) is unknown


@pytest.mark.parametrize("status", [413, 429, 503])
def test_the_identity_service_is_asked_again_when_it_says(widgets: Widgets, api: RestClient, status: int) -> None:
    """Its errors are those of keystoneauth, which forget the time."""
    keystone = RestClient(api.adapter, "keystone")
    widgets.fault("POST", "/widgets", status=status, headers={"Retry-After": "7"})
    with patience.may_pause(), pytest.raises(Exception) as caught:
        keystone.post("/widgets", json={"widget": {}})
    assert patience.asked_pause(caught.value) == 7.0


def test_tries_end(api: RestClient, widgets: Widgets) -> None:
    widgets.fault("GET", "/widgets", times=100, status=503)
    with pytest.raises(RestError):
        api.get("/widgets")
    assert widgets.count("GET") == 3


def test_no_thread_sleeps_long(api: RestClient, widgets: Widgets) -> None:
    widgets.fault("GET", "/widgets", status=429, headers={"Retry-After": "3600"})
    with pytest.raises(RestError):
        api.get("/widgets")
    assert widgets.count("GET") == 1


@pytest.mark.parametrize("headers", [{"Retry-After": "30"}, {"Retry-After": "Fri, 01 Jan 2100 00:00:00 GMT"}])
def test_who_can_come_back_is_told_when(api: RestClient, widgets: Widgets, headers: dict[str, str]) -> None:
    widgets.fault("POST", "/widgets", status=429, headers=headers)
    with patience.may_pause(), pytest.raises(RestError) as caught:
        api.post("/widgets", json=ONE)
    assert (patience.asked_pause(caught.value) or 0) >= 30
    assert widgets.count("POST") == 1


def test_an_expired_token_is_replaced(cloud: FakeCloud, plugin: WidgetPlugin, widgets: Widgets) -> None:
    tokens = iter(["old", "new"])
    auth = cloud.context._auth_plugin

    def refuse_old(request: Request) -> tuple[int, Any]:
        if request.headers["X-Auth-Token"] == "old":
            raise Refusal(401)
        return 200, {"widgets": []}

    widgets.route("GET", "/widgets", refuse_old)
    auth.token = next(tokens)
    auth.invalidate = lambda: bool(setattr(auth, "token", next(tokens)) or True)
    assert plugin.api.list("/widgets", "widgets") == []
    assert widgets.count("GET", "/widgets") == 2


# microversions -----------------------------------------------------------------------------------


def test_the_newest_version_of_both_is_used(cloud: FakeCloud, widgets: Widgets) -> None:
    plugin = Newest(cloud.context)
    assert plugin.microversion() == "1.20"
    plugin.api.get("/widgets")
    assert widgets.requests[-1].microversion == "1.20"
    plugin.api.get("/widgets", microversion="1.3")
    assert widgets.requests[-1].microversion == "1.3"
    assert [plugin.supports(version) for version in ("1.0", "1.1", "1.20", "1.21")] == [False, True, True, False]


def test_a_service_without_versions_is_sent_none(plugin: WidgetPlugin, widgets: Widgets) -> None:
    plugin.api.get("/widgets")
    assert [one.microversion for one in widgets.requests] == [None]


# errors ------------------------------------------------------------------------------------------


class _Library(Exception):
    http_status = 404


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RestError(status=404), 404),
        (_Library(), 404),
        (exceptions.EntityNotFound(entity="Server", name="x"), None),
        (ValueError("x"), None),
    ],
)
def test_the_status_of_errors_of_ours_and_of_libraries(error: Exception, status: int | None) -> None:
    assert rest_errors.status_of(error) == status


def test_questions_about_errors(plugin: WidgetPlugin) -> None:
    tests = {
        400: plugin.is_bad_request,
        403: plugin.is_forbidden,
        404: plugin.is_not_found,
        409: plugin.is_conflict,
        413: plugin.is_over_limit,
        422: plugin.is_unprocessable_entity,
        429: plugin.is_over_limit,
    }
    for status, test in tests.items():
        error = RestError(status=status)
        assert test(error) and plugin.is_client_exception(error)
        assert {other for other, one in tests.items() if one(error)} >= {status}
    assert not plugin.is_client_exception(ValueError("x"))
    with plugin.ignore_not_found:
        raise RestError(status=404)


# finders -----------------------------------------------------------------------------------------

ID = "11111111-2222-4333-8444-555555555555"


def test_found_by_id_or_by_a_name_that_is_the_only_one(plugin: WidgetPlugin, widgets: Widgets) -> None:
    widgets.widgets.add(ID, name="one")
    widgets.widgets.add("plain-id", name="two")
    for twin in ("t1", "t2"):
        widgets.widgets.add(twin, name="twin")

    def find(value: str) -> str:
        return plugin.find("/widgets", "widget", value)

    assert [find(ID), find("one"), find("two"), find("plain-id")] == [ID, ID, "plain-id", "plain-id"]
    with pytest.raises(exceptions.EntityNotFound, match="The widget \\(nothing\\) could not be found"):
        find("nothing")
    with pytest.raises(exceptions.PhysicalResourceNameAmbiguity):
        find("twin")


def test_what_was_found_is_remembered_for_its_project(option: Option, widgets: Widgets) -> None:
    option("enabled", True, "cache")
    option("backend", "dogpile.cache.memory", "cache")
    option("caching", True, "resource_finder_cache")
    from openkeel_heat.clients import cache

    cache.get_cache_region.cache_clear()
    widgets.widgets.add("w", name="one")
    try:
        for project in ("p1", "p1", "p2"):
            cloud = FakeCloud(project=project, widget=widgets)
            assert WidgetPlugin(cloud.context).find("/widgets", "widget", "one") == "w"
    finally:
        cache.get_cache_region.cache_clear()
    assert widgets.count("GET", "/widgets") == 2


def test_what_was_changed_is_looked_for_again(option: Option, widgets: Widgets) -> None:
    """A stack deletes an object, or gives its name to another one, of which the next one has to hear."""
    option("enabled", True, "cache")
    option("backend", "dogpile.cache.memory", "cache")
    option("caching", True, "resource_finder_cache")
    from openkeel_heat.clients import cache

    cache.get_cache_region.cache_clear()
    widgets.widgets.add(ID, name="one")
    try:
        clouds = FakeCloud(widget=widgets), FakeCloud(project="other", widget=widgets)
        plugin, others = (WidgetPlugin(cloud.context) for cloud in clouds)
        assert [one.find("/widgets", "widget", "one") for one in (plugin, others)] == [ID, ID]
        plugin.api.patch(f"/widgets/{ID}", json={"widget": {"name": "two"}})
        widgets.widgets.add("w", name="one")
        assert [one.find("/widgets", "widget", "one") for one in (plugin, others)] == ["w", "w"]
        assert plugin.find("/widgets", "widget", "two") == ID
        plugin.api.delete(f"/widgets/{ID}")
        with pytest.raises(exceptions.EntityNotFound):
            others.find("/widgets", "widget", "two")
        with pytest.raises(exceptions.EntityNotFound):
            plugin.find("/widgets", "widget", "two")
    finally:
        cache.get_cache_region.cache_clear()


def test_the_configured_endpoint_is_used_whatever_version_the_catalogue_has() -> None:
    class Versioned(WidgetPlugin):
        VERSION_IN_PATHS = True

    with Widgets() as service:
        cloud = FakeCloud(widget=service)
        assert Versioned(cloud.context).endpoint() == service.root
        assert WidgetPlugin(cloud.context).endpoint() == service.root + "/v1"
