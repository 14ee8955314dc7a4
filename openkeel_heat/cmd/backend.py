# SPDX-License-Identifier: Apache-2.0
"""Chooses, before anything else is imported, what threads are made of.

Native threads are the default. Sites that still need eventlet set ``OPENKEEL_HEAT_BACKEND=eventlet`` in the
environment, or ``threading_backend = eventlet`` in the ``[DEFAULT]`` section of a configuration file, or give
``--threading-backend eventlet`` on the command line (the last named wins over the ones before). Monkey patching has
to come before the imports that it changes, so this module reads those three places with the standard library alone
and no other module of the project knows the outcome.

Every command calls :func:`select` as its first act::

    from openkeel_heat.cmd import backend

    backend.select()
"""

from __future__ import annotations

import configparser
import contextlib
import importlib
import os
import pathlib
import sys
from collections.abc import Iterable, Iterator, Sequence

ENVIRONMENT = "OPENKEEL_HEAT_BACKEND"
OPTION = "threading_backend"
FLAG = "--threading-backend"
BACKENDS = ("threading", "eventlet")
EAGER = ("oslo_utils.eventletutils", "futurist", "oslo_messaging")
#: The same, where the libraries of memcached are installed. Tokens are cached with them at the first request; were the
#: thread of that request to load eventlet, it could never be joined again, and the process would not end.
EAGER_WHERE_THERE = ("oslo_cache._memcache_pool", "oslo_cache._bmemcache_pool")
DEFAULT_FILES = ("~/.heat/heat.conf", "~/heat.conf", "/etc/heat/heat.conf", "/usr/share/heat/heat-dist.conf")


def take_flag(argv: list[str]) -> str | None:
    """Remove ``--threading-backend VALUE`` from ``argv`` (in place) and return the value."""
    found = None
    index = 0
    while index < len(argv):
        word = argv[index]
        if word == "--":
            break
        if word == FLAG and index + 1 < len(argv):
            found = argv[index + 1]
            del argv[index : index + 2]
        elif word.startswith(FLAG + "="):
            found = word.partition("=")[2]
            del argv[index]
        else:
            index += 1
    return found


def config_files(argv: Sequence[str]) -> list[pathlib.Path]:
    """The configuration files named on the command line, else the first default file that exists."""
    named = []
    words = iter(argv)
    for word in words:
        if word == "--config-file":
            named.append(next(words, ""))
        elif word.startswith("--config-file="):
            named.append(word.partition("=")[2])
    if named:
        return [pathlib.Path(name) for name in named if name]
    defaults = [pathlib.Path(name).expanduser() for name in DEFAULT_FILES]
    return [path for path in defaults if path.is_file()][:1]


def from_files(paths: Iterable[pathlib.Path]) -> str | None:
    """The value of ``[DEFAULT] threading_backend``, the last file winning; None where no file has it."""
    found = None
    for path in paths:
        parser = configparser.RawConfigParser(strict=False, allow_no_value=True, interpolation=None)
        try:
            parser.read_string(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, configparser.Error):
            continue  # oslo.config reports what is wrong with the file in its own words
        found = parser.defaults().get(OPTION) or found
    return found


def choose(argv: list[str], environment: dict[str, str] | os._Environ[str] = os.environ) -> str:
    """Name of the backend; ``argv`` loses the flag that only this module knows."""
    flag = take_flag(argv)
    value = flag or from_files(config_files(argv)) or environment.get(ENVIRONMENT) or BACKENDS[0]
    value = value.strip().lower()
    if value not in BACKENDS:
        raise SystemExit(f"unknown threading backend {value!r}: one of {', '.join(BACKENDS)}")
    return value


@contextlib.contextmanager
def _without_eventlet() -> Iterator[None]:
    """Libraries that load eventlet wherever it is installed (10 MB for nothing) find it missing."""
    if "eventlet" in sys.modules:
        yield
        return
    sys.modules["eventlet"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["eventlet"]


def select(argv: list[str] | None = None) -> str:
    """Choose and install the backend of this process; return its name."""
    name = choose(sys.argv if argv is None else argv)
    if name == "eventlet":
        os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")
        import eventlet

        eventlet.monkey_patch()
    with _without_eventlet() if name != "eventlet" else contextlib.nullcontext():
        from oslo_service import backend

        backend.init_backend(backend.BackendType(name))
        for module in EAGER:
            importlib.import_module(module)
        for module in EAGER_WHERE_THERE:
            with contextlib.suppress(ImportError):
                importlib.import_module(module)
    return name
