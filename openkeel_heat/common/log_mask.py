# SPDX-License-Identifier: Apache-2.0
"""What no log line of this process shows: values of hidden parameters that it works with, and lines made by others.

An error that a service or a plug-in raises may repeat what it was given, and is logged with its traceback. So the
lines themselves are looked through, behind all formatters.

What goes into a line (a path, a name, the reason of a signal) may have line ends in it; shown as they are, whoever sent
it could write lines of the log.
"""

from __future__ import annotations

import copy
import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

MASK = "******"
#: So many texts are remembered, those used last.
LIMIT = 1000

#: Characters that end lines, or make a terminal do things, by what is shown of them.
_CONTROLS = {
    code: json.dumps(chr(code))[1:-1] if code < 0x20 else f"\\u{code:04x}"
    for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)
    if chr(code) != "\t"
}

_texts: OrderedDict[str, None] = OrderedDict()
_lock = threading.Lock()


def conceal(texts: Iterable[str]) -> None:
    """Keep these texts out of the log from now on."""
    with _lock:
        for text in texts:
            for form in {text, json.dumps(text)[1:-1], text.translate(_CONTROLS)}:
                _texts.pop(form, None)
                _texts[form] = None
        while len(_texts) > LIMIT:
            _texts.popitem(last=False)


def masked(line: str) -> str:
    if _texts:
        for text in tuple(_texts):
            if text in line:
                line = line.replace(text, MASK)
    return line


def _flat(value: Any) -> Any:
    """A text or an error on one line; anything else as it is."""
    if not isinstance(value, (str, BaseException)):
        return value
    text = str(value)
    return value if text.isprintable() else text.translate(_CONTROLS)


def one_line(record: logging.LogRecord) -> logging.LogRecord:
    """The record, or one like it whose arguments stay on the line that they are put into."""
    given = record.args
    if not given:
        return record
    flat: Any = (
        {key: _flat(value) for key, value in given.items()}
        if isinstance(given, Mapping)
        else tuple(_flat(value) for value in given)
    )
    found = copy.copy(record)
    found.args = flat
    return found


class MaskingFormatter(logging.Formatter):
    """What another formatter makes of a record, without the concealed texts and on the lines that it has itself."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self.inner = inner

    def format(self, record: logging.LogRecord) -> str:
        return masked(self.inner.format(one_line(record)))


def install() -> None:
    """Look through what the handlers of the process write."""
    for handler in logging.getLogger().handlers:
        inner = handler.formatter
        if not isinstance(inner, MaskingFormatter):
            handler.setFormatter(MaskingFormatter(inner or logging.Formatter()))
