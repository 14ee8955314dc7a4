# SPDX-License-Identifier: Apache-2.0
"""A package of somebody else adds a version of the language, as it does for Heat: by an entry point.

It knows nothing of this service: all that it imports is ``heat.*``.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from tests.fixtures.api import Api
from tests.fixtures.service import AllInOne

SOURCE = '''
from heat.common import exception
from heat.common.i18n import _
from heat.engine import function
from heat.engine.cfn import template as cfn_template
from heat.engine.hot import template as hot_template


class Shout(function.Function):
    """Makes a text loud."""

    def validate(self):
        super().validate()
        if not isinstance(function.resolve(self.args), (str, type(None))):
            raise TypeError(_('"%s" takes a text') % self.fn_name)

    def result(self):
        text = function.resolve(self.args)
        return None if text is None else text.upper() + '!' * int(self.stack.parameters['loud'])


class Unless(function.Macro):
    """The other way round than if."""

    def parse_args(self, parse_func):
        condition, value, other = self.args
        enabled = self.template.conditions(self.stack).is_enabled(condition)
        return parse_func(other if enabled else value)


class Template(hot_template.HOTemplate20210416):
    """The language of Acme."""

    functions = {'shout': Shout, 'unless': Unless}
    functions.update(hot_template.HOTemplate20210416.functions)


class CfnTemplate(cfn_template.CfnTemplate):
    functions = dict(cfn_template.CfnTemplate.functions, **{'Acme::Shout': Shout})
'''

ENTRY_POINTS = """[heat.templates]
heat_template_version.2999-01-01 = acme_templates:Template
heat_template_version.acme = acme_templates:Template
HeatTemplateFormatVersion.2999-01-01 = acme_templates:CfnTemplate
"""

TEMPLATE = """
heat_template_version: 2999-01-01
parameters: {loud: {type: number, default: 2}}
conditions: {quiet: {equals: [{get_param: loud}, 0]}}
resources:
  a: {type: OS::Heat::TestResource, properties: {value: {shout: hello}}}
  b:
    type: OS::Heat::TestResource
    properties: {value: {unless: [quiet, {shout: {get_attr: [a, output]}}, {get_resource: a}]}}
outputs:
  said: {value: {shout: {list_join: [' ', [{get_attr: [a, output]}, {get_attr: [b, output]}]]}}}
"""


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("acme")
    (folder / "acme_templates.py").write_text(SOURCE)
    info = folder / "acme_templates-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-templates\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    service = AllInOne(pathlib.Path(folder), env={"PYTHONPATH": str(folder)}, name="heat-all-acme")
    try:
        yield service.start().api()
    finally:
        service.stop()


def test_it_is_listed(acme: Api) -> None:
    versions = {one["version"]: one for one in acme.get("/template_versions")["template_versions"]}
    assert versions["heat_template_version.2999-01-01"] == {
        "version": "heat_template_version.2999-01-01",
        "type": "hot",
        "aliases": ["heat_template_version.acme"],
    }
    assert versions["HeatTemplateFormatVersion.2999-01-01"]["type"] == "cfn"
    functions = {
        one["functions"]: one["description"]
        for one in acme.get("/template_versions/heat_template_version.2999-01-01/functions")["template_functions"]
    }
    assert functions["shout"] == "Makes a text loud."
    assert {"unless", "get_attr", "repeat"} <= set(functions)


@pytest.mark.parametrize(("loud", "said"), [(2, "HELLO!! HELLO!!!!!!"), (0, "HELLO {ref}")])
def test_a_stack_of_it(acme: Api, loud: int, said: str) -> None:
    stack = acme.create(TEMPLATE, parameters={"loud": loud})
    reference = stack.resources()["a"]["physical_resource_id"].upper()
    assert stack.outputs() == {"said": said.format(ref=reference)}
    assert stack.resources()["a"]["required_by"] == ["b"]
    stack.update(TEMPLATE, parameters={"loud": 1})
    assert stack.outputs() == {"said": "HELLO! HELLO!!!"}
    stack.delete()


def test_what_it_refuses(acme: Api) -> None:
    wrong = TEMPLATE.replace("{shout: hello}", "{shout: [hello]}")
    error = acme.call("POST", "/stacks/preview", {"stack_name": "x", "template": wrong}, expect=400)["error"]
    assert '"shout" takes a text' in error["message"]
    unknown = TEMPLATE.replace("2999-01-01", "2999-01-02")
    error = acme.call("POST", "/validate", {"template": unknown}, expect=400)["error"]
    assert "heat_template_version: 2999-01-02" in error["message"]
    assert "2999-01-01" in error["message"]


def test_a_template_of_the_other_format(acme: Api) -> None:
    template = {
        "HeatTemplateFormatVersion": "2999-01-01",
        "Parameters": {"loud": {"Type": "Number", "Default": 1}},
        "Outputs": {"o": {"Value": {"Acme::Shout": "hi"}}},
    }
    stack = acme.create(template)
    assert stack.outputs() == {"o": "HI!"}
    stack.delete()
