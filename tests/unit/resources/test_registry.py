# SPDX-License-Identifier: Apache-2.0
"""Types by name, plugins written for Heat, the global environment."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from oslo_config import cfg

from openkeel_heat.common import exceptions as exception
from openkeel_heat.resources.kit import constraints, lifecycle, registry
from openkeel_heat.resources.kit.template_resource import TemplateResource
from tests.unit.resources.fakes import FakeStack, drive, hot

PLUGIN = '''
from oslo_log import log as logging

from heat.common import exception
from heat.common.i18n import _
from heat.engine import attributes
from heat.engine import constraints
from heat.engine import properties
from heat.engine import resource
from heat.engine import support
from heat.engine import translation

LOG = logging.getLogger(__name__)


class IsEven(constraints.BaseCustomConstraint):
    def validate(self, value, context):
        return value % 2 == 0


class Thing(resource.Resource):
    """A thing."""

    support_status = support.SupportStatus(version='1.0')

    PROPERTIES = (SIZE, OLD) = ('size', 'old')

    properties_schema = {
        SIZE: properties.Schema(
            properties.Schema.INTEGER, _('Size.'), default=2, update_allowed=True,
            constraints=[constraints.CustomConstraint('is_even')]),
        OLD: {'Type': 'String', 'UpdateAllowed': True},
    }
    attributes_schema = {'twice': attributes.Schema('Twice the size.', type=attributes.Schema.INTEGER)}

    def handle_create(self):
        self.resource_id_set('thing-%s' % self.properties[self.SIZE])
        return {'polls': 0}

    def check_create_complete(self, cookie):
        cookie['polls'] += 1
        return cookie['polls'] > 2

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        if prop_diff.get(self.SIZE) == 0:
            raise resource.UpdateReplace(self.name)
        self.data_set('size', prop_diff[self.SIZE])

    def _resolve_attribute(self, name):
        if name == 'twice':
            return 2 * self.properties[self.SIZE]


def resource_mapping():
    return {'My::Thing': Thing}


def constraint_mapping():
    return {'is_even': IsEven}
'''


@pytest.fixture
def plugins(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    (tmp_path / "thing.py").write_text(PLUGIN)
    (tmp_path / "broken.py").write_text("import no_such_module")
    cfg.CONF.set_override("plugin_dirs", [str(tmp_path), "/nowhere"])
    registry.reset()
    yield tmp_path
    cfg.CONF.clear_override("plugin_dirs")
    registry.reset()


def thing(**props: Any) -> Any:
    return FakeStack(hot({"r": {"type": "My::Thing", "properties": props}}))["r"]


def test_a_plugin_written_for_heat(plugins: pathlib.Path) -> None:
    resource = thing(size=4)
    resource.validate()
    driver = drive(lifecycle.create(resource), resource)
    assert driver.short == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"] and len(driver.pauses) == 2
    assert resource.FnGetRefId() == "thing-4" and resource.FnGetAtt("twice") == 8
    assert resource.stack.store.writes == [("physical_id", "thing-4")]
    after = thing(size=6).t
    assert drive(lifecycle.update(resource, after), resource).short == ["UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"]
    with pytest.raises(exception.UpdateReplace):
        drive(lifecycle.update(resource, thing(size=0).t), resource)


def test_a_constraint_of_a_plugin(plugins: pathlib.Path) -> None:
    with pytest.raises(
        exception.StackValidationFailed, match="resources.r.properties.size: Error validating value '3'"
    ):
        thing(size=3).validate()
    assert "is_even" in registry.constraint_names()


def test_a_broken_plugin_keeps_nobody_from_starting(plugins: pathlib.Path) -> None:
    assert {"My::Thing", "OS::Heat::TestResource"} <= set(registry.types())


def test_unknown_type() -> None:
    with pytest.raises(exception.StackValidationFailed, match=r"The Resource Type \(No::Such\) could not be found."):
        FakeStack(hot({"r": {"type": "No::Such"}}))["r"]


def test_unknown_constraint() -> None:
    assert registry.constraint("no_such") is None
    with pytest.raises(ValueError, match="constraint not found"):
        constraints.CustomConstraint("no_such").validate("x")


def test_types_of_the_global_environment(tmp_path: pathlib.Path) -> None:
    (tmp_path / "default.yaml").write_text(
        "resource_registry:\n  My::Alias: OS::Heat::TestResource\n  My::Template: file:///somewhere/x.yaml\n"
    )
    cfg.CONF.set_override("environment_dir", str(tmp_path))
    registry.reset()
    try:
        stack = FakeStack(hot({"a": {"type": "My::Alias"}}))
        assert type(stack["a"]).__name__ == "TestResource" and stack["a"].type() == "My::Alias"
        assert stack["a"].has_interface("OS::Heat::TestResource")
        env = registry.global_env()
        hidden = {name for name in registry.BUILT_IN if registry.types()[name].is_hidden()}
        assert {"OS::Heat::SoftwareDeployments", "OS::Heat::StructuredDeployments"} < hidden
        assert set(env.get_types()) == set(registry.BUILT_IN) - hidden | {"My::Template"}
        info = env.get_resource_info("My::Template")
        assert info.get_class_to_instantiate() is TemplateResource
        assert env.get_class("OS::Heat::Value").__name__ == "Value"
    finally:
        cfg.CONF.clear_override("environment_dir")
        registry.reset()


def test_listing_by_support_and_name() -> None:
    env = registry.global_env()
    assert env.get_types(type_name="OS::Heat::Ra") == ["OS::Heat::RandomString"]
    assert "OS::Heat::WaitCondition" in env.get_types(version="2014.2")
    assert env.get_types(support_status="DEPRECATED") == []
    with pytest.raises(exception.Invalid):
        env.get_types(support_status="NONSENSE")


HEAVY = ("openstack", "yaql", "keystoneauth1", "keystonemiddleware", "boto", "oslo_messaging", "sqlalchemy", "requests")


def test_importing_the_kit_is_cheap() -> None:
    """No service code, and no type, comes with the kit."""
    script = (
        "import sys\n"
        "from openkeel_heat.resources.kit import lifecycle, resource, stack_resource, template_resource\n"
        "print(*sorted(sys.modules))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        text=True,
        cwd=pathlib.Path(__file__).parents[3],
    ).stdout.split()
    assert not [name for name in loaded if name.split(".")[0] in HEAVY]
    assert not [name for name in loaded if name.startswith("openkeel_heat.resources.heat.")]
