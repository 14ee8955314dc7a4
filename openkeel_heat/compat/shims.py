# SPDX-License-Identifier: Apache-2.0
"""Small things that only plug-ins ask for."""

from __future__ import annotations

import time
import uuid
from typing import Any

from openkeel_heat.common import version


class Duration:
    """A span of wall-clock time that begins now."""

    def __init__(self, timeout: float = 0) -> None:
        self._end = time.time() + timeout

    def expired(self) -> bool:
        return time.time() > self._end

    def endtime(self) -> float:
        return self._end


def generate_engine_id() -> str:
    return str(uuid.uuid4())


class _VersionInfo:
    def version_string(self) -> str:
        return version.CONTRACT

    release_string = version_string


version_info = _VersionInfo()


class LifecyclePlugin:
    """Base of ``heat.lifecycle_plugins``: called around each operation on a stack, in the order of ``get_ordinal``."""

    def do_pre_op(self, cnxt: Any, stack: Any, current_stack: Any = None, action: str | None = None) -> None:
        """Before the operation; an error stops it."""

    def do_post_op(
        self,
        cnxt: Any,
        stack: Any,
        current_stack: Any = None,
        action: str | None = None,
        is_stack_failure: bool = False,
    ) -> None:
        """After the operation, or after a ``do_pre_op`` failed."""

    def get_ordinal(self) -> int:
        return 100
