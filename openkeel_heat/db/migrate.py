# SPDX-License-Identifier: Apache-2.0
"""Runs the migrations: brings a database to the newest (or a named) revision, and tells which one it has."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from oslo_log import log as logging
from sqlalchemy.engine import Connection

from openkeel_heat.common.i18n import _
from openkeel_heat.db import session

LOG = logging.getLogger(__name__)

BASE_REVISION = "c6214ca60943"


def directory() -> Path:
    """Where the migrations are: inside the installed package, or at the top of the source tree."""
    here = Path(__file__).resolve().parent
    for candidate in (here.parent / "migrations", here.parent.parent / "migrations"):
        if (candidate / "env.py").is_file():
            return candidate
    raise FileNotFoundError("the database migrations are not installed")


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(directory()).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def head() -> str | None:
    """The newest revision."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def version() -> str | None:
    """The revision of the database; None if it has none."""
    with session.get_engine().connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def sync(revision: str | None = None) -> None:
    """Bring the database to a revision (default: the newest), creating what is missing.

    A database of the times before Alembic is taken to have the base schema.
    """
    if revision is not None and revision.isdigit():
        raise ValueError(_("You requested an sqlalchemy-migrate database version; this is no longer supported"))
    engine = session.get_engine()
    LOG.info("Applying migration(s)")
    with engine.begin() as connection:
        config = _config(connection)
        current = MigrationContext.configure(connection).get_current_revision()
        if current is None and sa.inspect(connection).has_table("migrate_version"):
            LOG.info("The database was last migrated by sqlalchemy-migrate; it is taken to have the base schema")
            command.stamp(config, BASE_REVISION)
        command.upgrade(config, revision or "head")
    LOG.info("Migration(s) applied")
