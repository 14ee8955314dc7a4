# SPDX-License-Identifier: Apache-2.0
"""The helper process that evaluates yaql expressions.

Reads pickled requests from standard input and writes pickled answers to
standard output, each after its length in four bytes, until the input ends.
Started by :mod:`openkeel_heat.template.functions.yaql` only.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import struct
import sys
from typing import Any

_HEADER = struct.Struct('>I')
_MEMORY = 512 * 1024 * 1024
_SIMPLE = (str, int, float, bool, type(None))

_engines: dict[tuple[int, int], Any] = {}


def _evaluate(yaql: Any, context: Any, request: tuple[Any, ...]) -> tuple[str, Any]:
    operation, expression, data, iterators, quota, max_result = request
    engine = _engines.get((iterators, quota))
    if engine is None:
        engine = _engines[iterators, quota] = yaql.YaqlFactory().create(
            {'yaql.limitIterators': iterators, 'yaql.memoryQuota': quota})
    try:
        statement = engine(expression)
    except yaql.language.exceptions.YaqlException as exc:
        return 'syntax', _describe(exc)
    if operation == 'parse':
        return 'value', None
    value = statement.evaluate({'data': data}, context.create_child_context())
    if len(pickle.dumps(value)) > max_result:
        raise ValueError('The result of the yaql expression is too large.')
    return 'value', value


def _describe(exc: Exception) -> tuple[str, str, Any, str]:
    args = exc.args if all(isinstance(arg, _SIMPLE) for arg in exc.args) else None
    return type(exc).__module__, type(exc).__name__, args, str(exc)


def main() -> None:
    # interrupts are meant for the process that started this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import yaql
    import yaql.language.exceptions

    context = yaql.create_context()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), 'wb')
    os.dup2(2, 1)

    def answer(value: Any) -> None:
        data = pickle.dumps(value)
        target.write(_HEADER.pack(len(data)) + data)
        target.flush()

    answer('ready')
    while True:
        header = source.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return
        request = pickle.loads(source.read(_HEADER.unpack(header)[0]))
        try:
            reply: Any = _evaluate(yaql, context, request)
            pickle.dumps(reply)
        except MemoryError:
            reply = ('error', ('builtins', 'ValueError', ('The yaql expression uses too much memory.',), ''))
        except Exception as exc:
            reply = ('error', _describe(exc))
        answer(reply)


if __name__ == '__main__':
    main()
