# SPDX-License-Identifier: Apache-2.0
"""Tags of EC2: a list of keys and values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit.properties import Schema

TAG_KEY, TAG_VALUE = "Key", "Value"


def schema(description: str, implemented: bool = True, **more: Any) -> Schema:
    """The property; one that is not implemented may be given, as an empty list."""
    one = Schema(
        Schema.MAP,
        _("One tag."),
        implemented=implemented,
        schema={
            TAG_KEY: Schema(Schema.STRING, _("Key of the tag."), required=True),
            TAG_VALUE: Schema(Schema.STRING, _("Value of the tag."), required=True),
        },
    )
    return Schema(Schema.LIST, description, schema=one, **more)


def as_map(tags: Iterable[Mapping[str, Any]] | None) -> dict[str, Any] | None:
    """What services of OpenStack have in their place: metadata."""
    return None if tags is None else {tag[TAG_KEY]: tag[TAG_VALUE] for tag in tags}
