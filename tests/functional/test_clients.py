# SPDX-License-Identifier: Apache-2.0
"""The clients that users have: python-openstackclient with python-heatclient, and openstacksdk."""

from __future__ import annotations

import json
import pathlib
import secrets
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.fixtures import templates, testbed
from tests.fixtures.processes import ROOT, run
from tests.fixtures.service import AllInOne, Installation

EXAMPLE = ROOT / "doc" / "examples" / "quickstart.yaml"


class Shell:
    """The openstack command against one service."""

    def __init__(self, endpoint: str) -> None:
        program = testbed.tool("openstack")
        assert program is not None, "python-openstackclient is not installed"
        self.words = [program, "--os-auth-type", "none", "--os-endpoint", endpoint]

    def __call__(self, *arguments: str, check: bool = True) -> str:
        done = run([*self.words, *arguments], check=check, limit=180)
        return done.stdout if check else done.stdout + done.stderr

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "-f", "json"))


@pytest.fixture(scope="module")
def openstack(cloud: AllInOne) -> Shell:
    return Shell(f"{cloud.url}/v1/demo")


@pytest.fixture
def name() -> str:
    return "cli-" + secrets.token_hex(4)


def test_command_line_life(openstack: Shell, name: str) -> None:
    output = openstack(
        "stack",
        "create",
        "--wait",
        "--poll",
        "1",
        "-t",
        str(EXAMPLE),
        "--parameter",
        "members=2",
        "--tags",
        "one,two",
        name,
    )
    assert f"{name}]: CREATE_COMPLETE" in output or "CREATE_COMPLETE" in output
    shown = openstack.json("stack", "show", name)
    assert shown["stack_status"] == "CREATE_COMPLETE"
    assert {o["output_key"]: o["output_value"] for o in shown["outputs"]}["members"] == [
        f"hello-{name}-{i}" for i in (0, 1)
    ]
    assert shown["tags"] == ["one", "two"]

    resources = openstack.json("stack", "resource", "list", "-n", "2", name)
    assert sorted(r["resource_name"] for r in resources) == ["0", "1", "group", "name", "secret"]
    events = openstack.json("stack", "event", "list", name)
    assert len(events) >= 8
    assert openstack.json("stack", "output", "show", name, "name")["output_value"] == f"hello-{name}"
    assert name in openstack("stack", "list")
    assert yaml.safe_load(openstack("stack", "template", "show", name))["heat_template_version"] == "2018-08-31"

    openstack("stack", "update", "--wait", "-t", str(EXAMPLE), "--parameter", "members=3", name)
    assert openstack.json("stack", "show", name)["stack_status"] == "UPDATE_COMPLETE"
    openstack("stack", "update", "--wait", "--existing", "--parameter", "greeting=salut", name)
    assert openstack.json("stack", "output", "show", name, "name")["output_value"] == f"salut-{name}"

    openstack("stack", "check", "--wait", name)
    openstack("stack", "suspend", "--wait", name)
    openstack("stack", "resume", "--wait", name)
    openstack("stack", "delete", "--yes", "--wait", name)
    assert name not in openstack("stack", "list")


def test_command_line_abandon_and_adopt(name: str, tmp_path: pathlib.Path) -> None:
    service = AllInOne(tmp_path, {"DEFAULT": {"enable_stack_adopt": True, "enable_stack_abandon": True}}).start()
    try:
        openstack = Shell(f"{service.url}/v1/demo")
        openstack("stack", "create", "--wait", "-t", str(EXAMPLE), name)
        secret = openstack.json("stack", "output", "show", name, "secret")["output_value"]
        data = tmp_path / "abandoned.json"
        openstack("stack", "abandon", "--output-file", str(data), name)
        openstack("stack", "adopt", "--wait", "--adopt-file", str(data), name)
        assert openstack.json("stack", "output", "show", name, "secret")["output_value"] == secret
        openstack("stack", "delete", "--yes", "--wait", name)
    finally:
        service.stop()


def test_command_line_files_and_environment(openstack: Shell, name: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "member.yaml").write_text(yaml.safe_dump(templates.MEMBER))
    (tmp_path / "top.yaml").write_text(
        yaml.safe_dump(
            templates.hot(
                {"m": {"type": "My::Member", "properties": {"value": {"get_param": "word"}}}},
                {"out": templates.attr("m", "out")},
                {"word": {"type": "string"}},
            )
        )
    )
    (tmp_path / "env.yaml").write_text(
        yaml.safe_dump({"resource_registry": {"My::Member": "member.yaml"}, "parameters": {"word": "from the file"}})
    )
    openstack("stack", "create", "--wait", "-t", str(tmp_path / "top.yaml"), "-e", str(tmp_path / "env.yaml"), name)
    assert openstack.json("stack", "output", "show", name, "out")["output_value"] == "from the file"
    openstack(
        "stack",
        "update",
        "--wait",
        "-t",
        str(tmp_path / "top.yaml"),
        "-e",
        str(tmp_path / "env.yaml"),
        "--parameter",
        "word=by hand",
        name,
    )
    assert openstack.json("stack", "output", "show", name, "out")["output_value"] == "by hand"
    openstack("stack", "delete", "--yes", "--wait", name)


