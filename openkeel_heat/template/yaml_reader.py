# SPDX-License-Identifier: Apache-2.0
"""YAML to plain data, straight from the events of the parser.

PyYAML composes a tree of nodes and constructs data from it; for templates,
which are mostly plain maps, lists and strings, that costs ten times what the
parser itself takes, and the composer's recursion in C crashes the process on
deep nesting.  Here one loop builds the data, counting as it goes: how deep it
is, and how large with all aliases expanded.

What ``yaml.SafeLoader`` accepts is accepted, with the same meaning, except that
dates stay strings and that tags for values JSON cannot hold (sets, binary
data) are refused.
"""

from __future__ import annotations

from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from openkeel_heat.common import exceptions as exception, strict_json
from openkeel_heat.common.i18n import _
from openkeel_heat.template import limits as bounds

#: characters; numbers of base 60 take time that grows with the square of it
_LONGEST_NUMBER = 4300

_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_MERGE: Any = object()
_NO_KEY: Any = object()
_OPEN: Any = object()


class _Scalars:
    """Values of plain scalars, remembered: most of them come again and again."""

    def __init__(self, parser: Any) -> None:
        self._parser = parser
        self._constructor = SafeConstructor()
        self.plain: dict[str, Any] = {"<<": _MERGE}

    def resolve(self, event: Any) -> Any:
        text = event.value
        tag = self._parser.resolve(yaml.ScalarNode, text, (True, False))
        value = self.plain[text] = self._construct(event, tag)
        return value

    def tagged(self, event: Any) -> Any:
        return self._construct(event, event.tag)

    def _construct(self, event: Any, tag: str) -> Any:
        text = event.value
        if not tag.startswith(_TAG):
            raise unknown_tag(tag, event.start_mark)
        kind = tag[len(_TAG) :]
        if kind in ("str", "timestamp", "value"):
            return text
        if kind == "null":
            return None
        node = yaml.ScalarNode(tag, text, event.start_mark, event.end_mark)
        try:
            if kind == "bool":
                return self._constructor.construct_yaml_bool(node)
            if kind == "int" or kind == "float":
                return self._number(kind, node)
        except LookupError:
            # a tag in front of something else
            raise ConstructorError(None, None, "found no %s" % kind, event.start_mark) from None
        raise unknown_tag(tag, event.start_mark)

    def _number(self, kind: str, node: Any) -> Any:
        if len(node.value) > _LONGEST_NUMBER:
            raise bad_number(node.start_mark)
        construct = self._constructor.construct_yaml_int if kind == "int" else self._constructor.construct_yaml_float
        try:
            number = construct(node)
        except OverflowError:
            raise bad_number(node.start_mark) from None
        if not strict_json.is_finite(number):
            raise bad_number(node.start_mark)
        return number


def bad_number(mark: Any) -> ConstructorError:
    return ConstructorError(None, None, "found a number that JSON cannot hold", mark)


def unknown_tag(tag: str, mark: Any) -> ConstructorError:
    return ConstructorError(None, None, "could not determine a constructor for the tag %r" % tag, mark)


class _Frame:
    """A map or list that is being read."""

    __slots__ = ("data", "is_map", "key", "merges", "anchor", "size", "mark", "key_mark")

    def __init__(self, data: Any, is_map: bool, anchor: str | None, size: int, mark: Any) -> None:
        self.data = data
        self.is_map = is_map
        self.key = _NO_KEY
        self.merges: list[Any] | None = None
        self.anchor = anchor
        self.size = size
        self.mark = mark
        self.key_mark: Any = None


def load(text: str, limits: bounds.Limits, lenient: bool = False) -> Any:
    """The data of a text with one document, None for an empty one.

    ``lenient`` takes what the parser in pure Python takes and the one in C does not: escapes of surrogates.
    """
    parser = yaml.SafeLoader(text) if lenient else _Parser(text)
    try:
        return _Reader(parser, limits, lenient).read()
    finally:
        parser.dispose()


