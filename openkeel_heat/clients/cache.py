# SPDX-License-Identifier: Apache-2.0
"""Remembering answers of other services, in the cache that ``[cache]`` configures.

:class:`Memo` keeps one family of answers (an option group with ``caching`` and ``expiration_time``). With the general
switch off, or the cache away, it asks each time.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

LOG = logging.getLogger(__name__)

CONSTRAINTS = "constraint_validation_cache"
EXTENSIONS = "service_extension_cache"
FINDERS = "resource_finder_cache"

#: Of one object, keys that are remembered: names and ids in several projects.
_NAMES = 50


@functools.cache
def get_cache_region() -> Any:
    """The region of this process, configured at first use."""
    from oslo_cache import core

    _register()
    return core.configure_cache_region(cfg.CONF, core.create_region())


@functools.cache
def _register() -> None:
    from oslo_cache import core

    core.configure(cfg.CONF)


def _enabled(group: str) -> bool:
    _register()
    return bool(cfg.CONF.cache.enabled and cfg.CONF[group].caching)


@contextlib.contextmanager
def _can_do_without() -> Iterator[None]:
    """A cache that is away is no error of who would use it: what he has done is done."""
    try:
        yield
    except Exception as error:
        _tell(error)


def _tell(error: Exception) -> None:
    LOG.warning("The cache cannot be used: %s", error)


class Memo:
    def __init__(self, group: str) -> None:
        self.group = group

    def get_or_create(self, key: str, make: Callable[[], Any], keep: Callable[[Any], bool] = lambda value: True) -> Any:
        """The answer under *key*; made, and kept if *keep* says so, when there is none."""
        if not _enabled(self.group):
            return make()
        made: list[Any] = []
        failed: list[BaseException] = []

        def create() -> Any:
            try:
                made.append(make())
            except BaseException as error:
                failed.append(error)
                raise
            return made[0]

        try:
            return get_cache_region().get_or_create(
                f"{self.group}|{key}",
                create,
                expiration_time=cfg.CONF[self.group].expiration_time,
                should_cache_fn=keep,
            )
        except Exception as error:
            if failed:
                raise
            _tell(error)
        return made[0] if made else make()

    def forget(self, key: str) -> None:
        if _enabled(self.group):
            with _can_do_without():
                get_cache_region().delete(f"{self.group}|{key}")

    def find(self, key: str, make: Callable[[], str]) -> str:
        """The id under *key*, as :meth:`get_or_create`; :meth:`forget_id` forgets it, in whatever process."""

        def found() -> str:
            made = make()
            if _enabled(self.group):
                with _can_do_without():
                    known = self._keys_of(made)
                    get_cache_region().set(self._names(made), [*known, key][-_NAMES:])
            return made

        return str(self.get_or_create(key, found))

    def forget_id(self, id_: str) -> None:
        """What had this id may have another name by now, or be gone."""
        if not _enabled(self.group):
            return
        with _can_do_without():
            keys = self._keys_of(id_)
            for key in keys:
                self.forget(key)
            if keys:
                get_cache_region().delete(self._names(id_))

    def _names(self, id_: str) -> str:
        return f"{self.group}|names of|{id_}"

    def _keys_of(self, id_: str) -> list[str]:
        known = get_cache_region().get(self._names(id_))
        return list(known) if isinstance(known, (list, tuple)) else []

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a method or function whose positional arguments, but ``self``, are its key."""
        first = next(iter(inspect.signature(function).parameters), None)
        owned = 1 if first in ("self", "cls") else 0

        def key_of(args: tuple[Any, ...]) -> str:
            return f"{function.__module__}.{function.__qualname__}|{'|'.join(map(repr, args[owned:]))}"

        @functools.wraps(function)
        def remembered(*args: Any) -> Any:
            return self.get_or_create(key_of(args), lambda: function(*args))

        def invalidate(*args: Any) -> None:
            self.forget(key_of(args))

        remembered.invalidate = invalidate  # type: ignore[attr-defined]
        return remembered


MEMOIZE_CONSTRAINTS = Memo(CONSTRAINTS)
MEMOIZE_EXTENSIONS = Memo(EXTENSIONS)
MEMOIZE_FINDER = Memo(FINDERS)
