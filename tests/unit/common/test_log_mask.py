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


@pytest.mark.parametrize(
    "given, shown",
    [
        ("/stacks/a\r\nINFO all is well", r"/stacks/a\r\nINFO all is well"),
        (ValueError("a\n2026-01-01 INFO b"), r"a\n2026-01-01 INFO b"),
        ("\x1b[2J\x85\u2028\x7f", r"\u001b[2J\u0085\u2028\u007f"),
        ("ä\tb", "ä\tb"),
        (5, "5"),
    ],
)
@pytest.mark.parametrize("form", ["%s", "%(it)s"])
def test_nobody_else_begins_a_line(given: object, shown: str, form: str) -> None:
    formatter = log_mask.MaskingFormatter(logging.Formatter("%(message)s"))
    args: object = ({"it": given},) if "it" in form else (given,)
    record = logging.LogRecord("test", logging.INFO, "", 1, "first\nsecond: " + form, args, None)  # type: ignore[arg-type]
    assert formatter.format(record) == "first\nsecond: " + shown
    assert record.getMessage() == "first\nsecond: " + str(given)


def test_a_secret_of_several_lines() -> None:
    log_mask.conceal(["-----BEGIN é\nKEY\x7f"])
    formatter = log_mask.MaskingFormatter(logging.Formatter("%(message)s"))
    record = logging.LogRecord("test", logging.INFO, "", 1, "%s", ("my -----BEGIN é\nKEY\x7f",), None)
    assert formatter.format(record) == "my ******"


def test_the_last_used_are_remembered() -> None:
    log_mask.conceal(f"secret-{number}" for number in range(log_mask.LIMIT))
    log_mask.conceal(["secret-0"])
    log_mask.conceal(["one more"])
    assert log_mask.masked("secret-0 and one more") == "****** and ******"
    assert log_mask.masked("secret-1") == "secret-1"
    assert len(log_mask._texts) == log_mask.LIMIT
