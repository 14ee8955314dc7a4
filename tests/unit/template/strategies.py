# SPDX-License-Identifier: Apache-2.0
"""Templates for property tests: sound ones, and ones in which anything may stand anywhere."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

VERSIONS = [
    "2013-05-23",
    "2014-10-16",
    "2015-04-30",
    "2015-10-15",
    "2016-04-08",
    "2016-10-14",
    "2017-02-24",
    "2017-09-01",
    "2018-03-02",
    "2018-08-31",
    "2021-04-16",
]
NAMES = ["r0", "r1", "r2", "r3", "r4"]
PARAMS = ["p_text", "p_list", "p_map", "p_number", "p_flag"]
CONDITIONS = ["c0", "c1", "c2"]

PARAMETERS = {
    "p_text": {"type": "string", "default": "text"},
    "p_list": {"type": "comma_delimited_list", "default": "a,b"},
    "p_map": {"type": "json", "default": {"a": "x", "b": ["y", {"c": 1}]}},
    "p_number": {"type": "number", "default": 3},
    "p_flag": {"type": "boolean", "default": True},
}

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(
        [
            "",
            "a",
            "x",
            "text",
            "%v%",
            ",",
            "r0",
            "c0",
            "0",
            "a,b",
            '{"a": 1}',
            "[1",
            "md5",
            "$.data",
            "((",
            "é",
            "\U0001f600",
        ]
    )
    | st.floats(-2, 2)
)

#: every function, to be called with whatever comes
FUNCTIONS = [
    "get_param",
    "get_resource",
    "get_attr",
    "get_file",
    "str_replace",
    "str_replace_strict",
    "str_replace_vstrict",
    "str_split",
    "list_join",
    "list_concat",
    "list_concat_unique",
    "map_merge",
    "map_replace",
    "make_url",
    "repeat",
    "digest",
    "filter",
    "contains",
    "equals",
    "not",
    "and",
    "or",
    "if",
    "resource_facade",
    "Ref",
    "Fn::GetAtt",
    "Fn::Join",
    "Fn::Select",
    "Fn::Split",
    "Fn::Replace",
    "Fn::Base64",
    "Fn::MemberListToMap",
    "Fn::FindInMap",
    "Fn::GetAZs",
    "Fn::Equals",
    "Fn::Not",
    "Fn::And",
    "Fn::Or",
    "Fn::If",
    "Fn::ResourceFacade",
    "yaql",
]


EXPRESSIONS = [
    "$.data",
    "$.data.a",
    "$.data.len()",
    "$.data.select($)",
    "$.x.nope()",
    "1 / 0",
    "set(1, 2)",
    "float(nan)",
    "(",
]


def calls(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Calls that are right in form; their arguments may be of any type."""
    lists = st.lists(inner, max_size=3)
    texts = inner | st.sampled_from(["a", "%v%b", "x,y"])
    pairs = st.dictionaries(st.sampled_from(["a", "%v%", "b", ""]), inner, max_size=2)
    return st.one_of(
        st.sampled_from(PARAMS).map(lambda name: {"get_param": name}),
        st.tuples(st.sampled_from(PARAMS), inner).map(lambda args: {"get_param": list(args)}),
        st.sampled_from(NAMES).map(lambda name: {"get_resource": name}),
        st.tuples(st.sampled_from(NAMES), st.sampled_from(["x", "y"])).map(lambda args: {"get_attr": list(args)}),
        st.tuples(st.sampled_from(NAMES), inner, inner).map(lambda args: {"get_attr": list(args)}),
        st.tuples(texts, pairs).map(lambda args: {"str_replace": {"template": args[0], "params": args[1]}}),
        st.tuples(texts, pairs).map(lambda args: {"str_replace_vstrict": {"template": args[0], "params": args[1]}}),
        st.tuples(texts, texts, inner).map(lambda args: {"str_split": list(args)}),
        st.tuples(texts, lists).map(lambda args: {"list_join": list(args)}),
        st.tuples(inner, st.dictionaries(st.sampled_from(["%v%", "a", ""]), inner, min_size=1, max_size=2)).map(
            lambda args: {"repeat": {"template": args[0], "for_each": args[1]}}
        ),
        lists.map(lambda args: {"list_concat": args}),
        lists.map(lambda args: {"list_concat_unique": args}),
        lists.map(lambda args: {"map_merge": args}),
        lists.map(lambda args: {"map_replace": args}),
        st.tuples(inner, inner).map(lambda args: {"filter": list(args)}),
        st.tuples(inner, inner).map(lambda args: {"contains": list(args)}),
        st.tuples(st.sampled_from(CONDITIONS), inner, inner).map(lambda args: {"if": list(args)}),
        st.tuples(st.sampled_from(CONDITIONS), inner).map(lambda args: {"if": list(args)}),
        st.dictionaries(st.sampled_from(["scheme", "host", "port", "query", "path", "x"]), inner, max_size=3).map(
            lambda args: {"make_url": args}
        ),
        st.tuples(inner, inner).map(lambda args: {"Fn::Select": list(args)}),
        inner.map(lambda args: {"Fn::Base64": args}),
        st.tuples(st.sampled_from(EXPRESSIONS), inner).map(
            lambda args: {"yaql": {"expression": args[0], "data": args[1]}}
        ),
    )


