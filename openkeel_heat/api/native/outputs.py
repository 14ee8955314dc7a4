# SPDX-License-Identifier: Apache-2.0
"""Outputs of a stack."""

from __future__ import annotations

from typing import Any

from openkeel_heat.api.request import Request


def index(req: Request, identity: dict[str, str]) -> dict[str, Any]:
    return {"outputs": req.rpc.list_outputs(req.context, identity)}


def show(req: Request, identity: dict[str, str], output_key: str) -> dict[str, Any]:
    return {"output": req.rpc.show_output(req.context, identity, output_key)}
