# SPDX-License-Identifier: Apache-2.0
"""Remembering answers of other services, in the cache that ``[cache]`` configures.

:class:`Memo` keeps one family of answers (an option group with ``caching`` and ``expiration_time``). With the general
switch off it asks each time, and the cache library is not even imported.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from oslo_config import cfg

CONSTRAINTS = "constraint_validation_cache"
EXTENSIONS = "service_extension_cache"
FINDERS = "resource_finder_cache"


@functools.cache
def get_cache_region() -> Any:
    """The region of this process, configured at first use."""
    from oslo_cache import core

    core.configure(cfg.CONF)
    return core.configure_cache_region(cfg.CONF, core.create_region())


def _enabled(group: str) -> bool:
    from oslo_cache import core

    core.configure(cfg.CONF)
    return bool(cfg.CONF.cache.enabled and cfg.CONF[group].caching)


class Memo:
    def __init__(self, group: str) -> None:
        self.group = group

    def get_or_create(self, key: str, make: Callable[[], Any], keep: Callable[[Any], bool] = lambda value: True) -> Any:
        """The answer under *key*; made, and kept if *keep* says so, when there is none."""
        if not _enabled(self.group):
            return make()
        return get_cache_region().get_or_create(
            f"{self.group}|{key}",
            make,
            expiration_time=cfg.CONF[self.group].expiration_time,
            should_cache_fn=keep,
        )

    def forget(self, key: str) -> None:
        if _enabled(self.group):
            get_cache_region().delete(f"{self.group}|{key}")

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a method or function whose positional arguments, but ``self``, are its key."""

        @functools.wraps(function)
        def remembered(*args: Any) -> Any:
            own = args[1:] if args and hasattr(args[0], function.__name__) else args
            key = f"{function.__module__}.{function.__qualname__}|{'|'.join(map(str, own))}"
            return self.get_or_create(key, lambda: function(*args))

        def invalidate(*args: Any) -> None:
            own = args[1:] if args and hasattr(args[0], function.__name__) else args
            self.forget(f"{function.__module__}.{function.__qualname__}|{'|'.join(map(str, own))}")

        remembered.invalidate = invalidate  # type: ignore[attr-defined]
        return remembered


MEMOIZE_CONSTRAINTS = Memo(CONSTRAINTS)
MEMOIZE_EXTENSIONS = Memo(EXTENSIONS)
MEMOIZE_FINDER = Memo(FINDERS)
