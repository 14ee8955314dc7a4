# SPDX-License-Identifier: Apache-2.0
"""Where the tests of the language know better than a recording of Heat, the table of differences says so."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterable

import pytest

from tests.contract import test_environments, test_functions, test_graphs, test_parameters
from tests.functional import test_hostile_templates, test_validation

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "doc" / "source" / "differences.rst"

#: words of the row -> the entries of tables in tests that it is about
ROWS: dict[str, Iterable[str]] = {
    "Merge strategies fail for numbers": [
        "number merge",
        "number deep_merge",
        "number given as string merge",
        "number given as string deep_merge",
        "default strategy merge",
        "default strategy deep_merge",
    ],
    "Merge strategies for booleans fail": ["boolean merge", "boolean deep_merge"],
    "Merging a JSON parameter that one file writes as a text": [
        "json string value merge",
        "json string value deep_merge",
    ],
    "Merging a list with a comma delimited text": ["list mixed merge", "list mixed deep_merge"],
    "Two environment files with ``event_sinks``": ["event sinks twice"],
    "a section that the environment lacks": ["base without section"],
    "One that is wrong: 400 without a text": [
        "empty section",
        "bad section",
        "not a mapping",
        "bad yaml",
        "env files bad",
    ],
    "An environment file that is not among the files": ["env files missing"],
    "What the registry says of one resource is remembered": [
        "resource specific beats exact and glob",
        "resource specific",
    ],
    "A resource registry with a number or a list": ["env registry int"],
    "An event sink of an unknown type": ["event sink unknown", "event sink without type", "event sink bad argument"],
    "``str_split`` of a number": ["str_split/09"],
    "A resource registry that leads in a circle": ["env registry loop", "registry-circle", "registry-prefix"],
    "An immutable number or boolean": ["(5, '5', 'number')", "('true', 'yes', 'boolean')"],
    "``NaN``, ``Infinity`` and ``1e999``": [
        "nan",
        "inf",
        "infinity",
        "too-large-a-float",
        "nan-json",
        "too-large-json",
        "nan-body",
        "nan-environment",
        "nan-file",
        "parameter-nan",
        "parameter-json-nan",
        "property-nan",
        "select-nan",
        "yaql-nan",
        "yaql-infinity",
        "merged-number",
    ],
    "Integers of more than 4300 digits": [
        "integer",
        "integer-hexadecimal",
        "integer-of-base-60",
        "integer-body",
        "parameter-digits",
        "yaql-integer",
    ],
    "Half of a surrogate pair": ["surrogate", "surrogate-body"],
    "A bound of a constraint that is no number": [
        "constraint length bad num",
        "param range text",
        "cfn param",
        "params list",
    ],
    "A name of a resource that no database holds": ["resource name 256", "long name"],
    "An ``allowed_pattern`` that is no regular expression": ["param bad pattern", "pattern-deep", "pattern-repeat"],
    "An error of yaql or another function in a condition": ["yaql in depends", "yaql in cond", "yaql in delpol"],
    "An external resource with ``depends_on``": ["external id dep"],
    "``show_nested`` of a group without its definition": ["group no def"],
    "A few hundred bytes of YAML aliases": [
        "aliases",
        "aliases-environment",
        "aliases-file",
        "nested-yaml",
        "nested-json",
        "nested-json-whole",
        "nested-body",
        "nested-object",
        "nested-environment",
        "parameter-nested",
        "parameter-nested-object",
    ],
    "YAML tags ``!!binary``, ``!!set``": ["tag-python", "tag-unknown", "tag-binary"],
    "More than 150 conditions": ["conditions"],
    "make values of any size": [
        "equals",
        "str_replace",
        "str_replace-twice",
        "str_replace-keys",
        "repeat",
        "repeat-permutations",
        "repeat-number",
        "repeat-in-repeat",
        "repeat-one",
        "repeat-many",
        "list_join",
        "list_join-of-one",
        "list_join-of-maps",
        "digest",
        "the-same-text",
        "the-same-map",
        "map_merge",
        "list_concat",
        "list_concat_unique",
        "filter",
        "str_split",
        "all-together",
    ],
    "A yaql expression burns CPU and memory": [
        "yaql-pattern",
        "yaql-aggregate",
        "yaql-memory",
        "yaql-no-data",
        "yaql-nested",
        "pattern",
        "pattern-polynomial",
    ],
    "Templates of 40 nested stacks": ["tree", "group"],
}

KNOWN = {entry for entries in ROWS.values() for entry in entries}

TABLES: dict[str, Iterable[object]] = {
    "functions": test_functions.BETTER,
    "merging": test_environments.BETTER_MERGE,
    "errors of merging": test_environments.BETTER_ERROR,
    "environment files": test_environments.TOLD,
    "event sinks": test_environments.SINKS,
    "registry": test_environments.NOT_REMEMBERED,
    "graphs": test_graphs.REFUSED,
    "immutable parameters": test_parameters.SAME_VALUE,
    "numbers": test_parameters.NOT_FINITE,
    "constraints": test_parameters.TOLD,
    "validation and preview": test_validation.BETTER,
    "validation": test_validation.BETTER_VALIDATION,
    "hostile forms": [case[0] for case in test_hostile_templates.FORM],
    "hostile values": [case[0] for case in test_hostile_templates.VALUES],
}


@pytest.mark.parametrize("table", list(TABLES))
def test_every_entry_has_a_row(table: str) -> None:
    assert sorted(str(entry) for entry in TABLES[table] if str(entry) not in KNOWN) == []


def test_every_row_is_there() -> None:
    text = re.sub(r"\s+", " ", DOCUMENT.read_text())
    assert [row for row in ROWS if row not in text] == []
    print("%d rows for %d entries" % (len(ROWS), len(KNOWN)))


def test_no_entry_is_of_the_past() -> None:
    there = {str(entry) for table in TABLES.values() for entry in table}
    assert there >= KNOWN, sorted(KNOWN - there)
