# SPDX-License-Identifier: Apache-2.0
"""How contexts and arguments cross the bus."""

from __future__ import annotations

from typing import Any

import oslo_messaging

from openkeel_heat.common import profiler
from openkeel_heat.common.context import RequestContext

_ATOMS = frozenset({str, int, float, bool, type(None)})


def is_plain(value: Any) -> bool:
    """Whether a value is made of nothing but what JSON knows, so that it can be sent as it is."""
    todo = [value]
    while todo:
        item = todo.pop()
        kind = type(item)
        if kind is dict:
            for key in item:
                if type(key) is not str:
                    return False
            todo += [one for one in item.values() if type(one) not in _ATOMS]
        elif kind is list:
            todo += [one for one in item if type(one) not in _ATOMS]
        elif kind not in _ATOMS:
            return False
    return True


class RequestContextSerializer(oslo_messaging.Serializer):
    """A context travels as its dict, with the trace it belongs to; payloads travel as *base* says."""

    def __init__(self, base: oslo_messaging.Serializer | None = None) -> None:
        self._base = base if base is not None else oslo_messaging.JsonPayloadSerializer()
        # It would take a plain value apart and build the same again, which costs more than to write it as JSON.
        self._leaves_plain = type(self._base) is oslo_messaging.JsonPayloadSerializer

    def serialize_entity(self, ctxt: Any, entity: Any) -> Any:
        if self._leaves_plain and is_plain(entity):
            return entity
        return self._base.serialize_entity(ctxt, entity)

    def deserialize_entity(self, ctxt: Any, entity: Any) -> Any:
        return self._base.deserialize_entity(ctxt, entity)

    def serialize_context(self, ctxt: Any) -> dict[str, Any]:
        values: dict[str, Any] = ctxt if isinstance(ctxt, dict) else ctxt.to_dict()
        trace = profiler.trace_info()
        return {**values, "trace_info": trace} if trace else values

    def deserialize_context(self, ctxt: dict[str, Any]) -> RequestContext:
        values = dict(ctxt)
        profiler.resume(values.pop("trace_info", None))
        return RequestContext.from_dict(values)
