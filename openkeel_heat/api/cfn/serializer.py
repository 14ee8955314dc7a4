# SPDX-License-Identifier: Apache-2.0
"""XML of the CloudFormation API.

A list is a row of ``member`` elements.  Templates and metadata are JSON inside XML.  Booleans are ``true`` and
``false``; what is null is left out.  A name that XML does not allow becomes one that it does.
"""

from __future__ import annotations

import json
import re
from typing import Any
from xml.sax.saxutils import escape

#: Elements whose content is JSON.
JSON_ELEMENTS = frozenset(("TemplateBody", "Metadata"))

_BAD_FIRST = re.compile(r"^[^A-Za-z_]")
_BAD = re.compile(r"[^A-Za-z0-9_.\-\u00b7-\uffff]")
#: Characters that no XML document may have.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def to_xml(data: dict[str, Any]) -> bytes:
    """The document of a mapping with one key, its root element."""
    root = next(iter(data))
    return _element(root, data[root]).encode("utf-8")


def _name(key: Any) -> str:
    return _BAD_FIRST.sub("_", _BAD.sub(".", str(key)))


def _text(value: Any) -> str:
    return escape(_CONTROL.sub("?", str(value)), {"\r": "&#13;"})


def _element(key: Any, value: Any) -> str:
    name = _name(key)
    if key in JSON_ELEMENTS:
        content = _text(json.dumps(value, default=str)) if value else ""
    elif isinstance(value, (list, tuple)):
        content = "".join(_element("member", item) for item in value if item is not None)
    elif isinstance(value, dict):
        content = "".join(_element(inner, item) for inner, item in value.items() if item is not None)
    elif isinstance(value, bool):
        return f"<{name}>{str(value).lower()}</{name}>"
    else:
        return f"<{name}>{_text(value)}</{name}>"
    return f"<{name}>{content}</{name}>" if content else f"<{name}/>"
