# SPDX-License-Identifier: Apache-2.0
"""Locks, services, snapshots, software, credentials."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from openkeel_heat.common import exceptions
from openkeel_heat.db import locks, models, services, session, snapshots, software, sql, stacks, user_creds
from tests.unit.db.rows import make_stack, rows_of


def test_lock(db: str) -> None:
    key = make_stack()
    assert locks.get(key) is None
    assert locks.create(key, "e1") is None
    assert locks.create(key, "e2") == "e1"
    assert locks.get(key) == "e1"
    assert locks.steal(key, "e2", "e3") == "e1"
    assert locks.steal(key, "e1", "e3") is None
    assert not locks.release(key, "e1")
    assert locks.release(key, "e3")
    assert locks.steal(key, "e3", "e1") is True


def test_lock_race(db: str) -> None:
    key = make_stack()
    answers: list[Any] = []

    def take(me: int) -> None:
        answers.append(locks.create(key, f"e{me}"))

    threads = [threading.Thread(target=take, args=(me,)) for me in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.count(None) == 1
    assert set(answers) - {None} == {locks.get(key)}


def service(**values: Any) -> str:
    row = {"engine_id": "e1", "host": "h", "hostname": "hn", "binary": "heat-engine", "topic": "engine"}
    return services.insert({**row, "report_interval": 60, **values})


def test_services(db: str) -> None:
    old = models.utcnow() - timedelta(seconds=1000)
    alive = service()
    dead = service(engine_id="e2", created_at=old)
    assert services.get(alive).updated_at is None
    assert services.is_up(services.get(alive))
    assert not services.is_up(services.get(dead))
    assert services.get_by_engine("e2").id == dead
    assert [row.id for row in services.list_by_host("h", "heat-engine", "hn")] == [dead, alive]
    assert services.clean() == 1
    assert [row.id for row in services.list_services()] == [alive]
    assert services.get(dead).deleted_at is not None
    assert services.get_by_engine("e2") is None
    assert services.update(dead, {"deleted_at": None})
    assert services.is_up(services.get(dead))
    assert services.clean() == 0
    assert services.delete(alive)
    assert services.delete(alive, soft=False)
    assert not services.delete(alive)
    assert not services.update(alive, {})


def test_snapshots(db: str) -> None:
    key = make_stack()
    one = snapshots.insert({"stack_id": key, "name": "n", "tenant": "t1", "action": "CREATE", "status": "IN_PROGRESS"})
    assert snapshots.get(one, "t2") is None
    assert snapshots.get(one).data is None
    assert snapshots.update(one, {"status": "COMPLETE", "data": {"a": 1}})
    assert snapshots.get(one, "t1").data == {"a": 1}
    assert [row.id for row in snapshots.list_by_stack(key)] == [one]
    assert snapshots.count_by_stack(key, "t2") == 0
    snapshots.insert_resources([{"snapshot_id": one, "resource_name": "b", "data": {"x": 1}}])
    snapshots.save_resource(one, "a", {"y": 1})
    snapshots.save_resource(one, "a", {"y": 2})
    assert [(row.resource_name, row.data) for row in snapshots.list_resources(one)] == [
        ("a", {"y": 2}),
        ("b", {"x": 1}),
    ]
    assert snapshots.get_resource(one, "a").data == {"y": 2}
    add_sync_point(key, one)
    assert snapshots.delete(one)
    assert not snapshots.delete(one)
    assert not snapshots.update(one, {"status": "x"})
    assert rows_of(models.resource_snapshot) == []
    assert rows_of(models.sync_point) == []


@session.operation
def add_sync_point(c: session.Connection, stack_id: str, traversal_id: str) -> None:
    values = {"entity_id": "r", "traversal_id": traversal_id, "is_update": True, "atomic_key": 0, "stack_id": stack_id}
    sql.insert(c, models.sync_point, values)


def test_deployments_with_a_config_of_their_own(db: str) -> None:
    def config(name: str) -> dict[str, Any]:
        return {"name": name, "tenant": "t", "config": {"config": name}}

    values = {"server_id": "s", "tenant": "t", "action": "CREATE", "status": "IN_PROGRESS", "input_values": {"x": 1}}
    assert software.deploy("d", config("one"), values) is None
    first = software.get_deployment("d")
    assert (first.config.name, first.status, first.updated_at) == ("one", "IN_PROGRESS", None)
    assert software.deploy("d", config("two"), {**values, "action": "UPDATE", "input_values": {}}) == first.config_id
    second = software.get_deployment("d")
    assert (second.config.name, second.action, second.input_values) == ("two", "UPDATE", {}) and second.updated_at
    assert software.get_config(first.config_id) is None
    # a config that somebody else uses too stays
    other = software.insert_deployment({**values, "config_id": second.config_id})
    assert software.undeploy("d", "another project") is None
    assert software.undeploy("d", "t").server_id == "s"
    assert software.get_config(second.config_id) is not None
    assert software.undeploy(other).config.name == "two"
    assert software.get_config(second.config_id) is None and software.count_deployments() == 0
    assert software.undeploy("d") is None


def test_a_deployment_has_a_config(db: str) -> None:
    """Also where that is deleted while somebody who has seen it writes."""
    values = {"server_id": "s", "tenant": "t", "action": "CREATE", "status": "COMPLETE"}
    assert software.insert_deployment({**values, "config_id": "gone"}) is None
    assert software.count_deployments() == 0
    software.deploy("d", {"name": "one", "tenant": "t"}, values)
    before = software.get_deployment("d")
    assert not software.update_deployment("d", {"config_id": "gone", "status": "FAILED"})
    after = software.get_deployment("d")
    assert (after.config_id, after.status) == (before.config_id, "COMPLETE")


def test_of_writers_one_finds_a_deployment_as_expected(db: str) -> None:
    values = {"server_id": "s", "tenant": "t", "action": "CREATE", "status": "IN_PROGRESS"}
    software.deploy("d", {"name": "one", "tenant": "t"}, values)
    config = software.get_deployment("d").config_id
    answers: list[bool] = []

    def signal(number: int) -> None:
        wanted = {"status": "COMPLETE", "output_values": {"n": number}}
        answers.append(software.update_deployment("d", wanted, status="IN_PROGRESS", config_id=config))

    threads = [threading.Thread(target=signal, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [False] * 5 + [True]


def test_software(db: str) -> None:
    config = software.insert_config({"name": "c", "group": "script", "config": {"config": "x"}, "tenant": "t1"})
    other = software.insert_config({"name": "d", "tenant": "t2"})
    assert software.get_config(config).config == {"config": "x"}
    assert software.get_config(config, "t2") is None
    assert [row.id for row in software.list_configs("t1")] == [config]
    assert {row.id for row in software.list_configs()} == {config, other}
    assert software.count_configs() == 2
    assert len(software.list_configs(limit=10**21)) == 2
    pages = software.list_configs(limit=1)
    assert software.list_configs(limit=5, marker=pages[0].id)[0].id != pages[0].id
    values = {"config_id": config, "server_id": "s", "tenant": "t1", "stack_user_project_id": "p", "input_values": {}}
    deployment = software.insert_deployment({**values, "action": "INIT", "status": "COMPLETE"})
    with pytest.raises(exceptions.InvalidRestrictedAction, match="can not be deleted as it is referenced"):
        software.delete_config(config)
    for tenant, seen in ((None, True), ("t1", True), ("p", True), ("t2", False)):
        assert bool(software.get_deployment(deployment, tenant)) is seen
        assert len(software.list_deployments(tenant, "s")) == seen
        assert software.count_deployments(tenant) == seen
    assert software.get_deployment(deployment).config.name == "c"
    assert software.get_deployment(deployment).updated_at is None
    assert software.list_deployments(server_id="none") == []
    now = models.utcnow().replace(microsecond=0)
    assert software.update_deployment(deployment, {"status": "FAILED", "updated_at": now}, updated_at=None)
    assert not software.update_deployment(deployment, {"status": "COMPLETE"}, updated_at=None)
    assert software.update_deployment(deployment, {"output_values": {"o": 1}}, updated_at=now)
    assert software.delete_deployment(deployment)
    assert not software.delete_deployment(deployment)
    assert not software.delete_config(config, "t2")
    assert software.delete_config(config)
    assert not software.delete_config(config)


def test_user_creds(db: str) -> None:
    base = {"username": "u", "password": "pw", "project_name": "p", "project_id": "pid", "auth_url": "http://k/v3"}
    one = user_creds.insert({**base, "trust_id": None, "user_id": "ignored"})
    two = user_creds.insert({**base, "trust_id": "trust", "trustor_user_id": "boss"})
    raw = {row.id: row for row in rows_of(models.user_creds)}
    assert raw[one].decrypt_method == raw[two].decrypt_method == "cryptography_decrypt_v1"
    assert raw[one].password.startswith("gAAAAA")
    assert (raw[two].username, raw[two].password) == (None, None)
    assert (raw[one].tenant, raw[one].tenant_id) == ("p", "pid")
    first, second = user_creds.get(one), user_creds.get(two)
    assert (first.username, first.password, first.trust_id) == ("u", "pw", None)
    assert (second.trust_id, second.trustor_user_id, second.password) == ("trust", "boss", None)
    assert "decrypt_method" not in first
    with pytest.raises(exceptions.Error, match="exceeds Heat limit"):
        user_creds.insert({**base, "password": "x" * 128})
    user_creds.insert({**base, "password": "x" * 127})
    a = make_stack("a", user_creds_id=one)
    assert user_creds.delete(one)
    assert stacks.get(a).user_creds_id is None
    assert user_creds.get(one) is None
    assert user_creds.delete(two)
    assert not user_creds.delete(two)
