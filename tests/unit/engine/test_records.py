# SPDX-License-Identifier: Apache-2.0
"""Which of the rows of one name a user is shown."""

from __future__ import annotations

import dataclasses

import pytest

from openkeel_heat.engine import records


@dataclasses.dataclass
class Row:
    """A row of the resource ``member``; the ids count up."""

    id: int
    state: str
    replaced_by: int | None = None
    name: str = "member"

    @property
    def action(self) -> str:
        return self.state.partition("_")[0]

    @property
    def status(self) -> str:
        return self.state.partition("_")[2]


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        pytest.param([Row(1, "CREATE_COMPLETE")], 1, id="the only one"),
        pytest.param([Row(1, "CREATE_COMPLETE", 2), Row(2, "CREATE_IN_PROGRESS")], 2, id="the one that replaces it"),
        pytest.param([Row(1, "CREATE_FAILED", 2), Row(2, "INIT_COMPLETE")], 2, id="a replacement still to be made"),
        pytest.param([Row(1, "CREATE_FAILED", 2), Row(2, "DELETE_COMPLETE")], 1, id="a replacement nobody wants"),
        pytest.param(
            [Row(1, "CREATE_FAILED", 2), Row(2, "DELETE_COMPLETE", 3), Row(3, "DELETE_COMPLETE")], 1, id="two of them"
        ),
        pytest.param([Row(1, "DELETE_COMPLETE"), Row(2, "CREATE_COMPLETE")], 2, id="one made anew"),
        pytest.param([Row(1, "DELETE_COMPLETE", 2), Row(2, "DELETE_COMPLETE")], 2, id="nothing is left"),
        pytest.param([Row(1, "CREATE_COMPLETE", 2), Row(2, "DELETE_FAILED")], 2, id="a deletion that failed"),
    ],
)
def test_the_row_that_stands_for_a_name(rows: list[Row], shown: int) -> None:
    assert records.by_name(rows)["member"].id == shown