#: a value with calls that are right in form or not
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b", "type", "value", "get_param"]), inner, max_size=3),
        calls(inner),
        st.tuples(st.sampled_from(FUNCTIONS), inner).map(lambda args: {args[0]: args[1]}),
    ),
    max_leaves=8,
)

#: a value in which every call is right whatever it is given
SOUND = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.text(max_size=4)
    | st.sampled_from(
        [
            {"get_param": "p_text"},
            {"get_param": ["p_map", "a"]},
            {"list_join": [",", {"get_param": "p_list"}]},
            {"if": ["c0", "yes", "no"]},
            {"str_replace": {"template": "%v%!", "params": {"%v%": "x"}}},
        ]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=8,
)


def _resource(
    index: int, value: Any, depends: list[int], attribute: int, policy: Any, condition: Any
) -> dict[str, Any]:
    resource: dict[str, Any] = {"type": "OS::Heat::Value", "properties": {"value": value}}
    if index and attribute < index:
        resource["properties"]["more"] = {"get_attr": [NAMES[attribute], "value"]}
    below = [NAMES[number] for number in depends if number < index]
    if below:
        resource["depends_on"] = below
    if policy:
        resource["deletion_policy"] = policy
    if condition:
        resource["condition"] = condition
    return resource


@st.composite
def sound_templates(draw: Any, conditions: bool = True) -> dict[str, Any]:
    """Templates that every check lets pass, with a graph that has no circle."""
    count = draw(st.integers(0, len(NAMES)))
    resources = {
        NAMES[index]: _resource(
            index,
            draw(SOUND),
            draw(st.lists(st.integers(0, 4), max_size=2)),
            draw(st.integers(0, 4)),
            draw(st.sampled_from([None, "Retain", "delete"])),
            draw(st.sampled_from([None, None, "c0"])) if conditions and index == count - 1 else None,
        )
        for index in range(count)
    }
    return {
        "heat_template_version": "2021-04-16",
        "description": draw(st.text(max_size=5)) or "d",
        "parameters": PARAMETERS,
        "conditions": {"c0": draw(st.booleans()), "c1": {"not": "c0"}, "c2": {"or": ["c0", "c1"]}},
        "resources": resources,
        "outputs": {"o%d" % index: {"value": draw(SOUND)} for index in range(draw(st.integers(0, 2)))},
    }


@st.composite
def any_templates(draw: Any) -> dict[str, Any]:
    """Templates that begin like one; what is in their sections is anything."""
    resource = st.fixed_dictionaries(
        {"type": st.just("OS::Heat::Value") | SCALARS},
        optional={
            "properties": ANYTHING,
            "metadata": ANYTHING,
            "depends_on": ANYTHING,
            "condition": ANYTHING,
            "deletion_policy": ANYTHING,
            "update_policy": ANYTHING,
            "external_id": ANYTHING,
            "description": ANYTHING,
        },
    )
    output = st.fixed_dictionaries({"value": ANYTHING}, optional={"condition": ANYTHING, "description": ANYTHING})
    schema = st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "number", "json", "x"]) | SCALARS},
        optional={
            "default": ANYTHING,
            "hidden": ANYTHING,
            "immutable": ANYTHING,
            "tags": ANYTHING,
            "constraints": st.lists(
                st.dictionaries(
                    st.sampled_from(
                        [
                            "range",
                            "length",
                            "modulo",
                            "allowed_values",
                            "allowed_pattern",
                            "custom_constraint",
                            "description",
                        ]
                    ),
                    ANYTHING,
                    max_size=2,
                )
                | ANYTHING,
                max_size=2,
            ),
        },
    )
    sections = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "description": ANYTHING,
                "parameters": st.dictionaries(st.sampled_from(["q", "p_text"]), schema | ANYTHING, max_size=2)
                | ANYTHING,
                "parameter_groups": st.lists(ANYTHING, max_size=2) | ANYTHING,
                "conditions": st.dictionaries(st.sampled_from(CONDITIONS), ANYTHING, max_size=3) | ANYTHING,
                "resources": st.dictionaries(st.sampled_from(NAMES) | SCALARS, resource | ANYTHING, max_size=3)
                | ANYTHING,
                "outputs": st.dictionaries(st.sampled_from(["o", "q"]) | SCALARS, output | ANYTHING, max_size=2)
                | ANYTHING,
                "x": ANYTHING,
            },
        )
    )
    if draw(st.booleans()):
        parameters = sections.get("parameters")
        sections["parameters"] = {**PARAMETERS, **(parameters if isinstance(parameters, dict) else {})}
    return {"heat_template_version": draw(st.sampled_from(VERSIONS)), **sections}
