# SPDX-License-Identifier: Apache-2.0
"""Every action of the CloudFormation API as every persona: tests/functional/access/cfn.yaml."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from tests.fixtures import access_cfn
from tests.fixtures.access import Row, Site, Table

TABLE = Table("cfn")
#: What those are told who have no signature, or one that is not good any more.
CODES = {"nobody": "IncompleteSignature", "expired": "InvalidClientTokenId"}


def check(site: Site, row: Row, personas: Collection[str]) -> None:
    wrong = {}
    for persona in personas:
        answer = access_cfn.call(site, TABLE, row, persona)
        code = CODES.get(persona, "AccessDenied" if row.statuses[persona] == 403 else "")
        if answer.status_code != row.statuses[persona] or code not in answer.text:
            wrong[persona] = f"{answer.status_code} for {row.statuses[persona]} {code}: {answer.text[:300]}"
    assert not wrong, row.title


@pytest.mark.parametrize("row", TABLE.rows, ids=lambda row: row.title.replace(" ", "_"))
def test_faked(faked_site: Site, row: Row) -> None:
    """Without Keystone there is nobody to check signatures, and so nobody to miss one."""
    check(faked_site, row, [name for name in TABLE.personas if name not in CODES])


@pytest.mark.keystone
@pytest.mark.services
@pytest.mark.parametrize("row", TABLE.rows, ids=lambda row: row.title.replace(" ", "_"))
def test_keystone(keystone_site: Site, row: Row) -> None:
    check(keystone_site, row, TABLE.personas)


def test_every_action_has_a_row() -> None:
    from openkeel_heat.api.cfn.actions import ACTIONS

    tried = {row.body.split("&")[0].removeprefix("Action=") for row in TABLE.rows if row.path == "/" and row.body}
    assert tried == {*ACTIONS, "DoWhatever"}
    assert len(TABLE.rows) == 27


def test_what_is_no_signal_is_refused_at_once(faked_site: Site) -> None:
    row = Row("PUT", "/waitcondition/{arn}/resources/handle", None, {"member": 200})
    table = Table("cfn")
    table.bodies = {"signal": {"Status": "SUCCESS"}}
    answer = access_cfn.call(faked_site, table, row, "member")
    assert answer.status_code == 400
    assert "<Code>InvalidParameterValue</Code>" in answer.text and "Metadata format invalid" in answer.text
