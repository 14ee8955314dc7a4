# SPDX-License-Identifier: Apache-2.0
"""Snapshots, abandon and adopt, preview and validation, discovery, software configuration, migration."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openkeel_heat.db import snapshots
from tests.contract.rpc_replay import poll
from tests.unit.engine.operations.conftest import hot, value

OUT = {"o": {"value": {"get_attr": ["a", "value"]}}}


# snapshots ----------------------------------------------------------------------------------------------------------
def test_snapshot_and_restore(service: Any, config: Any) -> None:
    identity = service.create(hot({"a": value("1")}, outputs=OUT), args={"tags": ["t"]})
    made = service.call("stack_snapshot", stack_identity=identity, name="first")
    assert (made["name"], made["action"], made["status"]) == ("first", "CREATE", "IN_PROGRESS")
    assert service.state(identity) == "SNAPSHOT_COMPLETE"
    shown = service.call("show_snapshot", stack_identity=identity, snapshot_id=made["id"])
    assert shown["status"] == "COMPLETE" and set(shown["data"]["resources"]) == {"a"}
    config(max_snapshots_per_stack=1)
    error = service.refused("stack_snapshot", stack_identity=identity, name="second")
    assert type(error).__name__ == "RequestLimitExceeded"
    service.update(identity, hot({"b": value("2")}), args={"tags": ["t"]})
    service.call("stack_restore", stack_identity=identity, snapshot_id=made["id"])
    assert service.state(identity) == "RESTORE_COMPLETE"
    assert service.outputs(identity) == {"o": "1"}
    assert service.show(identity)["tags"] == ["t"]
    other = service.create(hot())
    error = service.refused("show_snapshot", stack_identity=other, snapshot_id=made["id"])
    assert type(error).__name__ == "SnapshotNotFound"
    service.call("delete_snapshot", stack_identity=identity, snapshot_id=made["id"])
    assert poll(lambda: service.call("stack_list_snapshots", stack_identity=identity) == [])
    assert service.rows("SELECT * FROM resource_snapshot") == []
    error = service.refused("show_snapshot", stack_identity=identity, snapshot_id=made["id"])
    assert str(error) == f"Snapshot with id {made['id']} not found"


def test_the_answer_to_a_snapshot_is_how_it_began(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it has ended before there is an answer."""
    identity = service.create(hot({"a": value("1")}))
    read = snapshots.get

    def read_late(snapshot_id: str) -> Any:
        assert poll(lambda: read(snapshot_id).status == "COMPLETE")
        return read(snapshot_id)

    monkeypatch.setattr(snapshots, "get", read_late)
    made = service.call("stack_snapshot", stack_identity=identity, name="first")
    assert (made["action"], made["status"], made["status_reason"]) == ("CREATE", "IN_PROGRESS", None)
    assert made["data"]["action"] == "CREATE" and made["creation_time"]


@pytest.mark.parametrize("name", [[], ["x"], {}, {"a": 1}, "x" * 256], ids=lambda it: str(it)[:9])
def test_a_name_that_a_snapshot_cannot_have(service: Any, name: Any) -> None:
    identity = service.create(hot())
    error = service.refused("stack_snapshot", stack_identity=identity, name=name)
    assert type(error).__name__ == "Invalid" and '"name"' in str(error)
    assert service.state(identity) == "CREATE_COMPLETE"
    assert service.call("stack_snapshot", stack_identity=identity, name=5)["name"] == "5"


def test_no_snapshot_of_a_running_stack(service: Any) -> None:
    busy = {"type": "OS::Heat::TestResource", "properties": {"action_wait_secs": {"create": 20}}}
    identity = service.create(hot({"s": busy}), wait=False)
    before = service.census()["snapshot"]
    error = service.refused("stack_snapshot", stack_identity=identity, name="x")
    assert type(error).__name__ == "ActionInProgress" and service.census()["snapshot"] == before
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"


