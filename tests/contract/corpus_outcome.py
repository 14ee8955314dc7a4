# SPDX-License-Identifier: Apache-2.0
"""What a file of a collection of templates is, as the installation sees it that this runs under.

    python corpus_outcome.py FOLDER OUTPUT

run by the interpreter of Python Heat writes a digest of what Heat 27.0.1 makes of each file;
``test_scale_corpus.py`` compares them with this package.  A template is its version, parameters, resources with what
each requires, and every property and output resolved with made-up parameters; an environment is its sections; anything
else is plain data.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import sys
from typing import Any

#: values for parameters that have no default, by their type
GIVEN = {"string": "x", "number": 1, "boolean": True, "json": {"a": "x"}, "comma_delimited_list": "a,b"}


class Ours:
    """This package."""

    def __init__(self) -> None:
        from openkeel_heat.template import Template, nodes, text
        from openkeel_heat.template.environment import Environment
        from openkeel_heat.template.scope import StackDefinition

        self.parse, self.simple_parse, self.parse_environment = text.parse, text.simple_parse, text.parse_environment
        self.resolve = nodes.resolve
        self.template, self.environment, self.scope = Template, Environment, StackDefinition


class Theirs:
    """Python Heat."""

    def __init__(self) -> None:
        from heat.common import config, environment_format, template_format
        from heat.engine import environment, function, resources, stk_defn, template
        from oslo_config import cfg

        assert config
        cfg.CONF([], project="heat", default_config_files=[])
        resources.initialise()
        self.parse, self.simple_parse = template_format.parse, template_format.simple_parse
        self.parse_environment = environment_format.parse
        self.template, self.environment, self.resolve = template.Template, environment.Environment, function.resolve
        self._scope = stk_defn.StackDefinition

    def scope(self, template: Any) -> Any:
        return self._scope(None, template, None, None)


def attempt(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as exc:
        return {"error": str(exc)}


def of_template(api: Any, source: str, files: dict[str, str]) -> dict[str, Any]:
    template = api.template(api.parse(source), files=files)
    schemata = template.param_schemata()
    template.env = api.environment(
        {"parameters": {name: GIVEN[schema.type] for name, schema in schemata.items() if schema.required}}
    )
    scope = api.scope(template)
    result: dict[str, Any] = {
        "version": list(template.version),
        "validation": attempt(template.validate),
        "parameters": {
            name: [
                schema.type,
                schema.hidden,
                schema.default,
                schema.description,
                schema.label,
                [dict(constraint) for constraint in schema.constraints],
            ]
            for name, schema in schemata.items()
        },
        "values": {name: attempt(scope.parameters.__getitem__, name) for name in schemata},
        "resources": {},
        "outputs": {},
    }
    definitions = template.resource_definitions(scope)
    for name, definition in definitions.items():
        result["resources"][name] = {
            "type": definition.resource_type,
            "requires": attempt(lambda one=definition: sorted(one.required_resource_names())),
            "properties": attempt(api.resolve, definition._properties),
            "metadata": attempt(api.resolve, definition._metadata),
            "deletion_policy": definition.deletion_policy(),
        }
    for name, output in template.outputs(scope).items():
        result["outputs"][name] = attempt(output.get_value)
    return result


def of_file(api: Any, source: str, files: dict[str, str]) -> Any:
    """The outcome of a file: a template, or what it is as an environment and as plain data."""
    as_template = attempt(of_template, api, source, files)
    if "error" not in as_template:
        return as_template
    as_environment = attempt(api.parse_environment, source)
    return {"template": as_template, "environment": as_environment, "data": attempt(api.simple_parse, source)}


def digest(outcome: Any) -> str:
    text = json.dumps(outcome, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def outcomes(api: Any, folder: pathlib.Path) -> dict[str, Any]:
    return {
        str(path.relative_to(folder)): of_file(api, path.read_text(), {})
        for path in sorted(folder.rglob("*.yaml"))
        if path.is_file()
    }


def digests(found: dict[str, Any]) -> dict[str, str]:
    """A digest for each file; the many release notes have one together."""
    notes = {name: outcome for name, outcome in found.items() if "releasenotes/" in name}
    single = {name: digest(outcome) for name, outcome in found.items() if name not in notes}
    return {**single, "releasenotes": digest(notes)}


def main() -> None:
    folder, target = map(pathlib.Path, sys.argv[1:3])
    target.write_text(json.dumps(digests(outcomes(Theirs(), folder)), sort_keys=True, indent=0))


if __name__ == "__main__":
    main()
