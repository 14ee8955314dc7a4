# SPDX-License-Identifier: Apache-2.0
"""Purging, resetting, encrypting and decrypting: what operators do by hand."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from openkeel_heat.common import exceptions
from openkeel_heat.db import (
    crypt,
    events,
    locks,
    maintenance,
    models,
    properties,
    purge,
    resources,
    services,
    session,
    snapshots,
    sql,
    stacks,
    templates,
    user_creds,
)
from tests.unit.db.rows import T0, counts, make_resource, make_stack, make_template, rows_of
from tests.unit.db.test_others import add_sync_point


@session.operation
def bury(c: session.Connection, stack_id: str, **values: Any) -> None:
    sql.update(c, models.stack, {"deleted_at": T0, **values}, id=stack_id)


def full_stack(name: str, **values: Any) -> str:
    """A stack with a row in every table, all of it left when it is deleted softly."""
    creds = user_creds.insert({"username": "u", "password": "p"})
    files = templates.insert_files({name: "x"})
    ids = [make_template(files_id=files, created_at=T0) for _ in range(3)]
    key = make_stack(
        name, tags=["x"], raw_template_id=ids[0], prev_raw_template_id=ids[1], user_creds_id=creds, **values
    )
    stored, attrs = properties.insert({"a": 1}), properties.insert({"b": 1})
    resource_id = make_resource(key, rsrc_prop_data_id=stored, attr_data_id=attrs, current_template_id=ids[2])
    resources.set_datum(resource_id, "k", "v")
    events.insert({"stack_id": key, "rsrc_prop_data_id": stored})
    events.insert({"stack_id": key, "rsrc_prop_data_id": properties.insert({"c": 1})})
    snapshot = snapshots.insert({"stack_id": key, "tenant": "t1"})
    snapshots.save_resource(snapshot, "r", {})
    add_sync_point(key, name)
    locks.create(key, "e1")
    return key


def test_purge_leaves_nothing_behind(db: str) -> None:
    for number in range(5):
        bury(full_stack(f"s{number}"))
    make = {"engine_id": "e", "host": "h", "hostname": "h", "binary": "b", "topic": "t", "report_interval": 60}
    services.insert({**make, "deleted_at": T0})
    assert len(counts()) == 14
    assert purge.purge_deleted("0", batch_size="2") == {"stacks": 5, "templates": 0, "properties": 0}
    assert counts() == {}


def test_purge_keeps_the_living(db: str) -> None:
    kept = full_stack("kept")
    before = counts()
    gone = full_stack("gone")
    shared = stacks.get(kept)
    bury(gone, raw_template_id=shared.raw_template_id, user_creds_id=shared.user_creds_id)
    purge.purge_stacks([gone])
    after = counts()
    # what `gone` had before it was made to share is an orphan now
    assert after.pop("raw_template") == before.pop("raw_template") + 1
    assert after.pop("raw_template_files") == before.pop("raw_template_files") + 1
    assert after.pop("user_creds") == before.pop("user_creds") + 1
    assert after == before


def test_purge_of_orphans(db: str) -> None:
    old = {"created_at": T0}
    fresh = make_template()
    make_template(**old, files_id=templates.insert_files({"old": 1}))
    used = make_template(**old)
    make_stack(raw_template_id=used)
    properties.insert({"fresh": 1})

    @session.operation
    def add(c: session.Connection) -> None:
        sql.insert(c, models.resource_properties_data, {"data": {"old": 1}, **old})

    add()
    assert purge.purge_deleted(0, project_id="t1") == {"stacks": 0, "templates": 0, "properties": 0}
    assert purge.purge_deleted(0) == {"stacks": 0, "templates": 1, "properties": 1}
    assert [row.id for row in rows_of(models.raw_template)] == [fresh, used]
    assert [row.data for row in rows_of(models.resource_properties_data)] == [{"fresh": 1}]


def test_purge_age_project_and_batch(db: str) -> None:
    now = models.utcnow()
    keys = {}
    for name, hours, tenant in (("a", 1, "t1"), ("b", 30, "t1"), ("c", 30, "t2"), ("d", 24 * 100, "t2")):
        keys[name] = make_stack(name, tenant=tenant)
        bury(keys[name], deleted_at=now - timedelta(hours=hours))

    def left() -> str:
        return "".join(sorted(name for name, key in keys.items() if stacks.get(key, show_deleted=True)))

    purge.purge_deleted("90")
    assert left() == "abc"
    purge.purge_deleted(2, "days")
    assert left() == "abc"
    purge.purge_deleted(2, "hours", "t1")
    assert left() == "ac"
    purge.purge_deleted(24 * 60, "minutes")
    assert left() == "a"
    purge.purge_deleted(7200, "seconds")
    assert left() == "a"
    purge.purge_deleted(0, batch_size=0)
    assert left() == ""


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("x",), "age should be an integer"),
        ((-1,), "age should be a positive integer"),
        ((1, "weeks"), "granularity should be days, hours, minutes, or seconds"),
        ((1, "days", None, "y"), "batch_size should be an integer"),
        ((1, "days", None, -2), "batch_size should be a positive integer"),
    ],
)
def test_purge_refuses(arguments: tuple[Any, ...], text: str) -> None:
    with pytest.raises(exceptions.Error, match=text):
        purge.purge_deleted(*arguments)


def test_reset_stack_status(db: str) -> None:
    root = make_stack("root", status="IN_PROGRESS")
    child = make_stack("child", owner_id=root, status="IN_PROGRESS")
    grandchild = make_stack("grandchild", owner_id=child)
    busy = make_resource(child, status="IN_PROGRESS", engine_id="e1", atomic_key=4)
    done = make_resource(root, "done", atomic_key=4)
    for key in ("pre-create", "post-delete", "mine"):
        resources.set_datum(busy, key, "True")
    locks.create(root, "e1")
    assert maintenance.reset_stack_status(root) == [root, child, grandchild]
    reason = "Stack status manually reset"
    states = [(row.status, row.status_reason) for row in (stacks.get(key) for key in (root, child, grandchild))]
    assert states == [("FAILED", reason), ("FAILED", reason), ("COMPLETE", None)]
    row = resources.get(busy, data=True)
    assert (row.status, row.status_reason, row.engine_id, row.atomic_key) == ("FAILED", reason, None, 5)
    assert row.data == {"mine": "True"}
    assert (resources.get(done).status, resources.get(done).atomic_key) == ("COMPLETE", 4)
    assert locks.get(root) is None
    with pytest.raises(exceptions.NotFound, match="Stack with id nope not found"):
        maintenance.reset_stack_status("nope")


HOT = {"parameters": {"h": {"type": "string", "hidden": True}, "n": {"type": "number", "hidden": "true"},
                      "j": {"type": "json", "hidden": True}, "open": {"type": "string"}}}  # fmt: skip
CFN = {"Parameters": {"h": {"Type": "String", "NoEcho": "true"}, "open": {"Type": "String", "NoEcho": False}}}


def test_hidden_parameters() -> None:
    assert maintenance.hidden_parameters(HOT) == {"h", "n", "j"}
    assert maintenance.hidden_parameters(CFN) == {"h"}
    for odd in (None, [], "x", {"parameters": None}, {"parameters": {"a": None}}):
        assert maintenance.hidden_parameters(odd) == set()


def test_encrypt_and_decrypt(db: str) -> None:
    given = {"h": "s3cret", "n": 42, "j": {"a": 1}, "open": "o"}
    hot = templates.insert({"template": HOT, "environment": {"parameters": given, "resource_registry": {}}})
    cfn = templates.insert({"template": CFN, "environment": {"parameters": {"h": "s3cret"}}})
    bare = templates.insert({"template": HOT, "environment": None})
    plain = {"a": [1, {"b": "s3cret"}]}
    stored = [properties.insert(plain) for _ in range(7)]
    empty = properties.insert({})
    legacy = make_resource(make_stack(), properties_data={"l": "s3cret"})

    assert maintenance.encrypt_parameters_and_properties(batch_size=3) == []
    assert maintenance.encrypt_parameters_and_properties(verbose=True) == []  # twice does no harm
    environment = templates.get(hot).environment
    assert environment["encrypted_param_names"] == ["h", "n", "j"]
    assert environment["parameters"]["open"] == "o"
    clear = {name: crypt.decrypt(*environment["parameters"][name]) for name in ("h", "n", "j")}
    assert clear == {"h": "s3cret", "n": "42", "j": '{"a": 1}'}
    with session.get_engine().connect() as c:
        for table in ("raw_template", "resource_properties_data", "resource"):
            for row in c.exec_driver_sql(f"SELECT * FROM {table}"):
                assert "s3cret" not in str(row), table
    assert all(properties.get(key) == plain for key in stored)
    assert resources.get(legacy).stored_properties == {"l": "s3cret"}
    assert templates.get(bare).environment is None
    assert [row.encrypted for row in rows_of(models.resource_properties_data) if row.id == empty] == [False]

    errors = maintenance.decrypt_parameters_and_properties("not the key it was encrypted with")
    assert len(errors) == 2 + 7 + 1
    assert {type(error) for error in errors} == {exceptions.InvalidEncryptionKey}
    assert maintenance.decrypt_parameters_and_properties() == []
    environment = templates.get(hot).environment
    assert environment["parameters"] == {"h": "s3cret", "n": "42", "j": '{"a": 1}', "open": "o"}
    assert environment["encrypted_param_names"] == []
    assert templates.get(cfn).environment["parameters"] == {"h": "s3cret"}
    assert [row.data for row in rows_of(models.resource_properties_data)][:7] == [plain] * 7
    assert resources.get(legacy).properties_data == {"l": "s3cret"}


def test_odd_rows_do_not_stop_the_others(db: str) -> None:
    templates.insert({"template": HOT, "environment": "odd"})
    good = templates.insert({"template": HOT, "environment": {"parameters": {"h": "s3cret"}}})
    errors = maintenance.encrypt_parameters_and_properties()
    assert [type(error) for error in errors] == [TypeError]
    assert templates.get(good).environment["encrypted_param_names"] == ["h"]