def test_a_suspended_stack_is_restored(service: Any) -> None:
    """With the nested stacks in it, which are suspended too."""
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 2, "resource_def": value()}}
    identity = service.create(hot({"g": {**group, "properties": {**group["properties"], "count": 1}}}))
    made = service.call("stack_snapshot", stack_identity=identity, name="s")
    assert service.state(identity) == "SNAPSHOT_COMPLETE"
    service.update(identity, hot({"g": group}))
    service.call("stack_suspend", stack_identity=identity)
    assert service.state(identity) == "SUSPEND_COMPLETE"
    service.call("stack_restore", stack_identity=identity, snapshot_id=made["id"])
    assert service.state(identity) == "RESTORE_COMPLETE"
    for method, state in (("stack_suspend", "SUSPEND_COMPLETE"), ("stack_resume", "RESUME_COMPLETE")):
        service.call(method, stack_identity=identity)
        assert service.state(identity) == state


@pytest.mark.parametrize("method", ["stack_suspend", "stack_resume", "stack_check", "stack_restore"])
def test_a_deletion_is_not_gone_over(service: Any, method: str) -> None:
    """It would be cut off, and the stack would stay, without what it was made of."""
    slow = {"type": "OS::Heat::TestResource", "properties": {"action_wait_secs": {"delete": 1}}}
    identity = service.create(hot({"s": slow}))
    more = {}
    if method == "stack_restore":
        made = service.call("stack_snapshot", stack_identity=identity, name="s")
        assert service.state(identity) == "SNAPSHOT_COMPLETE"
        more = {"snapshot_id": made["id"]}
    service.call("delete_stack", stack_identity=identity)
    error = service.refused(method, stack_identity=identity, **more)
    assert (type(error).__name__, str(error)) == (
        "ActionInProgress",
        f"Stack {identity['stack_name']} already has an action (DELETE) in progress.",
    )
    assert service.state(identity) == "DELETE_COMPLETE"


# abandon, adopt -----------------------------------------------------------------------------------------------------
def test_abandon_and_adopt(service: Any, config: Any) -> None:
    template = hot({"r": {"type": "OS::Heat::RandomString"}}, outputs={"o": {"value": {"get_attr": ["r", "value"]}}})
    identity = service.create(template)
    text = service.outputs(identity)["o"]
    for method in ("abandon_stack", "export_stack"):
        config(enable_stack_abandon=False)
        assert str(service.refused(method, stack_identity=identity)) == "Stack Abandon is not supported."
    config(enable_stack_abandon=True)
    exported = service.call("export_stack", stack_identity=identity)
    data = service.call("abandon_stack", stack_identity=identity)
    assert data == exported and set(data["resources"]) == {"r"}
    assert service.state(identity) == "DELETE_COMPLETE"
    arguments = {
        "stack_name": "adopted",
        "template": template,
        "params": {},
        "files": {},
        "args": {"adopt_stack_data": json.dumps(data)},
    }
    config(enable_stack_adopt=False)
    assert str(service.refused("create_stack", **arguments)) == "Stack Adopt is not supported."
    config(enable_stack_adopt=True)
    adopted = service.call("create_stack", **arguments)
    assert service.state(adopted) == "ADOPT_COMPLETE"
    assert service.outputs(adopted) == {"o": text}


