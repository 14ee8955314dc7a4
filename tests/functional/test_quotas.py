# SPDX-License-Identifier: Apache-2.0
"""Limits per project and per stack: refused beyond them with Heat's texts, administrators where Heat lets them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fixtures import access
from tests.fixtures.access import SERVER
from tests.fixtures.access_plugin import faked_service
from tests.fixtures.api import Api
from tests.fixtures.polling import until

STACKS, RESOURCES, CONFIGS, DEPLOYMENTS, SNAPSHOTS, EVENTS = 3, 6, 2, 2, 1, 30


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[access.Site]:
    service = faked_service(
        tmp_path_factory.mktemp("quotas"),
        {
            "DEFAULT": {
                "max_stacks_per_tenant": STACKS,
                "max_resources_per_stack": RESOURCES,
                "max_software_configs_per_tenant": CONFIGS,
                "max_software_deployments_per_tenant": DEPLOYMENTS,
                "max_snapshots_per_stack": SNAPSHOTS,
                "max_events_per_stack": EVENTS,
                "event_purge_batch_size": 2,
            }
        },
    )
    try:
        yield access.FakedSite(service.start().url, service.cfn_url)
    finally:
        service.stop()


@pytest.fixture
def api(site: access.Site) -> Iterator[Api]:
    api = site.api("member")
    yield api
    for one in api.get("/stacks")["stacks"]:
        api.stack(one["stack_name"], one["id"]).delete()


def hot(count: int, **more: Any) -> dict[str, Any]:
    resources: dict[str, Any] = {f"r{number}": {"type": "OS::Heat::RandomString"} for number in range(count)}
    return {"heat_template_version": "2018-08-31", "resources": {**resources, **more}}


def refused(api: Api, method: str, path: str, body: Any, text: str) -> None:
    reply = api.send(method, path, body)
    assert reply.status_code == 400, reply.text
    assert reply.json()["error"] == {
        "type": "RequestLimitExceeded",
        "traceback": None,
        "message": f"Request limit exceeded: {text}",
    }


def named() -> str:
    return "q-" + secrets.token_hex(4)


def test_stacks(site: access.Site, api: Api) -> None:
    nested = {"n": {"type": "inner.yaml"}}
    files = {"inner.yaml": json.dumps(hot(1))}
    stacks = [api.create(hot(0, **nested), files=files) for _ in range(STACKS)]
    text = f"You have reached the maximum stacks per tenant, {STACKS}. Please delete some stacks."
    for path in ("/stacks", "/stacks/preview"):
        refused(api, "POST", path, {"stack_name": named(), "template": hot(1)}, text)
    # an update needs no room, not for a new nested stack either
    stacks[0].update(hot(0, **nested, other=nested["n"]), files=files)
    # neither administrators nor other projects are concerned
    site.api("admin").create(hot(1)).delete()
    site.api("outsider").create(hot(1)).delete()
    stacks.pop().delete()
    api.create(hot(1))


def test_resources(api: Api) -> None:
    text = "Maximum resources per stack exceeded."
    refused(api, "POST", "/stacks", {"stack_name": named(), "template": hot(RESOURCES + 1)}, text)
    stack = api.create(hot(RESOURCES))
    refused(api, "PUT", stack.path, {"template": hot(RESOURCES + 1)}, text)
    assert stack.status == "CREATE_COMPLETE"
    # all that is below the stack counts together
    tree = hot(1, a={"type": "inner.yaml"}, b={"type": "inner.yaml"})
    group = {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": RESOURCES + 1, "resource_def": {"type": "OS::Heat::RandomString"}},
    }
    files = {"inner.yaml": json.dumps(hot(RESOURCES // 2 + 1))}
    for method, path in (("POST", "/stacks"), ("PUT", stack.path)):
        reply = api.send(method, path, {"stack_name": named(), "template": tree, "files": files})
        assert reply.status_code == 400 and text in reply.json()["error"]["message"]
    # of a group one member is looked at before it is made
    large = api.create(hot(0, group=group), wait=False)
    large.wait("CREATE_FAILED")
    assert text in large.show()["stack_status_reason"]
    assert stack.status == "CREATE_COMPLETE"


def test_software(site: access.Site, api: Api) -> None:
    body = {"name": "c", "group": "script", "config": "true"}
    configs = [api.post("/software_configs", body)["software_config"]["id"] for _ in range(CONFIGS)]
    refused(
        api,
        "POST",
        "/software_configs",
        body,
        f"You have reached the maximum software configs per tenant, {CONFIGS}. Please delete some configs.",
    )
    one = {"config_id": configs[0], "server_id": SERVER, "action": "CREATE", "status": "COMPLETE"}
    made = [api.post("/software_deployments", one)["software_deployment"]["id"] for _ in range(DEPLOYMENTS)]
    refused(
        api,
        "POST",
        "/software_deployments",
        one,
        f"You have reached the maximum software deployments per tenant, {DEPLOYMENTS}. Please delete some deployments.",
    )
    admin = site.api("admin")
    extra = admin.post("/software_configs", body)["software_config"]["id"]
    deployed = admin.post("/software_deployments", one)["software_deployment"]["id"]
    for deployment in (*made, deployed):
        api.delete(f"/software_deployments/{deployment}")
    for config in (*configs, extra):
        api.delete(f"/software_configs/{config}")
    api.delete("/software_configs/" + api.post("/software_configs", body)["software_config"]["id"])


def test_snapshots(site: access.Site, api: Api) -> None:
    stack = api.create(hot(1))
    made = [api.post(stack.path + "/snapshots", {})["id"]]
    stack.wait("SNAPSHOT_COMPLETE")
    refused(
        api,
        "POST",
        stack.path + "/snapshots",
        {},
        f"You have reached the maximum snapshots per stack, {SNAPSHOTS}. Please delete some snapshots.",
    )
    made.append(site.api("admin").post(stack.path + "/snapshots", {})["id"])
    until(
        lambda: (
            len([one for one in api.get(stack.path + "/snapshots")["snapshots"] if one["status"] == "COMPLETE"]) == 2
        ),
        "both are complete",
        30,
    )
    for one in made:
        until(
            lambda one=one: api.send("DELETE", f"{stack.path}/snapshots/{one}").status_code in (204, 404),  # type: ignore[misc]
            "it is deleted",
            30,
        )
    until(lambda: api.get(stack.path + "/snapshots")["snapshots"] == [], "none is left", 30)
    api.post(stack.path + "/snapshots", {})


def test_events(api: Api) -> None:
    """The oldest go, in batches, now and then; the newest stay."""
    stack = api.create(hot(RESOURCES))
    for _ in range(18):
        stack.action("check", "CHECK_COMPLETE")
        found = stack.events()
        assert len(found) <= EVENTS + 4 * RESOURCES
    assert found[-1]["resource_status"] == "CHECK_COMPLETE" or found[0]["resource_status"] == "CHECK_COMPLETE"
    assert not any(event["resource_status"].startswith("CREATE") for event in found), [
        (event["resource_name"], event["resource_status"]) for event in found
    ]
