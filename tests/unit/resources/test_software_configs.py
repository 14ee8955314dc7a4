# SPDX-License-Identifier: Apache-2.0
"""Software configs, multi-part messages, inputs and outputs."""

from __future__ import annotations

import email
from typing import Any

import pytest
import yaml

from openkeel_heat.common import exceptions as exception
from openkeel_heat.resources.kit import lifecycle, software_io
from tests.unit.resources.fakes import Driver, drive
from tests.unit.resources.software import SERVER, one, updated
from tests.unit.resources.test_types import created

# --- configs


def test_a_config() -> None:
    resource = created(
        one(
            "SoftwareConfig",
            group="script",
            config="#!",
            options={"o": 1},
            inputs=[{"name": "i", "type": "Number", "default": 3}],
            outputs=[{"name": "o", "error_output": True}],
        )
    )
    config = resource.stack.software.configs[resource.resource_id]
    assert resource.FnGetRefId() == resource.resource_id == resource.uuid
    assert (config["name"], config["group"], config["options"]) == (
        resource.physical_resource_name(),
        "script",
        {"o": 1},
    )
    assert resource.FnGetAtt("config") == "#!" and resource.FnGetAtt("show") == config
    driver = drive(lifecycle.delete(resource), resource)
    assert driver.short[-1] == "DELETE_COMPLETE" and not resource.stack.software.configs
    assert resource.FnGetAtt("config") is None


def test_nothing_given() -> None:
    resource = created(one("SoftwareConfig"))
    config = resource.stack.software.configs[resource.resource_id]
    assert config["group"] == "Heat::Ungrouped" and config["inputs"] == [] and config["options"] == {}


def test_any_change_replaces_a_config() -> None:
    resource = created(one("SoftwareConfig", config="1"))
    with pytest.raises(exception.UpdateReplace):
        updated(resource, config="2").run()


def test_a_config_is_made_once() -> None:
    """An engine dies between making the config and storing its id: the next finds it."""
    resource = one("SoftwareConfig", config="1")
    Driver(lifecycle.create(resource), resource).step()
    resource.stack.software.create_config(resource, {"id": resource.uuid, "config": "as it was"})
    drive(lifecycle.resume_action(resource), resource)
    assert resource.resource_id == resource.uuid and len(resource.stack.software.configs) == 1
    assert resource.FnGetAtt("config") == "as it was"


def test_a_config_whose_id_was_not_stored_is_deleted() -> None:
    resource = one("SoftwareConfig", config="1")
    Driver(lifecycle.create(resource), resource).step()
    resource.stack.software.create_config(resource, {"id": resource.uuid})
    resource.record.status = "FAILED"
    drive(lifecycle.delete(resource), resource)
    assert not resource.stack.software.configs


def test_component() -> None:
    configs = [
        {"actions": ["CREATE"], "config": "c", "tool": "script"},
        {"actions": ["DELETE", "own"], "config": "d", "tool": "script"},
    ]
    resource = one("SoftwareComponent", configs=configs, inputs=[{"name": "i"}])
    resource.validate()
    created(resource)
    config = resource.stack.software.configs[resource.resource_id]
    assert config["group"] == "component" and config["config"] == {"configs": configs}
    assert [entry["name"] for entry in config["inputs"]] == ["i"]
    assert resource._resolve_attribute("configs") == configs


def test_two_configs_for_one_action() -> None:
    entry = {"actions": ["CREATE", "UPDATE"], "tool": "script"}
    resource = one("SoftwareComponent", configs=[entry, {**entry, "actions": ["UPDATE"]}])
    with pytest.raises(
        exception.StackValidationFailed,
        match=('Defining more than one configuration for the same action in SoftwareComponent "r" is not allowed.'),
    ):
        resource.validate()


