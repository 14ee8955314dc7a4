# SPDX-License-Identifier: Apache-2.0
"""Processes in which what users write is evaluated when nobody can tell what it costs.

A yaql expression or a regular expression of 26 characters can burn any amount
of CPU and memory, and neither can be stopped from inside a thread.  So they
run in helper processes, which have an upper bound of memory and are killed by
the kernel when one evaluation uses too much CPU.  A process is started when
one is needed and none is idle, and serves on until it is killed.
"""

from __future__ import annotations

import builtins
import os
import pickle
import selectors
import signal
import struct
import subprocess
import sys
import threading
import time
from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.template import limits

_HEADER = struct.Struct(">I")
_START_SECONDS = 60.0
_WORKER = os.path.join(os.path.dirname(__file__), "sandbox_worker.py")
#: runs the file with neither its folder nor the current one among those to import from
_START = 'import runpy, sys; sys.path[:] = [p for p in sys.path if p]; runpy.run_path(sys.argv[1], run_name="__main__")'
#: how much longer than its CPU an evaluation may take on a busy machine
_PATIENCE, _GRACE_SECONDS = 10, 5.0
_builtin_errors = {
    name: obj for name, obj in vars(builtins).items() if isinstance(obj, type) and issubclass(obj, Exception)
}


class SandboxError(Exception):
    """An error of a library that is only loaded in the helper; its class carries the library's name."""


class Died(Exception):
    """The helper ended while it was at work; whether it had used up its CPU."""

    def __init__(self, out_of_time: bool) -> None:
        super().__init__()
        self.out_of_time = out_of_time


def run(what: str, operation: str, *arguments: Any, share: float = 1) -> Any:
    """Evaluate something in a helper process.

    :param what: how to call it in errors
    :param share: of the time that an expression may take
    :raises ValueError: it costs too much
    :raises SandboxError: its library refuses it
    """
    seconds = limits.seconds_left() * share
    request = pickle.dumps((operation, seconds, limits.current().yaql_memory, *arguments))
    try:
        answer, used = _pool.ask(request, seconds)
    except Died as exc:
        limits.charge_seconds(seconds)
        if exc.out_of_time:
            raise ValueError(
                _("%(what)s takes more than %(seconds)s seconds.") % {"what": what, "seconds": round(seconds, 3)}
            ) from None
        raise ValueError(_("%s uses too much memory.") % what) from None
    limits.charge_seconds(used)
    kind, value = answer
    if kind == "value":
        return value
    module, name, args, text = value
    if kind == "syntax":
        raise ValueError(_("Bad expression %s.") % text)
    if kind == "memory":
        raise ValueError(_("%s uses too much memory.") % what)
    if module == "builtins" and name in _builtin_errors and args is not None:
        raise _builtin_errors[name](*args)
    raise type(name, (SandboxError,), {"__module__": module})(text)


class _Helper:
    """One helper process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [_python(), "-c", _START, _WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=True
        )
        try:
            self._read(_START_SECONDS)
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: bytes, seconds: float) -> Any:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(_HEADER.pack(len(request)) + request)
            self._process.stdin.flush()
            return pickle.loads(self._read(seconds * _PATIENCE + _GRACE_SECONDS))
        except (EOFError, BrokenPipeError):
            raise Died(self._process.wait() == -signal.SIGPROF) from None
        except TimeoutError:
            raise Died(True) from None

    def _read(self, seconds: float) -> bytes:
        assert self._process.stdout is not None
        stream = self._process.stdout.fileno()
        until = time.monotonic() + seconds
        parts: list[bytes] = []
        have, size = 0, _HEADER.size
        while have < size:
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
            parts.append(part)
            have += len(part)
            if size == _HEADER.size and have >= size:
                parts = [b"".join(parts)]
                size += _HEADER.unpack_from(parts[0])[0]
        return b"".join(parts)[_HEADER.size :]

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass


class _Pool:
    """The helpers of this process; each serves one evaluation at a time."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all helpers (in a child process they are those of the parent)."""
        self._changed = threading.Condition()
        self._idle: list[_Helper] = []
        self._count = 0

    def ask(self, request: bytes, seconds: float) -> Any:
        helper = self._take()
        try:
            answer = helper.ask(request, seconds)
        except BaseException:
            helper.kill()
            self._give(None)
            raise
        self._give(helper)
        return answer

    def _take(self) -> _Helper:
        with self._changed:
            while not self._idle and self._count >= limits.current().yaql_processes:
                self._changed.wait()
            helper = self._idle.pop() if self._idle else None
            if helper is None:
                self._count += 1
        if helper is not None and helper.is_alive():
            return helper
        try:
            if helper is not None:
                helper.kill()
            return _Helper()
        except BaseException:
            self._give(None)
            raise

    def _give(self, helper: _Helper | None) -> None:
        with self._changed:
            if helper is None:
                self._count -= 1
            else:
                self._idle.append(helper)
            self._changed.notify()


def _python() -> str:
    """The interpreter; a server that embeds Python is not it."""
    if os.path.basename(sys.executable or "").startswith("python"):
        return sys.executable
    return os.path.join(sys.prefix, "bin", "python3")


_pool = _Pool()
os.register_at_fork(after_in_child=_pool.reset)
