# SPDX-License-Identifier: Apache-2.0
"""The ``yaql`` function: a query over data, in a language of its own.

An expression comes from users and can burn any amount of CPU and memory (a
regular expression of 26 characters is enough), and neither can be stopped from
inside a thread.  So expressions run in one helper process, which has an upper
bound of memory, is killed when an expression takes too long, and is started
again for the next one.  The yaql library is only ever loaded there.
"""

from __future__ import annotations

import builtins
import os
import pickle
import selectors
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.template import limits
from openkeel_heat.template.nodes import FunctionNode, is_function, resolve

_HEADER = struct.Struct('>I')
_START_SECONDS = 30.0
_builtin_errors = {name: obj for name, obj in vars(builtins).items()
                   if isinstance(obj, type) and issubclass(obj, Exception)}


class Yaql(FunctionNode):
    """``yaql: {expression: ..., data: ...}``."""

    def check(self) -> None:
        if not isinstance(self.args, Mapping):
            raise TypeError(_('Arguments to "%s" must be a map.') % self.fn_name)
        try:
            self._expression = self.args['expression']
            self._data = self.args.get('data', {})
            if set(self.args) - {'expression', 'data'}:
                raise KeyError
        except (KeyError, TypeError):
            example = ('''%s:
              expression: $.data.var1.sum()
              data:
                var1: [3, 2, 1]''') % self.fn_name
            raise KeyError(_('"%(name)s" syntax should be %(example)s')
                           % {'name': self.fn_name, 'example': example}) from None

    def validate_args(self, scope: Any) -> None:
        super().validate_args(scope)
        if not is_function(self._expression):
            self._check_text(self._expression)
            _worker.run('parse', self._expression, None)

    def _check_text(self, expression: Any) -> None:
        if not isinstance(expression, str):
            raise TypeError(_('The "expression" argument to %s must contain a string.') % self.fn_name)

    def result(self, scope: Any) -> Any:
        expression = resolve(self._expression, scope)
        self._check_text(expression)
        return _worker.run('evaluate', expression, resolve(self._data, scope))


class YaqlError(Exception):
    """An error of the yaql library; its class carries the library's name."""


class _Worker:
    """The helper process, one per process, started when first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pid = 0

    def run(self, operation: str, expression: str, data: Any) -> Any:
        bounds = limits.current()
        request = pickle.dumps((operation, expression, data, bounds.yaql_limit_iterators, bounds.yaql_memory_quota,
                                bounds.max_result_size))
        with self._lock:
            process = self._running()
            try:
                answer = self._ask(process, request, bounds.yaql_seconds)
            except BaseException:
                self._stop()
                raise
        kind, value = pickle.loads(answer)
        if kind == 'value':
            return value
        module, name, args, text = value
        if kind == 'syntax':
            raise ValueError(_('Bad expression %s.') % text)
        if module == 'builtins' and name in _builtin_errors and args is not None:
            raise _builtin_errors[name](*args)
        raise type(name, (YaqlError,), {'__module__': module})(text)

    def _running(self) -> subprocess.Popen[bytes]:
        process = self._process
        if process is not None and (self._pid != os.getpid() or process.poll() is not None):
            if self._pid == os.getpid():
                self._stop()
            process = None
        if process is None:
            process = subprocess.Popen([_python(), '-m', 'openkeel_heat.template.functions.yaql_worker'],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=True)
            self._process, self._pid = process, os.getpid()
            self._read(process, _START_SECONDS)
        return process

    def _ask(self, process: subprocess.Popen[bytes], request: bytes, seconds: float) -> bytes:
        assert process.stdin is not None
        try:
            process.stdin.write(_HEADER.pack(len(request)) + request)
            process.stdin.flush()
            return self._read(process, seconds)
        except (EOFError, BrokenPipeError):
            raise ValueError(_('The yaql expression uses too much memory.')) from None
        except TimeoutError:
            raise ValueError(_('The yaql expression takes more than %s seconds.') % seconds) from None

    @staticmethod
    def _read(process: subprocess.Popen[bytes], seconds: float) -> bytes:
        assert process.stdout is not None
        stream = process.stdout.fileno()
        until = time.monotonic() + seconds
        data = b''
        size: int | None = None
        while size is None or len(data) < size:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            with selectors.DefaultSelector() as selector:
                selector.register(stream, selectors.EVENT_READ)
                if not selector.select(left):
                    raise TimeoutError
            part = os.read(stream, 1 << 20)
            if not part:
                raise EOFError
            data += part
            if size is None and len(data) >= _HEADER.size:
                size = _HEADER.unpack_from(data)[0] + _HEADER.size
        return data[_HEADER.size:]

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None or self._pid != os.getpid():
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass


def _python() -> str:
    """The interpreter; a server that embeds Python is not it."""
    if os.path.basename(sys.executable or '').startswith('python'):
        return sys.executable
    return os.path.join(sys.prefix, 'bin', 'python3')


_worker = _Worker()
