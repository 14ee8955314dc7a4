# SPDX-License-Identifier: Apache-2.0
"""Signals as servers send them, by each transport: to the embedded service, and with Keystone, Swift and Zaqar."""

from __future__ import annotations

import json
import pathlib
import socket
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlparse

import pytest
import requests

from openkeel_heat.common import clock
from openkeel_heat.resources.kit import signal_responder
from tests.fixtures import testbed
from tests.fixtures.api import Api, Stack
from tests.fixtures.polling import until
from tests.fixtures.service import AllInOne, Installation, module, write_conf

CONFIG = {
    "type": "OS::Heat::SoftwareConfig",
    "properties": {"group": "script", "config": "echo", "outputs": [{"name": "y"}]},
}


def _up(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


needs_swift = pytest.mark.skipif(not _up(8080), reason="the Swift of the test bed is not up")
needs_zaqar = pytest.mark.skipif(not _up(8888), reason="the Zaqar of the test bed is not up")


class Site(NamedTuple):
    api: Api
    keystone: bool


@pytest.fixture
def embedded(api: Api) -> Site:
    return Site(api, False)


def start_cfn(installation: Installation) -> None:
    """heat-api-cfn where the configuration tells servers that it is."""
    told = next(line for line in installation.conf.read_text().splitlines() if "heat_metadata_server_url" in line)
    port = int(told.rpartition(":")[2])
    own = write_conf(
        installation.folder / "signals-cfn.conf",
        {"heat_api_cfn": {"bind_host": "127.0.0.1", "bind_port": port, "workers": 0}},
    )
    command = module("api_cfn", "--config-file", installation.conf, "--config-file", own)
    installation._start("signals-cfn", command, {}).wait_for_port(port)


@pytest.fixture(scope="module")
def real(three_daemons: tuple[Installation, str]) -> Iterator[Site]:
    installation, root = three_daemons
    start_cfn(installation)
    yield Site(installation.client(root), True)


def template(outputs: Any = None, **resources: Any) -> dict[str, Any]:
    return {"heat_template_version": "2021-04-16", "resources": resources, "outputs": outputs or {}}


def deployment(transport: str, server: Any, **props: Any) -> dict[str, Any]:
    return {
        "type": "OS::Heat::SoftwareDeployment",
        "properties": {
            "config": {"get_resource": "config"},
            "server": server,
            "signal_transport": transport,
            **props,
        },
    }


def metadata(stack: Stack, name: str = "server") -> dict[str, Any]:
    return dict(stack.api.get(f"{stack.path}/resources/{name}/metadata")["metadata"])


def inputs(stack: Stack, deployments: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """What the server is told of the deployment that waits for it."""
    found = deployments if deployments is not None else metadata(stack).get("deployments", [])
    return {entry["name"]: entry.get("value") for entry in found[0]["inputs"]} if found else {}


def token_of(values: dict[str, Any], prefix: str = "deploy_") -> str:
    """A token of the user whose credentials these are."""
    password = {"user": {"id": values[prefix + "user_id"], "password": values[prefix + "password"]}}
    body = {
        "auth": {
            "identity": {"methods": ["password"], "password": password},
            "scope": {"project": {"id": values[prefix + "project_id"]}},
        }
    }
    reply = requests.post(f"{testbed.KEYSTONE}/auth/tokens", json=body, timeout=30)
    reply.raise_for_status()
    return reply.headers["X-Subject-Token"]


def started(site: Site, transport: str, server: str = "POLL_SERVER_CFN") -> Stack:
    """A stack whose deployment waits."""
    stack = site.api.create(
        template(
            {"y": {"value": {"get_attr": ["dep", "y"]}}},
            config=CONFIG,
            server={"type": "OS::Heat::DeployedServer", "properties": {"software_config_transport": server}},
            dep=deployment(transport, {"get_resource": "server"}),
        ),
        wait=False,
    )
    stack.wait_resource("dep", "IN_PROGRESS")
    until(lambda: inputs(stack), "the server is told of the deployment")
    return stack


def finished(stack: Stack) -> None:
    stack.wait("CREATE_COMPLETE")
    assert stack.outputs() == {"y": "out"}
    stack.delete()


OUT = {"y": "out", "deploy_status_code": 0}


# deployments --------------------------------------------------------------------------------------------------------
def signed_url(site: Site) -> None:
    """As 99-refresh-completed and cfn-signal do: no token, the URL is the permission."""
    stack = started(site, "CFN_SIGNAL")
    told = inputs(stack)
    assert told["deploy_signal_verb"] == "POST"
    reply = requests.post(told["deploy_signal_id"], json=OUT, timeout=60)
    assert reply.status_code == 200, reply.text
    stack.wait("CREATE_COMPLETE")
    (event,) = [event for event in stack.events() if event["resource_status"].startswith("SIGNAL")]
    assert event["resource_status"] == "SIGNAL_IN_PROGRESS"
    assert event["resource_status_reason"] == f"Signal: deployment {event['physical_resource_id']} succeeded"
    finished(stack)


def test_signed_url_embedded(embedded: Site) -> None:
    signed_url(embedded)


@pytest.mark.services
@pytest.mark.keystone
def test_signed_url(real: Site) -> None:
    signed_url(real)


@pytest.mark.services
@pytest.mark.keystone
def test_a_signed_url_is_good_for_its_resource_only(real: Site) -> None:
    stack = started(real, "CFN_SIGNAL")
    url = inputs(stack)["deploy_signal_id"]
    assert "/resources/dep?" in url
    for bad in (url.replace("/resources/dep?", "/resources/server?"), url.replace("&Signature=", "&Signature=A")):
        assert requests.post(bad, json=OUT, timeout=60).status_code == 403
    assert requests.post(url, json=OUT, timeout=60).status_code == 200
    finished(stack)


def credentials(site: Site) -> None:
    """As the hooks of heat-agents do with HEAT_SIGNAL."""
    stack = started(site, "HEAT_SIGNAL", "POLL_SERVER_HEAT")
    told = inputs(stack)
    api = Api(site.api.root, told["deploy_project_id"], token_of(told) if site.keystone else None)
    path = f"/stacks/{told['deploy_stack_id']}/resources"
    if site.keystone:
        assert api.send("GET", path + "/server").status_code == 403
        assert api.send("GET", f"/stacks/{told['deploy_stack_id']}").status_code == 403
    api.post(f"{path}/{told['deploy_resource_name']}/signal", OUT)
    finished(stack)


def test_credentials_embedded(embedded: Site) -> None:
    credentials(embedded)


@pytest.mark.services
@pytest.mark.keystone
def test_credentials(real: Site) -> None:
    credentials(real)


@pytest.mark.services
@pytest.mark.keystone
def test_the_user_of_a_server(real: Site) -> None:
    """Polling the native API: the metadata of its own resource, nothing else."""
    stack = started(real, "HEAT_SIGNAL", "POLL_SERVER_HEAT")
    section = metadata(stack)["os-collect-config"]["heat"]
    api = Api(real.api.root, section["project_id"], token_of(section, ""))
    path = f"/stacks/{section['stack_id']}"
    assert api.get(f"{path}/resources/{section['resource_name']}/metadata")["metadata"]["deployments"]
    for other in (path, f"{path}/resources/server", f"{path}/resources/dep/metadata", f"{path}/template"):
        assert api.send("GET", other).status_code == 403, other
    stack.delete()


def describe(section: dict[str, Any], resource: str) -> requests.Response:
    """As cfn-get-metadata and the cfn collector ask."""
    place = urlparse(section["metadata_url"])
    params = {
        "Action": "DescribeStackResource",
        "StackName": section["stack_name"],
        "LogicalResourceId": resource,
        "ContentType": "JSON",
        "AWSAccessKeyId": section["access_key_id"],
        "SignatureMethod": "HmacSHA256",
        "SignatureVersion": "2",
        "Timestamp": clock.isotime(clock.utcnow()) or "",
    }
    secret = section["secret_access_key"]
    params["Signature"] = signal_responder.ec2_signature(secret, "GET", place.netloc, place.path, params)
    return requests.get(section["metadata_url"], params=params, timeout=60)


@pytest.mark.services
@pytest.mark.keystone
def test_the_key_pair_of_a_server(real: Site) -> None:
    """Polling the CloudFormation API: its own resource, nothing else."""
    stack = started(real, "CFN_SIGNAL", "POLL_SERVER_CFN")
    section = metadata(stack)["os-collect-config"]["cfn"]
    assert section["path"] == "server.Metadata"
    reply = describe(section, "server")
    assert reply.status_code == 200, reply.text
    detail = reply.json()["DescribeStackResourceResponse"]["DescribeStackResourceResult"]["StackResourceDetail"]
    assert detail["Metadata"]["deployments"][0]["group"] == "script"
    assert describe(section, "dep").status_code == 403
    assert describe({**section, "secret_access_key": "wrong"}, "server").status_code == 403
    stack.delete()


@needs_swift
@pytest.mark.services
@pytest.mark.keystone
def test_temporary_urls(real: Site) -> None:
    """Metadata and signals as objects: the server asks nobody but Swift."""
    stack = started(real, "TEMP_URL_SIGNAL", "POLL_TEMP_URL")
    url = metadata(stack)["os-collect-config"]["request"]["metadata_url"]
    told = until(lambda: inputs(stack, requests.get(url, timeout=30).json()["deployments"]), "the object is written")
    assert told["deploy_signal_verb"] == "PUT"
    assert requests.put(told["deploy_signal_id"], json.dumps(OUT), timeout=30).status_code == 201
    finished(stack)
    assert requests.get(url, timeout=30).status_code == 404


@needs_zaqar
@pytest.mark.services
@pytest.mark.keystone
def test_queues(real: Site) -> None:
    stack = started(real, "ZAQAR_SIGNAL", "ZAQAR_MESSAGE")
    section = metadata(stack)["os-collect-config"]["zaqar"]
    queues = "http://127.0.0.1:8888/v2/queues"

    def headers(values: dict[str, Any], prefix: str) -> dict[str, str]:
        return {
            "X-Auth-Token": token_of(values, prefix),
            "X-Project-Id": values[prefix + "project_id"],
            "Client-ID": "3f1e7a34-0000-4000-8000-000000000001",
        }

    mine = headers(section, "")
    messages: list[Any] = []

    def told() -> dict[str, Any]:
        reply = requests.get(f"{queues}/{section['queue_id']}/messages?echo=true", headers=mine, timeout=30)
        messages[:] = reply.json()["messages"]
        return inputs(stack, messages[-1]["body"]["deployments"]) if messages else {}

    values = until(told, "the queue has the deployment")
    reply = requests.post(
        f"{queues}/{values['deploy_queue_id']}/messages",
        json={"messages": [{"body": OUT, "ttl": 600}]},
        headers=headers(values, "deploy_"),
        timeout=30,
    )
    assert reply.status_code == 201, reply.text
    finished(stack)


# wait conditions ----------------------------------------------------------------------------------------------------
def waiting(transport: str, count: int = 2) -> dict[str, Any]:
    return template(
        {"data": {"value": {"get_attr": ["wait", "data"]}}, "signal": {"value": {"get_attr": ["handle", "signal"]}}},
        handle={"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": transport}},
        wait={
            "type": "OS::Heat::WaitCondition",
            "properties": {"handle": {"get_resource": "handle"}, "count": count, "timeout": 300},
        },
    )


def wait_for(site: Site, transport: str) -> tuple[Stack, dict[str, Any]]:
    stack = site.api.create(waiting(transport), wait=False)
    stack.wait_resource("wait", "IN_PROGRESS")
    return stack, json.loads(until(lambda: stack.outputs()["signal"], "the handle has been made"))


def gone_on(stack: Stack) -> None:
    stack.wait("CREATE_COMPLETE")
    assert stack.outputs()["data"], stack.show()["outputs"]
    assert json.loads(stack.outputs()["data"]) == {"1": "one", "2": "two"}
    stack.delete()


SIGNALS = [{"id": "1", "data": "one"}, {"id": "2", "data": "two"}]


def wait_condition_with_a_token(site: Site) -> None:
    """As ``wc_notify`` made of ``curl_cli`` does."""
    shape = waiting("TOKEN_SIGNAL")
    shape["outputs"]["token"] = {"value": {"get_attr": ["handle", "token"]}}
    shape["outputs"]["endpoint"] = {"value": {"get_attr": ["handle", "endpoint"]}}
    stack = site.api.create(shape, wait=False)
    stack.wait_resource("wait", "IN_PROGRESS")
    found = until(lambda: stack.outputs()["token"] and stack.outputs(), "the handle has been made")
    endpoint = found["endpoint"]
    if site.keystone:  # the catalogue names a place where nothing listens
        endpoint = site.api.root + endpoint[endpoint.index("/v1/") :]
    for signal in SIGNALS:
        reply = requests.post(endpoint, json=signal, headers={"X-Auth-Token": found["token"]}, timeout=60)
        assert reply.status_code == 200, reply.text
    gone_on(stack)


def test_wait_condition_with_a_token_embedded(embedded: Site) -> None:
    wait_condition_with_a_token(embedded)


@pytest.mark.services
@pytest.mark.keystone
def test_wait_condition_with_a_token(real: Site) -> None:
    wait_condition_with_a_token(real)


def wait_condition_by_signed_url(site: Site) -> None:
    stack, signal = wait_for(site, "CFN_SIGNAL")
    for one in SIGNALS:
        reply = requests.put(signal["alarm_url"], json={"status": "SUCCESS", "reason": "", **one}, timeout=60)
        assert reply.status_code == 200 and "<resource>handle</resource>" in reply.text.replace("&lt;", "<"), reply.text
    gone_on(stack)


def test_wait_condition_by_signed_url_embedded(embedded: Site) -> None:
    wait_condition_by_signed_url(embedded)


@pytest.mark.services
@pytest.mark.keystone
def test_wait_condition_by_signed_url(real: Site) -> None:
    wait_condition_by_signed_url(real)


@needs_swift
@pytest.mark.services
@pytest.mark.keystone
def test_wait_condition_by_temporary_url(real: Site) -> None:
    """Several signals to one URL; what is in the object before the first is none."""
    stack, signal = wait_for(real, "TEMP_URL_SIGNAL")
    for one in SIGNALS:
        assert requests.put(signal["alarm_url"], json.dumps(one), timeout=30).status_code == 201
    gone_on(stack)


@needs_zaqar
@pytest.mark.services
@pytest.mark.keystone
def test_wait_condition_by_queue(real: Site) -> None:
    stack, signal = wait_for(real, "ZAQAR_SIGNAL")
    reply = requests.post(
        f"http://127.0.0.1:8888/v2/queues/{signal['queue_id']}/messages",
        json={"messages": [{"body": one, "ttl": 600} for one in SIGNALS]},
        headers={
            "X-Auth-Token": token_of(signal, ""),
            "X-Project-Id": signal["project_id"],
            "Client-ID": "3f1e7a34-0000-4000-8000-000000000002",
        },
        timeout=30,
    )
    assert reply.status_code == 201, reply.text
    gone_on(stack)


@needs_swift
@pytest.mark.services
@pytest.mark.keystone
def test_swift_signal(real: Site) -> None:
    stack = real.api.create(
        template(
            {"data": {"value": {"get_attr": ["wait", "data"]}}, "url": {"value": {"get_resource": "handle"}}},
            handle={"type": "OS::Heat::SwiftSignalHandle"},
            wait={
                "type": "OS::Heat::SwiftSignal",
                "properties": {"handle": {"get_resource": "handle"}, "count": 2, "timeout": 300},
            },
        ),
        wait=False,
    )
    stack.wait_resource("wait", "IN_PROGRESS")
    for one in SIGNALS:
        assert requests.put(stack.outputs()["url"], json.dumps(one), timeout=30).status_code == 201
    gone_on(stack)


def test_swift_is_missed_clearly(cloud: AllInOne, embedded: Site) -> None:
    """Where there is no Swift the template is refused, or the resource fails, with words that say so."""
    handle = template(handle={"type": "OS::Heat::SwiftSignalHandle"})
    reply = embedded.api.send("POST", "/stacks", {"stack_name": "no-swift", "template": handle})
    assert reply.status_code == 400 and "OS::Heat::SwiftSignalHandle" in reply.text, reply.text
    stack = embedded.api.create(
        template(config=CONFIG, dep=deployment("TEMP_URL_SIGNAL", "9a1f2c34-1111-4222-8333-444455556666")), wait=False
    )
    stack.wait("CREATE_FAILED")
    assert stack.resource("dep")["resource_status_reason"] == (
        "ClientNotAvailable: resources.dep: The client (swift) is not available."
    )
    stack.delete()


def test_waiting_survives_the_engine(tmp_path: pathlib.Path) -> None:
    """Killed while a deployment waits: after the next start the signal ends it; nothing was deployed twice."""
    service = AllInOne(tmp_path).start()
    try:
        site = Site(service.api(), False)
        stack = started(site, "HEAT_SIGNAL")
        before = inputs(stack)
        service.kill()
        service.start()
        site.api.post(f"{stack.path}/resources/dep/signal", OUT)
        assert inputs(stack) == before
        finished(stack)
        assert site.api.get("/software_configs")["software_configs"] == []
    finally:
        service.stop()
