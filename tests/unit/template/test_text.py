# SPDX-License-Identifier: Apache-2.0
"""Texts: what is read, what is refused, and that nothing a client sends is without bound."""

from __future__ import annotations

import dataclasses
import json
import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st
from oslo_config import cfg

from openkeel_heat.common import config, exceptions as exception
from openkeel_heat.template import limits, text, yaml_reader

LIMITS = limits.Limits()


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("a: 2020-01-01", {"a": "2020-01-01"}),
        ("a: 2001-12-14t21:59:43.10-05:00", {"a": "2001-12-14t21:59:43.10-05:00"}),
        ("a: 010\nb: 0x1F\nc: 1_000\nd: 0b11\ne: 1:30", {"a": 8, "b": 31, "c": 1000, "d": 3, "e": 90}),
        ("a: 0o7\nb: 1e3\nc: 1.5e+3", {"a": "0o7", "b": "1e3", "c": 1500.0}),
        ("a: yes\nb: Off\nc: ~\nd: Null\ne: y", {"a": True, "b": False, "c": None, "d": None, "e": "y"}),
        ('a: "yes"\nb: !!str 5\nc: !!int "3"\nd: ! 5', {"a": "yes", "b": "5", "c": 3, "d": 5}),
        ("a: &x {k: 1}\nb: *x", {"a": {"k": 1}, "b": {"k": 1}}),
        ("a: &x {k: 1}\nb: {<<: *x, z: 2}", {"a": {"k": 1}, "b": {"k": 1, "z": 2}}),
        ("a: {<<: [{k: 1}, {k: 3, m: 4}], m: 5}", {"a": {"k": 1, "m": 5}}),
        ("{a: 1, a: 2}", {"a": 2}),
        ("a: |\n  b\n  c\n", {"a": "b\nc\n"}),
        ('{"a": [1, {"b": null}]}', {"a": [1, {"b": None}]}),
        ("a: <<\nb: =", {"a": "<<", "b": "="}),
        ('a: "\\ud83d\\ude00!"\nb: 2020-01-01', {"a": "\U0001f600!", "b": "2020-01-01"}),
    ],
)
def test_values(source: str, value: Any) -> None:
    assert text.simple_parse(source) == value


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a: [", "expected the node content, but found '<stream end>'"),
        ("a: b: c", "mapping values are not allowed here"),
        ("a: *b", "found undefined alias 'b'"),
        ("a: &b [*b]", "found unconstructable recursive node"),
        ("a: !!bool maybe", "found no bool"),
        ('a: !!int ""', "found no int"),
        ("a: !!set {x}", "could not determine a constructor for the tag"),
        ("a: !!binary aGVsbG8=", "could not determine a constructor for the tag"),
        ("a: !!python/object:os.system x", "could not determine a constructor for the tag"),
        ("? {a: 1}\n: 2", "found unhashable key"),
        ("<<: 5", "expected a mapping or list of mappings for merging"),
        ("--- {a: 1}\n--- {b: 2}", "expected a single document in the stream"),
        ('a: "\\ud83d!"', "found half of a surrogate pair"),
        ("a: b\0", 'unacceptable character #x0000: special characters are not allowed\n  in "<unicode string>"'),
        ('{"a": "\\ud83d!"}', "Half of a surrogate pair is no text"),
        ('{"a": NaN}', "NaN is not a number that JSON has"),
        ('{"a": -Infinity}', "-Infinity is not a number that JSON has"),
        ('{"a": 1e999}', "1e999 is too large a number"),
        ("a: .nan", "found a number that JSON cannot hold"),
        ("a: -.INF", "found a number that JSON cannot hold"),
        ("a: 1.0e+999", "found a number that JSON cannot hold"),
        ("a: " + "1:" * 3000 + "1", "found a number that JSON cannot hold"),
        ("a: " + "1:" * 400 + "1.5", "found a number that JSON cannot hold"),
        ("a: 0x" + "f" * 4000, "found a number that JSON cannot hold"),
        ("a: " + "9" * 5000, "found a number that JSON cannot hold"),
    ],
)
def test_refusals(source: str, message: str) -> None:
    with pytest.raises(ValueError, match=".") as caught:
        text.simple_parse(source)
    assert message in str(caught.value)


def test_an_error_names_the_template_and_shows_the_place() -> None:
    with pytest.raises(ValueError, match="Error parsing template http://x/t.yaml") as caught:
        text.simple_parse("a: 1\nb: [1, }", "http://x/t.yaml")
    assert "line 2" in str(caught.value)
    assert "b: [1, }" in str(caught.value)


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += ["a%d: &a%d [%s]" % (n, n, ", ".join(["*a%d" % (n - 1)] * 8)) for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "source",
    [
        bomb(9),
        "a: " + "[" * 100_000,
        '{"a":' * 100_000,
        "[" * 100_000 + "]" * 100_000,
        "\n".join("%sa:" % (" " * n) for n in range(2000)),
        "- " * 50_000 + "x",
        "? " * 50_000 + "x",
        "x: &x {a: %s}\n" % ("y" * 5000) + "\n".join("z%d: {<<: *x}" % n for n in range(2000)),
    ],
    ids=["aliases", "flow", "json", "brackets", "blocks", "dashes", "questions", "merges"],
)
def test_bombs_end_in_a_client_error(source: str) -> None:
    with pytest.raises(exception.RequestLimitExceeded):
        text.simple_parse(source)


