# SPDX-License-Identifier: Apache-2.0
"""Revisions of the running processes."""

from __future__ import annotations

from typing import Any

from oslo_config import cfg

from openkeel_heat.api.request import Request


def show(req: Request) -> dict[str, Any]:
    engine = req.rpc.get_revision(req.context)
    return {"api": {"revision": cfg.CONF.revision.heat_revision}, "engine": {"revision": engine}}
