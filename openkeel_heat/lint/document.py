# SPDX-License-Identifier: Apache-2.0
"""A text as data, and the line and column of everything in it.

The data is made by the reader that the service uses, with its limits.  Places
come from a second reading, by PyYAML's composer, that is only done when a
place is asked for; by then the first one has made sure that the text is not
nested too deeply for it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.constructor import SafeConstructor

from openkeel_heat.common import exceptions as exception
from openkeel_heat.lint.finding import Path, Position
from openkeel_heat.template import limits as bounds, text as text_module, yaml_reader

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE_TAG = "tag:yaml.org,2002:merge"


class SyntaxProblem(Exception):
    """The text is no data."""

    def __init__(self, message: str, position: Position) -> None:
        super().__init__(message)
        self.position = position


def _position(mark: Any) -> Position:
    return Position(mark.line + 1, mark.column + 1) if mark is not None else Position()


class Document:
    """The text of one file, parsed; SyntaxProblem if it cannot be."""

    def __init__(self, name: str, text: str, limits: bounds.Limits | None = None) -> None:
        self.name = name
        self.text = text
        self._indexes: dict[int, dict[str, tuple[Any, Any]]] = {}
        self.data = self._parse(limits or bounds.current())

    def _parse(self, limits: bounds.Limits) -> Any:
        try:
            text_module.check_size(self.text, limits.max_template_size)
            return self._data(limits)
        except json.JSONDecodeError as exc:
            raise SyntaxProblem(exc.msg, Position(exc.lineno, exc.colno)) from None
        except yaml.MarkedYAMLError as exc:
            mark = exc.problem_mark or exc.context_mark
            words = " ".join(part for part in (exc.context, exc.problem) if part)
            raise SyntaxProblem(words, _position(mark)) from None
        except yaml.reader.ReaderError as exc:
            before = self.text[: exc.position] if isinstance(exc.position, int) else ""
            line_start = before.rfind("\n") + 1
            raise SyntaxProblem(
                "%s: %r" % (exc.reason, exc.character), Position(before.count("\n") + 1, len(before) - line_start + 1)
            ) from None
        except (exception.RequestLimitExceeded, yaml.YAMLError, ValueError) as exc:
            raise SyntaxProblem(str(exc), Position()) from None
        except RecursionError:
            raise SyntaxProblem("the text is nested too deeply", Position()) from None

    def _data(self, limits: bounds.Limits) -> Any:
        try:
            data = json.loads(self.text)
        except ValueError:
            return yaml_reader.load(self.text, limits)
        text_module.check_nesting(data, limits.max_nesting)
        return data

    # places

    @functools.cached_property
    def _root(self) -> Any:
        for text in (self.text, self.text.replace("\t", " ")):
            # JSON may be indented by tabs; YAML may not
            try:
                return yaml.compose(text, Loader=_Loader)
            except (yaml.YAMLError, RecursionError):
                continue
        return None

    @functools.cached_property
    def _constructor(self) -> SafeConstructor:
        return SafeConstructor()

    def _is_key(self, node: Any, key: Any) -> bool:
        if not isinstance(node, yaml.ScalarNode):
            return False
        try:
            return bool(self._constructor.construct_object(node) == key)
        except Exception:
            return False

    def _item(self, node: Any, key: Any) -> tuple[Any, Any] | None:
        """Key and value nodes of an item of a map; what is merged in comes last."""
        if isinstance(key, str):
            found = self._texts(node).get(key)
            if found is not None:
                return found
        else:
            for key_node, value_node in reversed(node.value):
                if self._is_key(key_node, key) and key_node.tag != _MERGE_TAG:
                    return key_node, value_node
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE_TAG:
                sources = value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
                for source in sources:
                    found = self._item(source, key) if isinstance(source, yaml.MappingNode) else None
                    if found is not None:
                        return found
        return None

    def _texts(self, node: Any) -> dict[str, tuple[Any, Any]]:
        """The items of a map by the texts of their keys, the last of each; made once."""
        index = self._indexes.get(id(node))
        if index is None:
            index = self._indexes[id(node)] = {
                key_node.value: (key_node, value_node)
                for key_node, value_node in node.value
                if isinstance(key_node, yaml.ScalarNode) and key_node.tag != _MERGE_TAG
            }
        return index

    def locate(self, path: Path, at_key: bool = False) -> Position:
        """The place of a value or of its key; that of the nearest one around it if it has none."""
        node = self._root
        key_node = node
        for part in path:
            found = None
            if isinstance(node, yaml.MappingNode):
                found = self._item(node, part)
            elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
                found = node.value[part], node.value[part]
            if found is None:
                at_key = True
                break
            key_node, node = found
        chosen = key_node if at_key else node
        return _position(chosen.start_mark if chosen is not None else None)

    def repeated_keys(self) -> Iterator[tuple[str, Position, Position]]:
        """Keys that stand more than once in one map: the key, its place, and that of the first one."""
        seen: set[int] = set()
        stack = [self._root]
        while stack:
            node = stack.pop()
            if node is None or id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, yaml.MappingNode):
                first: dict[tuple[str, str], Any] = {}
                for key_node, value_node in node.value:
                    stack.append(value_node)
                    if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == _MERGE_TAG:
                        continue
                    earlier = first.setdefault((key_node.tag, key_node.value), key_node)
                    if earlier is not key_node:
                        yield key_node.value, _position(key_node.start_mark), _position(earlier.start_mark)
            elif isinstance(node, yaml.SequenceNode):
                stack.extend(node.value)
