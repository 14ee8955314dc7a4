# SPDX-License-Identifier: Apache-2.0
"""A random walk over the operations of a stack, on two engines that die, are halted and lose messages.

``OPENKEEL_WALK_SEED`` and ``OPENKEEL_WALKS`` choose another and more of them.
"""

from __future__ import annotations

import os
import sys

import pytest

from tests.fixtures.processes import ROOT, run

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(3600)]


def test_random_walks() -> None:
    choice = ["--seed", os.environ.get("OPENKEEL_WALK_SEED", "0"), "--walks", os.environ.get("OPENKEEL_WALKS", "1")]
    roughness = ["--steps", "20", "--mortal", "--pauses"]
    done = run([sys.executable, "-m", "tests.crash.walk", *choice, *roughness], limit=3500, check=False, cwd=ROOT)
    print(done.stdout)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
