# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a stack."""

from __future__ import annotations

from typing import Any, NoReturn

from webob import exc

from openkeel_heat.api.request import Request


def create(req: Request, identity: dict[str, str], body: dict[str, Any]) -> Any:
    return req.rpc.stack_snapshot(req.context, identity, body.get("name"))


def index(req: Request, identity: dict[str, str]) -> dict[str, Any]:
    return {"snapshots": req.rpc.stack_list_snapshots(req.context, identity)}


def show(req: Request, identity: dict[str, str], snapshot_id: str) -> dict[str, Any]:
    return {"snapshot": req.rpc.show_snapshot(req.context, identity, snapshot_id)}


def delete(req: Request, identity: dict[str, str], snapshot_id: str) -> NoReturn:
    req.rpc.delete_snapshot(req.context, identity, snapshot_id)
    raise exc.HTTPNoContent()


def restore(req: Request, identity: dict[str, str], snapshot_id: str) -> NoReturn:
    req.rpc.stack_restore(req.context, identity, snapshot_id)
    raise exc.HTTPAccepted()
