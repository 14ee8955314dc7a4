# SPDX-License-Identifier: Apache-2.0
"""Answers of services that are none of what was asked for, and ids that would lead a request elsewhere."""

from __future__ import annotations

import math
import re
import ssl
import time
from collections.abc import Iterator
from typing import Any

import pytest
from keystoneauth1 import exceptions as errors

from openkeel_heat.clients import patience, rest, rest_errors
from openkeel_heat.clients.identity import Identity
from openkeel_heat.clients.rest import RestClient
from openkeel_heat.clients.rest_errors import InvalidResponse, RestError
from openkeel_heat.common import exceptions
from tests.fixtures.rest_server import FakeCloud, Refusal, Request, RestServer
from tests.unit.clients.conftest import Newest, WidgetPlugin, Widgets
from tests.unit.conftest import Option

SERVICES = ("nova", "cinder", "neutron", "glance", "heat", "keystone", "widget")

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def plugin(cloud: FakeCloud) -> WidgetPlugin:
    return Newest(cloud.context)


# what is none of what was asked for ---------------------------------------------------------------


@pytest.mark.parametrize(
    "answer", [b"<html>Welcome</html>", b"", b"[" * 100_000, {}, [], {"widget": None}, {"widgets": None}, "text", 5]
)
def test_an_answer_without_what_was_asked_for_is_an_error_that_says_so(
    api: RestClient, widgets: Widgets, answer: Any
) -> None:
    """Taken for an empty list it would say that whatever is waited for is gone."""
    widgets.route("GET", "/odd", lambda request: (200, answer))
    with pytest.raises(InvalidResponse, match="widget answered GET /odd without widget$"):
        api.show("/odd", "widget")
    with pytest.raises(InvalidResponse, match="widget answered GET /odd without widgets$"):
        api.list("/odd", "widgets")


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("status", [300, 301, 302, 307])
def test_an_answer_that_leads_nowhere_is_an_error(api: RestClient, widgets: Widgets, method: str, status: int) -> None:
    """A deletion that was led away from did not happen."""
    widgets.fault(method, "/widgets/w", status=status)
    with pytest.raises(RestError) as caught:
        api.request(method, "/widgets/w")
    assert caught.value.status == status


@pytest.mark.parametrize(
    "following",
    [{"next": "/v1/widgets?marker=a"}, {"next": "/v1/pages/2"}, {"links": {"next": "/v1/widgets?marker=a"}}],
)
def test_a_list_that_names_the_same_page_again_has_an_end(
    api: RestClient, widgets: Widgets, following: dict[str, Any]
) -> None:
    def page(request: Request) -> tuple[int, Any]:
        if widgets.count("GET") > 10:
            raise Refusal(400)
        return 200, {"widgets": [{"id": "a"}], **following}

    widgets.route("GET", "/widgets", page)
    with pytest.raises(InvalidResponse, match="the same page for ever"):
        api.list("/widgets", "widgets")


@pytest.mark.parametrize("times", [1, 99])
def test_a_list_whose_next_page_is_gone_is_begun_anew(api: RestClient, widgets: Widgets, times: int) -> None:
    """The object that it was to follow was deleted; other errors, and this one for ever, are errors."""
    left = iter(range(times))

    def page(request: Request) -> tuple[int, Any]:
        if "marker" not in request.query:
            return 200, {"widgets": [{"id": "a"}], "next": "/v1/widgets?marker=a"}
        if next(left, None) is not None:
            raise Refusal(400, "marker [a] not found")
        return 200, {"widgets": [{"id": "b"}]}

    widgets.route("GET", "/widgets", page)
    if times == 1:
        assert [one["id"] for one in api.list("/widgets", "widgets")] == ["a", "b"]
        return
    with pytest.raises(RestError, match="marker"):
        api.list("/widgets", "widgets")
    assert widgets.count("GET") < 10


