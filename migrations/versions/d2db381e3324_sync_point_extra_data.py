# SPDX-License-Identifier: Apache-2.0
"""Sync points carry further data beside the inputs of their node."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from openkeel_heat.db.types import Json

revision = "d2db381e3324"
down_revision = "c6214ca60943"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sync_point", sa.Column("extra_data", Json(), nullable=True))


def downgrade() -> None:
    op.drop_column("sync_point", "extra_data")
