# SPDX-License-Identifier: Apache-2.0
"""The helper process that evaluates yaql and regular expressions.

Reads pickled requests from standard input and writes pickled answers to
standard output, each after its length in four bytes, until the input ends.
Started by :mod:`openkeel_heat.template.sandbox` only, as a file: it imports
nothing of the service, and so starts fast and stays small.
"""

from __future__ import annotations

import datetime
import math
import os
import pickle
import re
import resource
import signal
import struct
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any

_HEADER = struct.Struct(">I")
_SIMPLE = (str, int, float, bool, type(None))
_TIMES = (datetime.datetime, datetime.date, datetime.time, datetime.timedelta)
#: beyond these integers have more digits than Python writes out
_MAX_BITS = 14285

_engines: dict[tuple[int, int], Any] = {}
_context: Any = None


def _match(pattern: str, texts: list[str]) -> tuple[str, Any]:
    match = re.compile(pattern).match
    return "value", [None if (found := match(text)) is None else found.end() for text in texts]


def _yaql(
    evaluate: bool, expression: str, data: Any, iterators: int, quota: int, max_size: int, max_items: int
) -> tuple[str, Any]:
    global _context
    import yaql
    import yaql.language.exceptions

    if _context is None:
        _context = yaql.create_context()
    engine = _engines.get((iterators, quota))
    if engine is None:
        engine = _engines[iterators, quota] = yaql.YaqlFactory().create(
            {"yaql.limitIterators": iterators, "yaql.memoryQuota": quota}
        )
    try:
        statement = engine(expression)
    except yaql.language.exceptions.YaqlException as exc:
        return "syntax", _describe(exc)
    if not evaluate:
        return "value", None
    value = statement.evaluate({"data": data}, _context.create_child_context())
    return "value", _Plain(max_size, max_items).copy(value)


def _without_library(value: Any) -> Any:
    """A time whose zone is one of the standard library."""
    zone = getattr(value, "tzinfo", None)
    if zone is None or isinstance(zone, datetime.timezone):
        return value
    offset = value.utcoffset()
    return value.replace(tzinfo=None if offset is None else datetime.timezone(offset))


class _Plain:
    """Copies a result to plain data, as long as it is small and JSON could hold it."""

    def __init__(self, max_size: int, max_items: int) -> None:
        self._left = max_size
        self._max_items = max_items

    def copy(self, value: Any) -> Any:
        if isinstance(value, str):
            self._spend(len(value))
            return str(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, (int, float)):
            if not math.isfinite(value) if isinstance(value, float) else value.bit_length() >= _MAX_BITS:
                raise ValueError("The result of the yaql expression is a number that JSON cannot hold.")
            return value
        if isinstance(value, _TIMES):
            return _without_library(value)
        if isinstance(value, Mapping):
            self._count(len(value))
            return {self._key(key): self.copy(inner) for key, inner in value.items()}
        if isinstance(value, Iterable):
            items = list(value)
            self._count(len(items))
            copied = [self.copy(inner) for inner in items]
            # the order of a set is another in each process
            return sorted(copied, key=repr) if isinstance(value, (set, frozenset)) else copied
        raise TypeError("The result of the yaql expression holds a %s." % type(value).__name__)

    def _key(self, key: Any) -> Any:
        if isinstance(key, _SIMPLE):
            return self.copy(key)
        raise TypeError("The result of the yaql expression has a key that is a %s." % type(key).__name__)

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ValueError("The result of the yaql expression is too large.")

    def _count(self, count: int) -> None:
        self._spend(4 * count)
        if count > self._max_items:
            raise ValueError("The result of the yaql expression is too large.")


_OPERATIONS: dict[str, Any] = {"match": _match, "yaql": _yaql}


def _describe(exc: Exception) -> tuple[str, str, Any, str]:
    args = exc.args if all(isinstance(arg, _SIMPLE) for arg in exc.args) else None
    return type(exc).__module__, type(exc).__name__, args, str(exc)


def _answer(operation: str, arguments: tuple[Any, ...]) -> Any:
    try:
        return _OPERATIONS[operation](*arguments)
    except MemoryError:
        return "memory", (None, None, None, None)
    except RecursionError:
        return "error", ("builtins", "ValueError", ("The expression is nested too deeply.",), "")
    except Exception as exc:
        return "error", _describe(exc)


def main() -> None:
    # interrupts are meant for the process that started this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def send(value: Any) -> None:
        data = pickle.dumps(value)
        target.write(_HEADER.pack(len(data)) + data)
        target.flush()

    send("ready")
    while True:
        header = source.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return
        operation, seconds, memory, *arguments = pickle.loads(source.read(_HEADER.unpack(header)[0]))
        if operation == "yaql":
            import yaql  # noqa: F401 - what it takes to load it is not the user's
        resource.setrlimit(resource.RLIMIT_AS, (memory << 20, resource.getrlimit(resource.RLIMIT_AS)[1]))
        started = time.process_time()
        # the kernel ends this process when its time is up, whatever it is doing
        signal.setitimer(signal.ITIMER_PROF, seconds)
        reply = _answer(operation, tuple(arguments))
        signal.setitimer(signal.ITIMER_PROF, 0)
        try:
            send((reply, time.process_time() - started))
        except MemoryError:
            send((("memory", (None, None, None, None)), time.process_time() - started))


if __name__ == "__main__":
    main()