def test_the_pages_of_volume_types_have_links_of_another_name(api: RestClient, widgets: Widgets) -> None:
    def page(request: Request) -> tuple[int, Any]:
        if "marker" in request.query:
            return 200, {"volume_types": [{"id": "b"}]}
        link = {"rel": "next", "href": "http://volumes.example/types?marker=a"}
        return 200, {"volume_types": [{"id": "a"}], "volume_type_links": [link]}

    widgets.route("GET", "/types", page)
    assert [one["id"] for one in api.list("/types", "volume_types")] == ["a", "b"]


# errors in forms of their own ---------------------------------------------------------------------


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    "body",
    [
        {"message": {"name": ["too long"]}},
        {"badRequest": {"message": {"name": ["too long"]}}},
        {"badRequest": {"message": ["too long"]}},
        {"errors": [{"detail": "too long"}]},
        ["too long"],
        {"NeutronError": {"message": {"name": "too long"}, "type": "T", "detail": ""}},
        {"NeutronError": {"message": "too long", "type": ["T"], "detail": ["d"]}},
        {"error": {"message": ["too long"]}},
    ],
)
def test_an_error_has_a_text_whatever_the_service_says_it_in(
    api: RestClient, widgets: Widgets, service: str, body: Any
) -> None:
    widgets.route("GET", "/bad", lambda request: (400, body))
    with pytest.raises((RestError, errors.HttpError)) as caught:
        RestClient(api.adapter, service).get("/bad")
    assert isinstance(str(caught.value), str)
    assert rest_errors.status_of(caught.value) == 400


@pytest.mark.parametrize("service", ["nova", "neutron", "glance", "heat"])
@pytest.mark.parametrize("kind", ["text/html", "application/json", "text/plain; charset=nonsense"])
def test_a_long_text_is_cut_and_can_be_stored(
    api: RestClient, widgets: Widgets, service: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "x" * 5_000_000
    body = b'{"e": {"message": "\\ud800' + text.encode() + b'"}}' if "json" in kind else text.encode()
    monkeypatch.setattr(widgets, "answer", lambda request: (400, body, {"Content-Type": kind}))
    began = time.monotonic()
    with pytest.raises(RestError) as caught:
        RestClient(api.adapter, service).get("/bad")
    assert len(str(caught.value).encode()) < 50_000
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ("inf", rest_errors.LONGEST_WAIT),
        ("1e400", rest_errors.LONGEST_WAIT),
        ("99999999999999", rest_errors.LONGEST_WAIT),
        ("Fri, 01 Jan 2100 00:00:00 -0000", rest_errors.LONGEST_WAIT),
        ("nan", None),
        ("Fri, 99 Foo 2100", None),
        ("-5", 0.0),
    ],
)
def test_a_time_that_no_clock_has_is_not_waited_for(
    api: RestClient, widgets: Widgets, told: str, seconds: float | None
) -> None:
    widgets.fault("GET", "/widgets", status=429, headers={"Retry-After": told})
    with patience.may_pause(), pytest.raises(RestError) as caught:
        api.get("/widgets")
    assert caught.value.retry_after == seconds
    pause = patience.asked_pause(caught.value)
    assert pause is not None and math.isfinite(pause) and pause <= rest_errors.LONGEST_WAIT


def test_who_takes_a_request_and_never_answers_is_lost(
    api: RestClient, widgets: Widgets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest, "ANSWER_WITHIN", (5.0, 0.1))
    widgets.route("POST", "/slow", lambda request: time.sleep(1) or (200, {}))  # type: ignore[func-returns-value]
    began = time.monotonic()
    with pytest.raises(errors.ConnectTimeout) as caught:
        api.post("/slow", json={})
    assert time.monotonic() - began < 0.9
    assert rest.perhaps_carried_out(caught.value) and rest.outcome_unknown(caught.value)


# who gives tokens ---------------------------------------------------------------------------------


