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


def simple_parse(text: str, tmpl_url: str | None = None) -> Any:
    from openkeel_heat.template import text as templates

    parse = getattr(templates, "simple_parse", templates.parse)
    return parse(text)
