# SPDX-License-Identifier: Apache-2.0
"""The plug-in of Barbican: what a reference leads to, what is said of one that leads nowhere, and its constraints."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from keystoneauth1 import access, exceptions as errors
from keystoneauth1.identity import access as identity

from openkeel_heat.clients import barbican as client, rest_errors
from openkeel_heat.common import config, exceptions
from openkeel_heat.common.context import RequestContext
from openkeel_heat.resources.kit import registry
from openkeel_heat.template import constraints
from tests.fixtures.fake_barbican import HOST, FakeBarbican
from tests.fixtures.rest_server import FakeCloud
from tests.unit.conftest import Option

NOBODYS = "6c1c8d0e-53a4-4c94-a2a5-1f4f9f5c6a55"


@pytest.fixture
def barbican() -> Iterator[FakeBarbican]:
    with FakeBarbican() as running:
        yield running


@pytest.fixture
def cloud(option: Option, barbican: FakeBarbican) -> FakeCloud:
    return FakeCloud(key_manager=barbican)


@pytest.fixture
def plugin(cloud: FakeCloud) -> client.BarbicanClientPlugin:
    found: client.BarbicanClientPlugin = cloud.plugin("barbican")
    return found


# --- secrets


def test_a_secret(plugin: client.BarbicanClientPlugin, barbican: FakeBarbican) -> None:
    ref = barbican.secret("s3cr3t", name="n", expiration="2027-01-02T03:04:05", algorithm="aes", bit_length=256)
    secret = plugin.get_secret_by_ref(ref)
    assert (secret.name, secret.status, secret.algorithm, secret.bit_length, secret.mode, secret.secret_type) == (
        "n", "ACTIVE", "aes", 256, None, "opaque")  # fmt: skip
    assert secret.secret_ref == ref and secret.consumers == []
    assert secret.expiration == datetime.datetime(2027, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    assert secret.created < secret.updated
    assert (secret.content_types, secret.payload_content_type) == ({"default": "text/plain"}, "text/plain")
    assert barbican.count("GET", ".*/payload") == 0, "nobody has read it"
    assert secret.payload == secret.payload == "s3cr3t"
    assert barbican.count("GET", ".*/payload") == 1
    assert "s3cr3t" not in repr(secret) and "s3cr3t" not in str(secret.to_dict())


@pytest.mark.parametrize(
    ("payload", "told"),
    [("a text, ü", "a text, ü"), (b"\x00\xff", b"\x00\xff"), (None, None)],
    ids=["text", "bytes", "none"],
)
def test_payloads(
    plugin: client.BarbicanClientPlugin, barbican: FakeBarbican, payload: str | bytes | None, told: Any
) -> None:
    assert plugin.get_secret_payload_by_ref(barbican.secret(payload)) == told


def test_the_consumers_of_a_secret(plugin: client.BarbicanClientPlugin, barbican: FakeBarbican) -> None:
    consumers = [{"service": "glance", "resource_type": "image", "resource_id": "i"}]
    assert plugin.get_secret_by_ref(barbican.secret(consumers=consumers)).consumers == consumers


@pytest.mark.parametrize("form", ["{host}/v1/secrets/{id}", "https://else.where/v1/secrets/{id}/", "{id}"])
def test_a_reference_is_asked_of_the_catalogue(
    plugin: client.BarbicanClientPlugin, barbican: FakeBarbican, form: str
) -> None:
    """Whoever writes one could otherwise have the token sent anywhere."""
    id_ = barbican.secret("x").rpartition("/")[2]
    assert plugin.get_secret_payload_by_ref(form.format(host=HOST, id=id_)) == "x"


@pytest.mark.parametrize("prefix", ["", "/v1", "/v1/"])
def test_catalogues_with_and_without_the_version(option: Option, barbican: FakeBarbican, prefix: str) -> None:
    cloud = FakeCloud(key_manager=SimpleNamespace(url=barbican.root + prefix))  # type: ignore[arg-type]
    ref = barbican.secret("x")
    assert cloud.plugin("barbican").get_secret_payload_by_ref(ref) == "x"


def test_payloads_are_not_logged(
    plugin: client.BarbicanClientPlugin, barbican: FakeBarbican, debug_log: pytest.LogCaptureFixture
) -> None:
    ref = barbican.secret('{"password": "s3cr3t"}')
    assert plugin.get_secret_payload_by_ref(ref) == '{"password": "s3cr3t"}'
    assert "/v1/secrets/" in debug_log.text and "s3cr3t" not in debug_log.text


# --- containers


def test_a_container(plugin: client.BarbicanClientPlugin, barbican: FakeBarbican) -> None:
    secret = barbican.secret("x")
    ref = barbican.container(one=secret)
    container = plugin.get_container_by_ref(ref)
    assert (container.name, container.type, container.status, container.consumers) == ("box", "generic", "ACTIVE", [])
    assert (container.container_ref, container.secret_refs) == (ref, {"one": secret})
    assert {name: one.payload for name, one in container.secrets.items()} == {"one": "x"}
    assert not hasattr(container, "private_key")


def test_the_secrets_of_a_key_pair(plugin: client.BarbicanClientPlugin, barbican: FakeBarbican) -> None:
    ref = barbican.container("rsa", public_key=barbican.secret("pub"), private_key=barbican.secret("priv"))
    container = plugin.get_container_by_ref(ref)
    assert (container.public_key.payload, container.private_key.payload) == ("pub", "priv")
    assert container.private_key_passphrase is None


# --- what is not there, and what Barbican refuses


GETTERS = [
    ("get_secret_by_ref", "Secret", "secrets"),
    ("get_secret_payload_by_ref", "Secret", "secrets"),
    ("get_container_by_ref", "Container", "containers"),
]


@pytest.mark.parametrize(("getter", "entity", "kind"), GETTERS)
def test_what_is_not_there(plugin: client.BarbicanClientPlugin, getter: str, entity: str, kind: str) -> None:
    ref = f"{HOST}/v1/{kind}/{NOBODYS}"
    with pytest.raises(exceptions.EntityNotFound) as caught:
        getattr(plugin, getter)(ref)
    assert str(caught.value) == f"The {entity} ({ref}) could not be found."


@pytest.mark.parametrize(("getter", "entity", "_kind"), GETTERS)
@pytest.mark.parametrize("ref", ["", "name", f"{NOBODYS}/payload", f"../{NOBODYS[:-1]}", None])
def test_what_is_no_reference(
    plugin: client.BarbicanClientPlugin, barbican: FakeBarbican, getter: str, entity: str, _kind: str, ref: Any
) -> None:
    with pytest.raises(ValueError, match=f"^{entity} incorrectly specified.$"):
        getattr(plugin, getter)(ref)
    assert barbican.requests == []


def test_a_secret_that_is_deleted_before_its_payload_is_read(
    plugin: client.BarbicanClientPlugin, barbican: FakeBarbican
) -> None:
    secret = plugin.get_secret_by_ref(barbican.secret("x"))
    barbican.secrets.clear()
    with pytest.raises(exceptions.EntityNotFound):
        _ = secret.payload


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (403, "HTTPClientError: Forbidden: Secret retrieval attempt not allowed"),
        (500, "HTTPServerError: Internal Server Error: Secret retrieval attempt not allowed"),
    ],
)
def test_refusals(plugin: client.BarbicanClientPlugin, barbican: FakeBarbican, status: int, told: str) -> None:
    """In the words of python-barbicanclient."""
    ref = barbican.secret("x")
    barbican.fault("GET", ".*", status=status, message="Secret retrieval attempt not allowed")
    with pytest.raises(rest_errors.HTTPError) as caught:
        plugin.get_secret_by_ref(ref)
    assert f"{type(caught.value).__name__}: {caught.value}" == told
    assert caught.value.status_code == status and plugin.is_client_exception(caught.value)


def test_a_token_that_is_not_good(plugin: client.BarbicanClientPlugin, barbican: FakeBarbican) -> None:
    ref = barbican.secret("x")
    barbican.tokens.clear()
    with pytest.raises(rest_errors.HTTPAuthError, match="^The request you have made requires authentication.$"):
        plugin.get_secret_by_ref(ref)


@pytest.mark.parametrize(
    ("body", "told"),
    [(b"<html>no</html>", "<html>no</html>"), (b'{"title": "Gone"}', "Gone"), (b"{}", "Unknown Error"), (b"[]", "[]")],
)
def test_odd_refusals(body: bytes, told: str) -> None:
    import requests

    response = requests.Response()
    response.status_code, response._content = 404, body
    error = rest_errors.from_response("barbican", response)
    assert str(error) == told and isinstance(error, rest_errors.HTTPClientError)


@pytest.mark.parametrize("fault", [{"status": 503}, {"cut": True}])
def test_what_passes_is_tried_again(
    plugin: client.BarbicanClientPlugin, barbican: FakeBarbican, fault: dict[str, Any]
) -> None:
    ref = barbican.secret("x")
    barbican.error_body = lambda refusal: {}  # type: ignore[method-assign]
    barbican.fault("GET", ".*", **fault)
    assert plugin.get_secret_by_ref(ref).status == "ACTIVE"
    assert barbican.count("GET") == 2


def test_errors(plugin: client.BarbicanClientPlugin) -> None:
    class Theirs(Exception):
        """As python-barbicanclient's, which plug-ins may use."""

        status_code = 404

    gone = rest_errors.HTTPClientError("Not Found: Secret not found.", status=404)
    assert all(plugin.is_not_found(error) for error in (gone, Theirs(), errors.NotFound()))
    for other in (rest_errors.HTTPClientError("", status=403), exceptions.EntityNotFound("Secret", "x"), ValueError()):
        assert not plugin.is_not_found(other)
    with plugin.ignore_not_found:
        raise gone


