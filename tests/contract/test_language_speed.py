# SPDX-License-Identifier: Apache-2.0
"""A template of 1,000 resources is read in a fifth of the CPU of Python Heat, measured in one run."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "tools" / "bench" / "language"


@pytest.mark.reference
def test_a_fifth() -> None:
    done = subprocess.run(
        [sys.executable, BENCH, "--rounds", "7", "--at-least", "5"], capture_output=True, text=True, timeout=300
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1/" in done.stdout
    small, _middle, large = map(int, done.stdout.rsplit(": ", 1)[1].split(" / "))
    assert large < 2 * small + 5  # resolving one resource does not depend on how many there are
