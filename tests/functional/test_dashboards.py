# SPDX-License-Identifier: Apache-2.0
"""What heat-dashboard 16.0.0 and Skyline's console 9.0.0 send, as their sources make it.

heat-dashboard is python-heatclient below Django views: the same client gets the same arguments here. Skyline's console
sends requests from the browser: the same paths, queries and bodies are sent here.
"""

from __future__ import annotations

import pathlib
import secrets
from typing import Any

import pytest
import yaml

from tests.fixtures.api import Api
from tests.fixtures.polling import until
from tests.fixtures.processes import ROOT
from tests.fixtures.service import AllInOne

EXAMPLE = pathlib.Path(ROOT / "doc" / "examples" / "quickstart.yaml").read_text()


@pytest.fixture
def name() -> str:
    return "dash-" + secrets.token_hex(4)


class Horizon:
    """The calls of heat_dashboard/api/heat.py."""

    def __init__(self, endpoint: str) -> None:
        from heatclient import client

        options = {"insecure": False, "ca_file": None, "username": "demo", "password": "secret"}
        self.heat = client.Client("1", endpoint, token="none", **options)

    def listed(self, **filters: Any) -> list[Any]:
        """A page of the table of stacks; its sort key is none of the API's."""
        query = {"sort_dir": "desc", "sort_key": "created_at", **filters}
        return list(self.heat.stacks.list(limit=21, **query))

    def wait(self, stack: str, status: str) -> Any:
        return until(lambda: self.heat.stacks.get(stack).stack_status == status, f"{stack} is {status}")


def test_heat_dashboard(cloud: AllInOne, name: str) -> None:
    horizon = Horizon(f"{cloud.url}/v1/demo")
    heat = horizon.heat
    template = yaml.safe_load(EXAMPLE)
    template["heat_template_version"] = "2018-08-31"
    validated = heat.stacks.validate(template=template, files={})
    assert validated["Parameters"]["members"]["Default"] == 3
    # Fields of the form: numbers stay what the form made of them.
    fields = {
        "stack_name": name,
        "timeout_mins": 60,
        "disable_rollback": True,
        "parameters": {"greeting": "hi", "members": 1},
        "files": {},
        "template": template,
    }
    assert heat.stacks.preview(**fields).stack_name == name
    created = heat.stacks.create(**fields, password="secret")
    stack_id = created["stack"]["id"]
    horizon.wait(name, "CREATE_COMPLETE")
    assert name in {stack.stack_name for stack in horizon.listed()}
    assert name in {stack.stack_name for stack in horizon.listed(status="CREATE_COMPLETE")}
    assert [stack.id for stack in horizon.listed(stack_name=name)] in ([stack_id], [])
    assert [stack.id for stack in horizon.listed(name=name)] == [stack_id]
    horizon.listed(marker=stack_id)
    assert heat.stacks.template(stack_id)["description"] == template["description"]
    events = list(heat.events.list(name, limit=3, sort_dir="desc", sort_key="event_time"))
    assert len(events) == 3
    assert list(heat.events.list(name, limit=3, sort_dir="desc", sort_key="event_time", marker=events[-1].id))
    assert {r.resource_name for r in heat.resources.list(name)} == {"name", "secret", "group"}
    assert heat.resources.get(stack_id, "secret").attributes
    assert heat.resources.metadata(stack_id, "secret") == {}
    update = {**fields, "parameters": {"greeting": "hi", "members": 2}}
    heat.stacks.update(stack_id, **update)
    horizon.wait(name, "UPDATE_COMPLETE")
    for action, status in (("check", "CHECK"), ("suspend", "SUSPEND"), ("resume", "RESUME")):
        getattr(heat.actions, action)(stack_id)
        horizon.wait(name, f"{status}_COMPLETE")
    snapshot = heat.stacks.snapshot(stack_id)["id"]
    until(lambda: heat.stacks.snapshot_show(stack_id, snapshot)["snapshot"]["status"] == "COMPLETE", "a snapshot")
    assert [one["id"] for one in heat.stacks.snapshot_list(stack_id)["snapshots"]] == [snapshot]
    heat.stacks.snapshot_delete(stack_id, snapshot)
    assert any(one.resource_type == "OS::Heat::Value" for one in heat.resource_types.list(filters={}))
    assert heat.resource_types.get("OS::Heat::Value")["properties"]
    assert any(version.version.endswith("2018-08-31") for version in heat.template_versions.list())
    assert heat.template_versions.get("heat_template_version.2018-08-31")
    assert heat.services.list() is not None
    heat.stacks.delete(stack_id)
    until(lambda: name not in {stack.stack_name for stack in horizon.listed()}, f"{name} is gone")


def test_skyline(cloud: AllInOne, api: Api, name: str) -> None:
    """The template is an object, the parameters are those that the form found in it, typed."""
    template = yaml.safe_load(EXAMPLE)
    # JavaScript's YAML makes a time stamp of an unquoted version.
    template["heat_template_version"] = "2018-08-31T00:00:00.000Z"
    body: dict[str, Any] = {
        "stack_name": name,
        "disable_rollback": False,
        "timeout_mins": 60,
        "template": template,
        "parameters": {"greeting": "hi", "members": 1},
    }
    reply = api.send("POST", "/stacks", body)
    assert reply.status_code in (201, 400)
    if reply.status_code == 400:
        template["heat_template_version"] = "2018-08-31"
        reply = api.send("POST", "/stacks", body)
    stack = api.stack(name, reply.json()["stack"]["id"])
    stack.wait("CREATE_COMPLETE")
    page = api.get("/stacks?limit=10&tenant=demo&with_count=true&sort_keys=creation_time&sort_dir=desc")
    assert page["count"] >= 1 and name in {one["stack_name"] for one in page["stacks"]}
    assert api.get(f"/stacks?limit=10&tenant=demo&with_count=true&name={name}&status=CREATE_COMPLETE")["count"] == 1
    assert stack.show()["stack_name"] == name
    for part, key in (("events", "events"), ("resources", "resources"), ("template", "description")):
        assert api.get(f"{stack.path}/{part}")[key]
    body.pop("stack_name")
    api.put(stack.path, {**body, "parameters": {"greeting": "hi", "members": 2}})
    stack.wait("UPDATE_COMPLETE")
    assert "services" in api.get("/services")
    api.delete(stack.path)
    stack.wait_gone()
