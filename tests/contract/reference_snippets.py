# SPDX-License-Identifier: Apache-2.0
"""Random snippets, and what Python Heat makes of them.

Imported for the generator; run as a script by the interpreter of an
installation of Python Heat for the other part::

    python reference_snippets.py FIXTURE.json CASES.json RESULTS.json
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from typing import Any

HOT = [
    "get_param",
    "get_resource",
    "get_attr",
    "get_file",
    "str_replace",
    "list_join",
    "if",
    "equals",
    "not",
    "and",
    "or",
    "resource_facade",
    "digest",
    "repeat",
    "map_merge",
    "map_replace",
    "str_split",
    "contains",
    "filter",
    "make_url",
    "list_concat",
    "list_concat_unique",
    "str_replace_strict",
    "str_replace_vstrict",
]
CFN = [
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
    "Fn::If",
    "Fn::Equals",
    "Fn::Not",
    "Fn::And",
    "Fn::Or",
    "Fn::ResourceFacade",
]
CONDITIONS = {
    "get_param",
    "equals",
    "not",
    "and",
    "or",
    "contains",
    "get_file",
    "if",
    "Ref",
    "Fn::Equals",
    "Fn::Not",
    "Fn::And",
    "Fn::Or",
    "Fn::FindInMap",
}
SCALARS = ["", "a", "b,c", "x y", "$v", 0, 1, -1, 2.5, True, False, None, "1", '{"a": 1}', "%k%", "metadata"]
KEYS = ["a", "b", "k", "template", "params", "for_each", "%k%", "keys", "values", "host", "port"]


class Generator:
    """Snippets of one version of the language that are right about half of the time."""

    def __init__(self, rng: random.Random, fixture: dict[str, Any]) -> None:
        self._rng = rng
        self._params = list(fixture["parameters_hot"])
        self._resources = [*fixture["node_data"], "res_init", "nope"]
        self._conditions = ["c_true", "c_false", "c_eq", "c_neq", "c_ref", "c_nope", "c_circ_a"]
        self._functions: list[str] = HOT
        self._depth = 0

    def snippet(self, version: str, mode: str) -> Any:
        functions = HOT if version.startswith("heat_template_version") else CFN
        if mode == "condition":
            functions = [name for name in functions if name in CONDITIONS]
        self._functions = functions
        return self._call() if self._rng.random() < 0.8 else self._any()

    def _any(self) -> Any:
        rng, kind = self._rng, self._rng.random()
        if self._depth > 3 or kind < 0.35:
            return rng.choice([*SCALARS, *self._params, *self._resources, *self._conditions])
        self._depth += 1
        try:
            if kind < 0.5:
                return [self._any() for _item in range(rng.randint(0, 3))]
            if kind < 0.62:
                return {rng.choice(KEYS): self._any() for _item in range(rng.randint(0, 3))}
            return self._call()
        finally:
            self._depth -= 1

    def _one(self, *likely: Any) -> Any:
        """One of some likely values, or anything."""
        return self._rng.choice([*likely, self._any()])

    def _call(self) -> Any:
        name = self._rng.choice(self._functions)
        plain = name.partition("::")[2] or name
        if self._rng.random() < 0.12:
            return {name: self._any()}
        arguments = getattr(
            self, "_args_" + plain.lower().replace("_strict", "").replace("_vstrict", "").replace("_unique", "")
        )
        return {name: arguments()}

    def _args_get_param(self) -> Any:
        param = self._rng.choice(self._params)
        return self._one(param, [param], [param, self._any()], [param, "k", "n", self._rng.choice([0, 1, "1", "z"])])

    def _args_ref(self) -> Any:
        return self._one(self._rng.choice(self._params), self._rng.choice(self._resources))

    def _args_get_resource(self) -> Any:
        return self._one(self._rng.choice(self._resources))

    def _args_get_attr(self) -> Any:
        name = self._rng.choice(self._resources)
        attr = self._rng.choice(["str", "num", "none", "list", "map", "json", "zero", "nope"])
        return self._one([name, attr], [name], [name, "map", "k"], [name, "list", 1], [self._any(), "str"])

    def _args_getatt(self) -> Any:
        return self._one([self._rng.choice(self._resources), self._rng.choice(["str", "map", "nope"])])

    def _args_get_file(self) -> Any:
        return self._one("file:///a.txt", "empty.txt", "zz")

    def _args_str_replace(self) -> Any:
        return {"template": self._one("$v and %k%"), "params": self._one({"$v": self._any(), "%k%": self._any()})}

    _args_str_replacev = _args_str_replace

    def _args_replace(self) -> Any:
        return [self._one({"$v": self._any()}), self._one("$v!")]

    def _args_list_join(self) -> Any:
        return [self._one(","), *[self._any() for _list in range(self._rng.randint(0, 3))]]

    def _args_join(self) -> Any:
        return [self._one(","), [self._any(), self._any()]]

    def _args_if(self) -> Any:
        full = [self._one(*self._conditions, True), self._any(), self._any()]
        return full[: self._rng.choice([3, 3, 3, 2, 1])]

    def _args_equals(self) -> Any:
        return [self._any(), self._any()]

    def _args_not(self) -> Any:
        condition = self._one(*self._conditions)
        return [condition] if self._functions is CFN else condition

    def _args_and(self) -> Any:
        return [self._one(*self._conditions), self._rng.choice(self._conditions)]

    _args_or = _args_and

    def _args_resource_facade(self) -> Any:
        return self._rng.choice(["metadata", "deletion_policy", "update_policy", "nope"])

    def _args_resourcefacade(self) -> Any:
        return self._rng.choice(["Metadata", "DeletionPolicy", "UpdatePolicy", "nope"])

    def _args_digest(self) -> Any:
        return [self._one("md5", "sha256"), self._any()]

    def _args_repeat(self) -> Any:
        args = {
            "template": self._one("x %k%", {"%k%": ["%k%", self._any()]}),
            "for_each": self._one({"%k%": ["p", "q"]}, {"%k%": ["1", "2"], "$v": self._any()}),
        }
        if self._rng.random() < 0.3:
            args["permutations"] = self._one(True, False)
        return args

    def _args_map_merge(self) -> Any:
        return [self._one({"a": self._any()}, None), self._one({"a": self._any()})]

    def _args_map_replace(self) -> Any:
        return [{"a": self._any(), "b": "c"}, self._one({"keys": {"a": "z"}}, {"values": {"c": self._any()}})]

    def _args_str_split(self) -> Any:
        args = [self._one(","), self._one("a,b,c")]
        return [*args, self._rng.choice([0, 1, 9, "1", "x"])] if self._rng.random() < 0.5 else args

    def _args_split(self) -> Any:
        return [",", self._any()]

    def _args_contains(self) -> Any:
        return [self._any(), self._one(["a", "b", 1])]

    def _args_filter(self) -> Any:
        return [self._one(["a", 1]), self._one(["a", 1, None, "b"])]

    def _args_make_url(self) -> Any:
        args = {"scheme": self._one("http"), "host": self._one("h", "::1", "[::1]")}
        for key, likely in (("port", [80, "80", 0, "x"]), ("query", [{"a": "b/c"}]), ("path", ["/p q"])):
            if self._rng.random() < 0.4:
                args[key] = self._one(*likely)
        return args

    def _args_list_concat(self) -> Any:
        return [self._one(["a"], None), self._one(["a"])]

    def _args_select(self) -> Any:
        return [self._one(0, "0", "a"), self._one(["x", "y"], {"a": 1})]

    def _args_base64(self) -> Any:
        return self._any()

    _args_getazs = _args_base64

    def _args_memberlisttomap(self) -> Any:
        return ["Name", "Value", self._one([".member.0.Name=a", ".member.0.Value=b"])]

    def _args_findinmap(self) -> Any:
        return ["m", self._one("k1"), self._one("v1", "l")]


def make_cases(seed: int, count: int, fixture: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """(version, mode, snippet)"""
    rng = random.Random(seed)
    generator = Generator(rng, fixture)
    cases = []
    for _case in range(count):
        version = rng.choice(sorted(fixture["templates"]))
        mode = rng.choice(["value", "value", "value", "condition"])
        cases.append((version, mode, generator.snippet(version, mode)))
    return cases


def run_heat(fixture: dict[str, Any], cases: list[Any]) -> list[Any]:
    """The outcome of each case in Python Heat, in the form of the recorded vectors."""
    from heat.common import config, context, identifier  # noqa: F401
    from heat.engine import environment, function, node_data, resources, rsrc_defn, stk_defn, template
    from oslo_config import cfg

    cfg.CONF([], project="heat", default_config_files=[])
    resources.initialise()
    ctx = context.RequestContext(user_id="u", project_id="p", auth_url="http://x", request_id="r", is_admin=False)
    identity = identifier.HeatIdentifier(fixture["tenant"], fixture["stack_name"], fixture["stack_id"])

    class Facade:
        def __init__(self) -> None:
            facade = fixture["facade"]
            self.t = rsrc_defn.ResourceDefinition(
                "f", "X", deletion_policy=facade["deletion_policy"], update_policy=facade["update_policy"]
            )

        def metadata_get(self) -> Any:
            return fixture["facade"]["metadata"]

    class Definition(stk_defn.StackDefinition):  # type: ignore[misc]
        def get_availability_zones(self) -> Any:
            return list(fixture["availability_zones"])

    def error_of(exc: Exception) -> Any:
        module, name = type(exc).__module__, type(exc).__name__
        return {
            "class": name if module in ("builtins", "heat.common.exception") else "%s.%s" % (module, name),
            "message": str(exc),
        }

    def stack_for(version: str) -> Any:
        tmpl = template.Template(
            fixture["templates"][version], files=dict(fixture["files"]), env=environment.Environment({})
        )
        data = {}
        for name, node in fixture["node_data"].items():
            attrs = {tuple(key) if isinstance(key, list) else key: value for key, value in node["attributes"]}
            data[name] = node_data.NodeData(
                1, name, "uuid", node["reference_id"], attrs, node["action"], node["status"]
            )
        return Definition(ctx, tmpl, identity, data, Facade())

    def outcome(version: str, mode: str, snippet: Any) -> Any:
        stack = stack_for(version)
        stack.enabled_rsrc_names()
        parse = stack.t.parse if mode == "value" else stack.t.parse_condition
        result: dict[str, Any] = {}

        def attempt(key: str, error_key: str, function: Callable[[], Any]) -> None:
            try:
                value = function()
            except Exception as exc:
                result[error_key] = error_of(exc)
            else:
                if key == "value" or value:
                    result[key] = value

        try:
            parsed = parse(stack, snippet, fixture["parse_path"])
        except Exception as exc:
            return {"parse_error": error_of(exc)}
        attempt("valid", "validate_error", lambda: function.validate(parsed, fixture["validate_path"]) or True)
        attempt(
            "dependencies",
            "dependencies_error",
            lambda: sorted(proxy.name for proxy in function.dependencies(parsed, fixture["parse_path"])),
        )
        attempt(
            "dep_attrs",
            "dep_attrs_error",
            lambda: [
                [name, list(attr) if isinstance(attr, tuple) else attr] for name, attr in function.all_dep_attrs(parsed)
            ],
        )
        attempt("value", "error", lambda: function.resolve(parsed))
        return json.loads(json.dumps(result, default=lambda value: "<object>"))

    return [outcome(*case) for case in cases]


if __name__ == "__main__":
    with open(sys.argv[1]) as fixture_file, open(sys.argv[2]) as cases_file, open(sys.argv[3], "w") as results:
        json.dump(run_heat(json.load(fixture_file)["fixture"], json.load(cases_file)), results)
