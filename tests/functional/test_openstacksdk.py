# SPDX-License-Identifier: Apache-2.0
"""The whole of openstacksdk's orchestration proxy, its cloud layer, and Ansible's ``openstack.cloud.stack``."""

from __future__ import annotations

import pathlib
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from tests.fixtures import templates
from tests.fixtures.processes import ROOT
from tests.fixtures.service import AllInOne

EXAMPLE = ROOT / "doc" / "examples" / "quickstart.yaml"
# Not calls of the service: reading of local files, waiting, and what the generic parts of the library call.
LOCAL = {
    "read_env_and_templates",
    "get_template_contents",
    "wait_for_status",
    "wait_for_delete",
    "wait_for_deletion",
}


@pytest.fixture(scope="module")
def adopting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AllInOne]:
    folder = tmp_path_factory.mktemp("sdk")
    service = AllInOne(folder, {"DEFAULT": {"enable_stack_adopt": True, "enable_stack_abandon": True}})
    try:
        yield service.start()
    finally:
        service.stop()


@pytest.fixture
def connection(adopting: AllInOne) -> Iterator[Any]:
    import openstack

    made = openstack.connection.Connection(
        auth_type="admin_token", auth={"endpoint": f"{adopting.url}/v1/demo", "token": "none"}
    )
    yield made
    made.close()


class Recorder:
    """The proxy, and the names of its methods that were called."""

    def __init__(self, proxy: Any) -> None:
        self.proxy = proxy
        self.called: set[str] = set()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        self.called.add(name)
        return getattr(self.proxy, name)

    def wait(self, stack: Any, status: str) -> Any:
        failed = status.replace("COMPLETE", "FAILED")
        return self.wait_for_status(stack, status=status, failures=[failed], interval=0.1, wait=60)


def surface() -> set[str]:
    from openstack.orchestration.v1 import _proxy

    names = {name for name, member in vars(_proxy.Proxy).items() if callable(member) and not name.startswith("_")}
    return names - LOCAL


def stacks_(heat: Recorder, name: str, tmp_path: pathlib.Path) -> None:
    environment = tmp_path / "environment.yaml"
    environment.write_text(yaml.safe_dump({"parameters": {"members": 2}}))
    read = heat.read_env_and_templates(template_file=str(EXAMPLE), environment_files=[str(environment)])
    previewed = heat.create_stack(preview=True, name=name, parameters={"greeting": "hi"}, **read)
    assert previewed.name == name
    created = heat.create_stack(name=name, timeout_mins=5, tags="one,two", is_rollback_disabled=False, **read)
    stack = heat.wait(created, "CREATE_COMPLETE")
    assert (stack.name, stack.timeout_mins, stack.tags) == (name, 5, ["one", "two"])
    assert stack.parameters["members"] == "2"
    assert heat.find_stack(name).id == heat.get_stack(stack.id).id == stack.id
    assert heat.find_stack(name, resolve_outputs=False).outputs is None
    assert heat.find_stack("no-" + name) is None
    assert [s.id for s in heat.stacks(name=name)] == [stack.id]
    assert [s.id for s in heat.stacks(limit=1, tags=["one"])] == [stack.id]
    assert heat.get_stack_template(stack).to_dict()["heat_template_version"] == "2018-08-31"
    assert heat.get_stack_environment(name).parameters == {"members": 2}
    assert heat.get_stack_files(name) == {}
    assert {r.name for r in heat.resources(name)} == {"name", "secret", "group"}
    events = list(heat.stack_events(stack))
    assert len(events) >= 8 and {e.resource_name for e in heat.stack_events(stack, "secret")} == {"secret"}
    # The library sends what has changed only, and finds nothing of the answer, which is not below `stack`.
    template = {**read["template"], "description": "another"}
    heat.update_stack(stack, preview=True, template=template, parameters={"members": 3})
    updated = heat.update_stack(stack.id, template=read["template"], parameters={"members": 3})
    heat.wait(updated, "UPDATE_COMPLETE")
    for action, status in (("check", "CHECK"), ("suspend", "SUSPEND"), ("resume", "RESUME")):
        getattr(heat, f"{action}_stack")(heat.get_stack(stack.id))
        heat.wait(heat.get_stack(stack.id), f"{status}_COMPLETE")
    assert heat.export_stack(name)["name"] == name
    data = heat.abandon_stack(stack)
    assert data["id"] == stack.id
    deadline = time.monotonic() + 30
    while heat.find_stack(name) is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    again = heat.wait(heat.create_stack(name=name, template=read["template"]), "CREATE_COMPLETE")
    heat.delete_stack(again)
    heat.wait_for_delete(again, interval=0.1, wait=60)
    heat.delete_stack("no-" + name)


