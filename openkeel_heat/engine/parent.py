# SPDX-License-Identifier: Apache-2.0
"""What functions inside a nested stack may know of the resource that it is the inside of (``resource_facade``)."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openkeel_heat.engine.stack import Stack


class ParentResourceProxy:
    """The template resource in the parent stack; read from the database only when a function asks."""

    def __init__(self, context: Any, name: str, stack_id: str | None) -> None:
        self._context = context
        self.name = name
        self._stack_id = stack_id
        self._reference: weakref.ref[Stack] | None = None
        self._loaded: Stack | None = None

    def use(self, stack: Stack) -> None:
        """Take the parent from memory (it may not be stored yet)."""
        self._reference = weakref.ref(stack)
        self._loaded = None

    def stack(self) -> Stack:
        """The parent stack."""
        stack = self._reference() if self._reference is not None else None
        if stack is None:
            from openkeel_heat.engine.stack import Stack

            assert self._stack_id is not None, "Must provide parent stack or ID"
            stack = self._loaded = Stack.load(self._context, self._stack_id)
            self._reference = weakref.ref(stack)
        return stack

    def metadata_get(self) -> Any:
        """The metadata of the resource: of its row if it has one, else of the template."""
        if self._loaded is None and self._reference is not None:
            stack = self._reference()
            if stack is not None and stack.resources_loaded:
                return stack[self.name].metadata_get()
        if self._stack_id is not None:
            from openkeel_heat.db import resources as db
            from openkeel_heat.engine import records

            rows = db.list_by_name(self._stack_id, self.name)
            if rows:
                return records.by_name(rows)[self.name].rsrc_metadata
        return self.t.metadata()

    @property
    def t(self) -> Any:
        """The bound definition of the resource."""
        return self.stack().defn.bound(self.name)


def proxy_for(context: Any, name: str | None, stack_id: str | None) -> ParentResourceProxy | None:
    return None if name is None else ParentResourceProxy(context, name, stack_id)
