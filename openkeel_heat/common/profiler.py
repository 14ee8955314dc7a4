# SPDX-License-Identifier: Apache-2.0
"""Tracing with OSProfiler; costs nothing where ``[profiler] enabled`` is off."""

from __future__ import annotations

import sys
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

LOG = logging.getLogger(__name__)


def setup(binary: str, host: str) -> None:
    """Start sending traces of this process, or switch the web middleware off."""
    if "profiler" not in cfg.CONF or not cfg.CONF.profiler.enabled:
        web = sys.modules.get("osprofiler.web")
        if web is not None:
            web.disable()
        return
    from osprofiler import initializer

    from openkeel_heat.common import context

    initializer.init_from_conf(
        conf=cfg.CONF,
        context=context.get_admin_context().to_dict(),
        project="heat",
        service=binary,
        host=host,
    )
    LOG.warning(
        "OSProfiler is on: whoever knows one of the hmac_keys of the configuration can have requests traced; "
        "only administrators can read the traces. [profiler] enabled=false switches it off."
    )


def trace_info() -> dict[str, Any] | None:
    """What lets another process go on with the trace of this thread, if there is one."""
    module = sys.modules.get("osprofiler.profiler")
    current = None if module is None else module.get()
    if current is None:
        return None
    return {"hmac_key": current.hmac_key, "base_id": current.get_base_id(), "parent_id": current.get_id()}


def resume(info: dict[str, Any] | None) -> None:
    """Go on with the trace that :func:`trace_info` described."""
    if info:
        from osprofiler import profiler

        profiler.init(**info)
