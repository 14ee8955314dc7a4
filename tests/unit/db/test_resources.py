# SPDX-License-Identifier: Apache-2.0
"""Resources: rows, data, properties, attributes, replacements, templates."""

from __future__ import annotations

import threading

import pytest
import sqlalchemy as sa
from oslo_config import cfg

from openkeel_heat.common import exceptions
from openkeel_heat.db import events, models, properties, resources, session, stacks, templates
from openkeel_heat.db.session import StatementCounter, watching
from tests.unit.db.rows import counts, make_resource, make_stack, make_template, rows_of


def test_minimal_row_is_as_heat_writes_it(db: str) -> None:
    """The row of ``stored_forms.resource_row_minimal``: JSON columns hold the text null."""
    key = resources.insert({"stack_id": make_stack(), "name": "v", "action": "INIT", "status": "COMPLETE"})
    with session.get_engine().connect() as c:
        row = c.execute(sa.text("SELECT * FROM resource")).mappings().one()
    assert {k for k, v in row.items() if v == "null"} == {"rsrc_metadata", "properties_data", "needed_by", "requires"}
    assert row["atomic_key"] is None
    assert row["updated_at"] is None
    assert len(row["uuid"]) == 36
    record = resources.get(key)
    assert (record.needed_by, record.requires, record.stored_properties, record.attr_data) == (None, None, None, None)


def test_lists(db: str) -> None:
    root = make_stack("root")
    child = make_stack("child", owner_id=root)
    a = make_resource(root, "a", nova_instance="p1", requires=[3], needed_by=[])
    b = make_resource(root, "b", status="FAILED", engine_id="e1")
    c = make_resource(child, "c", root_stack_id=root, nova_instance="p1")
    gone = make_resource(root, "a", action="DELETE")
    assert [row.id for row in resources.list_by_stack(root)] == [a, b, gone]
    assert [row.id for row in resources.list_active_by_stack(root)] == [a, b]
    assert [row.id for row in resources.list_by_root(root)] == [a, b, c, gone]
    assert [row.id for row in resources.list_by_name(root, "a")] == [a, gone]
    assert [row.id for row in resources.list_by_stack(root, {"status": "FAILED"})] == [b]
    assert [row.id for row in resources.list_by_root(root, {"name": ["a", "c"], "action": "CREATE"})] == [a, c]
    assert [row.id for row in resources.list_by_physical_id("p1")] == [a, c]
    assert resources.list_by_physical_id("p1", "t2") == []
    assert [row.requires for row in resources.list_by_stack(root)] == [[3], None, None]
    assert resources.count_by_root(root) == 4
    assert resources.count_by_stack(child) == 1
    assert resources.engines_of_stack(root) == {"e1"}
    with pytest.raises(exceptions.Invalid):
        resources.list_by_stack(root, {"colour": "red"})


def test_list_by_root_is_one_query(sqlite: str) -> None:
    root = make_stack()
    resources.insert_many([{"stack_id": root, "root_stack_id": root, "name": f"r{n}"} for n in range(50)])
    counter = StatementCounter()
    with watching(counter):
        assert len(resources.list_by_root(root)) == 50
    assert counter.statements == 1
    with watching(counter):
        resources.list_by_root(root, data=True)
    assert counter.statements == 3


def test_insert_many(db: str) -> None:
    root = make_stack()
    rows = [{"stack_id": root, "name": f"r{n}", "requires": [n]} for n in range(120)]
    rows.append({"stack_id": root, "name": "last", "uuid": "u", "created_at": None})
    counter = StatementCounter()
    with watching(counter):
        keys = resources.insert_many(rows)
    assert counter.statements <= 2
    stored = resources.list_by_stack(root)
    assert [row.name for row in stored] == [row["name"] for row in rows]
    assert [row.id for row in stored] == keys
    assert resources.get(keys[7]).requires == [7]
    assert resources.get(keys[-1]).uuid == "u"
    assert len({row.uuid for row in stored}) == 121


