# SPDX-License-Identifier: Apache-2.0
"""The tables of a Heat database, as SQLAlchemy Core tables.

The shape is Heat's and fixed by the four migrations in ``migrations/``. Two things are worth knowing when writing rows:

* JSON columns (:class:`~openkeel_heat.db.types.Json`) always get a value, at least the text ``null``: an INSERT that
  leaves one out writes ``null``, because the columns carry a Python-side default.
* ``created_at`` is filled by every INSERT. ``updated_at`` is filled by every UPDATE except in ``stack``, ``resource``
  and ``software_deployment``, where it is the time of the user's request and only written on purpose.
"""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from openkeel_heat.common import clock
from openkeel_heat.db.types import Json

metadata = sa.MetaData()


def utcnow() -> datetime:
    """Now as a naive UTC datetime (the form of every time in the database)."""
    return clock.utcnow()


def new_uuid() -> str:
    """A random UUID as text."""
    return str(uuid.uuid4())


def _nothing() -> None:
    return None


def _json(name: str) -> sa.Column[Any]:
    return sa.Column(name, Json, default=_nothing)


def _string(name: str, length: int = 255, **kw: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.String(length), **kw)


def _serial() -> sa.Column[Any]:
    return sa.Column("id", sa.Integer, primary_key=True, nullable=False)


def _uuid_key() -> sa.Column[Any]:
    return sa.Column("id", sa.String(36), primary_key=True, default=new_uuid)


def _created() -> sa.Column[Any]:
    return sa.Column("created_at", sa.DateTime, default=utcnow)


def _updated(automatic: bool = True) -> sa.Column[Any]:
    return sa.Column("updated_at", sa.DateTime, onupdate=utcnow if automatic else None)


raw_template_files = sa.Table(
    "raw_template_files",
    metadata,
    _serial(),
    _json("files"),
    _created(),
    _updated(),
    mysql_engine="InnoDB",
)

raw_template = sa.Table(
    "raw_template",
    metadata,
    _serial(),
    _created(),
    _updated(),
    _json("template"),
    _json("files"),
    _json("environment"),
    sa.Column("files_id", sa.Integer, sa.ForeignKey("raw_template_files.id", name="raw_tmpl_files_fkey_ref")),
    mysql_engine="InnoDB",
)

user_creds = sa.Table(
    "user_creds",
    metadata,
    _serial(),
    _created(),
    _updated(),
    _string("username"),
    _string("password"),
    _string("region_name"),
    _string("decrypt_method", 64),
    _string("tenant", 1024),
    sa.Column("auth_url", sa.Text),
    _string("tenant_id", 256),
    _string("trust_id"),
    _string("trustor_user_id", 64),
    mysql_engine="InnoDB",
)

stack = sa.Table(
    "stack",
    metadata,
    _uuid_key(),
    _created(),
    _updated(automatic=False),
    sa.Column("deleted_at", sa.DateTime),
    _string("name"),
    sa.Column("raw_template_id", sa.Integer, sa.ForeignKey("raw_template.id"), nullable=False),
    sa.Column("prev_raw_template_id", sa.Integer, sa.ForeignKey("raw_template.id")),
    sa.Column("user_creds_id", sa.Integer, sa.ForeignKey("user_creds.id")),
    _string("username", 256),
    _string("owner_id", 36, index=True),
    _string("action"),
    _string("status"),
    sa.Column("status_reason", sa.Text),
    sa.Column("timeout", sa.Integer),
    _string("tenant", 256),
    sa.Column("disable_rollback", sa.Boolean, nullable=False),
    _string("stack_user_project_id", 64),
    sa.Column("backup", sa.Boolean),
    sa.Column("nested_depth", sa.Integer),
    sa.Column("convergence", sa.Boolean),
    _string("current_traversal", 36),
    _json("current_deps"),
    _string("parent_resource_name"),
    sa.Index("ix_stack_name", "name", mysql_length=255),
    sa.Index("ix_stack_tenant", "tenant", mysql_length=255),
    mysql_engine="InnoDB",
)

stack_tag = sa.Table(
    "stack_tag",
    metadata,
    _serial(),
    _created(),
    _updated(),
    sa.Column("tag", sa.Unicode(80)),
    _string("stack_id", 36, nullable=False),
    sa.ForeignKeyConstraint(["stack_id"], ["stack.id"]),
    mysql_engine="InnoDB",
)

stack_lock = sa.Table(
    "stack_lock",
    metadata,
    sa.Column("stack_id", sa.String(36), sa.ForeignKey("stack.id"), primary_key=True),
    _created(),
    _updated(),
    _string("engine_id", 36),
    mysql_engine="InnoDB",
)

sync_point = sa.Table(
    "sync_point",
    metadata,
    sa.Column("entity_id", sa.String(36), primary_key=True),
    sa.Column("traversal_id", sa.String(36), primary_key=True),
    sa.Column("is_update", sa.Boolean, primary_key=True),
    sa.Column("atomic_key", sa.Integer, nullable=False),
    sa.Column("stack_id", sa.String(36), sa.ForeignKey("stack.id"), nullable=False),
    _json("input_data"),
    _created(),
    _updated(),
    _json("extra_data"),
    mysql_engine="InnoDB",
)

