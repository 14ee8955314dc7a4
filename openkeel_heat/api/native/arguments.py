# SPDX-License-Identifier: Apache-2.0
"""Query and body values as the engine wants them; a bad one is 400 with a text that names it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from webob import exc

from openkeel_heat.api.request import Query
from openkeel_heat.common import params
from openkeel_heat.common.i18n import _

T = TypeVar("T")

SORT_DIRECTIONS = ("asc", "desc", "asc-nullsfirst", "asc-nullslast", "desc-nullsfirst", "desc-nullslast")


def _checked(extract: Callable[..., T], *arguments: Any) -> T:
    try:
        return extract(*arguments)
    except ValueError as error:
        raise exc.HTTPBadRequest(str(error)) from error


def boolean(name: str, value: Any) -> bool:
    return _checked(params.extract_bool, name, value)


def integer(name: str, value: Any) -> int | None:
    return _checked(params.extract_int, name, value)


def tags(value: Any) -> list[str]:
    """A comma separated text as a list; what is no text has no ``split``, which clients see as AttributeError (400)."""
    return _checked(params.extract_tags, value)


def template_type(value: str) -> str:
    try:
        return params.extract_template_type(value)
    except ValueError as error:
        raise exc.HTTPBadRequest(_("Template type is not supported: %s") % error) from error


def query_boolean(query: Query, name: str, default: bool = False) -> bool:
    """A flag of the query; `default` when it is absent."""
    value = query.get(name)
    return default if value is None else boolean(name, value)


def paging(query: Query) -> dict[str, Any]:
    """``limit``, ``marker``, ``sort_keys`` and ``sort_dir``, those that were given."""
    found = query.single("limit", "marker", "sort_dir") | query.multi("sort_keys")
    if "limit" in found:
        found["limit"] = integer("limit", found["limit"])
    direction = found.get("sort_dir")
    if direction is not None and direction not in SORT_DIRECTIONS:
        raise exc.HTTPBadRequest(
            _('Unrecognized value "%(value)s" for "%(name)s", acceptable values are: asc, desc.')
            % {"value": direction, "name": "sort_dir"}
        )
    return found
