# SPDX-License-Identifier: Apache-2.0
"""Lives of stacks with known secrets in them, at DEBUG: nothing of them is in logs, events, error texts or answers.

``Vault`` knows what may not be seen, and looks for it. What an answer is for may be in it: the keys of an instance in
the attributes and metadata of its resource, what was sent in the answer of a validation, and the environment in the
data of an export, which an adoption needs.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
import requests

from tests.fixtures import access_cfn, identity, testbed
from tests.fixtures.access_plugin import Guarded
from tests.fixtures.api import Api, Stack
from tests.fixtures.checks import Database

pytestmark = [pytest.mark.keystone, pytest.mark.services]


class Vault:
    """Secrets by what they are."""

    def __init__(self) -> None:
        self.secrets: dict[str, str] = {}
        #: Made by the service for an instance: the resource it is of tells them, in attributes and metadata.
        self.of_instances: set[str] = set()

    def new(self, what: str) -> str:
        return self.keep(what, f"s3cr3t-{secrets.token_hex(8)}")

    def keep(self, what: str, value: str, of_instance: bool = False) -> str:
        assert len(value) > 7, what
        if of_instance:
            self.of_instances.add(what)
        self.secrets[what] = value
        return value

    def found_in(self, text: str) -> list[str]:
        found = []
        for what, value in self.secrets.items():
            forms = {value, quote(value, safe=""), json.dumps(value)[1:-1]}
            if any(form in text for form in forms):
                found.append(what)
        return found


class Watched(Api):
    """Looks into every answer."""

    vault: Vault
    seen: list[str]

    def send(self, method: str, path: str, body: Any = None, **extra: Any) -> requests.Response:
        reply = super().send(method, path, body, **extra)
        found = set(self.vault.found_in(reply.text + str(reply.headers)))
        if "/resources" in path and "/events/" not in path:
            found -= self.vault.of_instances
        if path == "/validate" and reply.status_code == 200:
            found = set()
        for what in found:
            self.seen.append(f"{what} in {method} {path}: {reply.status_code}")
        return reply


HIDDEN = {"type": "string", "hidden": True}
INNER = {
    "heat_template_version": "2018-08-31",
    "parameters": {"word": HIDDEN},
    "resources": {"inner": {"type": "OS::Heat::TestResource", "properties": {"value": {"get_param": "word"}}}},
}


def template(fail: bool = False, salted: Any = None, **more: Any) -> dict[str, Any]:
    resources: dict[str, Any] = {
        "text": {"type": "OS::Heat::TestResource", "properties": {"value": {"get_param": "word"}, "fail": fail}},
        "data": {"type": "OS::Heat::Value", "properties": {"type": "json", "value": {"get_param": "map"}}},
        "both": {
            "type": "OS::Heat::Value",
            "properties": {
                "value": {
                    "str_replace": {
                        "template": "with W, N",
                        "params": {"W": {"get_param": "word"}, "N": {"get_param": "number"}},
                    }
                }
            },
        },
        "nested": {"type": "inner.yaml", "properties": {"word": {"get_param": "word"}}},
        "config": {
            "type": "OS::Heat::SoftwareConfig",
            "properties": {"group": "script", "config": "true", "inputs": [{"name": "pass"}]},
        },
        "server": {
            "type": "OS::Heat::DeployedServer",
            "properties": {"name": "s", "software_config_transport": "POLL_SERVER_HEAT"},
        },
        "signed": {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "CFN_SIGNAL"}},
        "token": {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "TOKEN_SIGNAL"}},
        "native": {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "HEAT_SIGNAL"}},
    }
    resources.update(more)
    return {
        "heat_template_version": "2018-08-31",
        "parameters": {
            "word": HIDDEN,
            "number": {"type": "number", "hidden": True},
            "map": {"type": "json", "hidden": True},
            "list": {"type": "comma_delimited_list", "hidden": True},
            "strict": {**HIDDEN, "default": "okay", "constraints": [{"allowed_pattern": "[a-z]+"}]},
        },
        "resources": resources,
    }


@pytest.fixture(scope="module")
def vault(guarded: Guarded) -> Vault:
    made = Vault()
    options = testbed.product_options()
    made.keep("encryption key", options["DEFAULT"]["auth_encryption_key"])
    made.keep("domain admin's password", options["DEFAULT"]["stack_domain_admin_password"])
    made.keep("service's password", options["trustee"]["password"])
    return made


@pytest.fixture(scope="module")
def api(guarded: Guarded, vault: Vault) -> Iterator[Watched]:
    project = guarded.realm.project("secrets")
    user = guarded.realm.user("keeper", {project: ["member"]})
    vault.keep("user's password", user["password"])
    token = identity.login(user, project)
    vault.keep("user's token", token.id)
    api = Watched(guarded.root, project, token.id)
    api.vault, api.seen = vault, []
    # as python-heatclient sends them beside the token
    api.http.headers.update({"X-Auth-User": "keeper", "X-Auth-Key": user["password"]})
    yield api
    for one in api.get("/stacks")["stacks"]:
        api.stack(one["stack_name"], one["id"]).delete()


def values(vault: Vault, turn: str) -> dict[str, Any]:
    return {
        "word": vault.new(f"{turn}: word"),
        "number": int(vault.keep(f"{turn}: number", str(secrets.randbelow(10**12) + 10**12))),
        "map": {"key": vault.new(f"{turn}: map")},
        "list": ["first", vault.new(f"{turn}: list")],
    }


def look_at_all(api: Watched, stack: Stack) -> None:
    """Every GET there is for a stack and its resources."""
    for path in (
        "",
        "/template",
        "/environment",
        "/files",
        "/outputs",
        "/resources?nested_depth=2&with_detail=true",
        "/events?nested_depth=2&limit=500",
        "/snapshots",
    ):
        api.get(stack.path + path)
    for name in stack.resources():
        api.get(f"{stack.path}/resources/{name}", expect=(200,))
        for event in api.get(f"{stack.path}/resources/{name}/events")["events"]:
            api.get(f"{stack.path}/resources/{name}/events/{event['id']}")
    for path in ("/stacks?show_nested=true", "/stacks/detail", "/software_configs", "/software_deployments"):
        api.get(path)


def what_instances_get(vault: Vault, plain: Api, stack: Stack, turn: str) -> None:
    """Keys, passwords and tokens that the service made for instances, fetched beside the watched client."""
    told = plain.get(f"{stack.path}/resources/server/metadata")["metadata"]["os-collect-config"]["heat"]
    vault.keep(f"{turn}: server's password", told["password"], True)
    for name in ("signed", "native"):
        found = plain.get(f"{stack.path}/resources/{name}?with_attr=signal")["resource"]["attributes"]["signal"]
        signal = json.loads(found)
        if "password" in signal:
            vault.keep(f"{turn}: {name}'s password", signal["password"], True)
        signature = re.search("Signature=([^&]+)", str(signal.get("alarm_url", "")))
        if signature:
            vault.keep(f"{turn}: {name}'s signature", signature[1], True)
    shown = plain.get(f"{stack.path}/resources/token?with_attr=token")["resource"]["attributes"]
    vault.keep(f"{turn}: token", shown["token"], True)


def test_life(guarded: Guarded, vault: Vault, api: Watched) -> None:
    database = Database(guarded.installation.connection)
    files = {"inner.yaml": json.dumps(INNER)}
    plain = Api(guarded.root, api.project, vault.secrets["user's token"])
    first = values(vault, "first")
    stack = api.create(template(), files=files, parameters=first)
    what_instances_get(vault, plain, stack, "first")
    look_at_all(api, stack)
    snapshot = api.post(stack.path + "/snapshots", {"name": "s"})["id"]
    stack.wait("SNAPSHOT_COMPLETE")
    api.get(f"{stack.path}/snapshots/{snapshot}")
    second = values(vault, "second")
    stack.update(template(), files=files, parameters=second)
    look_at_all(api, stack)
    for action, state in (("suspend", "SUSPEND_COMPLETE"), ("resume", "RESUME_COMPLETE"), ("check", "CHECK_COMPLETE")):
        stack.action(action, state)
    for resource, details in (("native", {"status": "SUCCESS", "data": vault.new("data of a signal")}),):
        api.post(f"{stack.path}/resources/{resource}/signal", details)
    third = values(vault, "third")
    stack.update(template(fail=True), wait="UPDATE_FAILED", files=files, parameters=third)
    look_at_all(api, stack)
    api.post(f"{stack.path}/snapshots/{snapshot}/restore")
    stack.wait("RESTORE_COMPLETE")
    stack.delete()
    columns = "resource_status_reason, resource_name, physical_resource_id"
    rows = database.rows(f"SELECT {columns} FROM event WHERE stack_id = :id", id=stack.id)
    reasons = database.rows("SELECT status_reason FROM stack UNION SELECT status_reason FROM resource")
    assert rows and not vault.found_in(json.dumps([rows, reasons]))


def test_errors_that_repeat_what_was_given(guarded: Guarded, vault: Vault, api: Watched) -> None:
    given = values(vault, "told")
    tells = {"type": "Test::Secret::Tells", "properties": {"value": {"get_param": "word"}}}
    inner = {**INNER, "resources": {"inner": tells}}
    nested = {"type": "inner.yaml", "properties": {"word": {"get_param": "word"}}}
    for resources in ({"tells": tells}, {"nested": nested}):
        document = {**template(), "resources": resources}
        stack = api.create(document, files={"inner.yaml": json.dumps(inner)}, parameters=given, wait=False)
        stack.wait("CREATE_FAILED")
        assert "The service does not like '******'" in stack.show()["stack_status_reason"]
        look_at_all(api, stack)
        stack.delete()


def test_refusals(vault: Vault, api: Watched) -> None:
    """What is wrong with a value is said without the value."""
    good = values(vault, "refused")
    files = {"inner.yaml": json.dumps(INNER)}
    limited = {"type": "OS::Heat::RandomString", "properties": {"length": {"get_param": "number"}}}
    strange = {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": {"get_param": "word"}}}
    for case, tried in {
        "a constraint of a parameter": (template(), {**good, "strict": vault.new("strict") + "-9"}),
        "a number that is none": (template(), {**good, "number": vault.new("no number")}),
        "a map that is none": (template(), {**good, "map": "{" + vault.new("no map")}),
        "a property out of range": (template(limited=limited), good),
        "a property that is not allowed": (template(strange=strange), good),
        "a parameter that is not known": (template(), {**good, "unknown": vault.new("unknown")}),
    }.items():
        for method, path in (("POST", "/stacks"), ("POST", "/stacks/preview"), ("POST", "/validate")):
            body = {"stack_name": "refused", "template": tried[0], "parameters": tried[1], "files": files}
            reply = api.send(method, path, body)
            assert reply.status_code in (400, 200), case
    stack = api.create(template(), files=files, parameters=good)
    bad = {
        "template": template(limited=limited, strange=strange),
        "parameters": {**good, "strict": vault.new("2nd")},
        "files": files,
    }
    for method, path in (("PUT", stack.path), ("PATCH", stack.path), ("PUT", stack.path + "/preview")):
        assert api.send(method, path, bad).status_code == 400
    stack.delete()


def test_signed_requests(guarded: Guarded, vault: Vault, api: Watched) -> None:
    """CloudFormation clients have parameters and signatures in the query; what is signed is sent to Keystone."""
    key = guarded.realm.admin.ec2_key(_user_of(guarded, vault), api.project)
    vault.keep("secret key", key[1])
    document = {
        "heat_template_version": "2018-08-31",
        "parameters": {"word": HIDDEN},
        "resources": {"w": {"type": "OS::Heat::TestResource", "properties": {"value": {"get_param": "word"}}}},
    }
    params = {
        "Action": "CreateStack",
        "StackName": "signed",
        "TemplateBody": json.dumps(document),
        "Parameters.member.1.ParameterKey": "word",
        "Parameters.member.1.ParameterValue": vault.new("NoEcho"),
    }
    url = guarded.cfn_root + "/v1/"
    signed = access_cfn.signed(key, "GET", url, params)
    vault.keep("signature", signed["Signature"])
    for query, status in ((signed, 200), ({**signed, "Signature": vault.new("wrong signature")}, 403)):
        reply = requests.get(url, params=query, timeout=60)
        assert reply.status_code == status
        assert not vault.found_in(reply.text)


def _user_of(guarded: Guarded, vault: Vault) -> str:
    users = guarded.realm.admin.names("users")
    return next(user for name, user in users.items() if "keeper" in name)


def test_nothing_was_seen(guarded: Guarded, vault: Vault, api: Watched) -> None:
    assert len(vault.secrets) > 20
    assert not api.seen, "\n".join(sorted(set(api.seen)))


def test_nothing_was_logged(guarded: Guarded, vault: Vault, api: Watched) -> None:
    """Runs last: the logs of all daemons at DEBUG, since the first test that used them."""
    found: dict[str, list[str]] = {}
    lines = 0
    for log in guarded.logs():
        for line in log.read_text(errors="replace").splitlines():
            lines += 1
            for what in vault.found_in(line):
                found.setdefault(f"{log.name}: {what}", []).append(line[:400])
    assert lines > 1000
    assert not found, json.dumps({place: lines[:2] for place, lines in found.items()}, indent=1)[:6000]
