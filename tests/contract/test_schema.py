# SPDX-License-Identifier: Apache-2.0
"""The database that the migrations make is the one that Heat makes, and Heat's own rows are read and written alike."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from oslo_config import cfg

from openkeel_heat.common import config
from openkeel_heat.db import events, migrate, models, resources, session, snapshots, stacks, templates
from tests.fixtures import stores

FOLDER = Path(__file__).parent / "data"
SCHEMA: dict[str, Any] = json.loads((FOLDER / "schema.json").read_text("utf-8"))
ROWS: dict[str, Any] = json.loads((FOLDER / "rpc-examples.json").read_text("utf-8"))["db_rows"]
KINDS = [
    "sqlite",
    pytest.param("mysql", marks=pytest.mark.services),
    pytest.param("postgresql", marks=pytest.mark.services),
]

config.register_all(cfg.CONF)


@pytest.fixture(scope="module", params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A freshly migrated database: (kind, its name)."""
    kind: str = request.param
    if kind == "sqlite":
        name = str(tmp_path_factory.mktemp("schema") / "heat.sqlite")
        yield from _migrated(kind, name, f"sqlite:///{name}")
    elif kind == "mysql":
        if not stores.have_mariadb():
            pytest.skip("no MariaDB server on this machine")
        with stores.mariadb_database("schema") as (name, url):
            stores.mariadb(f"ALTER DATABASE `{name}` CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci")
            yield from _migrated(kind, name, url)
    else:
        if not stores.have_postgresql():
            pytest.skip("no PostgreSQL server on this machine")
        with stores.postgresql_database("schema") as (name, url):
            yield from _migrated(kind, name, url)


def _migrated(kind: str, name: str, url: str) -> Iterator[tuple[str, str]]:
    session.configure(connection=url)
    assert migrate.version() is None
    migrate.sync()
    yield kind, name
    session.dispose()


def _dump(kind: str, name: str) -> str:
    with session.get_engine().connect() as c:
        if kind == "sqlite":
            found = c.exec_driver_sql(
                "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type = 'index', name"
            ).scalars()
            return "\n\n".join(f"{text};" for text in found) + "\n"
        if kind == "mysql":
            tables = sorted(c.exec_driver_sql("SHOW TABLES").scalars())
            found = [c.exec_driver_sql(f"SHOW CREATE TABLE `{table}`").one()[1] for table in tables]
            return "\n\n".join(re.sub(r" AUTO_INCREMENT=\d+", "", text) + ";" for text in found) + "\n"
    command = ["pg_dump", "-h", "127.0.0.1", "-U", stores.POSTGRESQL_USER, "--schema-only", "--no-owner", name]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    skipped = ("--", "SET ", "SELECT pg_catalog", "\\")
    return "".join(line + "\n" for line in text.splitlines() if line and not line.startswith(skipped))


def test_ddl(database: tuple[str, str]) -> None:
    kind, name = database
    assert _dump(kind, name) == (FOLDER / f"schema-{kind}.sql").read_text("utf-8")


def test_tables_one_by_one(database: tuple[str, str]) -> None:
    kind, _name = database
    inspector = sa.inspect(session.get_engine())
    expected = SCHEMA["dialects"][kind]["tables"]
    assert set(inspector.get_table_names()) == set(expected)
    columns = 0
    for table, facts in expected.items():
        found = inspector.get_columns(table)
        columns += len(found)
        dialect = session.get_engine().dialect
        assert [(c["name"], c["type"].compile(dialect), c["nullable"]) for c in found] == [
            (c["name"], c["type"], c["nullable"]) for c in facts["columns"]
        ], table
        assert inspector.get_pk_constraint(table)["constrained_columns"] == facts["primary_key"]["columns"]
        assert sorted((k["referred_table"], k["constrained_columns"]) for k in inspector.get_foreign_keys(table)) == (
            sorted((k["referred_table"], k["columns"]) for k in facts["foreign_keys"])
        )
        assert sorted(i["name"] or "" for i in inspector.get_indexes(table)) == (
            sorted(i["name"] or "" for i in facts["indexes"])
        ), table
    print(f"{kind}: {len(expected)} tables, {columns} columns")
    assert len(expected) == 17
    assert columns == sum(len(facts["columns"]) for facts in expected.values())


def test_models_agree_with_the_database(database: tuple[str, str]) -> None:
    with session.get_engine().connect() as c:
        context = MigrationContext.configure(c, opts={"compare_type": False})
        assert compare_metadata(context, models.metadata) == []


def test_version(database: tuple[str, str]) -> None:
    kind, _name = database
    facts = SCHEMA["dialects"][kind]
    assert migrate.version() == migrate.head() == facts["db_version_after_sync"]
    migrate.sync()  # again
    migrate.sync("c6214ca60943")  # an older one is no way back
    assert migrate.version() == facts["db_version_after_sync"]


def test_chain() -> None:
    expected = [(r["revision"], r["down_revision"]) for r in SCHEMA["alembic_chain"]]
    script = ScriptDirectory(str(migrate.directory()))
    found = [(r.revision, r.down_revision) for r in script.walk_revisions()]
    assert found[::-1] == expected
    assert len(expected) == 4
    assert expected[0][0] == migrate.BASE_REVISION == SCHEMA["migration_module_constants"]["ALEMBIC_INIT_VERSION"]


