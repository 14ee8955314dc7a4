# SPDX-License-Identifier: Apache-2.0
"""What administrators make: volume types, their encryption and QoS, quotas."""

from __future__ import annotations

from typing import Any

import pytest

from openkeel_heat.resources.kit import lifecycle
from tests.fixtures.fake_cinder import FakeCinder
from tests.unit.conftest import Option
from tests.unit.resources.cinder.conftest import World

TYPE, ENCRYPTION = "OS::Cinder::VolumeType", "OS::Cinder::EncryptedVolumeType"
SPECS, GIVEN, QUOTA = "OS::Cinder::QoSSpecs", "OS::Cinder::QoSAssociation", "OS::Cinder::Quota"


class _Keystone:
    """An identity service in which the id of each project is made of its name."""

    def get_project_id(self, name: str, domain: str | None = None) -> str:
        return name if name.startswith("id-") else f"id-{name}"


@pytest.fixture(autouse=True)
def projects(world: World) -> None:
    world.cloud.clients._plugins["keystone"] = _Keystone()


def test_a_public_type(world: World, cinder: FakeCinder) -> None:
    made = world.create(TYPE, name="t", metadata={"a": "b"}, description="d")
    body = {"name": "t", "description": "d", "os-volume-type-access:is_public": True}
    assert cinder.bodies("POST", "/types") == [{"volume_type": body}]
    world.update(made, name="u", metadata={"c": "d", "a": "e"}, description="d")
    found = cinder.types.objects[made.resource_id]
    assert (found["name"], found["extra_specs"]) == ("u", {"c": "d", "a": "e"})
    world.update(made, name="u", description="d")
    assert found["extra_specs"] == {}
    world.delete(made)
    assert made.resource_id not in cinder.types.objects


def test_a_type_of_some_projects(world: World, cinder: FakeCinder) -> None:
    made = world.create(TYPE, name="t", is_public=False, projects=["one", "two"])
    assert cinder.access[made.resource_id] == {"id-one", "id-two"}
    world.update(made, name="t", is_public=False, projects=["two", "three"])
    assert cinder.access[made.resource_id] == {"id-two", "id-three"}
    live = {"name": "t", "is_public": False, "projects": ["two", "three"]}
    assert made.get_live_state(made.properties) == live, "names are as good as ids"
    cinder.access[made.resource_id].add("id-one")
    assert made.get_live_state(made.properties) == {**live, "projects": ["id-one", "id-three", "id-two"]}


def test_a_description_that_is_no_longer_given(world: World, cinder: FakeCinder) -> None:
    """Null is refused by Cinder, as it asks for a field."""
    made = world.create("OS::Cinder::VolumeType", name="gold", description="shines")
    world.update(made, name="gold")
    assert cinder.types.objects[made.resource_id]["description"] == ""


def test_a_public_type_has_no_projects(world: World) -> None:
    text = world.invalid(TYPE, name="t", projects=["one"])
    assert 'Can not specify property "projects" if the volume type is public.' in text


def test_a_name_that_another_type_has(world: World, cinder: FakeCinder) -> None:
    made = world.make(TYPE, name="fast")
    assert "already exists" in world.fails(lifecycle.create(made), made)
    world.delete(made)
    assert "fast-id" in cinder.types.objects, "that is another's"


def test_a_type_whose_answer_is_lost(world: World, cinder: FakeCinder) -> None:
    cinder.fault("POST", "/types", cut=True, after=True)
    made = world.create(TYPE, name="t", metadata={"a": "b"})
    assert cinder.types.objects[made.resource_id]["extra_specs"] == {"a": "b"} and cinder.count("POST", "/types") == 1


def test_encryption(world: World, cinder: FakeCinder) -> None:
    made = world.create(ENCRYPTION, volume_type="fast", provider="luks", key_size=256)
    assert made.resource_id == "fast-id"
    assert cinder.bodies("POST") == [
        {"encryption": {"provider": "luks", "control_location": "front-end", "cipher": None, "key_size": 256}}
    ]
    world.update(made, volume_type="fast", provider="luks", key_size=512)
    assert cinder.bodies("PUT") == [{"encryption": {"key_size": 512}}]
    assert made.get_live_state(made.properties)["key_size"] == 512
    world.delete(made)
    assert cinder.encryptions == {}


def test_an_encryption_that_is_gone_is_told_by_an_empty_answer(world: World, cinder: FakeCinder) -> None:
    from openkeel_heat.common import exceptions

    made = world.create(ENCRYPTION, volume_type="fast", provider="luks")
    cinder.encryptions.clear()
    with pytest.raises(exceptions.EntityNotFound):
        made.get_live_state(made.properties)
    assert world.delete(made).short[-1] == "DELETE_COMPLETE"


def test_qos(world: World, cinder: FakeCinder) -> None:
    made = world.create(SPECS, specs={"a": "1", "b": "2"})
    assert cinder.bodies("POST") == [{"qos_specs": {"name": made.physical_resource_name(), "a": "1", "b": "2"}}]
    world.update(made, specs={"b": "3", "c": "4"})
    assert cinder.specs.objects[made.resource_id]["specs"] == {"b": "3", "c": "4"}
    cinder.associations[made.resource_id] = {"fast-id"}
    world.delete(made)
    assert cinder.specs.objects == {}