class NoToken:
    """What authenticates, and meets an error of Keystone."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise self.error


def refuse(cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(type(cloud.context._auth_plugin), "get_token", NoToken(error))


@pytest.mark.parametrize("kind", [errors.NotFound, errors.BadRequest, errors.Conflict, errors.Forbidden])
def test_a_trust_that_is_gone_is_not_an_object_that_is_gone(
    cloud: FakeCloud, plugin: WidgetPlugin, widgets: Widgets, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    """Otherwise each deletion would be complete, and leave everything."""
    widgets.widgets.add("w")
    refuse(cloud, monkeypatch, kind(message="Could not find trust: t.", http_status=kind.http_status))
    with pytest.raises(exceptions.AuthorizationFailure, match="Could not find trust: t.") as caught:
        plugin.api.delete("/widgets/w")
    questions = (plugin.is_not_found, plugin.is_conflict, plugin.is_bad_request, plugin.is_forbidden)
    assert not any(question(caught.value) for question in questions)
    assert "w" in widgets.widgets.objects


class Nobody:
    """Authenticates with a trust that is gone: neither a token nor a catalogue."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __getattr__(self, name: str) -> Any:
        def refuse(*args: Any, **kwargs: Any) -> Any:
            raise self.error

        return refuse


GONE = errors.NotFound(message="Could not find trust: t.", http_status=404)


def test_who_has_no_catalogue_does_not_say_that_objects_are_gone(plugin: WidgetPlugin) -> None:
    """The first that anybody asks for is where the service is."""
    plugin.context._auth_plugin = Nobody(GONE)  # type: ignore[assignment]
    with pytest.raises(exceptions.AuthorizationFailure, match="Could not find trust: t."), plugin.ignore_not_found:
        plugin.api.delete("/widgets/w")
    swift = plugin.context.clients.client_plugin("swift")
    with pytest.raises(exceptions.AuthorizationFailure), swift.ignore_not_found:
        swift.client().delete_container("c")
    heat = plugin.context.clients.client_plugin("heat")
    with pytest.raises(exceptions.AuthorizationFailure), heat.ignore_not_found:
        heat.client().request("/stacks/s", "DELETE")


