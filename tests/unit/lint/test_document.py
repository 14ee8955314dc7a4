# SPDX-License-Identifier: Apache-2.0
"""Where things stand in a text."""

from __future__ import annotations

import pytest

from openkeel_heat.lint.document import Document, SyntaxProblem
from openkeel_heat.lint.finding import Path, Position
from openkeel_heat.lint.rules.circles import circles
from openkeel_heat.lint.suggest import nearest

YAML = """a: 1
b:
  - x
  - {c: d, 2: two}
base: &base {e: f, g: h}
merged:
  <<: *base
  g: own
again: *base
"""


@pytest.mark.parametrize(
    ("path", "at_key", "line", "column"),
    [
        ((), False, 1, 1),
        (("a",), False, 1, 4),
        (("a",), True, 1, 1),
        (("b", 0), False, 3, 5),
        (("b", 1, "c"), True, 4, 6),
        (("b", 1, "c"), False, 4, 9),
        (("b", 1, 2), False, 4, 15),
        (("merged", "g"), False, 8, 6),
        (("merged", "e"), True, 5, 14),
        (("again", "e"), False, 5, 17),
        (("merged", "nothing"), False, 6, 1),
        (("b", 7), False, 2, 1),
    ],
)
def test_places_in_yaml(path: Path, at_key: bool, line: int, column: int) -> None:
    assert Document("t", YAML).locate(path, at_key) == Position(line, column)


def test_places_in_json_with_tabs() -> None:
    document = Document("t", '{\n\t"a": [1,\n\t\t{"b": "\\u00e4"}]\n}')
    assert document.data == {"a": [1, {"b": "ä"}]}
    assert document.locate(("a", 1, "b"), at_key=True) == Position(3, 4)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: [1", 2, 1),
        ("a: b: c", 1, 5),
        ("a: !thing 1", 1, 4),
        ("a: *b", 1, 4),
        ("a: \x01", 1, 4),
        ("a: 1\n--- \nb: 2", 2, 1),
    ],
)
def test_place_of_a_syntax_error(text: str, line: int, column: int) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        Document("t", text)
    assert caught.value.position == Position(line, column)


def test_repeated_keys() -> None:
    document = Document("t", 'a: {x: 1, y: 2, x: 3}\nb: 1\n"1": 1\n1: 2\na: {}\n')
    assert sorted(document.repeated_keys()) == [
        ("a", Position(5, 1), Position(1, 1)),
        ("x", Position(1, 17), Position(1, 5)),
    ]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("imgae", "image"),
        ("IMAGE", "image"),
        ("blockDevices", "block_devices"),
        ("zzz", None),
        ("", None),
        (3, None),
    ],
)
def test_nearest(name: object, found: str | None) -> None:
    assert nearest(name, ["flavor", "image", "block_devices", 1, None]) == found


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        ({}, []),
        ({"a": ["b"], "b": []}, []),
        ({"a": ["a"]}, [["a"]]),
        ({"a": ["b"], "b": ["c"], "c": ["a", "b"]}, [["a", "b", "c"]]),
        ({"a": ["b"], "b": ["a"], "c": ["d", "a"], "d": ["c"]}, [["a", "b"], ["c", "d"]]),
        ({str(n): [str(n + 1)] for n in range(3000)} | {"3000": ["0"]}, [[str(n) for n in range(3001)]]),
    ],
)
def test_circles(graph: dict[str, list[str]], found: list[list[str]]) -> None:
    assert list(circles(graph)) == found


def test_places_of_keys_that_look_alike() -> None:
    document = Document("a.yaml", "a: {x: 1, 5: 2, x: 3, '5': 4}\nb: &b {y: 1}\nc: {<<: *b, z: 2}\n")
    assert [document.locate(path) for path in (("a", "x"), ("a", "5"), ("c", "y"), ("c", "z"))] == [
        Position(1, 20),
        Position(1, 28),
        Position(2, 11),
        Position(3, 16),
    ]
    assert document.locate(("a", 5)) == Position(1, 14)