@pytest.mark.parametrize("source", ['{"a": {"b": 1, "c": 2, "b": 3}}', "a: {b: 1, c: 2, b: 3}"])
def test_keys_that_come_twice(source: str) -> None:
    assert text.simple_parse(source) == {"a": {"b": 3, "c": 2}}
    with pytest.raises(ValueError, match="found duplicate key"):
        text.simple_parse(source, limits=dataclasses.replace(LIMITS, refuse_duplicate_keys=True))


def test_an_error_far_away_is_told_without_reading_slowly() -> None:
    started = time.process_time()
    source = "\n".join('a%d: {b: [c, d, "e"], f: g}' % n for n in range(15_000)) + "\nx: ["
    with pytest.raises(ValueError, match="did not find expected node content") as caught:
        text.simple_parse(source)
    assert "line 1500" in str(caught.value)
    assert time.process_time() - started < 1.5


def test_size_of_a_text() -> None:
    small = dataclasses.replace(LIMITS, max_template_size=60)
    source = "heat_template_version: 2021-04-16\ndescription: %s\n"
    assert text.parse(source % "x", limits=small)["description"] == "x"
    with pytest.raises(exception.RequestLimitExceeded, match="Template size .* exceeds maximum allowed size"):
        text.parse(source % ("x" * 60), limits=small)


def test_objects_are_checked_for_depth_too() -> None:
    deep: Any = "x"
    for _level in range(150):
        deep = {"a": [deep]}
    with pytest.raises(exception.RequestLimitExceeded):
        text.check_nesting(deep)
    text.check_nesting({"a": [{"b": [1]}]})


def depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(JSON)
def test_what_yaml_writes_is_read_back(value: Any) -> None:
    assert yaml_reader.load(yaml.safe_dump(value), LIMITS) == value


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_json_is_read_as_json(value: dict[str, Any]) -> None:
    assert text.simple_parse(json.dumps(value)) == value


BRACKETED = st.recursive(
    st.text(alphabet='{}[]"\\\\,:x', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='{}[]"\\\\', max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.dictionaries(st.text(), BRACKETED, max_size=3), st.integers(1, 6))
def test_the_depth_of_json_counts_whatever_its_texts_are(value: dict[str, Any], allowed: int) -> None:
    bounds = dataclasses.replace(LIMITS, max_nesting=allowed)
    if depth(value) > allowed:
        with pytest.raises(exception.RequestLimitExceeded):
            text.simple_parse(json.dumps(value), limits=bounds)
    else:
        assert text.simple_parse(json.dumps(value), limits=bounds) == value


class _Reference(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    pass


_Reference.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: loader.construct_scalar(node))

_PIECES = st.sampled_from(
    [
        "a",
        "b",
        "1",
        ":",
        " ",
        "\n",
        "- ",
        "? ",
        ": ",
        "{",
        "}",
        "[",
        "]",
        ",",
        '"',
        "'",
        "&x ",
        "*x",
        "!!str ",
        "~",
        "<<",
        "|",
        ">",
        "#",
        "  ",
        "0x1",
        "1.5",
        "yes",
        "---\n",
        "!",
    ]
)


@settings(max_examples=600, deadline=None, derandomize=True)
@given(st.lists(_PIECES, max_size=14).map("".join))
def test_any_text_is_read_as_pyyaml_reads_it(source: str) -> None:
    try:
        expected = ("value", yaml.load(source, Loader=_Reference))
    except yaml.YAMLError:
        expected = ("error", None)
    try:
        got = ("value", yaml_reader.load(source, LIMITS))
    except yaml.YAMLError:
        got = ("error", None)
    if "<<" in source or "=" in source:
        # texts that PyYAML has no constructor for are texts here
        return
    assert repr(got) == repr(expected)


def test_bounds_come_from_the_options() -> None:
    conf = config.register_all(cfg.ConfigOpts())
    conf([], project="heat", default_config_files=[])
    assert limits.from_options(conf) == limits.Limits()
    conf.set_override("max_template_size", 1000)
    conf.set_override("max_expansion", 3, "template_limits")
    conf.set_override("limit_iterators", 5, "yaql")
    bounds = limits.from_options(conf)
    assert (bounds.max_template_size, bounds.max_expanded_size, bounds.yaql_limit_iterators) == (1000, 3000, 5)