def test_nested_stacks_are_abandoned_with_the_stack(service: Any, config: Any) -> None:
    """What they made stays, for the stack that adopts it; they themselves would hold it, too, and nobody them."""
    config(enable_stack_abandon=True, enable_stack_adopt=True)
    inner = {"type": "OS::Heat::SoftwareConfig", "properties": {"config": "kept"}}
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 2, "resource_def": inner}}
    template = hot({"g": group}, outputs={"ids": {"value": {"get_attr": ["g", "refs"]}}})
    identity = service.create(template)
    ids = service.outputs(identity)["ids"]
    data = service.call("abandon_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"
    left = "SELECT id FROM stack WHERE owner_id = :i AND deleted_at IS NULL"
    assert service.rows(left, i=identity["stack_id"]) == []
    assert [service.call("show_software_config", config_id=one)["config"] for one in ids] == ["kept", "kept"]
    adopted = service.create(template, args={"adopt_stack_data": json.dumps(data)})
    assert service.state(adopted) == "ADOPT_COMPLETE" and service.outputs(adopted)["ids"] == ids
    service.call("delete_stack", stack_identity=adopted)
    assert service.state(adopted) == "DELETE_COMPLETE"


ADOPTED = {"name": "x", "resources": {"r": {"resource_id": "id", "resource_data": {}}}, "environment": {}}


@pytest.mark.parametrize(
    "part, name",
    [
        ({"resources": ["r"]}, "resources"),
        ({"resources": "r"}, "resources"),
        ({"resources": {"r": 5}}, "resources.r"),
        ({"resources": {"g": {"resources": [1]}}}, "resources.g.resources"),
        ({"resources": {"g": {"resources": {"0": "x"}}}}, "resources.g.resources.0"),
        ({"environment": "x"}, "environment"),
        ({"environment": {"parameters": [1]}}, "environment.parameters"),
    ],
    ids=str,
)
def test_data_that_are_none_of_an_adoption(service: Any, config: Any, part: Any, name: str) -> None:
    config(enable_stack_adopt=True)
    template = hot({"r": {"type": "OS::Heat::RandomString"}})
    before = service.census()
    error = service.refused(
        "create_stack",
        stack_name="none",
        template=template,
        params={},
        files={},
        args={"adopt_stack_data": json.dumps({**ADOPTED, "template": template, **part})},
    )
    assert type(error).__name__ == "Invalid"
    assert str(error) == f'Data supplied was not valid: "{name}" of the adopt data must be a mapping'
    assert service.census() == before


@pytest.mark.parametrize("data", [{}, {"g": None}, {"g": {}}, {"g": {"resources": {}}}], ids=str)
def test_an_adoption_without_data_of_a_nested_stack(service: Any, config: Any, data: Any) -> None:
    """What is in it is not adopted, as what is in the stack itself: it is not made anew, and nobody waits for it."""
    config(enable_stack_adopt=True)
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": value()}}
    template = hot({"g": group})
    adopted = service.create(
        template, args={"adopt_stack_data": json.dumps({**ADOPTED, "template": template, "resources": data})}
    )
    shown = service.show(adopted)
    assert (shown["stack_action"], shown["stack_status"]) == ("ADOPT", "FAILED")
    assert "resources.g.resources[0]: Resource ID was not provided." in shown["stack_status_reason"]
    service.call("delete_stack", stack_identity=adopted)
    assert service.state(adopted) == "DELETE_COMPLETE"


# preview, validate --------------------------------------------------------------------------------------------------
def test_preview_writes_nothing(service: Any) -> None:
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 2, "resource_def": value()}}
    before = service.census()
    shown = service.call(
        "preview_stack",
        stack_name="p",
        template=hot({"a": value(), "g": group}),
        params={},
        files={},
        args={"tags": ["t"]},
    )
    assert service.census() == before
    flat = [one for one in shown["resources"] if isinstance(one, dict)]
    nested = [one for one in shown["resources"] if isinstance(one, list)]
    assert [one["resource_name"] for one in flat] == ["a"] and len(nested[0]) == 2
    assert flat[0]["properties"]["value"] == "x" and shown["tags"] == ["t"] and "stack_status" not in shown


def test_preview_of_an_update(service: Any) -> None:
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 2, "resource_def": value()}}
    more = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 3, "resource_def": value()}}
    identity = service.create(hot({"same": value("1"), "new": value("1"), "gone": value("1"), "g": group}))
    before = service.census()
    template = hot({"same": value("1"), "new": value("2"), "more": value("1"), "g": more})

    def preview(**args: Any) -> dict[str, list[str]]:
        found = service.call(
            "preview_update_stack", stack_identity=identity, template=template, params={}, files={}, args=args
        )
        return {key: sorted(one["resource_name"] for one in found[key]) for key in found}

    assert preview() == {
        "unchanged": ["same"],
        "updated": ["g", "new"],
        "replaced": [],
        "added": ["more"],
        "deleted": ["gone"],
    }
    nested = preview(show_nested=True)
    assert nested["added"] == ["2", "more"] and nested["unchanged"] == ["0", "1", "same"]
    assert service.census() == before
    assert service.show(identity)["stack_action"] == "CREATE"