def software(heat: Recorder, name: str, tmp_path: pathlib.Path) -> None:
    config = heat.create_software_config(
        name=name, group="script", config="echo", inputs=[{"name": "a"}], outputs=[], options={"x": 1}
    )
    assert heat.get_software_config(config).options == {"x": 1}
    assert config.id in {c.id for c in heat.software_configs()}
    server = f"11111111-2222-4333-8444-{secrets.token_hex(6)}"
    made = heat.create_software_deployment(
        config_id=config.id, server_id=server, action="CREATE", status="IN_PROGRESS", status_reason="waits"
    )
    assert [d.id for d in heat.software_deployments(server_id=server)] == [made.id]
    updated = heat.update_software_deployment(made, status="COMPLETE", output_values={"deploy_status_code": 0})
    assert updated.status == "COMPLETE"
    assert heat.get_software_deployment(made.id).output_values == {"deploy_status_code": 0}
    heat.delete_software_deployment(made)
    heat.delete_software_deployment(made)
    heat.delete_software_config(config.id)


def validation(heat: Recorder, name: str, tmp_path: pathlib.Path) -> None:
    from openstack import exceptions

    good = heat.validate_template(templates.flat(), environment={"parameters": {}})
    assert good.description == "No description"
    with pytest.raises(exceptions.BadRequestException, match="No::Such::Type"):
        heat.validate_template(templates.hot({"a": {"type": "No::Such::Type"}}))
    with pytest.raises(exceptions.BadRequestException, match="No::Such::Type"):
        heat.create_stack(name=name, template=templates.hot({"a": {"type": "No::Such::Type"}}))


def test_proxy(connection: Any, tmp_path: pathlib.Path) -> None:
    heat = Recorder(connection.orchestration)
    for number, part in enumerate((stacks_, software, validation)):
        part(heat, f"sdk-{number}-{secrets.token_hex(4)}", tmp_path)
    assert not surface() - heat.called, f"not called: {surface() - heat.called}"
    print(f"{len(surface())} calls of the proxy")


def test_service_cleanup(connection: Any) -> None:
    """What ``connection.project_cleanup`` asks of the proxy."""
    name = f"sdk-{secrets.token_hex(4)}"
    made = connection.orchestration.create_stack(name=name, template=templates.flat())
    connection.orchestration.wait_for_status(made, status="CREATE_COMPLETE", interval=0.1, wait=60)
    found: dict[str, Any] = {}
    connection.orchestration._service_cleanup(
        dry_run=True, identified_resources=found, filters={"created_at": "2020-01-01"}
    )
    connection.orchestration._service_cleanup(dry_run=False, identified_resources=found)
    connection.orchestration.wait_for_delete(made, interval=0.1, wait=60)


def test_cloud_layer(connection: Any) -> None:
    name = f"sdk-{secrets.token_hex(4)}"
    stack = connection.create_stack(name, template_file=str(EXAMPLE), wait=True, timeout=60, tags="x", members=1)
    assert stack.status == "CREATE_COMPLETE"
    assert [s.name for s in connection.search_stacks(name)] == [name]
    assert name in {s.name for s in connection.list_stacks()}
    # A waiting update looks for the newest event of the stack, and then for those after it.
    changed = connection.update_stack(name, template_file=str(EXAMPLE), wait=True, timeout=60, members=2)
    assert changed.status == "UPDATE_COMPLETE"
    assert connection.delete_stack(name, wait=True) and not connection.delete_stack(name)
    assert connection.get_stack(name) is None
