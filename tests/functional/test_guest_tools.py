# SPDX-License-Identifier: Apache-2.0
"""What runs inside of servers: heat-cfntools, and os-collect-config with os-refresh-config and os-apply-config."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import secrets
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests

from tests.fixtures import catalogue, client_venv, stores
from tests.fixtures.api import Api, Stack
from tests.fixtures.polling import until
from tests.fixtures.processes import run
from tests.fixtures.service import OURS, Installation

pytestmark = [pytest.mark.services, pytest.mark.keystone, pytest.mark.timeout(600)]


class Place:
    """An installation with a region of its own, so that guests find it in the catalogue."""

    def __init__(self, installation: Installation, api: Api, cfn: str) -> None:
        self.installation, self.api, self.cfn = installation, api, cfn


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    region = "guest-" + secrets.token_hex(3)
    sections = {"DEFAULT": {"region_name_for_services": region}}
    with stores.mariadb_database("guest") as (_, connection), stores.rabbitmq_vhost("guest") as (_, transport):
        installation = Installation(tmp_path_factory.mktemp("guest"), connection, transport, sections)
        try:
            installation.manage(OURS, "db_sync")
            installation.engine(OURS)
            root, cfn = installation.api(OURS), installation.cfn()
            with catalogue.region(region, root, cfn):
                yield Place(installation, installation.client(root), cfn)
        finally:
            installation.stop()


@pytest.fixture(scope="module")
def tools() -> pathlib.Path:
    try:
        return client_venv.environment("guest")
    except client_venv.NotInstallable as exc:
        pytest.skip(str(exc))


@pytest.fixture
def create(place: Place) -> Iterator[Callable[..., Stack]]:
    made: list[Stack] = []

    def make(template: Any, **body: Any) -> Stack:
        made.append(place.api.create(template, wait=False, **body))
        return made[-1]

    yield make
    for stack in made:
        stack.delete()


def waiting(count: int = 2) -> dict[str, Any]:
    return {
        "HeatTemplateFormatVersion": "2012-12-12",
        "Resources": {
            "handle": {"Type": "AWS::CloudFormation::WaitConditionHandle"},
            "wait": {
                "Type": "AWS::CloudFormation::WaitCondition",
                "Properties": {"Handle": {"Ref": "handle"}, "Count": count, "Timeout": 120},
            },
        },
        "Outputs": {"data": {"Value": {"Fn::GetAtt": ["wait", "Data"]}}},
    }


def server(transport: str) -> dict[str, Any]:
    """A server that is deployed already, with a deployment which waits for its signal."""
    return {
        "heat_template_version": "2018-08-31",
        "resources": {
            "config": {
                "type": "OS::Heat::SoftwareConfig",
                "properties": {
                    "group": "script",
                    "config": "echo hello",
                    "inputs": [{"name": "greeting"}],
                    "outputs": [{"name": "result"}],
                },
            },
            "server": {
                "type": "OS::Heat::DeployedServer",
                "properties": {"name": "guest", "software_config_transport": transport},
                "metadata": {"colour": "blue"},
            },
            "deployment": {
                "type": "OS::Heat::SoftwareDeployment",
                "properties": {
                    "config": {"get_resource": "config"},
                    "server": {"get_resource": "server"},
                    "signal_transport": "CFN_SIGNAL",
                    "input_values": {"greeting": "hi"},
                },
            },
        },
        "outputs": {
            "collect": {"value": {"get_attr": ["server", "os_collect_config"]}},
            "result": {"value": {"get_attr": ["deployment", "result"]}},
        },
    }


def test_cfn_signal(place: Place, tools: pathlib.Path, create: Callable[..., Stack]) -> None:
    template = waiting()
    template["Outputs"]["url"] = {"Value": {"Ref": "handle"}}
    stack = create(template)
    stack.wait_resource("wait", "IN_PROGRESS")
    url = stack.outputs()["url"]
    assert url.startswith(place.cfn + "/v1/waitcondition/arn%3Aopenstack")
    for number in (1, 2):
        run([tools / "cfn-signal", "-e", "0", "-i", f"id{number}", "-r", "done", "-d", f"data{number}", url])
    stack.wait("CREATE_COMPLETE")
    assert json.loads(stack.outputs()["data"]) == {"id1": "data1", "id2": "data2"}


def test_cfn_signal_of_a_failure(tools: pathlib.Path, create: Callable[..., Stack]) -> None:
    template = waiting(count=1)
    template["Outputs"]["url"] = {"Value": {"Ref": "handle"}}
    stack = create(template)
    stack.wait_resource("wait", "IN_PROGRESS")
    run([tools / "cfn-signal", "-s", "false", "-r", "it broke", stack.outputs()["url"]])
    stack.wait("CREATE_FAILED")
    assert "it broke" in stack.show()["stack_status_reason"]


def collect(stack: Stack, transport: str) -> dict[str, Any]:
    # Its state is written before it is made: only then is it among what the server sees.
    until(lambda: stack.resource("deployment")["physical_resource_id"], "there is a deployment", 30, 0.1)
    found = stack.outputs()["collect"][transport]
    assert found
    return dict(found)


@contextlib.contextmanager
def guest_files(cfn: str) -> Iterator[None]:
    """What the user data of a server writes; cfn-get-metadata looks nowhere else."""
    folder = pathlib.Path("/var/lib/heat-cfntools")
    try:
        folder.mkdir(parents=True)
    except OSError as exc:
        pytest.skip(f"this machine may be a server with heat-cfntools, or is not ours: {exc}")
    try:
        address = cfn.removeprefix("http://").partition(":")[0]
        region = f"[Boto]\nis_secure = 0\ncfn_region_name = heat\ncfn_region_endpoint = {address}\n"
        (folder / "cfn-boto-cfg").write_text(region)
        (folder / "cfn-metadata-server").write_text(cfn)
        yield
    finally:
        shutil.rmtree(folder)


def test_cfn_get_metadata(place: Place, tools: pathlib.Path, create: Callable[..., Stack]) -> None:
    stack = create(server("POLL_SERVER_CFN"))
    settings = collect(stack, "cfn")
    with guest_files(place.cfn):
        done = run(
            [
                tools / "cfn-get-metadata",
                *("--stack", settings["stack_name"]),
                *("--resource", "server"),
                *("--access-key", settings["access_key_id"]),
                *("--secret-key", settings["secret_access_key"]),
                *("--region", "heat"),
            ]
        )
    assert "blue" in done.stdout and "echo hello" in done.stdout


class Guest:
    """The files of a server."""

    def __init__(self, folder: pathlib.Path, tools: pathlib.Path) -> None:
        self.folder, self.tools = folder, tools
        self.cache = folder / "cache"
        self.out = folder / "out"
        templates = folder / "templates"
        scripts = folder / "refresh" / "configure.d"
        for made in (self.cache, self.out, templates / "etc", scripts):
            made.mkdir(parents=True)
        for phase in ("pre-configure", "post-configure", "migration"):
            (folder / "refresh" / f"{phase}.d").mkdir()
        (templates / "etc" / "colour").write_text("colour = {{colour}}\n")
        script = scripts / "10-apply"
        script.write_text(f"#!/bin/sh\nexec {tools}/os-apply-config -t {templates} -o {self.out}\n")
        script.chmod(0o755)

    def collect(self, collector: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Poll once, apply what was found; the metadata."""
        lines = [f"[{collector}]"]
        for name, value in settings.items():
            lines += [f"{name} = {one}" for one in (value if isinstance(value, list) else [value])]
        conf = self.folder / "os-collect-config.conf"
        conf.write_text("\n".join(lines) + "\n")
        refresh = f"{self.tools}/os-refresh-config --lockfile {self.folder}/lock"
        run(
            [
                self.tools / "os-collect-config",
                *("--config-file", conf, "--cachedir", self.cache, "--backup-cachedir", self.folder / "backup"),
                *("--one-time", "--force", "--command", refresh, collector),
            ],
            env={
                "OS_REFRESH_CONFIG_BASE_DIR": str(self.folder / "refresh"),
                "PATH": f"{self.tools}:{os.environ['PATH']}",
            },
        )
        return dict(json.loads((self.cache / f"{collector}.json").read_text()))