# --- where it is


KINDS = ("public", "internal", "admin")


def context_of(urls: dict[tuple[str, str], str], **more: Any) -> RequestContext:
    """A context whose catalogue has the key manager at these URLs, by region and kind."""
    endpoints = [{"region": region, "interface": kind, "url": url} for (region, kind), url in urls.items()]
    token: dict[str, object] = {
        "token": {"project": {"id": "p"}, "catalog": [{"type": "key-manager", "endpoints": endpoints}]}
    }
    made = RequestContext(project_id="p", is_admin=False, overwrite=False, **more)
    made._auth_plugin = identity.AccessInfoPlugin(access.create(body=token, auth_token="token"), "http://keystone/v3")
    return made


def test_the_endpoint_is_that_of_the_options(option: Option) -> None:
    option("endpoint_type", "internalURL", "clients_barbican")
    urls = {(region, kind): f"http://{region}/{kind}/v1" for region in ("north", "south") for kind in KINDS}
    context = context_of(urls, region_name="south")
    plugin = context.clients.client_plugin("barbican")
    assert plugin.endpoint() == "http://south/internal"
    assert plugin.does_endpoint_exist(plugin.KEY_MANAGER, "barbican")


def test_a_cloud_without_it(option: Option) -> None:
    plugin = FakeCloud().plugin("barbican")
    assert not plugin.does_endpoint_exist(plugin.KEY_MANAGER, "barbican")
    with pytest.raises(errors.EndpointNotFound):
        plugin.get_secret_by_ref(NOBODYS)


