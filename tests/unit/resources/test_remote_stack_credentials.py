# SPDX-License-Identifier: Apache-2.0
"""A remote stack in another cloud, whose credentials are a secret of this one: both clouds are in this process."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from oslo_context import context as oslo_context

from openkeel_heat.common.context import RequestContext
from openkeel_heat.common.exceptions import ResourceFailure, StackValidationFailed
from openkeel_heat.resources.kit import lifecycle
from tests.fixtures.fake_barbican import FakeBarbican
from tests.fixtures.rest_server import Body, FakeCloud, Refusal, Request, RestServer
from tests.unit.conftest import Option
from tests.unit.resources.fakes import drive, hot

REGIONS = ("east", "west")
MISSING = "6c1c8d0e-53a4-4c94-a2a5-1f4f9f5c6a55"
BEGINNING = 'Cannot establish connection to Heat endpoint at remote cloud due to "'


class Keystone(RestServer):
    """Tokens for application credentials, each with a catalogue that has an orchestration service per region."""

    def setup(self) -> None:
        self.credentials = {"ada": "lovelace", "alan": "turing"}
        self.heat: dict[str, str] = {}
        self.route("POST", "/v3/auth/tokens", self._sign_in)

    def _sign_in(self, request: Request) -> tuple[int, Body]:
        told = request.json["auth"]["identity"]["application_credential"]
        if self.credentials.get(told["id"]) != told["secret"]:
            raise Refusal(401, "The request you have made requires authentication.")
        endpoints = [{"region": region, "interface": "public", "url": url} for region, url in self.heat.items()]
        catalog = [{"type": "orchestration", "endpoints": endpoints}]
        token = {"expires_at": "2099-01-01T00:00:00.000000Z", "project": {"id": "theirs"}, "catalog": catalog}
        return 201, {"token": {**token, "user": {"id": told["id"]}}}

    def answer(self, request: Request) -> tuple[int, Body, Any]:
        status, body, more = super().answer(request)
        return status, body, {"X-Subject-Token": "of-" + body["token"]["user"]["id"]} if status == 201 else more


class Heat(RestServer):
    """One stack, which is complete whenever somebody looks."""

    def setup(self) -> None:
        self.action = "CREATE"
        self.route("POST", "/validate", lambda request: (200, {}))
        self.route("POST", "/stacks", lambda request: (201, {"stack": {"id": "remote-id"}}))
        self.route("GET", "/stacks/[^/]+", lambda request: (200, {"stack": self._shown()}))
        self.route("PUT", "/stacks/remote-id", lambda request: self._act("UPDATE"))
        self.route("DELETE", "/stacks/remote-id", lambda request: self._act("DELETE"))

    def _shown(self) -> dict[str, Any]:
        return {
            "id": "remote-id", "stack_status": f"{self.action}_COMPLETE", "stack_status_reason": "", "stack_name": "n",
        }  # fmt: skip

    def _act(self, action: str) -> tuple[int, Body]:
        self.action = action
        return 202, {}

    def tokens(self) -> set[str | None]:
        return {request.headers.get("X-Auth-Token") for request in self.requests}


class Clouds:
    """This cloud and the other, which has a Heat in each of its regions."""

    def __init__(self) -> None:
        self.barbican, self.own, self.keystone = FakeBarbican(), Heat(), Keystone()
        self.heat = {region: Heat() for region in REGIONS}
        for service in self.services:
            service.start()
        self.keystone.heat = {region: heat.url for region, heat in self.heat.items()}
        self.cloud = FakeCloud(key_manager=self.barbican, orchestration=self.own)

    @property
    def services(self) -> list[RestServer]:
        return [self.barbican, self.own, self.keystone, *self.heat.values()]

    def credential(self, who: str = "ada", **more: Any) -> dict[str, Any]:
        auth = {
            "auth_url": f"{self.keystone.url}/v3",
            "application_credential_id": who,
            "application_credential_secret": self.keystone.credentials.get(who, "wrong"),
        }
        return {"auth_type": "v3applicationcredential", "auth": {**auth, **more}}

    def secret(self, who: str = "ada") -> str:
        return self.barbican.secret(json.dumps(self.credential(who)))

    def stack(self, **where: Any) -> Any:
        properties = {"template": "heat_template_version: 2016-10-14", "context": where}
        return self.cloud.stack(hot({"r": {"type": "OS::Heat::Stack", "properties": properties}}))

    def resource(self, **where: Any) -> Any:
        return self.stack(**where)["r"]


@pytest.fixture
def clouds(option: Option, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clouds]:
    made = Clouds()
    # The credentials of the request are good in this cloud, whoever makes a context of it.
    monkeypatch.setattr(RequestContext, "_create_auth_plugin", lambda self: made.cloud.context.auth_plugin)
    yield made
    for service in made.services:
        service.stop()


def test_the_stack_is_made_where_the_credentials_are_good(clouds: Clouds) -> None:
    """And not in this cloud, with the credentials of whoever asks."""
    resource = clouds.resource(credential_secret_id=clouds.secret())
    resource.validate()
    assert drive(lifecycle.create(resource), resource).short == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]
    assert resource.resource_id == "remote-id"
    there = clouds.heat["east"]
    assert there.changes() == ["POST /validate", "POST /stacks"] and there.tokens() == {"of-ada"}
    assert clouds.own.requests == []


@pytest.mark.parametrize("fault", [{"cut": True}, {"status": 500}, {"status": 502}])
def test_a_creation_whose_answer_is_lost_is_sent_once(clouds: Clouds, fault: dict[str, Any]) -> None:
    """A second one would be refused, as the name is taken; and the stack would stay."""
    resource = clouds.resource(credential_secret_id=clouds.secret())
    there = clouds.heat["east"]
    there.fault("POST", "/stacks", after=True, **fault)
    drive(lifecycle.create(resource), resource)
    assert (resource.state, resource.resource_id) == (("CREATE", "COMPLETE"), "remote-id")
    assert there.count("POST", "/stacks") == 1
    assert there.count("GET", f"/stacks/{resource.physical_resource_name()}") == 1


def test_who_deletes_looks_for_a_stack_that_may_have_been_made(clouds: Clouds) -> None:
    resource = clouds.resource(credential_secret_id=clouds.secret())
    there = clouds.heat["east"]
    there.fault("POST", "/stacks", after=True, status=500)
    there.fault("GET", "/stacks/.*", status=500)
    with pytest.raises(ResourceFailure):
        drive(lifecycle.create(resource), resource)
    assert resource.resource_id is None
    drive(lifecycle.delete(resource), resource)
    assert there.count("DELETE", "/stacks/remote-id") == 1


def test_the_other_service_is_asked_again_as_often_as_the_option_says(clouds: Clouds, option: Option) -> None:
    option("client_retry_limit", 0)
    there = clouds.heat["east"]
    there.fault("POST", "/validate", status=503)
    with pytest.raises(StackValidationFailed):
        clouds.resource(credential_secret_id=clouds.secret()).validate()
    assert there.count("POST", "/validate") == 1


def test_a_refused_creation_is_looked_for_by_nobody(clouds: Clouds) -> None:
    resource = clouds.resource(credential_secret_id=clouds.secret())
    there = clouds.heat["east"]
    there.fault("POST", "/stacks", status=403)
    with pytest.raises(ResourceFailure):
        drive(lifecycle.create(resource), resource)
    drive(lifecycle.delete(resource), resource)
    assert (there.count("GET"), there.count("DELETE")) == (0, 0)


def test_the_payload_may_be_bytes(clouds: Clouds) -> None:
    ref = clouds.barbican.secret(json.dumps(clouds.credential()).encode())
    clouds.resource(credential_secret_id=ref).validate()
    assert clouds.heat["east"].changes() == ["POST /validate"]


@pytest.mark.parametrize(("region", "used"), [(None, "east"), ("east", "east"), ("west", "west")])
def test_regions_are_those_of_the_other_cloud(clouds: Clouds, option: Option, region: str | None, used: str) -> None:
    """What a region of this one is called, the other one has not heard of."""
    option("region_name_for_services", "RegionOne")
    where = {"region_name": region} if region else {}
    clouds.resource(credential_secret_id=clouds.secret(), **where).validate()
    assert {name: heat.changes() for name, heat in clouds.heat.items()} == {
        name: ["POST /validate"] if name == used else [] for name in REGIONS
    }


def test_an_update_uses_the_credentials_that_the_stack_has_by_now(clouds: Clouds) -> None:
    resource = clouds.resource(credential_secret_id=clouds.secret("ada"))
    drive(lifecycle.create(resource), resource)
    after = clouds.stack(credential_secret_id=clouds.secret("alan"))
    drive(lifecycle.update(resource, after.defn.resource_definition("r")), resource)
    put = next(request for request in clouds.heat["east"].requests if request.method == "PUT")
    assert put.headers["X-Auth-Token"] == "of-alan"


# --- what is wrong with a secret


def told_of(resource: Any) -> str:
    with pytest.raises(StackValidationFailed) as caught:
        resource.validate()
    message = str(caught.value)
    assert message.startswith(BEGINNING) and message.endswith('"')
    return message[len(BEGINNING) : -1]


def test_a_secret_that_is_not_there(clouds: Clouds) -> None:
    assert told_of(clouds.resource(credential_secret_id=MISSING)) == f"The Secret ({MISSING}) could not be found."


def test_what_is_no_reference_of_a_secret(clouds: Clouds) -> None:
    assert told_of(clouds.resource(credential_secret_id="mine")) == "Secret incorrectly specified."


def test_a_secret_that_may_not_be_read(clouds: Clouds) -> None:
    words = "Secret payload retrieval attempt not allowed - please review your user/project privileges"
    clouds.barbican.fault("GET", ".*/payload", status=403, message=words)
    assert told_of(clouds.resource(credential_secret_id=clouds.secret())) == f"Forbidden: {words}"


UNREADABLE = (
    "Failed to parse credential, please check your Stack Credential format. "
    "The secret of credential_secret_id has to be an object of JSON."
)
LACKS = "Missing key in auth information, the correct format contains ['auth_type', 'auth']. (credential_secret_id)"
NO_GOOD = "The secret of credential_secret_id has no good credential: "


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        (None, "The secret of credential_secret_id has no payload."),
        ("hunter2", UNREADABLE),
        (b"\xff\x00", UNREADABLE),
        ("5", UNREADABLE),
        ('["auth_type", "auth"]', UNREADABLE),
        ("{}", LACKS),
        ('{"auth_type": "v3applicationcredential"}', LACKS),
        ('{"auth_type": "v3applicationcredential", "auth": "hunter2"}',
         "auth in the secret of credential_secret_id has to be an object of JSON."),
        ('{"auth_type": "nonsense", "auth": {}}', NO_GOOD + "The plugin nonsense could not be found"),
        ('{"auth_type": null, "auth": {}}', NO_GOOD + "The plugin None could not be found"),
        ('{"auth_type": "v3applicationcredential", "auth": {"application_credential_secret": "hunter2"}}',
         NO_GOOD + "You must provide either an application credential ID or an application credential name and user."),
        ('{"auth_type": "v3token", "auth": {"token": "hunter2"}}',
         NO_GOOD + "Auth plugin requires parameters which were not given: auth_url"),
    ],
)  # fmt: skip
def test_a_payload_that_is_no_credential(clouds: Clouds, payload: str | bytes | None, told: str) -> None:
    """Which property is wrong and why, and nothing of what is secret."""
    message = told_of(clouds.resource(credential_secret_id=clouds.barbican.secret(payload)))
    assert message == told and "hunter2" not in message


def test_an_option_that_the_plugin_does_not_have(clouds: Clouds) -> None:
    ref = clouds.barbican.secret(json.dumps(clouds.credential(colour="hunter2")))
    message = told_of(clouds.resource(credential_secret_id=ref))
    assert message.startswith(NO_GOOD) and "colour" in message and "hunter2" not in message


def test_a_credential_that_the_other_cloud_does_not_take(clouds: Clouds) -> None:
    assert told_of(clouds.resource(credential_secret_id=clouds.secret("nobody"))) == (
        "Authorization failed. Failed to validate auth_plugin with error The request you have made requires "
        "authentication. (HTTP 401). Please make sure the credential you provide is correct. Also make sure the it is "
        "a valid Keystone auth plugin type and contain in your environment."
    )


def test_a_cloud_without_a_key_manager(clouds: Clouds) -> None:
    del clouds.cloud.services["key-manager"]
    assert told_of(clouds.resource(credential_secret_id=MISSING)) == (
        "credential_secret_id needs a key manager (service type key-manager): "
        "Could not find requested endpoint in Service Catalog."
    )


def test_another_cloud_without_heat(clouds: Clouds) -> None:
    clouds.keystone.heat.clear()
    ref = clouds.secret()
    assert told_of(clouds.resource(credential_secret_id=ref)) == "public endpoint for orchestration service not found"


# --- later, when a stack is there


@pytest.fixture
def kept(clouds: Clouds) -> Any:
    """A remote stack that was made, as the next engine loads it."""
    resource = clouds.resource(credential_secret_id=clouds.secret())
    resource.record.nova_instance = "remote-id"
    resource.action, resource.status = resource.CREATE, resource.COMPLETE
    return resource


def test_a_creation_that_does_not_get_there_fails_for_that_reason(clouds: Clouds) -> None:
    resource = clouds.resource(credential_secret_id=MISSING)
    with pytest.raises(ResourceFailure, match=f"EntityNotFound: resources.r: The Secret .{MISSING}. could not be"):
        drive(lifecycle.create(resource), resource)
    assert resource.state == (resource.CREATE, resource.FAILED)


def test_a_deletion_that_does_not_get_there_fails(clouds: Clouds, kept: Any) -> None:
    """The stack is still there: not to find its credentials is not to find it gone."""
    clouds.barbican.payloads.clear()
    with pytest.raises(ResourceFailure, match="EntityNotFound"):
        drive(lifecycle.delete(kept), kept)
    assert clouds.heat["east"].changes() == []


def test_a_deletion(clouds: Clouds, kept: Any) -> None:
    assert drive(lifecycle.delete(kept), kept).short[-1] == "DELETE_COMPLETE"
    assert clouds.heat["east"].changes() == ["DELETE /stacks/remote-id"]
    assert clouds.heat["east"].tokens() == {"of-ada"} and clouds.own.requests == []


def test_what_is_logged_meanwhile_is_of_the_request(clouds: Clouds, kept: Any) -> None:
    """A context that is made becomes that of the thread, where it is not told otherwise."""
    kept._call("GET", "/stacks/remote-id")
    assert oslo_context.get_current() is clouds.cloud.context


@pytest.mark.parametrize(
    ("told", "verified"), [({}, True), ({"insecure": True}, False), ({"insecure": True, "ca_cert": "PEM"}, False)]
)
def test_certificates(clouds: Clouds, told: dict[str, Any], verified: bool) -> None:
    resource = clouds.resource(credential_secret_id=clouds.secret(), **told)
    assert resource._context().keystone_session.verify is verified


def test_the_certificate_of_the_authority_is_there_as_long_as_it_may_be_needed(clouds: Clouds) -> None:
    """One sign-in does for all that is asked, errors included: no request goes without the certificate."""
    resource = clouds.resource(credential_secret_id=clouds.secret(), ca_cert="PEM")
    resource.record.nova_instance = "remote-id"
    assert resource.client_plugin().elsewhere
    assert [resource._call("GET", "/stacks/remote-id")["stack"]["stack_name"] for _again in range(2)] == ["n", "n"]
    assert clouds.keystone.count("POST") == 1
    path = resource._context().keystone_session.verify
    with open(path) as stream:
        assert stream.read() == "PEM"
    resource._local_context = None
    assert not os.path.exists(path)
