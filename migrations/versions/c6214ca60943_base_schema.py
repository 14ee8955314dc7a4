# SPDX-License-Identifier: Apache-2.0
"""The base schema: every table but ``resource_snapshot``.

A frozen picture: it does not follow ``openkeel_heat.db.models``, and later changes are revisions of their own. The order
of columns is part of the picture.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from openkeel_heat.db.types import Json

revision = "c6214ca60943"
down_revision = None
branch_labels = None
depends_on = None


def _text(name: str, length: int = 255, nullable: bool = True) -> sa.Column[Any]:
    return sa.Column(name, sa.String(length), nullable=nullable)


def _integer(name: str, nullable: bool = True) -> sa.Column[Any]:
    return sa.Column(name, sa.Integer(), nullable=nullable)


def _boolean(name: str, nullable: bool = True) -> sa.Column[Any]:
    return sa.Column(name, sa.Boolean(), nullable=nullable)


def _times(*names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, sa.DateTime(), nullable=True) for name in names or ("created_at", "updated_at")]


def _json(name: str) -> sa.Column[Any]:
    return sa.Column(name, Json(), nullable=True)


def _reason() -> sa.Column[Any]:
    return sa.Column("status_reason", sa.Text(), nullable=True)


def _key(*names: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*(names or ("id",)))


def _refers(column: str, target: str, name: str | None = None, ondelete: str | None = None) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [target], name=name, ondelete=ondelete)


def _table(name: str, *parts: Any) -> None:
    op.create_table(name, *parts, mysql_engine="InnoDB")


def _index(table: str, column: str, **kw: Any) -> None:
    op.create_index(f"ix_{table}_{column}", table, [column], unique=False, **kw)


def upgrade() -> None:
    _table("raw_template_files", _integer("id", False), _json("files"), *_times(), _key())
    _table("resource_properties_data", _integer("id", False), _json("data"), _boolean("encrypted"), *_times(), _key())
    _table(
        "service",
        _text("id", 36, False),
        _text("engine_id", 36, False),
        *(_text(name, nullable=False) for name in ("host", "hostname", "binary", "topic")),
        _integer("report_interval", False),
        *_times("created_at", "updated_at", "deleted_at"),
        _key(),
    )
    _table(
        "software_config",
        _text("id", 36, False),
        *_times(),
        _text("name"),
        _text("group"),
        _json("config"),
        _text("tenant", 64, False),
        _key(),
    )
    _index("software_config", "tenant")
    _table(
        "user_creds",
        _integer("id", False),
        *_times(),
        _text("username"),
        _text("password"),
        _text("region_name"),
        _text("decrypt_method", 64),
        _text("tenant", 1024),
        sa.Column("auth_url", sa.Text(), nullable=True),
        _text("tenant_id", 256),
        _text("trust_id"),
        _text("trustor_user_id", 64),
        _key(),
    )
    _table(
        "raw_template",
        _integer("id", False),
        *_times(),
        _json("template"),
        _json("files"),
        _json("environment"),
        _integer("files_id"),
        _refers("files_id", "raw_template_files.id", name="raw_tmpl_files_fkey_ref"),
        _key(),
    )
    _table(
        "software_deployment",
        _text("id", 36, False),
        *_times(),
        _text("server_id", 36, False),
        _text("config_id", 36, False),
        _json("input_values"),
        _json("output_values"),
        _text("action"),
        _text("status"),
        _reason(),
        _text("tenant", 64, False),
        _text("stack_user_project_id", 64),
        _refers("config_id", "software_config.id"),
        _key(),
    )
    for column in ("created_at", "server_id", "tenant"):
        _index("software_deployment", column)
    _stacks()
    _events_and_resources()
    _of_stacks()


def _stacks() -> None:
    _table(
        "stack",
        _text("id", 36, False),
        *_times("created_at", "updated_at", "deleted_at"),
        _text("name"),
        _integer("raw_template_id", False),
        _integer("prev_raw_template_id"),
        _integer("user_creds_id"),
        _text("username", 256),
        _text("owner_id", 36),
        _text("action"),
        _text("status"),
        _reason(),
        _integer("timeout"),
        _text("tenant", 256),
        _boolean("disable_rollback", False),
        _text("stack_user_project_id", 64),
        _boolean("backup"),
        _integer("nested_depth"),
        _boolean("convergence"),
        _text("current_traversal", 36),
        _json("current_deps"),
        _text("parent_resource_name"),
        _refers("prev_raw_template_id", "raw_template.id"),
        _refers("raw_template_id", "raw_template.id"),
        _refers("user_creds_id", "user_creds.id"),
        _key(),
    )
    _index("stack", "name", mysql_length=255)
    _index("stack", "tenant", mysql_length=255)
    _index("stack", "owner_id")


def _events_and_resources() -> None:
    _table(
        "event",
        _integer("id", False),
        _text("uuid", 36),
        _text("stack_id", 36, False),
        *_times(),
        *(_text(f"resource_{name}") for name in ("action", "status", "name")),
        _text("physical_resource_id"),
        _text("resource_status_reason"),
        _text("resource_type"),
        sa.Column("resource_properties", sa.LargeBinary(), nullable=True),
        _integer("rsrc_prop_data_id"),
        _refers("rsrc_prop_data_id", "resource_properties_data.id", name="ev_rsrc_prop_data_ref"),
        _refers("stack_id", "stack.id"),
        _key(),
        sa.UniqueConstraint("uuid"),
    )
    _table(
        "resource",
        _integer("id", False),
        _text("uuid", 36),
        _text("nova_instance"),
        _text("name"),
        *_times(),
        _text("action"),
        _text("status"),
        _reason(),
        _text("stack_id", 36, False),
        _json("rsrc_metadata"),
        _json("properties_data"),
        _text("engine_id", 36),
        _integer("atomic_key"),
        _json("needed_by"),
        _json("requires"),
        _integer("replaces"),
        _integer("replaced_by"),
        _integer("current_template_id"),
        _boolean("properties_data_encrypted"),
        _text("root_stack_id", 36),
        _integer("rsrc_prop_data_id"),
        _integer("attr_data_id"),
        _refers("attr_data_id", "resource_properties_data.id", name="rsrc_attr_data_ref"),
        _refers("current_template_id", "raw_template.id"),
        _refers("rsrc_prop_data_id", "resource_properties_data.id", name="rsrc_rsrc_prop_data_ref"),
        _refers("stack_id", "stack.id"),
        _key(),
        sa.UniqueConstraint("uuid"),
    )
    _index("resource", "root_stack_id")
    _table(
        "resource_data",
        _integer("id", False),
        *_times(),
        _text("key"),
        sa.Column("value", sa.Text(), nullable=True),
        _boolean("redact"),
        _text("decrypt_method", 64),
        _integer("resource_id", False),
        _refers("resource_id", "resource.id", name="fk_resource_id", ondelete="CASCADE"),
        _key(),
    )


def _of_stacks() -> None:
    _table(
        "snapshot",
        _text("id", 36, False),
        _text("stack_id", 36, False),
        _text("name"),
        *_times(),
        _text("status"),
        _text("status_reason"),
        _json("data"),
        _text("tenant", 64, False),
        _refers("stack_id", "stack.id"),
        _key(),
    )
    _index("snapshot", "tenant")
    _table(
        "stack_lock",
        _text("stack_id", 36, False),
        *_times(),
        _text("engine_id", 36),
        _refers("stack_id", "stack.id"),
        _key("stack_id"),
    )
    _table(
        "stack_tag",
        _integer("id", False),
        *_times(),
        sa.Column("tag", sa.Unicode(80), nullable=True),
        _text("stack_id", 36, False),
        _refers("stack_id", "stack.id"),
        _key(),
    )
    _table(
        "sync_point",
        _text("entity_id", 36, False),
        _text("traversal_id", 36, False),
        _boolean("is_update", False),
        _integer("atomic_key", False),
        _text("stack_id", 36, False),
        _json("input_data"),
        *_times(),
        _refers("stack_id", "stack.id"),
        _key("entity_id", "traversal_id", "is_update"),
    )


def downgrade() -> None:
    raise NotImplementedError("there is nothing before the base schema")