def test_fenced_update(db: str) -> None:
    key = make_resource(make_stack())
    assert resources.update(key, {"engine_id": "e1", "status": "IN_PROGRESS"}, atomic_key=None)
    assert not resources.update(key, {"engine_id": "e2"}, atomic_key=None)
    assert not resources.update(key, {"status": "FAILED"}, atomic_key=1)  # engine id None expected
    assert not resources.update(key, {"status": "FAILED"}, atomic_key=1, engine_id="e2")
    assert resources.update(key, {"status": "FAILED", "engine_id": None}, atomic_key=1, engine_id="e1")
    row = resources.get(key)
    assert (row.status, row.engine_id, row.atomic_key) == ("FAILED", None, 2)
    assert resources.update(key, {"nova_instance": "x"})
    assert resources.get(key).atomic_key == 2
    assert resources.set_metadata(key, {"m": 1}, 2, None)
    assert not resources.set_metadata(key, {"m": 2}, 2, None)
    assert resources.get(key).rsrc_metadata == {"m": 1}


def test_threads_race_for_a_resource(db: str) -> None:
    key = make_resource(make_stack(), atomic_key=0)
    wins: list[int] = []

    def run(me: int) -> None:
        for _ in range(10):
            row = resources.get(key)
            if row.engine_id is None and resources.update(key, {"engine_id": f"e{me}"}, row.atomic_key):
                wins.append(me)
                assert resources.update(key, {"engine_id": None}, row.atomic_key + 1, f"e{me}")

    threads = [threading.Thread(target=run, args=(me,)) for me in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    row = resources.get(key)
    assert row.engine_id is None
    assert row.atomic_key == 2 * len(wins)
    assert wins


def test_delete_takes_what_belongs_to_it(db: str) -> None:
    root = make_stack()
    key = make_resource(root, atomic_key=1)
    resources.set_datum(key, "k", "v")
    stored = properties.insert({"a": 1})
    resources.update(key, {"rsrc_prop_data_id": stored})
    assert resources.store_attributes(key, 1, {"x": 1}, None)
    resources.delete(key)
    assert resources.get(key) is None
    assert rows_of(models.resource_data) == []
    assert [row.id for row in rows_of(models.resource_properties_data)] == [stored]
    resources.delete(key)


def test_purge_deleted(db: str) -> None:
    used, unused = make_template(), make_template(files_id=templates.insert_files({"f": "x"}))
    root = make_stack(raw_template_id=used)
    kept = make_resource(root, "a", current_template_id=used)
    gone = make_resource(root, "b", current_template_id=unused, action="DELETE")
    assert resources.purge_deleted(root) == [gone]
    assert [row.id for row in resources.list_by_stack(root)] == [kept]
    assert templates.get(unused) is None
    assert templates.get(used) is not None
    assert rows_of(models.raw_template_files) == []


@pytest.mark.parametrize("encrypt", [False, True])
def test_properties_and_attributes(db: str, encrypt: bool) -> None:
    cfg.CONF.set_override("encrypt_parameters_and_properties", encrypt)
    key = make_resource(make_stack(), atomic_key=1)
    stored = properties.insert({"secret": "s3cret", "n": [1, None]})
    resources.update(key, {"rsrc_prop_data_id": stored})
    attrs = resources.store_attributes(key, 1, {"ip": "10.0.0.1"}, None)
    row = resources.get(key)
    assert row.stored_properties == {"secret": "s3cret", "n": [1, None]}
    assert row.attr_data == {"ip": "10.0.0.1"}
    assert (row.attr_data_id, row.atomic_key) == (attrs, 2)
    for raw in rows_of(models.resource_properties_data):
        assert raw.encrypted is encrypt
        assert ("s3cret" in str(raw.data)) is (not encrypt and raw.id == stored)
    assert resources.store_attributes(key, 1, {"ip": "x"}, None) is None  # stale
    assert resources.get(key).attr_data == {"ip": "10.0.0.1"}
    assert resources.store_attributes(key, 2, {"ip": "10.0.0.2"}, attrs) == attrs
    assert resources.get(key).attr_data == {"ip": "10.0.0.2"}
    resources.clear_attributes(key, attrs)
    row = resources.get(key)
    assert (row.attr_data_id, row.attr_data) == (None, None)
    assert len(rows_of(models.resource_properties_data)) == 1
    assert properties.save({"secret": "new"}, stored) == stored
    assert properties.get(stored) == {"secret": "new"}
    assert properties.insert_many([{"a": 1}, None, {}])[0] > stored
    assert properties.get(9999) is None


def test_legacy_properties(db: str) -> None:
    """Old rows keep their properties in the resource itself."""
    from openkeel_heat.db import crypt

    root = make_stack()
    plain = make_resource(root, "a", properties_data={"p": 1})
    secret = make_resource(root, "b", properties_data=crypt.encrypted_dict({"p": 2}), properties_data_encrypted=True)
    assert resources.get(plain).stored_properties == {"p": 1}
    assert resources.get(secret).stored_properties == {"p": 2}


def test_data(db: str) -> None:
    key = make_resource(make_stack())
    resources.set_datum(key, "clear", "plain text")
    resources.set_datum(key, "secret", "s3cret", redact=True)
    resources.set_datum(key, "nothing", None, redact=True)
    raw = {row.key: (row.value, row.redact, row.decrypt_method) for row in rows_of(models.resource_data)}
    assert raw["clear"] == ("plain text", False, "")
    assert raw["secret"][2] == "cryptography_decrypt_v1"
    assert raw["secret"][0].startswith("gAAAAA")
    assert raw["nothing"] == (None, True, None)
    expected = {"clear": "plain text", "secret": "s3cret", "nothing": None}
    assert resources.get_data(key) == expected
    assert resources.get(key, data=True).data == expected
    resources.set_datum(key, "secret", "other")
    assert resources.get_data(key)["secret"] == "other"
    assert resources.delete_datum(key, "secret")
    assert not resources.delete_datum(key, "secret")
    assert "secret" not in resources.get_data(key)
    assert len(rows_of(models.resource_data)) == 2


def test_wrong_key_leaves_data_as_they_are(db: str) -> None:
    key = make_resource(make_stack())
    resources.set_datum(key, "secret", "s3cret", redact=True)
    cfg.CONF.set_override("auth_encryption_key", "another key, thirty-two chars ok")
    try:
        assert resources.get_data(key)["secret"].startswith("gAAAAA")
    finally:
        cfg.CONF.clear_override("auth_encryption_key")


def test_templates(db: str) -> None:
    files_id = templates.insert_files({"f.yaml": "x"})
    one = templates.insert({"template": {"a": 1}, "environment": {"parameters": {}}, "files_id": files_id})
    two = templates.insert({"template": {"a": 2}, "files_id": files_id})
    assert templates.get(one).files is None
    assert templates.get(one, files=True).files == {"f.yaml": "x"}
    assert templates.update(one, {"template": {"a": 3}})
    assert templates.get(one).template == {"a": 3}
    templates.delete(one)
    templates.delete(one)
    assert templates.get_files(files_id) == {"f.yaml": "x"}
    templates.delete(two)
    assert templates.get_files(files_id) is None


def test_unreferenced_templates(db: str) -> None:
    now, before, of_resource, free = (make_template() for _ in range(4))
    root = make_stack(raw_template_id=now, prev_raw_template_id=before)
    make_resource(root, current_template_id=of_resource)
    assert templates.delete_unreferenced([now, before, of_resource, free, None]) == [free]
    assert templates.delete_unreferenced([]) == []
    assert counts()["raw_template"] == 3


def test_shared_properties_survive_until_nobody_needs_them(db: str) -> None:
    root = make_stack()
    stored = properties.insert({"a": 1})
    key = make_resource(root, rsrc_prop_data_id=stored)
    events.insert({"stack_id": root, "resource_name": "r", "rsrc_prop_data_id": stored})
    assert events.purge(root, 10) == 1
    assert properties.get(stored) == {"a": 1}
    events.insert({"stack_id": root, "resource_name": "r", "rsrc_prop_data_id": stored})
    resources.delete(key)
    assert properties.get(stored) == {"a": 1}
    events.purge(root, 10)
    assert properties.get(stored) is None


def test_soft_deleted_stack_keeps_events(db: str) -> None:
    root = make_stack()
    events.insert({"stack_id": root, "resource_name": "r"})
    stacks.delete(root)
    assert events.count(root) == 1


def test_data_of_many_resources(db: str) -> None:
    root = make_stack()
    a, b = make_resource(root, "a"), make_resource(root, "b")
    resources.set_datum(a, "k", "old")
    resources.set_data([(a, "k", "new", False), (a, "s", "secret", True), (b, "k", "1", False), (b, "k", "2", False)])
    assert resources.get_data(a) == {"k": "new", "s": "secret"}
    assert resources.get_data(b) == {"k": "2"}
    assert {row.key: row.decrypt_method for row in rows_of(models.resource_data) if row.resource_id == a} == {
        "k": "",
        "s": "cryptography_decrypt_v1",
    }
