# SPDX-License-Identifier: Apache-2.0
"""The history of the database's shape, as Alembic revisions. Installed as ``openkeel_heat.migrations``.

The revision ids are those of OpenStack Heat, so that a database is known to both: ``heat-manage db_sync`` of either
goes on where the other stopped. How to run them is in ``openkeel_heat/db/migrate.py``.
"""
