# SPDX-License-Identifier: Apache-2.0
"""Signatures, forms, errors and XML of the CloudFormation API."""

from __future__ import annotations

import hashlib
import xml.etree.ElementTree as ElementTree
from typing import Any
from urllib.parse import urlencode

import pytest
from keystoneauth1 import exceptions as keystone
from oslo_config import cfg
from oslo_messaging import RemoteError

from openkeel_heat.api.cfn import ec2token, errors, params, serializer
from openkeel_heat.common import exceptions
from tests.contract import api_harness as harness

FORM = "application/x-www-form-urlencoded"
# Codes that are not Heat's: Amazon's clients wait for the end of a stack by this one.
BETTER = {"EntityNotFound": "ValidationError"}
TEMPLATE = '{"HeatTemplateFormatVersion": "2012-12-12"}'


def error_of(reply: harness.Reply) -> tuple[int, str]:
    return reply.status, ElementTree.fromstring(reply.body).findtext("Error/Code") or ""


# --- parameters


def test_members_in_order() -> None:
    given = {f"Parameters.member.{n}.ParameterKey": f"k{n}" for n in (10, 2, 1)} | {
        f"Parameters.member.{n}.ParameterValue": f"v{n}" for n in (1, 2, 10, 3)
    }
    found = params.pairs(given, "Parameters", "ParameterKey", "ParameterValue")
    assert list(found.items()) == [("k1", "v1"), ("k2", "v2"), ("k10", "v10")]


@pytest.mark.parametrize("path", ["/v1/", "/v1"])
def test_form(engine: Any, path: str) -> None:
    """How AWS clients send everything; without the last slash Heat answers 404."""
    form = {"Action": "CreateStack", "StackName": "s1", "TemplateBody": TEMPLATE, "Version": "2010-05-15"}
    reply = harness.request(harness.cfn(engine), "POST", path, urlencode(form), content_type=FORM)
    assert reply.status == 200
    assert engine.sent[0]["args"]["stack_name"] == "s1"


def test_form_too_long(engine: Any) -> None:
    cfg.CONF.set_override("max_json_body_size", 100)
    reply = harness.request(harness.cfn(engine), "POST", "/v1/", "Action=" + "x" * 300, content_type=FORM)
    assert error_of(reply) == (400, "RequestLimitExceeded")


def test_template_too_long(engine: Any) -> None:
    cfg.CONF.set_override("max_template_size", 10)
    reply = harness.request(
        harness.cfn(engine), "GET", "/v1/?" + urlencode({"Action": "ValidateTemplate", "TemplateBody": TEMPLATE})
    )
    assert error_of(reply) == (400, "RequestLimitExceeded")


REST = [
    ("POST", "/v1/stacks", "CreateStack"),
    ("PUT", "/v1/stacks/s1", "UpdateStack"),
    ("DELETE", "/v1/stacks/s1", "DeleteStack"),
]


@pytest.mark.parametrize(("method", "path", "action"), REST)
def test_rest_style(engine: Any, method: str, path: str, action: str) -> None:
    form = {"TemplateBody": TEMPLATE} | ({"StackName": "s1"} if method == "POST" else {})
    reply = harness.request(harness.cfn(engine), method, f"{path}?{urlencode(form)}")
    assert reply.status == 200
    assert f"<{action}Response>" in reply.text


@pytest.mark.parametrize("path", ["/v1/stacks", "/v1/stacks/detail", "/v1/stacks/x", "/v1/stacks/x/edit"])
def test_rest_style_without_a_handler(engine: Any, path: str) -> None:
    assert error_of(harness.request(harness.cfn(engine), "GET", path)) == (400, "InvalidAction")


@pytest.mark.parametrize(
    "action",
    ["DeleteStack", "CancelUpdateStack", "GetTemplate", "ListStackResources", "DescribeStackResource", "UpdateStack"],
)
def test_no_stack_named(engine: Any, action: str) -> None:
    query = urlencode({"Action": action, "TemplateBody": TEMPLATE})
    assert error_of(harness.request(harness.cfn(engine), "GET", f"/v1/?{query}")) == (400, "MissingParameter")
    assert engine.sent == []


