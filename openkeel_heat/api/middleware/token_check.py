# SPDX-License-Identifier: Apache-2.0
"""Keystone is asked about a token once, however many requests come with it at the same moment.

keystonemiddleware remembers what Keystone said of a token. A program that starts with many requests at once sends them
all before there is anything to remember; here the first asks, and the others wait for its answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

FILTER = "keystonemiddleware.auth_token:AuthProtocol"


class OneAtATime:
    """`fetch(token, …)`, never twice for one token at the same time."""

    def __init__(self, fetch: Callable[..., Any]) -> None:
        self._fetch = fetch
        self._guard = threading.Lock()
        self._asking: dict[str, list[Any]] = {}  # token -> lock, and how many hold it or wait for it

    def __call__(self, token: str, **options: Any) -> Any:
        with self._guard:
            entry = self._asking.setdefault(token, [threading.Lock(), 0])
            entry[1] += 1
        try:
            with entry[0]:
                return self._fetch(token, **options)
        finally:
            with self._guard:
                entry[1] -= 1
                if not entry[1]:
                    del self._asking[token]


def ask_once(filtered: Any) -> Any:
    """The filter of a pipeline; keystonemiddleware's asks one at a time from now on."""
    kind = type(filtered)
    if f"{kind.__module__}:{kind.__qualname__}" == FILTER:
        filtered.fetch_token = OneAtATime(filtered.fetch_token)
    return filtered
