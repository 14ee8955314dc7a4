# SPDX-License-Identifier: Apache-2.0
"""Playing recorded RPC calls to our endpoints, and comparing what comes back.

A recording names what differs per run by markers (``uuid-0001``, ``<isotime>``). :class:`Names` learns what each
stands for when it first meets it, and insists on it afterwards; short ids at the end of physical names are learnt
the same way.
"""

from __future__ import annotations

import json
import pathlib
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

DATA = pathlib.Path(__file__).parent / "data"
EXAMPLES: dict[str, Any] = json.loads((DATA / "rpc-examples.json").read_text())

#: The order in which the sections were recorded: some go on with the stack of an earlier one.
ORDER = (
    "create_and_show",
    "errors",
    "template_calls",
    "functions_list",
    "update",
    "check_suspend_resume",
    "mark_unhealthy",
    "snapshots",
    "failing_and_rollback",
    "abandon_adopt",
    "nested",
    "check_failure",
    "create_rollback",
    "cancel",
    "hooks",
    "restricted",
    "delete",
    "software",
)

_MARK = re.compile(
    r"uuid-\d{4}|<isotime>|<datetime>|<hostname>|<text>|<addr>|<fernet-token>|<dbtime>"
    r"|(?<=-)[a-z0-9]{12}(?![a-z0-9])"
)
#: What is made at random: the values of random strings.
_RANDOM = re.compile(r"resource_data(\[\d+\])?\.value$|\.data\.resource_data\.value$|output_value\[\d+\]$")
_FORMS = {
    "<isotime>": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
    "<datetime>": r".+",
    "<hostname>": r".+",
    "<text>": r"(?s:.*)",
    "<addr>": r"[0-9a-f]+",
    "<fernet-token>": r".+",
    "<dbtime>": r".+",
}


class Mismatch(AssertionError):
    pass


class Names:
    """What markers stand for in this run."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def actual(self, value: Any) -> Any:
        """An argument with its markers replaced."""
        if isinstance(value, str):
            return _MARK.sub(lambda match: self.known.get(match.group(), match.group()), value)
        if isinstance(value, list):
            return [self.actual(item) for item in value]
        if isinstance(value, dict):
            return {self.actual(key): self.actual(item) for key, item in value.items()}
        return value

    def match(self, expected: Any, actual: Any, path: str = "") -> None:
        """Raise Mismatch where they differ."""
        if isinstance(expected, str) and _MARK.search(expected):
            self._match_text(expected, actual, path)
        elif isinstance(expected, dict):
            if not isinstance(actual, dict) or set(expected) != set(actual):
                keys = sorted(set(expected) ^ set(actual)) if isinstance(actual, dict) else actual
                raise Mismatch(f"{path}: keys {keys}: {expected!r} != {actual!r}")
            for key in expected:
                self.match(expected[key], actual[key], f"{path}.{key}")
        elif isinstance(expected, list):
            self._match_list(expected, actual, path)
        elif _RANDOM.search(path) and isinstance(actual, str) and len(actual) == len(expected):
            return
        elif expected != actual or isinstance(expected, bool) is not isinstance(actual, bool):
            raise Mismatch(f"{path}: {expected!r} != {actual!r}")

    def _match_text(self, expected: str, actual: Any, path: str) -> None:
        pattern, marks, last = "", [], 0
        for mark in _MARK.finditer(expected):
            pattern += re.escape(expected[last : mark.start()])
            text = mark.group()
            if text in _FORMS:
                pattern += _FORMS[text]
            elif text in self.known:
                pattern += re.escape(self.known[text])
            else:
                pattern += f"(?P<m{len(marks)}>[A-Za-z0-9-]+)"
                marks.append(text)
            last = mark.end()
        found = re.fullmatch(pattern + re.escape(expected[last:]), str(actual))
        if found is None:
            raise Mismatch(f"{path}: {expected!r} ({pattern}) != {actual!r}")
        for index, mark_text in enumerate(marks):
            value = found.group(f"m{index}")
            if self.known.setdefault(mark_text, value) != value:
                raise Mismatch(f"{path}: {mark_text} is {self.known[mark_text]}, not {value}")

    def _match_list(self, expected: list[Any], actual: Any, path: str) -> None:
        """In order; else in any order (that of independent resources differs per run)."""
        if not isinstance(actual, list | tuple) or len(expected) != len(actual):
            size = f"{len(expected)} items, not {len(actual)}" if isinstance(actual, list | tuple) else "a list"
            raise Mismatch(f"{path}: {size}: {json.dumps(expected, default=str)} != {json.dumps(actual, default=str)}")
        before = dict(self.known)
        first: Mismatch | None = None
        try:
            for index, item in enumerate(expected):
                self.match(item, actual[index], f"{path}[{index}]")
            return
        except Mismatch as mismatch:
            first = mismatch
            self.known = before
        left = list(actual)
        for item in expected:
            for candidate in left:
                before = dict(self.known)
                try:
                    self.match(item, candidate, path)
                    left.remove(candidate)
                    break
                except Mismatch:
                    self.known = before
            else:
                raise first


def error_of(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """The reply of an endpoint, or its error."""
    from oslo_messaging.rpc.dispatcher import ExpectedException

    try:
        return call(), None
    except ExpectedException as expected:
        return None, expected.exc_info[1]
    except Exception as error:
        return None, error


def bound(method: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a client's call as they are sent."""
    from openkeel_heat.rpc import methods

    return methods.TOPICS["engine"].methods[method].message(*args, **kwargs)


def sections() -> Iterator[tuple[str, dict[str, Any]]]:
    assert set(ORDER) == set(EXAMPLES["sections"])
    for name in ORDER:
        yield name, EXAMPLES["sections"][name]


def poll(check: Callable[[], bool], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