@pytest.mark.parametrize("action", ["CreateStack", "UpdateStack"])
@pytest.mark.parametrize("value", ["", "maybe", "1"])
def test_a_flag_is_true_or_false(engine: Any, action: str, value: str) -> None:
    given = {"Action": action, "StackName": "s1", "TemplateBody": TEMPLATE, "DisableRollback": value}
    reply = harness.request(harness.cfn(engine), "GET", "/v1/?" + urlencode(given))
    assert error_of(reply) == (400, "InvalidParameterValue")
    assert f'Unrecognized value "{value}" for "DisableRollback", acceptable values are: true, false.' in reply.text
    assert engine.sent == []


def test_template_that_is_not_valid(engine: Any) -> None:
    """Heat: 200."""
    engine.answers = {**engine.answers, "validate_template": {"Error": "The Referenced Attribute is wrong"}}
    query = urlencode({"Action": "ValidateTemplate", "TemplateBody": TEMPLATE})
    assert error_of(harness.request(harness.cfn(engine), "GET", f"/v1/?{query}")) == (400, "ValidationError")


# --- errors


class Remote(exceptions.StackExists):
    pass


def test_errors_by_the_bases_of_a_class() -> None:
    assert isinstance(errors.from_engine(Remote(stack_name="x")), errors.ActionInProgress)
    assert isinstance(errors.from_engine(exceptions.StackExists(stack_name="x")), errors.AlreadyExists)
    assert isinstance(errors.from_engine(exceptions.AuthorizationFailure()), errors.AccessDenied)


@pytest.mark.parametrize(("kind", "answer"), [("Forbidden", "AccessDenied"), ("KeyError", "InternalFailure")])
def test_error_of_another_service(engine: Any, kind: str, answer: str) -> None:
    """A token made for signed requests cannot make a trust; Heat: 500 with a traceback."""
    engine.answers = {**engine.answers, "create_stack": RemoteError(kind, "secret", ["Traceback"])}
    query = urlencode({"Action": "CreateStack", "StackName": "s", "TemplateBody": TEMPLATE})
    reply = harness.request(harness.cfn(engine), "GET", f"/v1/?{query}")
    assert error_of(reply)[1] == answer
    assert "secret" not in reply.text


def test_every_error_class() -> None:
    """As recorded, but for those that the native API tells as the client's fault and Heat's CFN as its own."""
    better = 0
    for name, recorded in harness.load("exceptions.json")["heat.common.exception"].items():
        if recorded.get("cfn_status") is None or name == "HTTPExceptionDisguise":
            continue
        cls = getattr(exceptions, name)
        error = cls.__new__(cls)
        error.message = "m"
        found = errors.from_engine(error)
        if recorded["cfn_code"] == "InternalFailure" and found.status != 500:
            exceptional = ("AuthorizationFailure", "InvalidExternalResourceDependency", "InvalidRestrictedAction")
            assert recorded["native_status"] in (400, 404) or name in exceptional
            better += 1
        else:
            code = BETTER.get(name, recorded["cfn_code"])
            assert (found.status, found.code) == (recorded["cfn_status"], code), name
    print(f"errors told better: {better}")


def test_unexpected_error_tells_nothing(engine: Any) -> None:
    engine.answers = {**engine.answers, "list_stacks": RuntimeError("password=secret")}
    reply = harness.request(harness.cfn(engine), "GET", "/v1/?Action=ListStacks")
    assert error_of(reply) == (500, "InternalFailure")
    assert "secret" not in reply.text


# --- XML


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": True, "b": None, "c": 1}, "<r><a>true</a><c>1</c></r>"),
        ({"a": [], "b": {}, "c": ""}, "<r><a/><b/><c></c></r>"),
        ({"a": ["x", {"y": 1}]}, "<r><a><member>x</member><member><y>1</y></member></a></r>"),
        ({"a": "<&>\r\n"}, "<r><a>&lt;&amp;&gt;&#13;\n</a></r>"),
        ({"a": "\x00\x1b"}, "<r><a>??</a></r>"),
        ({"a b:c": 1, "1": 2}, "<r><a.b.c>1</a.b.c><_>2</_></r>"),
        ({"TemplateBody": {"a": "é"}}, '<r><TemplateBody>{"a": "\\u00e9"}</TemplateBody></r>'),
        ({"a": "é"}, "<r><a>é</a></r>"),
    ],
)
def test_xml(value: dict[str, Any], text: str) -> None:
    assert serializer.to_xml({"r": value}).decode() == text
    ElementTree.fromstring(text)


# --- signals

ARN = "arn%3Aopenstack%3Aheat%3A%3At%3Astacks%2Fs1%2Fx%2Fresources%2Fwc"


