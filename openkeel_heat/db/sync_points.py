# SPDX-License-Identifier: Apache-2.0
"""Sync points: where the results meet that a node of a traversal waits for.

The forms are the contract's: ``input_data`` is ``{}`` while empty, then ``{"input_data": {packed node: data}}``;
``extra_data`` is ``null`` or ``{"extra_data": {"resource_failures": {…}, "skip_propagate": true}}``.

A Python Heat engine merges one result at a time, comparing ``atomic_key``. Here all results that are at hand for the
sync points of one traversal are merged in one transaction: the rows are locked (``SELECT … FOR UPDATE``; SQLite has one
writer anyway) and ``atomic_key`` is counted up, so that the others' comparison fails and they merge again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from openkeel_heat.db import models, sql
from openkeel_heat.db.session import Connection, may_be_done, operation, query

_table = models.sync_point

#: Name of our own entry in the ``extra_data`` of a stack's sync point: what else a traversal was started with.
OURS = "openkeel"

Target = tuple[str, bool]


@dataclasses.dataclass(slots=True)
class Merge:
    """One result for one sync point. ``key``: the packed node that sends it; ``predecessors``: all that are waited for.

    ``force``: say that the target is ready even if it was before (it is called for again).
    """

    target: Target
    key: str
    data: Any
    predecessors: Collection[str]
    failures: Mapping[str, Any] | None = None
    skip: bool = False
    force: bool = False


@dataclasses.dataclass(slots=True)
class Merged:
    """A sync point after a merge. ``ready``: its last missing input just came in. ``waiting``: how many are missing."""

    target: Target
    found: bool
    ready: bool = False
    waiting: int = 0
    input_data: dict[str, Any] = dataclasses.field(default_factory=dict)
    failures: dict[str, Any] = dataclasses.field(default_factory=dict)
    skip: bool = False


def _inputs(stored: Any) -> dict[str, Any]:
    return dict((stored or {}).get("input_data") or {})


def _extra(stored: Any) -> dict[str, Any]:
    return dict((stored or {}).get("extra_data") or {})


@operation
def merge(c: Connection, stack_id: str, traversal_id: str, merges: Sequence[Merge]) -> list[Merged]:
    """Merge results into sync points of one traversal; one answer per sync point."""
    by_target: dict[Target, list[Merge]] = {}
    for one in merges:
        by_target.setdefault(one.target, []).append(one)
    if not by_target:
        return []
    names = ("entity_id", "is_update", "atomic_key", "input_data", "extra_data")
    found = sql.select(
        c, _table, names, order="entity_id", lock=True,
        entity_id=sorted({target[0] for target in by_target}), traversal_id=traversal_id, stack_id=stack_id,
    )  # fmt: skip
    rows = {(row.entity_id, bool(row.is_update)): row for row in found}
    return [_merge_one(c, traversal_id, target, rows.get(target), by_target[target]) for target in sorted(by_target)]


def _merge_one(c: Connection, traversal_id: str, target: Target, row: Any, merges: list[Merge]) -> Merged:
    if row is None:
        return Merged(target, found=False)
    inputs, extra = _inputs(row.input_data), _extra(row.extra_data)
    predecessors = set(merges[0].predecessors)
    # what a try whose answer got lost has merged, nobody was told of
    was_ready = predecessors <= inputs.keys() and not may_be_done()
    extra_changed = False
    for one in merges:
        inputs[one.key] = one.data
        if one.failures is not None:
            extra["resource_failures"] = {**extra.get("resource_failures", {}), **one.failures}
            extra_changed = True
        if one.skip:
            extra["skip_propagate"] = True
            extra_changed = True
    values: dict[str, Any] = {"input_data": {"input_data": inputs}, "atomic_key": row.atomic_key + 1}
    if extra_changed:
        values["extra_data"] = {"extra_data": extra}
    sql.update(c, _table, values, entity_id=target[0], traversal_id=traversal_id, is_update=target[1])
    waiting = len(predecessors - inputs.keys())
    return Merged(
        target,
        found=True,
        ready=not waiting and (not was_ready or any(one.force for one in merges)),
        waiting=waiting,
        input_data=inputs,
        failures=dict(extra.get("resource_failures") or {}),
        skip=bool(extra.get("skip_propagate")),
    )


@query
def get(c: Connection, entity_id: str, traversal_id: str, is_update: bool) -> Merged | None:
    """What has met at one sync point so far (``ready`` and ``waiting`` are not known here)."""
    row = sql.select(
        c, _table, ("input_data", "extra_data"), entity_id=entity_id, traversal_id=traversal_id, is_update=is_update
    ).first()
    if row is None:
        return None
    extra = _extra(row.extra_data)
    return Merged(
        (entity_id, is_update),
        True,
        input_data=_inputs(row.input_data),
        failures=dict(extra.get("resource_failures") or {}),
        skip=bool(extra.get("skip_propagate")),
    )


@query
def ours(c: Connection, stack_id: str, traversal_id: str) -> dict[str, Any]:
    """What else the traversal was started with (adopt data, converge, abandon); {} where nothing special."""
    row = sql.select(c, _table, ("extra_data",), entity_id=stack_id, traversal_id=traversal_id, is_update=True).first()
    return {} if row is None else dict(_extra(row.extra_data).get(OURS) or {})


@query
def list_inputs(c: Connection, stack_id: str, traversal_id: str) -> dict[Target, Merged]:
    """All sync points of a traversal."""
    names = ("entity_id", "is_update", "input_data", "extra_data")
    found = {}
    for row in sql.select(c, _table, names, stack_id=stack_id, traversal_id=traversal_id):
        target = (row.entity_id, bool(row.is_update))
        extra = _extra(row.extra_data)
        found[target] = Merged(
            target,
            True,
            input_data=_inputs(row.input_data),
            failures=dict(extra.get("resource_failures") or {}),
            skip=bool(extra.get("skip_propagate")),
        )
    return found


@operation
def insert_many(
    c: Connection, stack_id: str, traversal_id: str, targets: Iterable[Target], ours: Mapping[str, Any] | None = None
) -> None:
    """New, empty sync points; ``ours`` goes with that of the stack itself."""
    special = {"extra_data": {OURS: dict(ours)}} if ours else None
    sql.insert_many(c, _table, [
        {
            "entity_id": entity_id,
            "traversal_id": traversal_id,
            "is_update": is_update,
            "atomic_key": 0,
            "stack_id": stack_id,
            "input_data": {},
            "extra_data": special if entity_id == stack_id else None,
        }
        for entity_id, is_update in targets
    ])  # fmt: skip


@operation
def delete(c: Connection, stack_id: str, traversal_id: str | None = None) -> int:
    """Remove the sync points of a traversal, or of all traversals of a stack."""
    fence = {} if traversal_id is None else {"traversal_id": traversal_id}
    return sql.delete(c, _table, stack_id=stack_id, **fence)
