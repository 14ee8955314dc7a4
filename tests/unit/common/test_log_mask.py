# SPDX-License-Identifier: Apache-2.0
"""Texts that no log line shows."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from openkeel_heat.common import log_mask


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    log_mask._texts.clear()
    yield
    log_mask._texts.clear()


def test_lines_and_tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    # Alone: a traceback keeps the form that the first handler has given it.
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
    log_mask.install()
    log_mask.install()
    log_mask.conceal(["s3cret", 'with "quotes"'])
    log = logging.getLogger("test.mask")
    log.error("it is %s, or %s", "s3cret", r"with \"quotes\"")
    try:
        raise ValueError("s3cret")
    except ValueError:
        log.exception("once more")
    lines = out.getvalue()
    assert lines.startswith("ERROR it is ******, or ******\nERROR once more\nTraceback")
    assert lines.endswith("ValueError: ******\n")
    assert not isinstance(handler.formatter.inner, log_mask.MaskingFormatter)  # type: ignore[union-attr]


def test_the_last_used_are_remembered() -> None:
    log_mask.conceal(f"secret-{number}" for number in range(log_mask.LIMIT))
    log_mask.conceal(["secret-0"])
    log_mask.conceal(["one more"])
    assert log_mask.masked("secret-0 and one more") == "****** and ******"
    assert log_mask.masked("secret-1") == "secret-1"
    assert len(log_mask._texts) == log_mask.LIMIT