@pytest.mark.parametrize(
    ("collector", "transport"), [("heat", "POLL_SERVER_HEAT"), ("cfn", "POLL_SERVER_CFN"), ("request", "POLL_TEMP_URL")]
)
def test_os_collect_config(
    place: Place,
    tools: pathlib.Path,
    create: Callable[..., Stack],
    tmp_path: pathlib.Path,
    collector: str,
    transport: str,
) -> None:
    """A server polls, applies its configuration, does its deployment and signals."""
    if transport == "POLL_TEMP_URL":
        try:
            requests.get("http://127.0.0.1:8080/healthcheck", timeout=5)
        except requests.RequestException:
            pytest.skip("the test bed's Swift is not up (tools/testbed/testbed up swift)")
    stack = create(server(transport))
    metadata = Guest(tmp_path, tools).collect(collector, collect(stack, collector))
    assert (tmp_path / "out" / "etc" / "colour").read_text() == "colour = blue\n"
    (deployment,) = metadata["deployments"]
    inputs = {one["name"]: one["value"] for one in deployment["inputs"]}
    assert deployment["config"] == "echo hello" and inputs["greeting"] == "hi"
    assert inputs["deploy_signal_id"].startswith(place.cfn + "/v1/signal/")
    signal = {"deploy_stdout": "hello", "deploy_stderr": "", "deploy_status_code": 0, "result": "did"}
    headers = {"Content-Type": "application/json"}
    answer = requests.post(inputs["deploy_signal_id"], data=json.dumps(signal), headers=headers, timeout=30)
    assert answer.status_code == 200
    stack.wait("CREATE_COMPLETE")
    assert stack.outputs()["result"] == "did"