@pytest.mark.parametrize(
    "configs, text",
    [
        ([], "length .0. is out of range"),
        ([{"tool": "x", "actions": []}], "length .0. is out of range"),
        ([{"actions": ["CREATE"]}], "Property tool not assigned"),
    ],
)
def test_bad_components(configs: Any, text: str) -> None:
    with pytest.raises(exception.StackValidationFailed, match=text):
        one("SoftwareComponent", configs=configs).validate()


def test_cloud_config() -> None:
    data = {"users": [{"name": "a", "sudo": None}], "packages": ["x"], "n": 1}
    text = created(one("CloudConfig", cloud_config=data)).FnGetAtt("config")
    assert text == "#cloud-config\nn: 1\npackages:\n- x\nusers:\n- name: a\n  sudo: null\n"
    assert yaml.safe_load(text) == data


# --- multi-part messages


def parts_of(text: str) -> list[tuple[str, str | None, str]]:
    message = email.message_from_string(text)
    assert message.get_content_type() == "multipart/mixed"
    return [
        (part.get_content_type(), part.get_filename(), part.get_payload(decode=True).decode())
        for part in message.get_payload()
    ]


def test_parts() -> None:
    resource = one(
        "MultipartMime",
        parts=[
            {"config": "#!/bin/sh", "subtype": "x-shellscript", "filename": "a.sh"},
            {"config": "plain"},
            {"config": "grün", "filename": "cloud-config.yaml"},
            {"config": SERVER},
        ],
    )
    assert parts_of(created(resource).FnGetAtt("config")) == [
        ("text/x-shellscript", "a.sh", "#!/bin/sh"),
        ("text/plain", None, "plain"),
        ("text/cloud-config", "cloud-config.yaml", "grün"),
        ("text/plain", None, SERVER),
    ]


def test_parts_that_are_configs_and_messages() -> None:
    inner = created(
        one(
            "MultipartMime",
            parts=[{"config": "über", "subtype": "a", "filename": "f"}, {"config": "two", "subtype": "b"}],
        )
    )
    nested = created(
        one(
            "MultipartMime",
            parts=[
                {"config": inner.FnGetAtt("config"), "type": "multipart"},
                {"config": "no message", "type": "multipart"},
            ],
        )
    )
    other = SERVER.replace("7", "8")
    resource = one("MultipartMime", group="g", parts=[{"config": SERVER}, {"config": other, "type": "multipart"}])
    software = resource.stack.software
    software.configs = {SERVER: {"config": "of the config"}, other: {"config": nested.FnGetAtt("config")}}
    created(resource)
    assert software.configs[resource.resource_id]["group"] == "g"
    assert parts_of(resource.FnGetAtt("config")) == [
        ("text/plain", None, "of the config"),
        ("text/a", "f", "über"),
        ("text/b", None, "two"),
    ]


# --- inputs and outputs


def test_inputs() -> None:
    entry = software_io.InputConfig(name="i", type="Number", default=3)
    assert entry.as_dict() == {"name": "i", "type": "Number", "default": 3} and entry.input_data() == ("i", None)
    assert not entry.replace_on_change() and entry.default() == 3
    entry = software_io.InputConfig(value=None, name="i", replace_on_change=True, description="d")
    assert entry.as_dict() == {
        "name": "i",
        "type": "String",
        "description": "d",
        "replace_on_change": True,
        "value": None,
    }
    assert repr(software_io.OutputConfig(name="o")) == "OutputConfig(name='o', type='String', error_output=False)"
    # Configs of long ago have '' as default of any type.
    assert software_io.InputConfig(name="i", type="Json", default="").default() == ""


@pytest.mark.parametrize(
    "values",
    [{}, {"name": "i", "type": "x"}, {"name": "i", "type": "Number", "default": "x"}, {"name": "i", "more": 1}],
)
def test_bad_inputs(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        software_io.InputConfig(**values)


@pytest.mark.parametrize("value", ["text", {"a": 1}, [1], None])
def test_bad_lists(value: Any) -> None:
    with pytest.raises(TypeError):
        software_io.check_io_schema_list(value)
