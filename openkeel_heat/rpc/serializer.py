# SPDX-License-Identifier: Apache-2.0
"""How contexts and arguments cross the bus."""

from __future__ import annotations

from typing import Any

import oslo_messaging

from openkeel_heat.common import profiler
from openkeel_heat.common.context import RequestContext


class RequestContextSerializer(oslo_messaging.Serializer):
    """A context travels as its dict, with the trace it belongs to; payloads travel as *base* says."""

    def __init__(self, base: oslo_messaging.Serializer | None = None) -> None:
        self._base = base if base is not None else oslo_messaging.JsonPayloadSerializer()

    def serialize_entity(self, ctxt: Any, entity: Any) -> Any:
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