def test_where_a_service_is_is_asked_again_when_keystone_says_later(
    plugin: WidgetPlugin, widgets: Widgets, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth, tries = plugin.context._auth_plugin, iter([1, 1])
    find = type(auth).get_endpoint

    def later(self: Any, *args: Any, **kwargs: Any) -> Any:
        for _try in tries:
            raise errors.ServiceUnavailable(message="later", http_status=503)
        return find(self, *args, **kwargs)

    monkeypatch.setattr(type(auth), "get_endpoint", later)
    assert plugin.api.list("/widgets", "widgets") == []


@pytest.mark.parametrize("status", [429, 503, 502])
def test_a_keystone_that_says_later_is_asked_again(
    cloud: FakeCloud, plugin: WidgetPlugin, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    refuse(cloud, monkeypatch, errors.HttpError(message="later", http_status=status))
    with patience.may_pause(), pytest.raises(errors.HttpError) as caught:
        plugin.api.post("/widgets", json={"widget": {}})
    assert patience.asked_pause(caught.value) is not None
    assert not rest.outcome_unknown(caught.value)


def test_a_token_that_is_refused_is_an_error_at_once(
    cloud: FakeCloud, plugin: WidgetPlugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(cloud, monkeypatch, errors.Unauthorized(message="no", http_status=401))
    with patience.may_pause(), pytest.raises(errors.Unauthorized) as caught:
        plugin.api.get("/widgets")
    assert patience.asked_pause(caught.value) is None


def test_a_service_whose_versions_cannot_be_seen_just_now_is_asked_again(
    plugin: WidgetPlugin, widgets: Widgets
) -> None:
    widgets.fault("GET", "/?", status=503, times=2)
    assert plugin.api.list("/widgets", "widgets") == []
    assert widgets.requests[-1].microversion == "1.20"


def test_a_service_that_has_no_microversions_is_asked_for_none(plugin: WidgetPlugin, widgets: Widgets) -> None:
    links = [{"rel": "self", "href": widgets.url + "/"}]
    document = {"versions": [{"id": "v1.0", "status": "CURRENT", "links": links}]}
    widgets.routes.insert(0, ("GET", re.compile("/?"), lambda request: (200, document)))
    plugin.api.list("/widgets", "widgets")
    assert plugin.microversion() is None and widgets.requests[-1].microversion is None


def test_a_header_that_cannot_be_one_is_an_error_at_once(plugin: WidgetPlugin, widgets: Widgets) -> None:
    with patience.may_pause(), pytest.raises(errors.ConnectionError) as caught:
        plugin.api.request("PUT", "/widgets/w", headers={"X-Meta": "a\nb"})
    assert patience.asked_pause(caught.value) is None and not rest.outcome_unknown(caught.value)


def test_a_certificate_that_is_not_trusted_is_an_error_at_once(
    cloud: FakeCloud, plugin: WidgetPlugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was sent, and never will be: no object is looked for."""
    import requests
    import urllib3.exceptions

    def connect(*args: Any, **kwargs: Any) -> Any:
        try:
            raise ssl.SSLCertVerificationError(1, "certificate verify failed")
        except ssl.SSLError as error:
            lost = urllib3.exceptions.MaxRetryError(None, "/", urllib3.exceptions.SSLError(error))  # type: ignore[arg-type]
        raise requests.exceptions.SSLError(lost)

    monkeypatch.setattr(requests.Session, "request", connect)
    for method in ("POST", "GET"):
        with patience.may_pause(), pytest.raises(errors.ConnectionError) as caught:
            plugin.api.request(method, "/widgets", json={}, microversion="1.1")
        assert patience.asked_pause(caught.value) is None
        assert not rest.perhaps_carried_out(caught.value) and not rest.outcome_unknown(caught.value)


# ids ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id_", ["..", ".", "%2e%2e", "%2E.", "../../others/o", "w/../..", "w#x", ""])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_an_id_that_leads_elsewhere_is_not_found(plugin: WidgetPlugin, widgets: Widgets, method: str, id_: str) -> None:
    with pytest.raises(RestError) as caught:
        plugin.api.request(method, f"/widgets/{id_}")
    assert plugin.is_not_found(caught.value)
    assert not widgets.requests


def test_an_id_that_leads_elsewhere_is_not_found_by_keystone_either(api: RestClient) -> None:
    with pytest.raises(errors.NotFound):
        RestClient(api.adapter, "keystone").get("/users/..")


@pytest.mark.parametrize("name", ["a/b", "50%", "a&b=c", "a?b", "a#b", "übung", "a+b", "a b", "..", "'\"", "x" * 255])
def test_names_of_any_letters_are_found(plugin: WidgetPlugin, widgets: Widgets, name: str) -> None:
    widgets.widgets.add("w", name=name)
    widgets.widgets.add("v", name="another")
    assert plugin.find("/widgets", "widget", name) == "w"


def test_no_name_is_nobodys(plugin: WidgetPlugin, widgets: Widgets) -> None:
    """Some services leave out a filter without a value, and answer with all."""
    widgets.widgets.add("w", name="")
    with pytest.raises(exceptions.EntityNotFound):
        plugin.find("/widgets", "widget", "")


# logs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["adminPass", "password", "psk", "user_data", "secret"])
def test_secrets_that_are_sent_are_in_no_log(
    api: RestClient, debug_log: pytest.LogCaptureFixture, field: str, widgets: Widgets
) -> None:
    widgets.widgets.on_create = lambda made, request: made.update(token="also-hidden")
    api.post("/widgets", json={"widget": {"name": "seen", "inner": [{field: "h1dden"}]}})
    assert "POST /widgets" in debug_log.text
    assert "h1dden" not in debug_log.text and "also-hidden" not in debug_log.text


def test_what_has_no_secrets_is_in_the_debug_log(api: RestClient, debug_log: pytest.LogCaptureFixture) -> None:
    api.post("/widgets", json={"widget": {"name": "seen"}})
    assert '"name": "seen"' in debug_log.text


# identity -----------------------------------------------------------------------------------------


class IdentityService(RestServer):
    def setup(self) -> None:
        self.trusts = self.collection("/OS-TRUST/trusts", "trust")
        self.users = self.collection("/users", "user")


@pytest.fixture
def identity_service() -> Iterator[IdentityService]:
    with IdentityService() as service:
        yield service


@pytest.fixture
def identity(identity_service: IdentityService) -> Identity:
    from keystoneauth1 import adapter

    context = FakeCloud(identity=identity_service).context
    return Identity(adapter.Adapter(context.keystone_session, service_type="identity", connect_retries=2))


def test_a_trust_is_not_made_twice(identity: Identity, identity_service: IdentityService) -> None:
    """Nobody would know of the first."""
    identity_service.fault("POST", "/OS-TRUST/trusts", cut=True, after=True)
    with pytest.raises(errors.ConnectFailure):
        identity.trusts.create(trustor_user_id="u")
    assert len(identity_service.trusts.objects) == 1


def test_keystone_is_asked_again_when_it_says_later(identity: Identity, identity_service: IdentityService) -> None:
    identity_service.fault("POST", "/OS-TRUST/trusts", status=503)
    made = identity.trusts.create(trustor_user_id="u")
    assert list(identity_service.trusts.objects) == [made.id]


def test_what_keystone_made_and_does_not_tell_is_an_error(
    identity: Identity, identity_service: IdentityService
) -> None:
    identity_service.route("POST", "/users", lambda request: (201, b"<html>Welcome</html>"))
    with pytest.raises(InvalidResponse, match="The answer to the creation has no user"):
        identity.users.create(name="n", password="p")


@pytest.mark.parametrize("id_", ["..", "", "."])
def test_what_is_no_id_is_nobody_in_keystone(identity: Identity, identity_service: IdentityService, id_: str) -> None:
    for ask in (identity.users.get, identity.users.delete):
        with pytest.raises(errors.NotFound):
            ask(id_)
    with pytest.raises(errors.NotFound):
        identity.roles.grant("r", user=id_ or "..", project="p")
    assert not identity_service.requests


def test_passwords_of_users_are_in_no_log(
    identity: Identity, identity_service: IdentityService, debug_log: pytest.LogCaptureFixture
) -> None:
    identity.users.update(identity_service.users.add("u")["id"], password="h1dden")
    assert "h1dden" not in debug_log.text


def test_a_domain_that_cannot_be_asked_for_just_now_is_not_one_that_is_not_there(
    identity_service: IdentityService, option: Option
) -> None:
    context = FakeCloud(identity=identity_service).context
    context.auth_url = identity_service.url
    plugin = context.clients.client_plugin("keystone")
    identity_service.fault("GET", "/domains/d", status=503)
    with patience.may_pause(), pytest.raises(errors.ServiceUnavailable) as caught:
        plugin.get_user_id("u{d}")
    assert patience.asked_pause(caught.value) is not None
    with pytest.raises(exceptions.EntityNotFound, match="The KeystoneUser \\(u{d}\\) could not be found"):
        plugin.get_user_id("u{d}")


# another service of this kind ---------------------------------------------------------------------


class Heat(RestServer):
    def setup(self) -> None:
        self.route("POST", "/stacks", lambda request: (201, {"stack": {"id": "s"}}))


def test_parameters_of_stacks_in_other_regions_are_in_no_log(
    debug_log: pytest.LogCaptureFixture, option: Option
) -> None:
    with Heat() as heat:
        context = FakeCloud(orchestration=heat).context
        body = {"parameters": {"db_password": "h1dden"}}
        assert context.clients.client("heat").request("/stacks", "POST", json=body).status_code == 201
    assert "h1dden" not in debug_log.text