def test_validate(service: Any) -> None:
    parameters = {"p": {"type": "number", "default": 3, "hidden": True, "constraints": [{"range": {"min": 1}}]}}
    files = {"inner.yaml": json.dumps(hot(parameters={"q": {"type": "string"}}, description="inside"))}
    template = hot(
        {"t": {"type": "inner.yaml", "properties": {"q": "x"}}},
        parameters=parameters,
        parameter_groups=[{"parameters": ["p"]}],
        description="outside",
    )
    found = service.call("validate_template", template=template, params={}, files=files, show_nested=True)
    assert found["Description"] == "outside" and found["ParameterGroups"] == [{"parameters": ["p"]}]
    assert found["Parameters"]["p"] == {
        "Type": "Number",
        "Description": "",
        "NoEcho": "true",
        "Label": "p",
        "Default": 3,
        "MinValue": 1,
    }
    inside = found["NestedParameters"]["t"]
    assert inside["Type"] == "inner.yaml" and list(inside["Parameters"]) == ["q"] and inside["Description"] == "inside"
    assert set(found["Environment"]) == {"parameters", "parameter_defaults", "resource_registry", "event_sinks"}
    assert "Error" in service.call("validate_template", template=hot({"x": {"type": "No::Such"}}), params={})
    for arguments in ({"template": None}, {"template": hot(), "ignorable_errors": ["1"]}):
        assert type(service.refused("validate_template", **arguments)).__name__ in ("Invalid", "StackValidationFailed")