def test_columns_of_the_models() -> None:
    """Names, types, keys and Python-side defaults of all columns."""
    count = 0
    for name, facts in SCHEMA["orm_tables"].items():
        table = models.metadata.tables[name]
        for column in facts["columns"]:
            mine = table.c[column["name"]]
            count += 1
            assert mine.nullable is column["nullable"], (name, mine.name)
            assert mine.primary_key is column["primary_key"]
            assert [str(key.target_fullname) for key in mine.foreign_keys] == [
                key["target"] for key in column["foreign_keys"]
            ]
            assert bool(mine.onupdate) is bool(column["onupdate"]), (name, mine.name)
            wanted = column["default"] is not None
            mine_json = isinstance(mine.type, models.Json)  # theirs get the text null from the ORM
            assert (mine.default is not None) is (wanted or mine_json), (name, mine.name)
        assert set(table.c.keys()) == {column["name"] for column in facts["columns"]}
    print(f"{count} columns of {len(SCHEMA['orm_tables'])} tables")
    assert len(SCHEMA["orm_tables"]) == len(models.metadata.tables) == 16


# taking databases over --------------------------------------------------------------------------------------------


def _lite(tmp_path: Path, script: str) -> None:
    session.configure(connection=f"sqlite:///{tmp_path}/heat.sqlite")
    with session.get_engine().begin() as c:
        for statement in script.split(";\n"):
            if statement.strip():
                c.exec_driver_sql(statement)


def test_a_database_of_heat_is_taken_over(tmp_path: Path) -> None:
    _lite(tmp_path, (FOLDER / "schema-sqlite.sql").read_text("utf-8"))
    _lite(tmp_path, "INSERT INTO alembic_version VALUES ('97b2a986f922')")
    migrate.sync()
    assert migrate.version() == "97b2a986f922"
    session.dispose()


def test_a_database_before_alembic_has_the_base_schema(tmp_path: Path) -> None:
    session.configure(connection=f"sqlite:///{tmp_path}/heat.sqlite")
    migrate.sync("c6214ca60943")
    assert "resource_snapshot" not in sa.inspect(session.get_engine()).get_table_names()
    _lite(tmp_path, "DROP TABLE alembic_version;\nCREATE TABLE migrate_version (version INTEGER)")
    _lite(tmp_path, "INSERT INTO snapshot (id, stack_id, tenant) VALUES ('a', 's', 't')")
    migrate.sync()
    assert migrate.version() == "97b2a986f922"
    snapshot = snapshots.get("a")
    assert snapshot is not None
    assert snapshot.action == "CREATE"
    session.dispose()


def test_versions_that_are_none(tmp_path: Path) -> None:
    session.configure(connection=f"sqlite:///{tmp_path}/heat.sqlite")
    with pytest.raises(ValueError, match="sqlalchemy-migrate database version"):
        migrate.sync("50")
    with pytest.raises(Exception, match="Can't locate revision identified by 'nosuchrev'"):
        migrate.sync("nosuchrev")
    assert sa.inspect(session.get_engine()).get_table_names() == []
    session.dispose()


# Heat's rows ------------------------------------------------------------------------------------------------------


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[None]:
    session.configure(connection=f"sqlite:///{tmp_path}/heat.sqlite")
    migrate.sync()
    yield
    session.dispose()


def _raw(row: dict[str, Any]) -> dict[str, Any]:
    return {name: "2026-01-01 00:00:00.000000" if value == "<datetime>" else value for name, value in row.items()}


MOMENTS = ["after_create", "after_snapshot", "after_delete"]


@pytest.mark.parametrize("moment", MOMENTS)
def test_rows_survive_reading_and_writing(empty: None, moment: str) -> None:
    """Every row of the life cycles, read through our tables and written back, is the same text."""
    number = 0
    for name, rows in ROWS[moment].items():
        table = models.metadata.tables[name]
        for row in rows:
            number += 1
            given = _raw(row)
            names = ", ".join(f'"{column}"' for column in given)
            insert = sa.text(f"INSERT INTO {name} ({names}) VALUES ({', '.join(':' + column for column in given)})")
            with session.get_engine().begin() as c:
                c.execute(insert, given)
            keys = [column == given[column.name] for column in table.primary_key]
            with session.get_engine().begin() as c:
                read = dict(c.execute(sa.select(table).where(*keys)).mappings().one())
                c.execute(table.delete().where(*keys))
                c.execute(table.insert(), read)
            with session.get_engine().connect() as c:
                where = " AND ".join(f'"{column.name}" = :{column.name}' for column in table.primary_key)
                again = c.execute(sa.text(f"SELECT * FROM {name} WHERE {where}"), given).mappings().one()
            assert dict(again) == given
    print(f"{moment}: {number} rows")
    assert number == sum(len(rows) for rows in ROWS[moment].values())


def test_rows_are_found_by_the_operations(empty: None) -> None:
    moment = ROWS["after_create"]
    for name, rows in moment.items():
        for row in rows:
            given = _raw(row)
            names = ", ".join(f'"{column}"' for column in given)
            insert = sa.text(f"INSERT INTO {name} ({names}) VALUES ({', '.join(':' + column for column in given)})")
            with session.get_engine().begin() as c:
                c.execute(insert, given)
    stack = stacks.list_stacks("test_tenant_id")[0]
    assert (stack.name, stack.tags) == ("s1", ["t1", "t2"])
    assert stacks.get(stack.id, deps=True).current_deps == {"edges": [[[2, True], [3, True]], [[1, True], [2, True]]]}
    found = {row.name: row for row in resources.list_by_root(stack.id, data=True)}
    assert set(found) == {"a", "b", "c"}
    assert found["c"].requires == [2]
    assert found["c"].data == {"value": "x"}
    assert found["c"].stored_properties is not None
    assert len(events.list_by_stacks(stack.id)) == len(moment["event"]) == 8
    template = templates.get(stack.raw_template_id)
    assert template is not None
    assert template.template["heat_template_version"] == "2021-04-16"
