# SPDX-License-Identifier: Apache-2.0
"""Types of plug-ins, environments that map types, and old versions of the language."""

from __future__ import annotations

import pathlib

import pytest

from openkeel_heat.lint import catalogue, runner

PLUGIN = """
from heat.engine import attributes, constraints, properties, resource, support


class Tree(resource.Resource):
    support_status = support.SupportStatus(version='1.0.0')
    properties_schema = {
        'height': properties.Schema(properties.Schema.INTEGER, required=True,
                                    constraints=[constraints.Range(min=1, max=9)]),
        'leaves': properties.Schema(properties.Schema.LIST, schema=properties.Schema(
            properties.Schema.MAP, schema={'colour': properties.Schema(properties.Schema.STRING)})),
        'age': properties.Schema(properties.Schema.INTEGER, support_status=support.SupportStatus(
            status=support.DEPRECATED, version='2.0.0')),
    }
    attributes_schema = {'shade': attributes.Schema('How dark it is', type=attributes.Schema.STRING,
                                                    support_status=support.SupportStatus(
                                                        status=support.DEPRECATED, version='3.0.0'))}


def resource_mapping():
    return {'Garden::Tree': Tree}
"""

TEMPLATE = """heat_template_version: 2021-04-16
resources:
  tree:
    type: Garden::Tree
    properties:
      height: 10
      age: 3
      leaves: [{color: green}]
outputs:
  shade: {value: {get_attr: [tree, shade]}}
  light: {value: {get_attr: [tree, light]}}
"""


def rules(path: pathlib.Path, *envs: pathlib.Path, **more: object) -> list[tuple[int, str]]:
    return [(item.line, item.rule) for item in runner.lint(str(path), [str(env) for env in envs], **more)]  # type: ignore[arg-type]


def test_types_of_plugins(tmp_path: pathlib.Path) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "garden.py").write_text(PLUGIN)
    (tmp_path / "t.yaml").write_text(TEMPLATE)
    assert rules(tmp_path / "t.yaml") == [(4, "unknown-type")]
    found = catalogue.of_plugins([str(tmp_path / "plugins")])
    assert rules(tmp_path / "t.yaml", plugin_types=found) == [
        (6, "property-constraint"),
        (7, "deprecated-property"),
        (8, "unknown-property"),
        (10, "deprecated-attribute"),
        (11, "unknown-attribute"),
    ]


def test_mapped_types_have_the_schema_of_what_they_are(tmp_path: pathlib.Path) -> None:
    (tmp_path / "t.yaml").write_text(TEMPLATE.replace("height: 10", "length: 10"))
    (tmp_path / "e.yaml").write_text('resource_registry: {"Garden::*": "OS::Heat::RandomString"}')
    assert rules(tmp_path / "t.yaml", tmp_path / "e.yaml") == [
        (7, "unknown-property"),
        (8, "unknown-property"),
        (10, "unknown-attribute"),
        (11, "unknown-attribute"),
    ]


def test_base_url_of_a_registry(tmp_path: pathlib.Path) -> None:
    (tmp_path / "trees").mkdir()
    (tmp_path / "trees" / "tree.yaml").write_text(
        "heat_template_version: 2021-04-16\nparameters: {height: {type: number}}\nresources: {}\n"
    )
    (tmp_path / "t.yaml").write_text(TEMPLATE)
    (tmp_path / "e.yaml").write_text('resource_registry: {base_url: trees, "Garden::Tree": tree.yaml}')
    assert rules(tmp_path / "t.yaml", tmp_path / "e.yaml") == [
        (7, "unknown-property"),
        (8, "unknown-property"),
        (10, "unknown-attribute"),
        (11, "unknown-attribute"),
    ]


@pytest.mark.parametrize("version", ["2013-05-23", "newton", "wallaby"])
def test_functions_of_old_versions(version: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "t.yaml").write_text(
        """heat_template_version: %s
resources:
  value:
    type: OS::Heat::Value
    properties:
      value: {'Fn::Join': [',', [a]]}
  other:
    type: OS::Heat::Value
    properties:
      value: {make_url: {host: a}}
"""
        % version
    )
    first = "deprecated-function" if version == "2013-05-23" else "removed-function"
    expected = [(6, first)] + ([] if version == "wallaby" else [(10, "unavailable-function")])
    assert rules(tmp_path / "t.yaml") == expected


def test_an_external_resource_needs_no_properties(tmp_path: pathlib.Path) -> None:
    (tmp_path / "t.yaml").write_text("""heat_template_version: newton
resources:
  server: {type: 'OS::Nova::Server', external_id: abc}
""")
    assert rules(tmp_path / "t.yaml") == []


def test_names_that_are_decided_later_count_as_uses_of_everything(tmp_path: pathlib.Path) -> None:
    (tmp_path / "t.yaml").write_text("""heat_template_version: wallaby
parameters: {a: {type: string}, b: {type: string}}
resources:
  value: {type: 'OS::Heat::Value', properties: {value: {get_param: [{get_param: a}]}}}
""")
    assert rules(tmp_path / "t.yaml") == []
