# SPDX-License-Identifier: Apache-2.0
"""Templates that are made to burn time or memory, or to break what comes later: each is a clear 400, and soon.

``POST /validate`` looks at the form of a template only, as Heat does; a preview resolves all values.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fixtures.api import Api

HOT = "heat_template_version: 2021-04-16\n"
#: seconds; most take milliseconds, an expression two seconds of CPU
LIMIT = 40.0

JSON, STRING = {"p": {"type": "json"}}, {"p": {"type": "string"}}
P = {"get_param": "p"}
MANY_KEYS = {f"k{n}": n for n in range(10_000)}


def text(source: str, **rest: Any) -> dict[str, Any]:
    return {"template": HOT + source, **rest}


def template(**sections: Any) -> dict[str, Any]:
    return {"heat_template_version": "2021-04-16", **sections}


def value(snippet: Any, given: Any = None, schema: Any = None) -> dict[str, Any]:
    """A body whose template has the snippet as the value of a resource, and perhaps a parameter ``p``."""
    resources = {"r": {"type": "OS::Heat::Value", "properties": {"value": snippet}}}
    parameters = schema or (STRING if isinstance(given, str) else JSON)
    body: dict[str, Any] = {"template": template(resources=resources)}
    if given is not None:
        body["template"]["parameters"] = parameters
        body["parameters"] = {"p": given}
    return body


def yaql(expression: str, data: Any = None) -> dict[str, Any]:
    return value({"yaql": {"expression": expression, "data": data}})


def pattern(expression: str, given: str) -> dict[str, Any]:
    schema = {"p": {"type": "string", "constraints": [{"allowed_pattern": expression}]}}
    return {"template": template(parameters=schema), "parameters": {"p": given}}


def aliases(levels: int = 9, indent: str = "") -> str:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, levels)]
    return "\n".join(indent + line for line in lines)


def raw(rest: str) -> bytes:
    """A body written by hand, for what no JSON writer writes."""
    return ('{"stack_name": "hostile", "template": {"heat_template_version": "2021-04-16", %s}}' % rest).encode()


def nested(name: str, depth: int, width: int) -> dict[str, str]:
    level = "\n".join(f"  a{n}: {{type: {name}%d.yaml}}" for n in range(width))
    files = {f"{name}{n}.yaml": f"{HOT}resources:\n" + level.replace("%d", str(n + 1)) for n in range(depth)}
    return {**files, f"{name}{depth}.yaml": HOT}


def chain_of_conditions(length: int) -> dict[str, Any]:
    conditions: dict[str, Any] = {f"c{n}": {"not": f"c{n + 1}"} for n in range(length)}
    conditions[f"c{length}"] = True
    return template(conditions=conditions, resources={"r": {"type": "OS::Heat::None", "condition": "c0"}})


#: name, body, what the preview says; refused by validation too where the form is at fault
FORM: list[tuple[str, Any, str]] = [
    ("aliases", text("parameters:\n  p:\n    default:\n" + aliases(indent="      ")), "expands to more"),
    ("aliases-environment", text("", environment="parameters:\n" + aliases(indent="  ")), "expands to more"),
    ("aliases-file", text("resources: {a: {type: n.yaml}}", files={"n.yaml": aliases()}), "expands to more"),
    ("nested-yaml", text("x: " + "[" * 100_000), "nested too deeply"),
    ("nested-json", {"template": '{"x":' + '{"a":' * 100_000}, "nested too deeply"),
    ("nested-json-whole", {"template": '{"x":' + "[" * 100_000 + "]" * 100_000 + "}"}, "nested too deeply"),
    ("nested-body", raw('"x": ' + '{"a":' * 100_000 + "1" + "}" * 100_000), "nested too deeply"),
    ("nested-object", value(json.loads("[" * 120 + "]" * 120)), "nested too deeply"),
    ("nested-environment", text("", environment="parameters: {p: " + "[" * 100_000), "nested too deeply"),
    ("integer", text("description: " + "9" * 5000), "JSON cannot hold"),
    ("integer-hexadecimal", text("description: 0x" + "f" * 300_000), "JSON cannot hold"),
    ("integer-of-base-60", text("description: " + "1:" * 200_000 + "1"), "JSON cannot hold"),
    ("integer-body", raw('"description": ' + "9" * 5000), "Exceeds the limit"),
    ("nan", text("description: .nan"), "JSON cannot hold"),
    ("infinity", text("description: -.inf"), "JSON cannot hold"),
    ("too-large-a-float", text("description: 1.0e+999"), "JSON cannot hold"),
    ("nan-json", {"template": '{"heat_template_version": "2021-04-16", "x": NaN}'}, "not a number that JSON has"),
    ("too-large-json", {"template": '{"heat_template_version": "2021-04-16", "x": 1e999}'}, "too large"),
    ("nan-body", raw('"description": NaN'), "not a number that JSON has"),
    ("nan-environment", text("", environment="parameters: {p: .nan}"), "JSON cannot hold"),
    ("nan-file", text("resources: {a: {type: n.yaml}}", files={"n.yaml": HOT + "x: .nan"}), "JSON cannot hold"),
    ("surrogate", {"template": '{"heat_template_version": "2021-04-16", "description": "\\ud800"}'}, "surrogate"),
    ("surrogate-body", raw('"description": "\\ud800"'), "surrogate"),
    ("tag-python", text("description: !!python/object/apply:os.system [id]"), "could not determine a constructor"),
    ("tag-unknown", text("description: !secret x"), "could not determine a constructor"),
    ("tag-binary", text("description: !!binary aGk="), "could not determine a constructor"),
    ("conditions", {"template": chain_of_conditions(3000)}, "Too many conditions"),
    (
        "registry-circle",
        text("resources: {r: {type: a}}", environment={"resource_registry": {"a": "b", "b": "a"}}),
        "leads from type",
    ),
    (
        "registry-prefix",
        text("resources: {r: {type: ax}}", environment={"resource_registry": {"a*": "aa*"}}),
        "leads from type",
    ),
    ("pattern-deep", pattern("(" * 4000 + ")" * 4000, "x"), "nested too deeply"),
    ("pattern-repeat", pattern("a{99999999999}", "x"), "too large"),
    (
        "equals",
        {
            "template": template(
                parameters={"p": {"type": "json"}},
                conditions={"c": {"equals": [[P] * 5000, [P] * 5000]}},
                resources={"r": {"type": "OS::Heat::None", "condition": "c"}},
            ),
            "parameters": {"p": MANY_KEYS},
        },
        "more than 8388608 characters",
    ),
]

VALUES: list[tuple[str, Any, str]] = [
    ("parameter-nested", value(P, "[" * 100_000 + "]" * 100_000, JSON), "nested too deeply"),
    ("parameter-nested-object", value(P, json.loads("[" * 200 + "]" * 200)), "nested too deeply"),
    ("parameter-nan", value(P, "nan", {"p": {"type": "number"}}), "not a number that JSON can hold"),
    ("parameter-digits", value(P, "9" * 5000, {"p": {"type": "number"}}), "not a number that JSON can hold"),
    ("parameter-json-nan", value(P, '{"a": NaN}', JSON), "not a number that JSON has"),
    (
        "property-nan",
        text("resources: {r: {type: OS::Heat::TestResource, properties: {wait_secs: nan}}}"),
        "not a number that JSON can hold",
    ),
    (
        "select-nan",
        {
            "template": {
                "AWSTemplateFormatVersion": "2010-09-09",
                "Resources": {
                    "r": {
                        "type": "OS::Heat::Value",
                        "Type": "OS::Heat::Value",
                        "Properties": {"value": {"Fn::Select": [0, "[NaN]"]}},
                    }
                },
            }
        },
        "not a number that JSON has",
    ),
    (
        "str_replace",
        value({"str_replace": {"template": "a" * 3200, "params": {"a": "b" * 3200}}}),
        '"str_replace" exceeds',
    ),
    (
        "str_replace-twice",
        value(
            {
                "str_replace": {
                    "params": {"b": "c" * 100},
                    "template": {"str_replace": {"template": "a" * 1000, "params": {"a": "b" * 1000}}},
                }
            }
        ),
        '"str_replace" exceeds',
    ),
    (
        "str_replace-keys",
        value({"str_replace": {"template": "k" * 300_000, "params": P}}, {f"k{n}": "" for n in range(40_000)}),
        '"str_replace" exceeds',
    ),
    (
        "repeat",
        value({"repeat": {"template": "%v%" * 100, "for_each": {"%v%": ["y" * 100] * 1100}}}),
        '"repeat" exceeds',
    ),
    (
        "repeat-permutations",
        value({"repeat": {"template": "a", "for_each": {str(n): ["x"] * 10 for n in range(10)}}}),
        '"repeat"',
    ),
    (
        "repeat-number",
        value({"repeat": {"template": 5, "for_each": {str(n): ["x"] * 10 for n in range(10)}}}),
        '"repeat"',
    ),
    (
        "repeat-in-repeat",
        value(
            {
                "repeat": {
                    "for_each": {"%b%": ["x"] * 300},
                    "template": {"repeat": {"for_each": {"%a%": ["x"] * 300}, "template": "%a%%b%"}},
                }
            }
        ),
        '"repeat" exceeds',
    ),
    (
        "repeat-one",
        value({"repeat": {"template": "a" * 1000, "for_each": {"a": ["b" * 1000], "b": ["c" * 1000]}}}),
        '"repeat" exceeds',
    ),
    (
        "repeat-many",
        value([{"repeat": {"template": "x", "for_each": {"a": ["x"] * 200, "b": ["x"] * 200}}}] * 200),
        '"repeat" exceeds',
    ),
    ("list_join", value({"list_join": ["x" * 10_000, ["y"] * 1000]}), '"list_join" exceeds'),
    ("list_join-of-one", value({"list_join": ["", [P] * 3000]}, "x" * 100_000), "more than 8388608 characters"),
    ("list_join-of-maps", value({"list_join": ["", [P] * 3000]}, MANY_KEYS), "more than 8388608 characters"),
    ("digest", value({"digest": ["md5", {"list_join": ["x" * 10_000, ["y"] * 1000]}]}), '"list_join" exceeds'),
    ("the-same-text", value([P] * 3000, "x" * 100_000), "more than 8388608 characters"),
    ("the-same-map", value({"a": [P] * 3000}, MANY_KEYS), "more than 8388608 characters"),
    ("map_merge", value({"map_merge": [P] * 10_000}, MANY_KEYS), "8388608"),
    (
        "list_concat",
        value({"list_concat": [P] * 10_000}, "," * 50_000, {"p": {"type": "comma_delimited_list"}}),
        "8388608",
    ),
    ("list_concat_unique", value({"list_concat_unique": [P]}, [{"a": n} for n in range(40_000)]), "8388608"),
    ("filter", value({"filter": [P, P]}, [{"a": n} for n in range(40_000)]), "8388608"),
    ("str_split", value({"str_split": ["a", P]}, "a" * 300_000), "more than 100000 items"),
    ("yaql-pattern", yaql('"' + "a" * 40 + 'b" =~ "(a+)+$"'), "takes more than 2.0 seconds"),
    ("yaql-aggregate", yaql("range(0, 199).join(range(0, 199), true, [$1, $2]).len()"), "takes more than 2.0 seconds"),
    ("yaql-memory", yaql("$.data" + '.replace("a", "aaaaaaaaaa")' * 12, "a"), "too much memory"),
    ("yaql-integer", yaql("pow(7, 100000)"), "too much memory"),
    ("yaql-nan", yaql('float("nan")'), "JSON cannot hold"),
    ("yaql-infinity", yaql("$.data * $.data", 1e308), "JSON cannot hold"),
    ("yaql-no-data", yaql('regex("a")'), "holds a Pattern"),
    ("yaql-nested", yaql("(" * 5000 + "1" + ")" * 5000), "nested too deeply"),
    ("pattern", pattern("(a+)+$", "a" * 50 + "b"), "takes more than 0.5 seconds"),
    ("pattern-polynomial", pattern("a*a*a*a*a*a*b", "a" * 5000), "takes more than 0.5 seconds"),
    (
        "merged-number",
        text(
            "parameters: {p: {type: number}}",
            environment_files=["a", "b"],
            files=dict.fromkeys("ab", "parameters: {p: 1.0e+308}\nparameter_merge_strategies: {p: merge}"),
        ),
        "not a number that JSON can hold",
    ),
    ("tree", text("resources: {a: {type: n0.yaml}}", files=nested("n", 3, 40)), "Maximum resources per stack"),
    (
        "group",
        text(
            "resources: {a: {type: OS::Heat::ResourceGroup, properties: "
            "{count: 1000000000, resource_def: {type: OS::Heat::None}}}}"
        ),
        "Maximum resources per stack",
    ),
    (
        "all-together",
        {
            "template": template(
                resources={
                    f"r{n}": {
                        "type": "OS::Heat::Value",
                        "properties": {
                            "value": {"repeat": {"template": "x", "for_each": {"a": ["x"] * 250, "b": ["x"] * 200}}}
                        },
                    }
                    for n in range(100)
                }
            )
        },
        "The functions of the template make more than",
    ),
]


def send(api: Api, path: str, body: Any) -> tuple[int, str]:
    if isinstance(body, dict):
        body = json.dumps({"stack_name": "hostile", **body}).encode()
    started = time.monotonic()
    reply = api.http.post(api.url(path), data=body, headers={"Content-Type": "application/json"}, timeout=2 * LIMIT)
    assert time.monotonic() - started < LIMIT
    found = json.loads(reply.text, parse_constant=lambda name: pytest.fail(f"{name} in an answer"))
    return reply.status_code, found.get("error", {}).get("message") or ""


@pytest.fixture(autouse=True)
def still_there(api: Api) -> Iterator[None]:
    yield
    assert api.send("GET", "/stacks?limit=1", timeout=LIMIT).status_code == 200


@pytest.mark.parametrize(("body", "says"), [case[1:] for case in FORM], ids=[case[0] for case in FORM])
def test_refused_for_its_form(api: Api, body: Any, says: str) -> None:
    for path in ("/validate", "/stacks/preview", "/stacks"):
        status, message = send(api, path, body)
        assert status == 400
        assert says in message


@pytest.mark.parametrize(("body", "says"), [case[1:] for case in VALUES], ids=[case[0] for case in VALUES])
def test_refused_for_its_values(api: Api, body: Any, says: str) -> None:
    assert send(api, "/validate", body)[0] in (200, 400)
    status, message = send(api, "/stacks/preview", body)
    assert status == 400
    assert says in message


def test_an_output_is_refused_by_itself(api: Api) -> None:
    body = {
        "stack_name": "out",
        "template": template(parameters=STRING, outputs={"o": {"value": [P] * 3000}}),
        "parameters": {"p": "x" * 100_000},
    }
    output = api.post("/stacks/preview", body)["stack"]["outputs"][0]
    assert output["output_value"] is None
    assert "more than 8388608 characters" in output["output_error"]


def test_what_heat_takes_is_taken(api: Api) -> None:
    """A key that comes twice: the last one counts. Dates are texts."""
    source = "parameters: {p: {type: string, default: a}, p: {type: string, default: 2020-01-01}}"
    assert api.post("/validate", text(source))["Parameters"]["p"]["Default"] == "2020-01-01"


def test_a_pattern_for_types(api: Api) -> None:
    started = time.monotonic()
    reply = api.send("GET", "/resource_types?name=" + "(.*)*" * 6 + "%23")
    assert reply.status_code in (200, 400)
    assert time.monotonic() - started < LIMIT


def test_a_time_out_that_no_column_holds(api: Api) -> None:
    status, message = send(api, "/stacks", text("", timeout_mins=10**30))
    assert (status, message) == (400, "timeout_mins may not be more than 2147483647")
