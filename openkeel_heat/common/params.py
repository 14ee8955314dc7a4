# SPDX-License-Identifier: Apache-2.0
"""Arguments of requests: texts and loose types in, the right types or a ``ValueError`` with a readable text out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common.i18n import _

LOG = logging.getLogger(__name__)

TAG_MAX = 80
#: What the column of a stack's time-out holds.
MOST_MINUTES = 2**31 - 1
_STATUSES = ("COMPLETE", "FAILED", "IN_PROGRESS")

#: Names of stack fields as users filter by them, and the columns behind them.
FILTER_COLUMNS = {
    "stack_name": "name",
    "stack_action": "action",
    "stack_status": "status",
    "stack_status_reason": "status_reason",
    "disable_rollback": "disable_rollback",
    "timeout_mins": "timeout",
    "stack_owner": "username",
    "parent": "owner_id",
    "stack_user_project_id": "stack_user_project_id",
}


def extract_bool(name: str, value: Any) -> bool:
    text = str(value).lower()
    if text not in ("true", "false"):
        raise ValueError(
            _('Unrecognized value "%(value)s" for "%(name)s", acceptable values are: true, false.')
            % {"value": value, "name": name}
        )
    return text == "true"


def extract_int(name: str, value: Any, allow_zero: bool = True, allow_negative: bool = False) -> int | None:
    if value is None:
        return None
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = None
    # A number is what reads back as it was written: not True, not " 7", not "1.5".
    if number is None or str(number) != str(value):
        raise ValueError(_("Only integer is acceptable by '%(name)s'.") % {"name": name})
    if number == 0 and not allow_zero:
        raise ValueError(_("Only non-zero integer is acceptable by '%(name)s'.") % {"name": name})
    if number < 0 and not allow_negative:
        raise ValueError(
            _("Value '%(value)s' is invalid for '%(name)s' which only accepts non-negative integer.")
            % {"name": name, "value": value}
        )
    return number


def split_list(value: str | None) -> list[str] | None:
    """``a,b`` as a list; nothing as an empty one."""
    if value is None:
        return None
    return value.split(",") if value else []


def check_tag(tag: Any) -> None:
    if not isinstance(tag, str):
        raise ValueError(_('Invalid tag, "%s" is not a string') % (tag,))
    if len(tag) > TAG_MAX:
        raise ValueError(_('Invalid tag, "%s" is longer than 80 characters') % tag)
    if "," in tag:
        raise ValueError(_('Invalid tag, "%s" contains a comma') % tag)


def extract_tags(subject: str) -> list[str]:
    tags = subject.split(",")
    for tag in tags:
        check_tag(tag)
    return tags


def extract_template_type(subject: str) -> str:
    kind = subject.lower()
    if kind not in ("cfn", "hot"):
        raise ValueError(_('Invalid template type "%(value)s", valid types are: cfn, hot.') % {"value": subject})
    return kind


def extract_args(params: Mapping[str, Any], parse: Callable[[str], Any]) -> dict[str, Any]:
    """The ``args`` of a create or update as typed values; what is not known is dropped.

    *parse* reads adopt data (the text parser of templates).
    """
    args: dict[str, Any] = {}
    timeout = params.get("timeout_mins")
    if timeout not in ("0", 0, None):
        try:
            minutes = int(timeout)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            LOG.warning("Ignored a timeout that is not a number: %r", timeout)
        else:
            if minutes <= 0:
                raise ValueError(_("Invalid timeout value %s") % minutes)
            args["timeout_mins"] = minutes
    for name in ("converge", "disable_rollback"):
        if name in params:
            args[name] = extract_bool(name, params[name])
    if params.get("adopt_stack_data"):
        try:
            args["adopt_stack_data"] = parse(params["adopt_stack_data"])
        except ValueError as error:
            raise ValueError(_("Invalid adopt data: %s") % error) from error
    tags = params.get("tags")
    if tags is not None:
        if not isinstance(tags, list):
            raise ValueError(_("Invalid tags, not a list: %s") % (tags,))
        for tag in tags:
            check_tag(tag)
        args["tags"] = tags
    return args


def translate_filters(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Filters by the users' names as filters by column; ``CREATE_COMPLETE`` becomes an action and a status."""
    result = {name: value for name, value in filters.items() if name not in FILTER_COLUMNS}
    for name, column in FILTER_COLUMNS.items():
        value = filters.get(name)
        if not value:
            continue
        present = result.get(column) if column != name else None
        result[column] = [*_listed(value), *_listed(present)] if present else value
    if "status" in result:
        actions, statuses = _split_statuses(_listed(result["status"]))
        result["status"] = _scalar(statuses)
        if actions:
            result["action"] = _scalar(actions | set(_listed(result.get("action", []))))
    return result


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _scalar(values: set[str]) -> str | list[str]:
    ordered = sorted(values)
    return ordered[0] if len(ordered) == 1 else ordered


def _split_statuses(values: list[str]) -> tuple[set[str], set[str]]:
    actions: set[str] = set()
    statuses: set[str] = set()
    for value in values:
        for status in _STATUSES:
            if value == status:
                statuses.add(status)
            elif str(value).endswith(f"_{status}"):
                actions.add(value[: -len(status) - 1])
                statuses.add(status)
    return actions, statuses
