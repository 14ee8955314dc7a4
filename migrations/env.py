# SPDX-License-Identifier: Apache-2.0
"""Alembic's environment: runs revisions on the connection of ``openkeel_heat.db.migrate``.

Called from the ``alembic`` command (to write a new revision), it uses the database of ``sqlalchemy.url``. There is no
offline mode: revisions look at the database.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context
from sqlalchemy.engine import Connection

from openkeel_heat.db import models


def run(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=models.metadata)
    with context.begin_transaction():
        context.run_migrations()


def main() -> None:
    config = context.config
    connection = config.attributes.get("connection")
    if connection is not None:
        run(connection)
        return
    engine = sa.create_engine(str(config.get_main_option("sqlalchemy.url")), poolclass=sa.pool.NullPool)
    with engine.connect() as own:
        run(own)


main()