@pytest.mark.parametrize("arn", [ARN, ARN.replace("%2F", "/")])
def test_signal_paths(engine: Any, arn: str) -> None:
    reply = harness.request(harness.cfn(engine), "PUT", f"/v1/waitcondition/{arn}", {"Status": "SUCCESS"})
    assert (reply.status, reply.text) == (200, "<resource>wc</resource>")
    assert engine.sent[0]["args"]["stack_identity"] == {
        "tenant": "t",
        "stack_name": "s1",
        "stack_id": "x",
        "path": "",
    }


@pytest.mark.parametrize("body", [b"{not json", b"[1]", None])
def test_signal_bodies(engine: Any, body: Any) -> None:
    reply = harness.request(harness.cfn(engine), "PUT", f"/v1/waitcondition/{ARN}", body)
    assert reply.status == 400
    assert engine.sent == []


def test_signal_to_a_stack(engine: Any) -> None:
    path = "/v1/signal/" + ARN.partition("%2Fresources")[0]
    assert error_of(harness.request(harness.cfn(engine), "POST", path)) == (400, "InvalidParameterValue")


# --- signatures


class Adapter:
    """Keystone: checks nothing, remembers what it was asked."""

    def __init__(self, error: Exception | None = None, url: str = "http://k/identity") -> None:
        self.error = error
        self.url = url
        self.asked: list[tuple[str, Any]] = []
        self.headers = {"X-Subject-Token": "token"}

    def get_endpoint(self) -> str:
        return self.url

    def post(self, url: str, json: Any, headers: Any, log: bool = True) -> Any:
        assert not log
        self.asked.append((url, json))
        if self.error is not None:
            raise self.error
        return self

    def json(self) -> Any:
        return {
            "token": {
                "project": {"id": "p", "name": "pn"},
                "user": {"id": "u", "name": "un", "domain": {"id": "d"}},
                "roles": [{"name": "member"}, {"name": "reader"}],
            }
        }


class Inner:
    environ: dict[str, Any] | None = None

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        self.environ = environ
        self.body = environ["wsgi.input"].read()
        start_response("200 OK", [])
        return [b""]


def signed(adapter: Adapter, conf: dict[str, str] | None = None) -> tuple[ec2token.EC2Token, Inner]:
    inner = Inner()
    found = ec2token.EC2Token(inner, conf or {})
    found._adapters = {None: adapter, "a": adapter, "b": Adapter()}
    return found, inner


def test_signature_version_2() -> None:
    adapter = Adapter()
    app, inner = signed(adapter)
    query = "Action=ListStacks&AWSAccessKeyId=key&Signature=sig&SignatureVersion=2"
    headers = {"X-Roles": "admin", "X-Project-Id": "other", "X-User-Id": "evil", "X-Is-Admin-Project": "True"}
    assert harness.request(app, "GET", f"/v1/?{query}", headers=headers).status == 200
    url, body = adapter.asked[0]
    assert url == "http://k/identity/v3/ec2tokens"
    creds = body["ec2Credentials"]
    assert (creds["access"], creds["signature"], creds["verb"], creds["path"]) == ("key", "sig", "GET", "/v1/")
    assert creds["params"] == {"Action": "ListStacks", "AWSAccessKeyId": "key", "SignatureVersion": "2"}
    assert inner.environ is not None
    assert inner.environ["HTTP_X_AUTH_TOKEN"] == "token"
    assert (inner.environ["HTTP_X_PROJECT_ID"], inner.environ["HTTP_X_USER_ID"]) == ("p", "u")
    assert inner.environ["HTTP_X_ROLES"] == "member,reader"
    assert "HTTP_X_IS_ADMIN_PROJECT" not in inner.environ


def test_signature_version_4() -> None:
    adapter = Adapter()
    app, inner = signed(adapter)
    authorization = "AWS4-HMAC-SHA256 Credential=key/2026/r/s/aws4_request, SignedHeaders=host, Signature=sig"
    body = "Action=ListStacks"
    reply = harness.request(app, "POST", "/v1/", body, {"Authorization": authorization}, FORM)
    assert reply.status == 200
    creds = adapter.asked[0][1]["ec2Credentials"]
    assert (creds["access"], creds["signature"]) == ("key", "sig")
    assert creds["headers"]["Authorization"] == authorization
    assert creds["headers"]["Host"] == "api"
    assert creds["body_hash"] == hashlib.sha256(body.encode()).hexdigest()
    assert inner.body == body.encode()


