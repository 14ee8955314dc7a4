# SPDX-License-Identifier: Apache-2.0
"""Every operation of the native API as every persona: tests/functional/access/native.yaml.

The same table is run against a service whose tokens are faked, and against daemons whose pipeline has
keystonemiddleware and a real Keystone behind it.
"""

from __future__ import annotations

import pytest

from tests.fixtures.access import Row, Site, Table

TABLE = Table("native")
ROWS = pytest.mark.parametrize("row", TABLE.rows, ids=lambda row: row.title.replace(" ", "_"))


def check(site: Site, row: Row) -> None:
    answers = {persona: site.call(TABLE, row, persona) for persona in TABLE.personas}
    wrong = {
        persona: f"{answer.status_code} for {row.statuses[persona]}: {answer.text[:300]}"
        for persona, answer in answers.items()
        if answer.status_code != row.statuses[persona]
    }
    assert not wrong, row.title


@ROWS
def test_faked(faked_site: Site, row: Row) -> None:
    check(faked_site, row)


@pytest.mark.keystone
@pytest.mark.services
@ROWS
def test_keystone(keystone_site: Site, row: Row) -> None:
    check(keystone_site, row)