resource_properties_data = sa.Table(
    "resource_properties_data",
    metadata,
    _serial(),
    _json("data"),
    sa.Column("encrypted", sa.Boolean),
    _created(),
    _updated(),
    mysql_engine="InnoDB",
)

event = sa.Table(
    "event",
    metadata,
    _serial(),
    _string("uuid", 36, unique=True, default=new_uuid),
    sa.Column("stack_id", sa.String(36), sa.ForeignKey("stack.id"), nullable=False),
    _created(),
    _updated(),
    _string("resource_action"),
    _string("resource_status"),
    _string("resource_name"),
    _string("physical_resource_id"),
    _string("resource_status_reason"),
    _string("resource_type"),
    sa.Column("resource_properties", sa.LargeBinary),  # a pickle of old releases: carried along, never loaded
    sa.Column(
        "rsrc_prop_data_id", sa.Integer, sa.ForeignKey("resource_properties_data.id", name="ev_rsrc_prop_data_ref")
    ),
    mysql_engine="InnoDB",
)

resource = sa.Table(
    "resource",
    metadata,
    _serial(),
    _string("uuid", 36, unique=True, default=new_uuid),
    _string("nova_instance"),  # the physical resource id
    _string("name"),
    _created(),
    _updated(automatic=False),
    _string("action"),
    _string("status"),
    sa.Column("status_reason", sa.Text),
    sa.Column("stack_id", sa.String(36), sa.ForeignKey("stack.id"), nullable=False),
    _json("rsrc_metadata"),
    _json("properties_data"),  # legacy, before resource_properties_data
    _string("engine_id", 36),
    sa.Column("atomic_key", sa.Integer),
    _json("needed_by"),
    _json("requires"),
    sa.Column("replaces", sa.Integer),
    sa.Column("replaced_by", sa.Integer),
    sa.Column("current_template_id", sa.Integer, sa.ForeignKey("raw_template.id")),
    sa.Column("properties_data_encrypted", sa.Boolean),
    _string("root_stack_id", 36, index=True),
    sa.Column(
        "rsrc_prop_data_id", sa.Integer, sa.ForeignKey("resource_properties_data.id", name="rsrc_rsrc_prop_data_ref")
    ),
    sa.Column("attr_data_id", sa.Integer, sa.ForeignKey("resource_properties_data.id", name="rsrc_attr_data_ref")),
    mysql_engine="InnoDB",
)

resource_data = sa.Table(
    "resource_data",
    metadata,
    _serial(),
    _created(),
    _updated(),
    _string("key"),
    sa.Column("value", sa.Text),
    sa.Column("redact", sa.Boolean),
    _string("decrypt_method", 64),
    sa.Column(
        "resource_id",
        sa.Integer,
        sa.ForeignKey("resource.id", name="fk_resource_id", ondelete="CASCADE"),
        nullable=False,
    ),
    mysql_engine="InnoDB",
)

software_config = sa.Table(
    "software_config",
    metadata,
    _uuid_key(),
    _created(),
    _updated(),
    _string("name"),
    _string("group"),
    _json("config"),
    _string("tenant", 64, nullable=False, index=True),
    mysql_engine="InnoDB",
)

software_deployment = sa.Table(
    "software_deployment",
    metadata,
    _uuid_key(),
    _created(),
    _updated(automatic=False),
    _string("server_id", 36, nullable=False, index=True),
    sa.Column("config_id", sa.String(36), sa.ForeignKey("software_config.id"), nullable=False),
    _json("input_values"),
    _json("output_values"),
    _string("action"),
    _string("status"),
    sa.Column("status_reason", sa.Text),
    _string("tenant", 64, nullable=False, index=True),
    _string("stack_user_project_id", 64),
    sa.Index("ix_software_deployment_created_at", "created_at"),
    mysql_engine="InnoDB",
)

snapshot = sa.Table(
    "snapshot",
    metadata,
    _uuid_key(),
    sa.Column("stack_id", sa.String(36), sa.ForeignKey("stack.id"), nullable=False),
    _string("name"),
    _created(),
    _updated(),
    _string("status"),
    _string("status_reason"),
    _json("data"),
    _string("tenant", 64, nullable=False, index=True),
    _string("action"),
    mysql_engine="InnoDB",
)

resource_snapshot = sa.Table(
    "resource_snapshot",
    metadata,
    _uuid_key(),
    sa.Column("snapshot_id", sa.String(36), sa.ForeignKey("snapshot.id"), nullable=False),
    _string("resource_name", nullable=False),
    _created(),
    _updated(),
    _json("data"),
    sa.Index("ix_resource_snapshot_snapshot_id", "snapshot_id"),
    mysql_engine="InnoDB",
)

service = sa.Table(
    "service",
    metadata,
    _uuid_key(),
    _string("engine_id", 36, nullable=False),
    _string("host", nullable=False),
    _string("hostname", nullable=False),
    _string("binary", nullable=False),
    _string("topic", nullable=False),
    sa.Column("report_interval", sa.Integer, nullable=False),
    _created(),
    _updated(),
    sa.Column("deleted_at", sa.DateTime),
    mysql_engine="InnoDB",
)