class _Reader:
    def __init__(self, parser: Any, limits: bounds.Limits, lenient: bool) -> None:
        self._parser = parser
        self._limits = limits
        self._lenient = lenient
        self._scalars = _Scalars(parser)
        self._anchors: dict[str, tuple[Any, int]] = {}

    def read(self) -> Any:
        parser = self._parser
        parser.get_event()
        event = parser.get_event()
        if type(event) is StreamEndEvent:
            return None
        start = event.start_mark
        data = self._document()
        event = parser.get_event()
        if type(event) is not StreamEndEvent:
            raise ComposerError(
                "expected a single document in the stream", start, "but found another document", event.start_mark
            )
        return data

    def _document(self) -> Any:
        get_event = self._parser.get_event
        scalars = self._scalars
        plain = scalars.plain
        max_size, max_depth = self._limits.max_expanded_size, self._limits.max_nesting
        unique, lenient = self._limits.refuse_duplicate_keys, self._lenient
        anchors = self._anchors
        size = 0
        stack: list[_Frame] = []
        frame: _Frame | None = None
        result: Any = None
        while True:
            event = get_event()
            kind = type(event)
            if kind is ScalarEvent:
                text = event.value
                if lenient:
                    text = event.value = _joined(event)
                size += 1 + len(text)
                if event.tag is not None and event.tag != "!":
                    value = scalars.tagged(event)
                elif event.implicit[0]:
                    value = plain[text] if text in plain else scalars.resolve(event)
                else:
                    value = text
                if event.anchor is not None:
                    self._anchor(event, value, 1 + len(text))
                if value is _MERGE and (frame is None or not frame.is_map or frame.key is not _NO_KEY):
                    value = text
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                is_map = kind is MappingStartEvent
                if event.tag is not None and event.tag not in ("!", _TAG + ("map" if is_map else "seq")):
                    raise unknown_tag(event.tag, event.start_mark)
                if len(stack) >= max_depth:
                    raise bounds.too_deep()
                if event.anchor is not None:
                    self._anchor(event, _OPEN, 0)
                frame = _Frame({} if is_map else [], is_map, event.anchor, size, event.start_mark)
                size += 1
                stack.append(frame)
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                closed = stack.pop()
                value = closed.data
                if closed.merges is not None:
                    _merge(value, closed.merges)
                if closed.anchor is not None:
                    anchors[closed.anchor] = (value, size - closed.size)
                frame = stack[-1] if stack else None
                if frame is not None and frame.key is _NO_KEY:
                    frame.key_mark = closed.mark
            elif kind is AliasEvent:
                value, grown = self._alias(event)
                size += grown
            elif kind is DocumentEndEvent:
                return result
            elif kind is DocumentStartEvent:
                continue
            else:
                raise ComposerError(None, None, "unexpected event", event.start_mark)
            if size > max_size:
                raise exception.RequestLimitExceeded(
                    message=_("Template expands to more than %s characters.") % max_size
                )
            if frame is None:
                result = value
            elif not frame.is_map:
                frame.data.append(value)
            elif frame.key is _NO_KEY:
                frame.key = value
                if kind is ScalarEvent:
                    frame.key_mark = event.start_mark
            else:
                if frame.key is _MERGE:
                    if frame.merges is None:
                        frame.merges = []
                    frame.merges.extend(_merge_sources(value, frame.mark, event.start_mark))
                else:
                    try:
                        if unique and frame.key in frame.data:
                            raise ConstructorError(
                                "while constructing a mapping", frame.mark, "found duplicate key", frame.key_mark
                            )
                        frame.data[frame.key] = value
                    except TypeError:
                        raise ConstructorError(
                            "while constructing a mapping", frame.mark, "found unhashable key", frame.key_mark
                        ) from None
                frame.key = _NO_KEY

    def _anchor(self, event: Any, value: Any, size: int) -> None:
        if event.anchor in self._anchors:
            raise ComposerError("found duplicate anchor %r" % event.anchor, None, "second occurrence", event.start_mark)
        self._anchors[event.anchor] = (value, size)

    def _alias(self, event: Any) -> tuple[Any, int]:
        if event.anchor not in self._anchors:
            raise ComposerError(None, None, "found undefined alias %r" % event.anchor, event.start_mark)
        found = self._anchors[event.anchor]
        if found[0] is _OPEN:
            raise ConstructorError(None, None, "found unconstructable recursive node", event.start_mark)
        return found


def _joined(event: Any) -> str:
    """A text whose pairs of surrogates are the characters that they stand for."""
    text: str = event.value
    if not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise ConstructorError(None, None, "found half of a surrogate pair", event.start_mark) from None


def _merge_sources(value: Any, mark: Any, value_mark: Any) -> list[Any]:
    """Maps to merge, the weakest first."""
    sources = list(reversed(value)) if isinstance(value, list) else [value]
    for source in sources:
        if not isinstance(source, dict):
            raise ConstructorError(
                "while constructing a mapping",
                mark,
                "expected a mapping or list of mappings for merging, but found %s"
                % ("sequence" if isinstance(source, list) else "scalar"),
                value_mark,
            )
    return sources


def _merge(target: dict[Any, Any], sources: list[Any]) -> None:
    own = dict(target)
    target.clear()
    for source in sources:
        target.update(source)
    target.update(own)