def test_qos_of_types(world: World, cinder: FakeCinder) -> None:
    specs = cinder.specs.add("q", name="quick", specs={})
    made = world.create(GIVEN, qos_specs="quick", volume_types=["plain"])
    assert made.resource_id == made.uuid and cinder.associations["q"] == {"plain-id"}
    world.update(made, qos_specs="quick", volume_types=["fast"])
    assert cinder.associations["q"] == {"fast-id"}
    world.delete(made)
    assert cinder.associations["q"] == set() and specs["id"] in cinder.specs.objects


def test_associations_that_replace_the_same_ones_stay(world: World, cinder: FakeCinder) -> None:
    """In 27.0.1 the volume type has no specs after the one that had failed is deleted."""
    cinder.specs.add("q", name="quick", specs={})
    old = world.create(GIVEN, qos_specs="quick", volume_types=["plain", "fast"])
    old.record.status = "FAILED"
    new = world.replace(old, qos_specs="quick", volume_types=["plain"])
    assert cinder.associations["q"] == {"plain-id"}
    world.delete(new)
    assert cinder.associations["q"] == set()


def test_other_specs_of_a_type(world: World, cinder: FakeCinder) -> None:
    """A volume type that has some gets no others: 27.0.1 fails of that."""
    for name in ("q", "r"):
        cinder.specs.add(name, name=name, specs={})
    old = world.create(GIVEN, qos_specs="q", volume_types=["plain"])
    new = world.replace(old, qos_specs="r", volume_types=["plain"])
    assert cinder.associations == {"q": set(), "r": {"plain-id"}}
    # A rollback goes back to the first one, and deletes the other.
    old.record.action, old.record.status = "UPDATE", "COMPLETE"
    old.restore_prev_rsrc()
    assert cinder.associations == {"q": {"plain-id"}, "r": set()}
    world.delete(new)
    assert cinder.associations == {"q": {"plain-id"}, "r": set()}


def test_a_quota_outlives_the_one_that_was_replaced(world: World, cinder: FakeCinder) -> None:
    old = world.create(QUOTA, project="one", volumes=5)
    old.record.status = "FAILED"
    world.replace(old, project="one", volumes=6)
    assert cinder.quotas["id-one"] == {"volumes": 6}


def test_quota(world: World, cinder: FakeCinder) -> None:
    made = world.create(QUOTA, project="one", volumes=5, gigabytes=-1)
    assert cinder.bodies("PUT") == [{"quota_set": {"tenant_id": "id-one", "volumes": 5, "gigabytes": -1}}]
    assert made.resource_id == made.physical_resource_name()
    assert made.FnGetAtt("show")["id"] == "id-one"
    world.update(made, project="one", volumes=6, gigabytes=-1)
    assert cinder.quotas["id-one"]["volumes"] == 6
    world.delete(made)
    assert cinder.quotas == {}


@pytest.mark.parametrize(
    ("limits", "used"),
    [
        ({"volumes": 1}, 2),
        ({"gigabytes": 14}, 15),
        ({"snapshots": 0}, 1),
        ({"backups": 0}, 1),
        ({"backup_gigabytes": 2}, 3),
    ],
)
def test_less_than_is_used(world: World, cinder: FakeCinder, limits: dict[str, Any], used: int) -> None:
    for size in (4, 5):
        cinder.volumes.add(size=size, project_id="id-one")
    cinder.snapshots.add(size=6, project_id="id-one")
    cinder.backups.add(size=3, project_id="id-one")
    made = world.make(QUOTA, project="one", **limits)
    reason = world.fails(lifecycle.create(made), made)
    assert reason.startswith("ValueError: resources.r: Invalid quota ") and reason.endswith(f"usage value(s): {used}.")


@pytest.mark.parametrize(
    ("kind", "props"),
    [
        (TYPE, {"name": "t"}),
        (ENCRYPTION, {"volume_type": "fast", "provider": "luks"}),
        (QUOTA, {"project": "one", "volumes": 5}),
    ],
)
def test_what_nobody_asked_for_is_no_change(
    world: World, cinder: FakeCinder, option: Option, kind: str, props: dict[str, Any]
) -> None:
    """27.0.1 takes away what an administrator has said beside the template, and sends quotas at each update."""
    option("observe_on_update", True)
    made = world.create(kind, **props)
    if kind == TYPE:
        cinder.types.objects[made.resource_id].update(description="", extra_specs={"a": "b"})
    elif kind == ENCRYPTION:
        cinder.encryptions["fast-id"].update(cipher="aes-xts-plain64", key_size=256)
    assert world.update(made, **props).short == []


def test_a_quota_of_nothing(world: World) -> None:
    assert "At least one of the following properties must be specified: gigabytes" in world.invalid(
        QUOTA, project="one"
    )