def test_command_line_refusals(openstack: Shell, name: str, tmp_path: pathlib.Path) -> None:
    assert "could not be found" in openstack("stack", "show", name, check=False) or "not found" in openstack(
        "stack", "show", name, check=False
    )
    bad = tmp_path / "bad.yaml"
    bad.write_text(yaml.safe_dump(templates.hot({"a": {"type": "No::Such::Type"}})))
    assert "No::Such::Type" in openstack("stack", "create", "-t", str(bad), name, check=False)
    assert "No::Such::Type" in openstack("orchestration", "template", "validate", "-t", str(bad), check=False)


def test_command_line_discovery(openstack: Shell) -> None:
    types = openstack("orchestration", "resource", "type", "list")
    assert "OS::Heat::TestResource" in types and "OS::Heat::ResourceGroup" in types
    assert "heat_template_version.2018-08-31" in openstack("orchestration", "template", "version", "list")
    assert "get_attr" in openstack("orchestration", "template", "function", "list", "heat_template_version.2018-08-31")
    assert "engine" in openstack("orchestration", "service", "list")


@pytest.fixture
def sdk(cloud: AllInOne) -> Iterator[Any]:
    import openstack as openstacksdk

    connection = openstacksdk.connection.Connection(
        auth_type="admin_token", auth={"endpoint": f"{cloud.url}/v1/demo", "token": "none"}
    )
    yield connection
    connection.close()


def test_openstacksdk(sdk: Any, name: str) -> None:
    created = sdk.orchestration.create_stack(name=name, template=templates.flat(), timeout_mins=5)
    stack = sdk.orchestration.wait_for_status(
        created, status="CREATE_COMPLETE", failures=["CREATE_FAILED"], interval=0.2, wait=60
    )
    assert sdk.orchestration.find_stack(name).id == stack.id
    assert {r.name for r in sdk.orchestration.resources(stack)} == {"a", "b", "c", "d"}
    assert [s.name for s in sdk.orchestration.stacks(name=name)] == [name]
    assert any(e.resource_name == "a" for e in sdk.orchestration.stack_events(stack))
    updated = sdk.orchestration.update_stack(stack, template=templates.flat(salt="2"))
    sdk.orchestration.wait_for_status(
        updated, status="UPDATE_COMPLETE", failures=["UPDATE_FAILED"], interval=0.2, wait=60
    )
    outputs = {o["output_key"]: o["output_value"] for o in sdk.orchestration.get_stack(stack.id).outputs}
    assert outputs["last"] == "a2"
    sdk.orchestration.delete_stack(stack)
    sdk.orchestration.wait_for_delete(stack, interval=0.2, wait=60)


def test_openstacksdk_cloud_layer(sdk: Any, name: str) -> None:
    template = ROOT / "doc" / "examples" / "quickstart.yaml"
    stack = sdk.create_stack(name, template_file=str(template), wait=True, timeout=60, members=1)
    assert stack.status == "CREATE_COMPLETE"
    assert (
        sdk.update_stack(name, template_file=str(template), wait=True, timeout=60, members=2).status
        == "UPDATE_COMPLETE"
    )
    assert sdk.delete_stack(name, wait=True)
    assert sdk.get_stack(name) is None


@pytest.mark.services
@pytest.mark.keystone
def test_heatclient_with_keystone(three_daemons: tuple[Installation, str], name: str) -> None:
    from heatclient.client import Client
    from keystoneauth1 import session
    from keystoneauth1.identity import v3

    _, root = three_daemons
    auth = v3.Password(
        auth_url=testbed.KEYSTONE,
        username="demo",
        password="demo-secret",
        project_name="demo",
        user_domain_name="Default",
        project_domain_name="Default",
    )
    keystone = session.Session(auth=auth)
    endpoint = f"{root}/v1/{keystone.get_project_id()}"
    heat = Client("1", session=keystone, endpoint_override=endpoint)
    created = heat.stacks.create(stack_name=name, template=templates.flat())
    api = three_daemons[0].client(root)
    stack = api.stack(name, created["stack"]["id"])
    stack.wait("CREATE_COMPLETE")
    assert heat.stacks.get(name).stack_owner == "demo"
    assert len(heat.resources.list(name)) == 4
    heat.stacks.delete(f"{name}/{stack.id}")
    stack.wait_gone()
