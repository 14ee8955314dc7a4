# SPDX-License-Identifier: Apache-2.0
"""The names of heat.*: the same objects, lazily, and a plug-in module that uses them."""

from __future__ import annotations

import importlib
import importlib.util
import json
import pathlib
import subprocess
import sys
import types

import pytest

from openkeel_heat import clients
from openkeel_heat.compat import finder, table

CONTRACT = pathlib.Path(__file__).resolve().parents[2] / "contract" / "data"

IDENTICAL = {
    "heat.common.exception": "openkeel_heat.common.exceptions",
    "heat.common.i18n": "openkeel_heat.common.i18n",
    "heat.common.identifier": "openkeel_heat.common.identifier",
    "heat.common.messaging": "openkeel_heat.rpc.messaging",
    "heat.rpc.client": "openkeel_heat.rpc.client",
    "heat.engine.properties": "openkeel_heat.resources.kit.properties",
    "heat.engine.attributes": "openkeel_heat.resources.kit.attributes",
    "heat.engine.constraints": "openkeel_heat.resources.kit.constraints",
    "heat.engine.support": "openkeel_heat.resources.kit.support",
    "heat.engine.translation": "openkeel_heat.resources.kit.translation",
    "heat.engine.environment": "openkeel_heat.template.environment",
    "heat.engine.resources.openstack.heat.random_string": "openkeel_heat.resources.heat.random_string",
}


@pytest.mark.parametrize(("theirs", "ours"), IDENTICAL.items())
def test_the_very_module(theirs: str, ours: str) -> None:
    assert importlib.import_module(theirs) is importlib.import_module(ours)


@pytest.mark.parametrize("name", ["heat.wsgi.api", "heat.wsgi.cfn"])
def test_what_uwsgi_loads(name: str) -> None:
    """``module = heat.wsgi.api:application``: uWSGI looks into the dictionary of what was imported."""
    spec = finder.Finder().find_spec(name)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert callable(vars(module)["application"])


@pytest.mark.parametrize("name", sorted(table.MODULES))
def test_every_row(name: str) -> None:
    module = importlib.import_module(name)
    assert isinstance(module, types.ModuleType)
    entry = table.find(name)
    assert entry is not None
    for exported in entry.names:
        assert getattr(module, exported) is finder.resolve(entry.names[exported])


def test_types_are_found_where_plugins_look_for_them() -> None:
    from oslo_config import cfg

    from openkeel_heat.common import config
    from openkeel_heat.resources.kit import registry

    config.register_all()
    cfg.CONF([], project="heat", default_config_files=[])
    known = json.loads((CONTRACT / "resource-types.json").read_text())["types"]
    checked = 0
    for name, cls in registry.types().items():
        if name in known:
            module, _, attribute = known[name]["class"].rpartition(".")
            assert getattr(importlib.import_module(module), attribute) is cls, name
            checked += 1
    print(f"{checked} resource types under the names of heat.*")
    assert checked >= 10


def test_client_plugins_are_found_where_plugins_look_for_them() -> None:
    known = json.loads((CONTRACT / "clients.json").read_text())["clients"]
    checked = []
    for name in clients.PLUGINS.keys() & known.keys():
        facts = known[name]
        module, _, attribute = facts["class"].rpartition(".")
        cls = getattr(importlib.import_module(module), attribute)
        assert cls is clients.plugin_class(name)
        assert cls.service_types == facts["service_types"]
        constants = {key: getattr(cls, key) for key in facts["constants"]}
        assert json.loads(json.dumps(constants)) == facts["constants"]
        assert [method for method in facts["methods"] if not callable(getattr(cls, method, None))] == []
        checked.append(name)
    print(f"client plug-ins: {', '.join(sorted(checked))}")


def test_count() -> None:
    names = sum(len(entry.names) for entry in map(table.find, table.MODULES) if entry)
    print(f"{len(table.MODULES)} modules, {names} gathered names, {len(table.PREFIXES)} families")


def test_gathered_names() -> None:
    from heat.common import context, wsgi  # type: ignore[import-not-found]
    from heat.engine import resource  # type: ignore[import-not-found]

    from openkeel_heat.common import exceptions
    from openkeel_heat.common.context import RequestContext

    assert context.RequestContext is RequestContext
    assert callable(context.ContextMiddleware_filter_factory)
    assert callable(wsgi.filter_factory)
    assert resource.UpdateReplace is exceptions.UpdateReplace
    assert "RequestContext" in dir(context)
    with pytest.raises(AttributeError, match="heat.common.context"):
        context.nonsense  # noqa: B018
    with pytest.raises(ImportError):
        from heat.common.context import nonsense  # noqa: F401


@pytest.mark.parametrize("name", ["heat.nonsense", "heat.engine.nonsense", "heat.engine.clients.os.nonsense"])
def test_unknown_names(name: str) -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)


def test_nothing_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, heat, heat.common, heat.engine, heat.api.openstack, heat.common.wsgi\n"
        "print(sorted(m for m in sys.modules if m.startswith('openkeel_heat')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(
        ["openkeel_heat", "openkeel_heat.compat", "openkeel_heat.compat.finder", "openkeel_heat.compat.table"]
    )


PLUGIN = '''
from oslo_log import log as logging

from heat.common import exception
from heat.common.i18n import _
from heat.engine import attributes
from heat.engine import constraints
from heat.engine import properties
from heat.engine import resource
from heat.engine import scheduler
from heat.engine import support
from heat.engine import translation
from heat.engine.clients import client_plugin

LOG = logging.getLogger(__name__)


class Thing(resource.Resource):
    """A thing."""

    support_status = support.SupportStatus(version="1.0")
    PROPERTIES = (NAME, SIZE) = ("name", "size")
    ATTRIBUTES = (SHOWN,) = ("shown",)
    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("A name."), update_allowed=True,
                                constraints=[constraints.Length(max=10)]),
        SIZE: properties.Schema(properties.Schema.INTEGER, _("A size."), default=1,
                                constraints=[constraints.Range(1, 3)]),
    }
    attributes_schema = {SHOWN: attributes.Schema(_("Shown."), type=attributes.Schema.STRING)}

    def translation_rules(self, props):
        return [translation.TranslationRule(props, translation.TranslationRule.REPLACE, [self.NAME], value="x")]

    def handle_create(self):
        self.resource_id_set("id")

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        raise resource.UpdateReplace(self.name)

    def check_create_complete(self, token):
        raise exception.ResourceInError(resource_status="ERROR")


class ThingPlugin(client_plugin.ClientPlugin):
    service_types = ["thing"]

    def _create(self, version=None):
        return object()


def resource_mapping():
    return {"Third::Party::Thing": Thing}
'''


def test_a_plugin_module() -> None:
    module = types.ModuleType("third_party_plugin")
    exec(compile(PLUGIN, "third_party_plugin.py", "exec"), module.__dict__)
    from openkeel_heat.clients.plugin import ClientPlugin
    from openkeel_heat.resources.kit.resource import Resource

    thing = module.resource_mapping()["Third::Party::Thing"]
    assert issubclass(thing, Resource)
    assert issubclass(module.ThingPlugin, ClientPlugin)
