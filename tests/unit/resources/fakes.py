# SPDX-License-Identifier: Apache-2.0
"""A stack, a store and nested stacks in memory: all that the kit needs of an engine."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Mapping
from typing import Any

import pytest

from openkeel_heat.common import exceptions as exception, identifier
from openkeel_heat.resources.kit import lifecycle
from openkeel_heat.resources.kit.nested import NestedStatus
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.template import Template
from openkeel_heat.template.environment import Environment
from openkeel_heat.template.scope import StackDefinition


class FakeContext:
    project_id = "project"
    region_name = "RegionOne"
    username = "user"
    user_id = "uid"

    def __init__(self, clients: Any = None) -> None:
        self.clients = clients

    def to_dict(self) -> dict[str, Any]:
        return {"project_id": self.project_id, "region_name": self.region_name}


class FakeStore:
    """ResourceStore over the records; counts its writes."""

    def __init__(self) -> None:
        self.writes: list[tuple[Any, ...]] = []
        self.events: list[tuple[str, str, str]] = []
        self.snapshots: dict[str, Any] = {}
        self._data: dict[int, dict[str, Any]] = {}
        self._metadata: dict[int, dict[str, Any]] = {}

    def set_physical_id(self, resource: Any, physical_id: Any) -> None:
        self.writes.append(("physical_id", physical_id))

    def data(self, resource: Any) -> dict[str, Any]:
        return dict(self._data.get(resource.id, {}))

    def set_data(self, resource: Any, key: str, value: Any, redact: bool = False) -> None:
        self.writes.append(("data", key, value, redact))
        self._data.setdefault(resource.id, {})[key] = value

    def delete_data(self, resource: Any, key: str) -> bool:
        return self._data.get(resource.id, {}).pop(key, None) is not None

    def clear_hook(self, resource: Any, hook: str, reason: str) -> bool:
        cleared = self.delete_data(resource, hook)
        if cleared:
            self.add_event(resource, resource.action, resource.status, reason)
        return cleared

    def metadata(self, resource: Any) -> dict[str, Any]:
        return copy.deepcopy(self._metadata.get(resource.id, resource.record.metadata or {}))

    def engine_id(self) -> str:
        return "engine"

    def set_metadata(self, resource: Any, metadata: Any, merge: Any = None, data: Any = None) -> Any:
        if resource.action == "DELETE":
            raise exception.ResourceNotAvailable(resource_name=resource.name)
        wanted = metadata if merge is None else merge(metadata, self.metadata(resource))
        self._metadata[resource.id] = wanted
        for key, value in (data or {}).items():
            if value is None:
                self.delete_data(resource, key)
            else:
                self._data.setdefault(resource.id, {})[key] = value
        return wanted

    def save_attributes(self, resource: Any, attributes: Mapping[str, Any]) -> None:
        self.writes.append(("attributes", dict(attributes)))

    def clear_attributes(self, resource: Any) -> None:
        resource.record.attr_data_id = None

    def add_event(self, resource: Any, action: str, status: str, reason: str) -> None:
        self.events.append((action, status, reason))

    def last_event(self, resource: Any, reasons: Any) -> str | None:
        return next((reason for _action, _status, reason in reversed(self.events) if reason in reasons), None)

    def save_snapshot(self, resource: Any, snapshot_id: str, data: Any) -> None:
        self.snapshots[snapshot_id] = data

    def apply(self, resource: Any, transition: Any) -> None:
        self.events.append((transition.action, transition.status, transition.reason))


class FakeNested:
    """NestedStacks that keep templates; tests set the state of a child with ``finish``."""

    def __init__(self) -> None:
        self.children: dict[str, dict[str, Any]] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.in_memory: list[Any] = []

    def create(
        self, resource: Any, template: Any, *, name: str, timeout_mins: Any = None, adopt_data: Any = None
    ) -> str:
        found = self.find(resource, name)
        if found is None:
            found = str(uuid.uuid4())
            self.children[found] = {
                "name": name,
                "template": template,
                "action": "CREATE",
                "status": "IN_PROGRESS",
                "reason": "",
                "outputs": {},
            }
        self.calls.append(("create", name))
        return found

    def update(
        self, resource: Any, child_id: str, template: Any, *, timeout_mins: Any = None, converge: bool = False
    ) -> None:
        self.calls.append(("update", child_id))
        self.children[child_id].update(template=template, action="UPDATE", status="IN_PROGRESS")

    def _start(self, action: str, child_id: str) -> None:
        self.calls.append((action.lower(), child_id))
        if child_id in self.children:
            self.children[child_id].update(action=action, status="IN_PROGRESS")

    def delete(self, resource: Any, child_id: str) -> None:
        self._start("DELETE", child_id)

    def abandon(self, resource: Any, child_id: str) -> None:
        self._start("DELETE", child_id)

    def suspend(self, resource: Any, child_id: str) -> None:
        self._start("SUSPEND", child_id)

    def resume(self, resource: Any, child_id: str) -> None:
        self._start("RESUME", child_id)

    def check(self, resource: Any, child_id: str) -> None:
        self._start("CHECK", child_id)

    def cancel(self, resource: Any, child_id: str, rollback: bool = False) -> bool:
        self.calls.append(("cancel", child_id, rollback))
        return True

    def find(self, resource: Any, name: str) -> str | None:
        return next((key for key, child in self.children.items() if child["name"] == name), None)

    def status(self, child_id: str) -> NestedStatus | None:
        child = self.children.get(child_id)
        if child is None:
            return None
        return NestedStatus(child_id, child["name"], child["action"], child["status"], child["reason"])

    def outputs(self, resource: Any, child_id: str) -> dict[str, Any] | None:
        child = self.children.get(child_id)
        return (
            None
            if child is None
            else {key: {"output_key": key, "output_value": value} for key, value in child["outputs"].items()}
        )

    def resources(self, resource: Any, child_id: str) -> list[dict[str, Any]]:
        found = self.children[child_id]["template"].t.get("resources") or {}
        failed = self.children[child_id].get("failed", ())
        return [
            {
                "resource_name": name,
                "resource_status": "FAILED" if name in failed else "COMPLETE",
                "creation_time": "2020",
            }
            for name in found
        ]

    def template(self, child_id: str) -> Any:
        child = self.children.get(child_id)
        return None if child is None else child["template"]

    def load(self, resource: Any, child_id: str) -> Any:
        return None

    def build(self, resource: Any, template: Any, *, name: str, timeout_mins: Any = None) -> Any:
        stack = FakeStack(
            template.t, name=name, env=template.env, files=template.files, nested_depth=resource.stack.nested_depth + 1
        )
        self.in_memory.append(stack)
        return stack

    def abandon_data(self, resource: Any, child_id: str) -> dict[str, Any]:
        return {"id": child_id}

    def total_resources(self, root_stack_id: str) -> int:
        return 0

    def finish(self, child_id: str | None = None, status: str = "COMPLETE", reason: str = "", **outputs: Any) -> None:
        for key in [child_id] if child_id else list(self.children):
            child = self.children[key]
            if child["action"] == "DELETE":
                del self.children[key]
                continue
            child.update(status=status, reason=reason)
            child["outputs"].update(outputs)


class FakeSoftware:
    """Software configs and deployments in dictionaries; ``answer`` is what a server does."""

    def __init__(self) -> None:
        self.configs: dict[str, dict[str, Any]] = {}
        self.deployments: dict[str, dict[str, Any]] = {}
        self.servers: set[str] = set()
        self.calls: list[tuple[Any, ...]] = []

    def show_config(self, resource: Any, config_id: str) -> dict[str, Any]:
        if config_id not in self.configs:
            raise exception.NotFound("Software config with id %s not found" % config_id)
        return copy.deepcopy(self.configs[config_id])

    def create_config(self, resource: Any, values: Mapping[str, Any]) -> dict[str, Any]:
        key = values.get("id") or str(uuid.uuid4())
        self.calls.append(("create config", key))
        self.configs.setdefault(
            key,
            {
                "group": None,
                "config": None,
                **copy.deepcopy(dict(values)),
                "id": key,
                "inputs": values.get("inputs") or [],
                "outputs": values.get("outputs") or [],
                "options": values.get("options") or {},
            },
        )
        return self.show_config(resource, key)

    def delete_config(self, resource: Any, config_id: str) -> None:
        self.configs.pop(config_id, None)

    def show_deployment(self, resource: Any, deployment_id: str) -> dict[str, Any]:
        if deployment_id not in self.deployments:
            raise exception.NotFound("Deployment with id %s not found" % deployment_id)
        return copy.deepcopy(self.deployments[deployment_id])

    def deploy(
        self, resource: Any, deployment_id: str, config: Mapping[str, Any], values: Mapping[str, Any]
    ) -> dict[str, Any]:
        self.calls.append(("deploy", values["action"]))
        before = self.deployments.get(deployment_id, {})
        self.configs.pop(before.get("config_id", ""), None)
        made = self.create_config(resource, config)
        self.deployments[deployment_id] = {
            "output_values": None,
            **before,
            **values,
            "id": deployment_id,
            "config_id": made["id"],
        }
        return self.show_deployment(resource, deployment_id)

    def cancel_deployment(self, resource: Any, deployment_id: str, reason: str) -> None:
        deployment = self.deployments[deployment_id]
        if deployment["status"] == "IN_PROGRESS":
            deployment.update(status="FAILED", status_reason=reason)

    def delete_deployment(self, resource: Any, deployment_id: str) -> None:
        found = self.deployments.pop(deployment_id, None)
        if found is not None:
            self.configs.pop(found["config_id"], None)

    def signal_deployment(self, resource: Any, deployment_id: str, details: Any) -> str | None:
        self.calls.append(("signal", details))
        return "deployment %s succeeded" % deployment_id

    def knows_server(self, resource: Any, server_id: str) -> bool:
        return server_id in self.servers

    def answer(self, deployment_id: str, status: str = "COMPLETE", reason: str = "", **outputs: Any) -> None:
        self.deployments[deployment_id].update(status=status, status_reason=reason, output_values=outputs)


class FakeClients:
    def __init__(self, **plugins: Any) -> None:
        self.plugins = plugins

    def client_plugin(self, name: str) -> Any:
        return self.plugins.get(name)

    def client(self, name: str, version: Any = None) -> Any:
        return self.plugins[name].client()


class FakeStack(Mapping[str, Any]):
    """A stack of a template, with resources that look as if they were stored."""

    CREATE, DELETE, UPDATE, ROLLBACK = "CREATE", "DELETE", "UPDATE", "ROLLBACK"
    IN_PROGRESS, COMPLETE, FAILED, CHECK = "IN_PROGRESS", "COMPLETE", "FAILED", "CHECK"

    def __init__(
        self,
        template: dict[str, Any],
        *,
        name: str = "st",
        params: Mapping[str, Any] | None = None,
        env: Any = None,
        files: Mapping[str, str] | None = None,
        action: str = "CREATE",
        clients: FakeClients | None = None,
        nested_depth: int = 0,
    ) -> None:
        self.id = "00000000-0000-4000-8000-000000000000"
        self.name = name
        self.context = FakeContext(clients)
        self.clients = clients
        if env is None:
            env = Environment({"parameters": dict(params or {})})
        elif isinstance(env, dict):
            env = Environment(env)
        self.env = env
        self.t = Template.load(template, files=files or {}, env=env)
        self.store = FakeStore()
        self.nested_stacks = FakeNested()
        self.software = FakeSoftware()
        self.action, self.status = action, "IN_PROGRESS"
        self.nested_depth = nested_depth
        self.strict_validate = True
        self.timeout_mins = 60
        self.disable_rollback = True
        self.convergence = True
        self.current_traversal = "traversal"
        self.stack_user_project_id = "stack-user-project"
        self.created_time = self.updated_time = None
        self.replacements: dict[int, Any] = {}
        self.others: list[Any] = []
        self._next_id = 1
        self._resources: dict[str, Any] = {}
        self.defn = StackDefinition(self.t, self.identifier())

    def identifier(self) -> identifier.HeatIdentifier:
        return identifier.HeatIdentifier("project", self.name, self.id)

    def root_stack_id(self) -> str:
        return self.id

    def timeout_secs(self) -> int:
        return 3600

    def __str__(self) -> str:
        return 'Stack "%s" [%s]' % (self.name, self.id)

    def __getitem__(self, name: str) -> Any:
        if name not in self._resources:
            self._resources[name] = self.make(name)
        return self._resources[name]

    def __iter__(self) -> Any:
        return iter(self.defn)

    def __len__(self) -> int:
        return len(self.defn.resource_definitions())

    def __hash__(self) -> int:
        return id(self)

    def make(self, name: str, stored: bool = True) -> Any:
        resource = Resource(name, self.defn.resource_definition(name), self)
        if stored:
            resource.record.id = self._next_id
            resource.record.uuid = str(uuid.UUID(int=self._next_id, version=4))
            self._next_id += 1
        return resource

    def replacement_of(self, resource: Any) -> Any:
        return self.replacements.get(resource.replaced_by)

    def others_of(self, resource: Any) -> list[Any]:
        return [other for other in (*self.others, *self.replacements.values()) if other is not resource]

    def resource_by_refid(self, reference: Any) -> Any:
        return next((self[name] for name in self if self[name].FnGetRefId() == reference), None)

    def validate(self) -> None:
        for name in self:
            self[name].validate()

    def preview_resources(self) -> list[Any]:
        return [self[name].preview() for name in self]


class Driver:
    """Runs a life-cycle generator the way an engine does, without waiting."""

    def __init__(self, generator: lifecycle.Lifecycle, resource: Any) -> None:
        self.generator = generator
        self.resource = resource
        self.steps: list[Any] = []
        self.pauses: list[float] = []
        self.done = False

    def take(self, step: Any) -> None:
        self.steps.append(step)
        record = self.resource.record
        if isinstance(step, lifecycle.Transition | lifecycle.Note):
            for key, value, redact in step.data:
                self.resource.stack.store.set_data(self.resource, key, value, redact)
        if isinstance(step, lifecycle.Transition):
            record.atomic_key = (record.atomic_key or 0) + 1
            if step.properties is not None:
                record.rsrc_prop_data_id = record.atomic_key
        elif isinstance(step, lifecycle.Pause):
            self.pauses.append(step.seconds)

    def step(self) -> Any:
        try:
            step = next(self.generator)
        except StopIteration:
            self.done = True
            return None
        self.take(step)
        return step

    def run(self, limit: int = 100, until: type | None = None) -> Driver:
        for _round in range(limit):
            step = self.step()
            if self.done or (until is not None and isinstance(step, until)):
                return self
        raise AssertionError("did not end")

    def throw(self, ex: BaseException) -> None:
        self.take(self.generator.throw(ex))

    @property
    def states(self) -> list[tuple[str, str, str]]:
        return [
            (step.action, step.status, step.reason) for step in self.steps if isinstance(step, lifecycle.Transition)
        ]

    @property
    def short(self) -> list[str]:
        return ["%s_%s" % state[:2] for state in self.states]


def drive(generator: lifecycle.Lifecycle, resource: Any, limit: int = 100) -> Driver:
    return Driver(generator, resource).run(limit)


def replace(resource: Any, after: FakeStack, name: str = "r") -> Any:
    """Make what replaces a resource, by the template of another stack, then delete what was replaced."""
    with pytest.raises(exception.UpdateReplace):
        drive(lifecycle.update(resource, after.defn.resource_definition(name)), resource)
    made = after[name]
    made.record.id = resource.record.replaced_by = 1000 + resource.record.id
    drive(lifecycle.create(made), made)
    after.others, resource.stack.others = [resource], [made]
    resource.stack.replacements[made.record.id] = made
    drive(lifecycle.delete(resource), resource)
    return made


def hot(resources: dict[str, Any], **sections: Any) -> dict[str, Any]:
    return {"heat_template_version": "2016-10-14", "resources": resources, **sections}


def test_resource(**props: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::TestResource", "properties": props}


test_resource.__test__ = False  # type: ignore[attr-defined]
