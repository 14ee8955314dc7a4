# SPDX-License-Identifier: Apache-2.0
"""Texts that no log line of this process shows: values of hidden parameters that it works with.

An error that a service or a plug-in raises may repeat what it was given, and is logged with its traceback. So the
lines themselves are looked through, behind all formatters.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable

MASK = "******"
#: So many texts are remembered, those used last.
LIMIT = 1000

_texts: OrderedDict[str, None] = OrderedDict()
_lock = threading.Lock()


def conceal(texts: Iterable[str]) -> None:
    """Keep these texts out of the log from now on."""
    with _lock:
        for text in texts:
            for form in {text, json.dumps(text)[1:-1]}:
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


class MaskingFormatter(logging.Formatter):
    """What another formatter makes of a record, without the concealed texts."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self.inner = inner

    def format(self, record: logging.LogRecord) -> str:
        return masked(self.inner.format(record))


def install() -> None:
    """Look through what the handlers of the process write."""
    for handler in logging.getLogger().handlers:
        inner = handler.formatter
        if not isinstance(inner, MaskingFormatter):
            handler.setFormatter(MaskingFormatter(inner or logging.Formatter()))
