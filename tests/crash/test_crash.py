# SPDX-License-Identifier: Apache-2.0
"""An engine killed at points of create, update with replacement, rollback and delete.

By default a seeded sample of the points; ``OPENKEEL_CRASH_ALL=1`` tries each of them, ``OPENKEEL_CRASH_SEED`` and
``OPENKEEL_CRASH_SAMPLE`` choose another sample.
"""

from __future__ import annotations

import os
import sys

import pytest

from tests.fixtures.processes import ROOT, run

OPERATIONS = ("create", "update", "rollback", "delete")


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_engine(operation: str) -> None:
    choice = (
        ["--all"]
        if os.environ.get("OPENKEEL_CRASH_ALL")
        else [
            "--sample",
            os.environ.get("OPENKEEL_CRASH_SAMPLE", "12"),
            "--seed",
            os.environ.get("OPENKEEL_CRASH_SEED", "0"),
        ]
    )
    done = run([sys.executable, "-m", "tests.crash.driver", operation, *choice], limit=3500, check=False, cwd=ROOT)
    print(done.stdout)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