def test_errors_that_do_not_count(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A type whose service is not there, unless the caller says that this is no error (code 99001)."""
    from openkeel_heat.resources.heat.value import Value

    monkeypatch.setattr(Value, "is_service_available", classmethod(lambda cls, context: (False, "It sleeps.")))
    monkeypatch.setattr(Value, "default_client_name", "nova")
    template = hot({"v": value()}, parameters={"p": {"type": "string"}})
    error = service.refused("validate_template", template=template, params={})
    assert type(error).__name__ == "ResourceTypeUnavailable"
    assert str(error) == (
        "HEAT-E99001 Service nova is not available for resource type OS::Heat::Value, reason: It sleeps."
    )
    found = service.call("validate_template", template=template, params={}, ignorable_errors=["99001"])
    assert list(found["Parameters"]) == ["p"]
    broken = hot({"v": value(), "w": {"type": "OS::Heat::None", "depends_on": "z"}})
    assert (
        type(service.refused("validate_template", template=broken, params={}, ignorable_errors=["99001"])).__name__
        == "InvalidTemplateReference"
    )


# discovery ----------------------------------------------------------------------------------------------------------
def test_discovery(service: Any) -> None:
    types = service.call("list_resource_types")
    assert {"OS::Heat::Value", "OS::Heat::ResourceGroup"} <= set(types)
    described = service.call("list_resource_types", type_name="OS::Heat::Value", with_description=True)
    assert [one["resource_type"] for one in described] == ["OS::Heat::Value"] and described[0]["description"]
    schema = service.call("resource_schema", type_name="OS::Heat::Value", with_description=True)
    assert set(schema) == {"resource_type", "properties", "attributes", "support_status", "description"}
    for name in ("OS::Heat::Value", "OS::Heat::RandomString"):
        for kind, section in (("cfn", "Resources"), ("hot", "resources")):
            assert section in service.call("generate_template", type_name=name, template_type=kind)
    for method in ("resource_schema", "generate_template"):
        assert type(service.refused(method, type_name="OS::No::Such")).__name__ == "EntityNotFound"
    plain = service.call("list_template_functions", template_version="heat_template_version.2021-04-16")
    more = service.call(
        "list_template_functions", template_version="heat_template_version.2021-04-16", with_condition=True
    )
    again = service.call("list_template_functions", template_version="heat_template_version.2021-04-16")
    assert plain == again and len(more) > len(plain) and all(one["description"] for one in more)
    (one,) = [one for one in service.call("list_services") if one["engine_id"] == service.runtime.engine_id]
    assert one["status"] == "up"


# software configuration ---------------------------------------------------------------------------------------------
def config_of(service: Any, **more: Any) -> dict[str, Any]:
    values = {"group": "script", "name": "c", "config": "#!", "inputs": [], "outputs": [], "options": {}, **more}
    return dict(service.call("create_software_config", **values))


def test_deployments(service: Any, config: Any) -> None:
    outputs = [{"name": "out"}, {"name": "err", "error_output": True}]
    made = config_of(service, inputs=[{"name": "i", "type": "Number", "default": 3}], outputs=outputs)
    assert service.call("show_software_config", config_id=made["id"]) == made

    def deploy() -> str:
        return str(
            service.call(
                "create_software_deployment",
                server_id="server",
                config_id=made["id"],
                input_values={"i": 1},
                action="CREATE",
                status="IN_PROGRESS",
                status_reason="",
                stack_user_project_id=None,
            )["id"]
        )

    def signal(one: str, **details: Any) -> Any:
        return service.call("signal_software_deployment", deployment_id=one, details=details, updated_at=None)

    good, coded, errored = deploy(), deploy(), deploy()
    assert signal(good, out="o", deploy_status_code=0) == f"deployment {good} succeeded"
    assert signal(good, out="p") is None
    assert signal(coded, deploy_status_code=3) == f"deployment {coded} failed (3)"
    assert signal(errored, err="bad") == f"deployment {errored} failed"
    shown = {one: service.call("show_software_deployment", deployment_id=one) for one in (good, coded, errored)}
    assert (shown[good]["status"], shown[good]["output_values"]["out"]) == ("COMPLETE", "o")
    assert shown[coded]["status_reason"] == ("deploy_status_code : Deployment exited with non-zero status code: 3")
    assert (shown[errored]["status"], shown[errored]["status_reason"]) == ("FAILED", "err : bad")
    assert len(service.call("metadata_software_deployments", server_id="server")) == 3
    error = service.refused("delete_software_config", config_id=made["id"])
    assert type(error).__name__ == "InvalidRestrictedAction"
    assert service.call("check_software_deployment", deployment_id=good, timeout=1)["status"] == "COMPLETE"
    for one in shown:
        service.call("delete_software_deployment", deployment_id=one)
    service.call("delete_software_config", config_id=made["id"])
    assert str(service.refused("show_software_config", config_id=made["id"])).endswith("not found")
    config(max_software_configs_per_tenant=0)
    assert (
        type(
            service.refused("create_software_config", group="g", name="n", config="", inputs=[], outputs=[], options={})
        ).__name__
        == "RequestLimitExceeded"
    )


def test_deployments_reach_the_metadata_of_the_server(service: Any) -> None:
    identity = service.create(hot({"a": value()}))
    server = service.call("describe_stack_resource", stack_identity=identity, resource_name="a")["physical_resource_id"]
    made = config_of(service, name="for the server")
    service.call(
        "create_software_deployment",
        server_id=server,
        config_id=made["id"],
        input_values={},
        action="CREATE",
        status="COMPLETE",
        status_reason="",
        stack_user_project_id=None,
    )
    found = service.call("describe_stack_resource", stack_identity=identity, resource_name="a")
    assert [one["name"] for one in found["metadata"]["deployments"]] == ["for the server"]


# stacks of the old engine -------------------------------------------------------------------------------------------
def test_migrate(service: Any) -> None:
    identity = service.create(hot({"a": value(), "b": value({"get_attr": ["a", "value"]})}))
    from openkeel_heat.db import resources, stacks

    stacks.update(identity["stack_id"], {"convergence": False, "current_traversal": None})
    rows = {row.name: row for row in resources.list_by_stack(identity["stack_id"])}
    resources.update(rows["b"].id, {"requires": None, "current_template_id": None})
    service.call("migrate_convergence_1", stack_id=identity["stack_id"])
    rows = {row.name: row for row in resources.list_by_stack(identity["stack_id"])}
    row = stacks.get(identity["stack_id"])
    assert row is not None and row.convergence and row.current_traversal
    assert rows["b"].requires == [rows["a"].id] and rows["b"].current_template_id == row.raw_template_id
    service.call("migrate_convergence_1", stack_id=identity["stack_id"])
    assert service.rows("SELECT * FROM stack_lock") == []
    error = service.refused("migrate_convergence_1", stack_id="nope")
    assert str(error) == 'No stack exists with id "nope"'


def as_the_old_engine_had_it(service: Any, identity: Any, **columns: Any) -> None:
    from openkeel_heat.db import resources, stacks

    stacks.update(
        identity["stack_id"], {"convergence": False, "current_traversal": None, "current_deps": None, **columns}
    )
    for row in resources.list_by_stack(identity["stack_id"]):
        resources.update(row.id, {"requires": None, "current_template_id": None})


@pytest.mark.parametrize("status", ["COMPLETE", "FAILED", "IN_PROGRESS"])
def test_a_change_takes_an_old_stack_over(service: Any, status: str) -> None:
    identity = service.create(hot({"a": value("1"), "b": value({"get_attr": ["a", "value"]})}))
    as_the_old_engine_had_it(service, identity, status=status)
    from openkeel_heat.db import locks

    if status == "IN_PROGRESS":
        assert locks.create(identity["stack_id"], "a dead engine") is None
    found = service.update(identity, hot({"b": value("2")}, outputs={"o": {"value": {"get_attr": ["b", "value"]}}}))
    assert (found["stack_action"], found["stack_status"]) == ("UPDATE", "COMPLETE")
    assert service.outputs(identity) == {"o": "2"}
    assert service.rows("SELECT * FROM stack_lock") == []
    rows = service.rows("SELECT name FROM resource WHERE stack_id = :i", i=identity["stack_id"])
    assert [row.name for row in rows] == ["b"]


def test_a_backup_stack_is_cleaned_up(service: Any) -> None:
    identity = service.create(hot({"a": value("1")}))
    other = service.create(hot({"a": value("old")}))
    as_the_old_engine_had_it(service, identity, status="FAILED", action="UPDATE")
    as_the_old_engine_had_it(
        service, other, owner_id=identity["stack_id"], backup=True, name=identity["stack_name"] + "*"
    )
    service.update(identity, hot({"a": value("1")}, outputs=OUT))
    assert service.outputs(identity) == {"o": "1"}
    rows = service.rows(
        "SELECT stack_id FROM resource WHERE stack_id IN (:i, :o)", i=identity["stack_id"], o=other["stack_id"]
    )
    assert [row.stack_id for row in rows] == [identity["stack_id"]]
    (row,) = service.rows("SELECT deleted_at FROM stack WHERE id = :o", o=other["stack_id"])
    assert row.deleted_at is not None


# lists --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "case",
    [
        ({"tags": ["la"]}, ["l1", "l2"]),
        ({"tags": ["la", "lb"]}, ["l2"]),
        ({"tags_any": ["lb", "lc"]}, ["l2", "l3"]),
        ({"not_tags": ["la"], "filters": {"stack_name": ["l1", "l3"]}}, ["l3"]),
        ({"filters": {"status": "CREATE_COMPLETE"}, "tags_any": ["la", "lc"]}, ["l1", "l2", "l3"]),
        ({"filters": {"stack_status": "FAILED"}}, []),
        ({"sort_keys": ["stack_name"], "sort_dir": "desc", "limit": 2}, ["l3", "l2"]),
    ],
)
def test_lists(service: Any, case: Any) -> None:
    arguments, expected = case
    project = service.context("lists")
    if not service.call("list_stacks", project):
        for name, tags in (("l1", ["la"]), ("l2", ["la", "lb"]), ("l3", ["lc"])):
            service.create(hot(), name=name, args={"tags": tags}, context=project, wait=False)
        assert poll(lambda: all(one["stack_status"] == "COMPLETE" for one in service.call("list_stacks", project)))
    found = service.call("list_stacks", project, **arguments)
    names = [one["stack_name"] for one in found]
    assert names == expected if "sort_keys" in arguments else sorted(names) == expected
    if "limit" not in arguments:
        assert service.call("count_stacks", project, **arguments) == len(expected)


def test_a_bad_direction(service: Any) -> None:
    error = service.refused("list_stacks", sort_dir="sideways")
    assert type(error).__name__ == "Invalid" and "sort direction" in str(error)