def test_without_keystone(option: Option) -> None:
    option("keystone_backend", config.LOCAL_KEYSTONE)
    plugin = FakeCloud().plugin("barbican")
    with pytest.raises(exceptions.ClientNotAvailable, match=r"The client \(barbican\) is not available."):
        plugin.get_secret_by_ref(NOBODYS)


# --- constraints


@pytest.mark.parametrize(("name", "entity"), [("barbican.secret", "Secret"), ("barbican.container", "Container")])
def test_constraints(cloud: FakeCloud, barbican: FakeBarbican, name: str, entity: str) -> None:
    there = {"Secret": barbican.secret, "Container": barbican.container}[entity]()
    missing = there.replace(there.rpartition("/")[2], str(uuid.UUID(NOBODYS)))
    schema = constraints.Schema(constraints.Schema.STRING, constraints=[constraints.CustomConstraint(name)])
    assert registry.constraint(name) and name in registry.constraint_names()
    schema.validate_constraints(there, context=cloud.context)
    with pytest.raises(exceptions.StackValidationFailed) as caught:
        schema.validate_constraints(missing, context=cloud.context)
    assert str(caught.value) == (f"Error validating value '{missing}': The {entity} ({missing}) could not be found.")
    with pytest.raises(exceptions.StackValidationFailed, match=f"{entity} incorrectly specified."):
        schema.validate_constraints("mine", context=cloud.context)


# --- python-barbicanclient's own client


@pytest.fixture
def both(option: Option, barbican: FakeBarbican) -> Iterator[client.BarbicanClientPlugin]:
    """A plug-in where python-barbicanclient is installed; it looks for the version by itself."""
    pytest.importorskip("barbicanclient")
    context = context_of({("north", "public"): barbican.url})
    yield context.clients.client_plugin("barbican")


def test_the_client_for_plugins_of_others(both: client.BarbicanClientPlugin, barbican: FakeBarbican) -> None:
    from barbicanclient.v1 import containers

    assert both.client().secrets.get(barbican.secret("x")).payload == "x"
    with pytest.raises(Exception, match="Not Found: Secret not found.") as caught:
        _ = both.client().secrets.get(NOBODYS).status
    assert both.is_not_found(caught.value)
    made = {
        containers.Container: both.create_generic_container(name="n"),
        containers.RSAContainer: both.create_rsa(name="n"),
        containers.CertificateContainer: both.create_certificate(name="n"),
    }
    assert all(type(one) is cls and one.name == "n" for cls, one in made.items())


def test_what_both_tell_of_a_secret(both: client.BarbicanClientPlugin, barbican: FakeBarbican) -> None:
    named = barbican.secret("x", name="n", expiration="2027-01-02T03:04:05", consumers=[{"service": "s"}])
    for ref in (named, barbican.secret(b"y", name="n"), barbican.secret(name="n")):
        ours, theirs = both.get_secret_by_ref(ref), both.client().secrets.get(ref)
        for name in {*ours.to_dict(), "payload"} - {"creator_id"}:
            assert getattr(ours, name) == getattr(theirs, name), name


def test_what_both_tell_of_a_container(both: client.BarbicanClientPlugin, barbican: FakeBarbican) -> None:
    for ref in (
        barbican.container(one=barbican.secret("x")),
        barbican.container("rsa", private_key=barbican.secret("k")),
    ):
        ours, theirs = both.get_container_by_ref(ref), both.client().containers.get(ref)
        for name in {*ours.to_dict()} - {"creator_id", "type"}:
            assert getattr(ours, name) == getattr(theirs, name), name
        assert {name: one.payload for name, one in ours.secrets.items()} == {
            name: one.payload for name, one in theirs.secrets.items()
        }
    assert ours.private_key.payload == theirs.private_key.payload == "k"
