# SPDX-License-Identifier: Apache-2.0
"""Parameters of a query request: of the URL and of a form in the body, where AWS clients put them."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl

from oslo_config import cfg

from openkeel_heat.api.cfn import errors

_KEY = "openkeel_heat.cfn.params"
_FORM = "application/x-www-form-urlencoded"
#: A template in a form may be up to three times as long as its text.
_ESCAPED = 3


def read_body(environ: dict[str, Any]) -> bytes:
    """The body, which stays readable for whoever comes next."""
    try:
        length = int(environ.get("CONTENT_LENGTH") or 0)
    except ValueError as error:
        raise errors.InvalidParameterValue("Content-Length") from error
    limit = cfg.CONF.max_json_body_size * _ESCAPED
    stream = environ.get("wsgi.input")
    if stream is None or not (length > 0 or environ.get("wsgi.input_terminated")):
        return b""
    body = stream.read(min(length, limit + 1) if length else limit + 1)
    if len(body) > limit or length > limit:
        raise errors.RequestLimitExceeded()
    environ["wsgi.input"] = io.BytesIO(body)
    environ["CONTENT_LENGTH"] = str(len(body))
    return body


def read(environ: dict[str, Any]) -> dict[str, str]:
    """All parameters by name; one that comes twice counts the last time, the URL before the form."""
    found: dict[str, str] | None = environ.get(_KEY)
    if found is None:
        try:
            pairs = _pairs(environ.get("QUERY_STRING", ""))
            if environ.get("CONTENT_TYPE", "").split(";", 1)[0].strip() == _FORM:
                pairs = [*_pairs(read_body(environ).decode("utf-8")), *pairs]
        except UnicodeDecodeError as error:
            raise errors.InvalidParameterValue(error) from error
        found = environ[_KEY] = dict(pairs)
    return found


def _pairs(text: str) -> list[tuple[str, str]]:
    return parse_qsl(text, keep_blank_values=True, encoding="utf-8", errors="strict")


def members(params: dict[str, str], prefix: str) -> list[dict[str, str]]:
    """``Prefix.member.1.Key=value`` … as a list of mappings, in the order of their numbers."""
    pattern = re.compile(rf"{re.escape(prefix)}\.member\.(\d+)\.(.*)", re.DOTALL)
    found: Iterable[tuple[int, str, str]] = (
        (int(match.group(1)), match.group(2), value)
        for name, value in params.items()
        if (match := pattern.fullmatch(name)) and len(match.group(1)) < 10
    )
    ordered = sorted(found, key=lambda item: item[0])
    groups = itertools.groupby(ordered, lambda item: item[0])
    return [{key: value for _number, key, value in group} for _number, group in groups]


def pairs(params: dict[str, str], prefix: str, key: str, value: str) -> dict[str, str]:
    """The members of `prefix` as one mapping of their `key` to their `value`."""
    return {item[key]: item[value] for item in members(params, prefix) if key in item and value in item}


def required(params: dict[str, str], name: str) -> str:
    if not params.get(name):
        raise errors.MissingParameter(name)
    return params[name]