@pytest.mark.parametrize("url", ["http://k", "http://k/", "http://k/v3", "http://k/v3/", "http://k/v2.0"])
def test_address_of_keystone(url: str) -> None:
    adapter = Adapter(url=url)
    harness.request(signed(adapter)[0], "GET", "/v1/?AWSAccessKeyId=k&Signature=s")
    assert adapter.asked[0][0] == "http://k/v3/ec2tokens"


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (keystone.Unauthorized("EC2 access key not found."), (403, "InvalidClientTokenId")),
        (keystone.Unauthorized("EC2 signature not supplied."), (403, "SignatureDoesNotMatch")),
        (keystone.Unauthorized("Invalid EC2 signature."), (403, "AccessDenied")),
        (keystone.NotFound("Could not find credential"), (403, "AccessDenied")),
        (keystone.ConnectFailure("refused"), (500, "InternalFailure")),
        (KeyError("token"), (500, "InternalFailure")),
    ],
    ids=repr,
)
def test_keystone_refuses(error: Exception, answer: tuple[int, str]) -> None:
    app, inner = signed(Adapter(error))
    assert error_of(harness.request(app, "GET", "/v1/?AWSAccessKeyId=k&Signature=s")) == answer
    assert inner.environ is None


V4 = "AWS4-HMAC-SHA256 Credential=key/20260101/r/s/aws4_request, SignedHeaders=host, Signature=sig"
WHOLE = {"Authorization": V4, "X-Amz-Date": "20260101T000000Z"}
KEY = "AWSAccessKeyId=k&Signature=s"


@pytest.mark.parametrize(
    ("query", "headers", "code"),
    [
        (KEY, {}, "IncompleteSignature"),
        (KEY + "&SignatureVersion=9", {}, "IncompleteSignature"),
        (KEY + "&SignatureVersion=0", {}, "IncompleteSignature"),
        (KEY + "&SignatureVersion=2", {}, "InternalFailure"),
        ("", WHOLE, "InternalFailure"),
        ("", {"Authorization": V4}, "IncompleteSignature"),
        ("", {**WHOLE, "X-Amz-Date": "20260102T000000Z"}, "IncompleteSignature"),
        ("", {**WHOLE, "Authorization": V4.replace("SignedHeaders=host, ", "")}, "IncompleteSignature"),
        ("", {**WHOLE, "Authorization": V4.replace("/r/s", "")}, "IncompleteSignature"),
        ("", {**WHOLE, "Authorization": "Signature=x Credential=k/a"}, "IncompleteSignature"),
    ],
)
def test_keystone_breaks_over_a_signature(query: str, headers: dict[str, str], code: str) -> None:
    app, inner = signed(Adapter(keystone.InternalServerError("Unknown signature version")))
    reply = harness.request(app, "GET", "/v1/?" + query, headers=headers)
    assert error_of(reply) == (500 if code == "InternalFailure" else 400, code)
    assert inner.environ is None


def test_refusal_as_json() -> None:
    reply = harness.request(signed(Adapter())[0], "GET", "/v1/?ContentType=JSON")
    assert reply.status == 400
    assert reply.json["ErrorResponse"]["Error"]["Code"] == "IncompleteSignature"


def test_next_cloud() -> None:
    first = Adapter(keystone.Unauthorized("no"))
    app, inner = signed(first, {"multi_cloud": "True", "clouds": "a, b"})
    assert harness.request(app, "GET", "/v1/?AWSAccessKeyId=k&Signature=s").status == 200
    assert len(first.asked) == 1
    assert inner.environ is not None


def test_without_a_signature() -> None:
    app, inner = signed(Adapter())
    assert error_of(harness.request(app, "GET", "/v1/")) == (400, "IncompleteSignature")
    assert error_of(harness.request(app, "GET", "/v1/?Signature=s")) == (403, "MissingAuthenticationToken")
    # A user named for the filters behind: what the client says of itself is dropped.
    headers = {"X-Auth-User": "joe", "X-Roles": "admin", "X-Project-Id": "other", "X-Auth-Token": "t"}
    assert harness.request(app, "GET", "/v1/", headers=headers).status == 200
    assert inner.environ is not None
    assert inner.environ["HTTP_X_AUTH_TOKEN"] == "t"
    assert not [name for name in ec2token.IDENTITY if name in inner.environ]
