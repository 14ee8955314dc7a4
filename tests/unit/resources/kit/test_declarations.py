# SPDX-License-Identifier: Apache-2.0
"""Mistakes in a declaration: each is told when the module is loaded, with the place, and costs no other type."""

from __future__ import annotations

import pathlib
import textwrap
from collections.abc import Iterator

import pytest

from openkeel_heat.cmd import lint
from openkeel_heat.common import exceptions
from openkeel_heat.resources.kit import declarations, registry
from openkeel_heat.resources.kit.api_object import ApiObject
from tests.unit.conftest import Option

pytestmark = pytest.mark.usefixtures("option")

HEAD = """
from openkeel_heat.resources.kit import attributes, constraints, properties
from openkeel_heat.resources.kit.rest import ApiObject, RestResource

Schema = properties.Schema


class {name}(RestResource):
    default_client_name = "library"
    api_object = ApiObject("/v1/shelves", "shelf")
    properties_schema = {{"boards": Schema(Schema.INTEGER), "room": Schema(Schema.STRING)}}
    attributes_schema = {{"free": attributes.Schema("Free places.")}}
{mistake}


def resource_mapping():
    return {{"ACME::{name}": {name}}}
"""

FAULTS = {
    "renamed = {'rom': 'place'}": "renamed: there is no property 'rom'",
    "renamed = {'board': 'planks'}": "renamed: there is no property 'board'; did you mean 'boards'?",
    "renamed = ('room', 'place')": "renamed is no map but of type tuple",
    "not_sent = ('colour',)": "not_sent: there is no property 'colour'",
    "not_sent = 'room'": "not_sent is a text, not a tuple: write ('room',)",
    "attribute_fields = {'places': 'free_places'}": "attribute_fields: there is no attribute 'places'",
    "del api_object": "api_object is not given",
    "default_client_name = None": "default_client_name is not given",
    "properties_schema = {'room': {'Description': 'no type'}}": "properties_schema['room']: No Type specified",
    "properties_schema = {'room': {'Type': 'String', 'Defualt': 1}}": (
        "properties_schema['room']: Unknown key(s) ['Defualt']"
    ),
    "properties_schema = {'room': 'String'}": "properties_schema['room'] is no properties.Schema but of type str",
    "properties_schema = [Schema(Schema.STRING)]": "properties_schema is no map but of type list",
    "properties_schema = {'rows': Schema(Schema.LIST, schema={'topic': Schema(Schema.STRING)})}": (
        "properties_schema['rows']: the entries of a list have one schema: Schema(Schema.MAP, schema={…})"
    ),
    "properties_schema = {'row': Schema(Schema.MAP, schema={'no': Schema(Schema.INTEGER, default='top')})}": (
        "properties_schema['row']['no']: the default is no value for it: Value 'top' is not an integer"
    ),
    "attributes_schema = {'free': 'Free places.'}": "attributes_schema['free'] is no attributes.Schema but of type str",
}

REMARKS = {
    "rename = {'room': 'place'}": "nothing reads 'rename' of the class Shelf; did you mean 'renamed'?",
    "property_schema = {}": "nothing reads 'property_schema' of the class Shelf; did you mean 'properties_schema'?",
    "def error_off(self, shown): ...": "nothing reads 'error_off' of the class Shelf; did you mean 'error_of'?",
    "attributes_schema = {'free': attributes.Schema('Free.', cache_mode='no_cache')}": (
        "attributes_schema['free']: there is no cache_mode 'no_cache', only cache_local, cache_none"
    ),
}


def written(folder: pathlib.Path, mistake: str = "", name: str = "Shelf") -> pathlib.Path:
    module = folder / f"{name.lower()}.py"
    module.write_text(HEAD.format(name=name, mistake=textwrap.indent(mistake, "    ")))
    return module


@pytest.fixture
def plugins(tmp_path: pathlib.Path, option: Option) -> Iterator[pathlib.Path]:
    option("plugin_dirs", [str(tmp_path)])
    registry.reset()
    yield tmp_path
    registry.reset()


def test_no_type_of_the_release_has_a_fault() -> None:
    table = registry.TypeTable(registry.BUILT_IN)
    found = {name: [*declarations.faults(table[name]), *declarations.remarks(table[name])] for name in table}
    assert {name: what for name, what in found.items() if what} == {}


@pytest.mark.parametrize("mistake", FAULTS)
def test_a_faulty_type_is_left_out(mistake: str, plugins: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    module = written(plugins, mistake)
    written(plugins, name="Room")
    table = registry.types()
    assert "ACME::Room" in table and "ACME::Shelf" not in table
    assert caplog.messages == [f"Resource type ACME::Shelf of {module} is left out: {FAULTS[mistake]}"]


@pytest.mark.parametrize("mistake", REMARKS)
def test_what_is_only_likely_a_mistake(mistake: str, plugins: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    module = written(plugins, mistake)
    assert "ACME::Shelf" in registry.types()
    assert caplog.messages == [f"Resource type ACME::Shelf of {module}: {REMARKS[mistake]}"]


@pytest.mark.parametrize(
    ("value", "why"),
    [("'shelf:Shelf'", "'shelf:Shelf' is no class"), ("type('Thing', (), {})", "Thing is not derived from Resource")],
)
def test_what_is_no_type_hides_no_other(
    value: str, why: str, plugins: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    (plugins / "things.py").write_text(f"def resource_mapping():\n    return {{'ACME::Thing': {value}}}\n")
    written(plugins)
    assert {"ACME::Shelf", "OS::Heat::Value"} <= set(registry.global_env().get_types())
    assert f"is left out: {why}" in caplog.text


def test_a_mapping_that_fails_costs_no_other_module(plugins: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    (plugins / "broken.py").write_text("def resource_mapping():\n    return {'ACME::Thing': Thing}\n")
    written(plugins)
    assert {"ACME::Shelf", "OS::Heat::Value"} <= set(registry.types())
    assert "Failed to load resource_mapping from" in caplog.text and "name 'Thing' is not defined" in caplog.text


def test_a_type_for_heat_is_used_as_long_as_it_can_be(plugins: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    """Heat itself has a list whose default is a map, and takes one whose default nobody can use."""
    (plugins / "old.py").write_text(
        textwrap.dedent("""
            from heat.engine import properties, resource

            class Old(resource.Resource):
                properties_schema = {
                    "a": properties.Schema(properties.Schema.LIST, default={}),
                    "b": properties.Schema(properties.Schema.INTEGER, default="many"),
                    "c": {"Type": "String"},
                }
                rename = {"a": "b"}

            class Computed(resource.Resource):
                @property
                def properties_schema(self):
                    return {}

            def resource_mapping():
                return {"My::Old": Old, "My::Computed": Computed}
            """)
    )
    assert {"My::Old", "My::Computed"} <= set(registry.types())
    told = "properties_schema['b']: the default is no value for it: Value 'many' is not an integer"
    assert caplog.messages == [f"Resource type My::Old of {plugins / 'old.py'}: {told}"]


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        ({"path": "/v1/rooms/{room}/shelves"}, r"nothing is put into the path .*; override collection_path\(\)"),
        ({"path": "/v1/rooms/%(room)s/shelves"}, "nothing is put into the path"),
        ({"path": "v1/shelves"}, "the path 'v1/shelves' has to begin with a slash"),
        ({"path": "/v1/shelves/"}, "and to end without one"),
        ({"list_path": "/v1/shelves/detail/"}, "the path '/v1/shelves/detail/' has to"),
        ({"update_method": "PACTH"}, "update_method is 'PACTH', none of PUT, PATCH, POST"),
        ({"ready": "STANDING"}, r"ready is a text, not a tuple: \('STANDING',\)"),
        ({"ready": ("UP",), "failed": ("UP",)}, "the state 'UP' is both ready and failed"),
    ],
)
def test_an_api_object_that_cannot_be(declared: dict[str, str], why: str) -> None:
    with pytest.raises(exceptions.InvalidSchemaError, match="^ApiObject: .*" + why):
        ApiObject(**{"path": "/v1/shelves", "key": "shelf", **declared})  # type: ignore[arg-type]


# the author's tool ----------------------------------------------------------------------------------------------------


def linted(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    template = folder / "t.yaml"
    template.write_text("heat_template_version: 2021-04-16\nresources:\n  r: {type: ACME::Room}\n")
    (folder / "plugins").mkdir(exist_ok=True)
    status = lint.main(["--plugin-dir", str(folder / "plugins"), str(template)])
    return status, capsys.readouterr().err


def test_the_linter_tells_the_author(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plugins").mkdir()
    written(tmp_path / "plugins", name="Room")
    assert linted(tmp_path, capsys) == (0, "")
    module = written(tmp_path / "plugins", "renamed = {'rom': 'place'}")
    why = "renamed: there is no property 'rom'"
    assert linted(tmp_path, capsys) == (
        0,
        f"openkeel-heat-lint: Resource type ACME::Shelf of {module} is left out: {why}\n",
    )


def test_the_linter_tells_the_line_that_cannot_be_imported(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plugins").mkdir()
    written(tmp_path / "plugins", name="Room")
    module = written(tmp_path / "plugins", "properties_schema = {'room': Schema(description='no type')}")
    line = module.read_text().splitlines().index("    properties_schema = {'room': Schema(description='no type')}") + 1
    assert linted(tmp_path, capsys) == (
        0,
        f"openkeel-heat-lint: Failed to import module heat.engine.plugins.shelf: {module}:{line}: "
        "TypeError: Schema.__init__() missing 1 required positional argument: 'data_type'\n",
    )


def test_the_linter_knows_the_constraints_of_plugins(tmp_path: pathlib.Path) -> None:
    (tmp_path / "room.py").write_text("def constraint_mapping():\n    return {'acme.room': object}\n")
    template = tmp_path / "t.yaml"
    text = (
        "heat_template_version: 2021-04-16\nparameters:\n  r: {type: string, constraints: [{custom_constraint: %s}]}\n"
    )
    text += "resources: {v: {type: OS::Heat::Value, properties: {value: {get_param: r}}}}\n"
    template.write_text(text % "acme.room")
    arguments = ["--strict", "--plugin-dir", str(tmp_path), str(template)]
    assert lint.main(arguments) == 0
    template.write_text(text % "acme.rom")
    assert lint.main(arguments) == 1


def test_the_linter_misses_a_directory(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = lint.main(["--plugin-dir", str(tmp_path / "nowhere"), str(tmp_path / "t.yaml")])
    assert (status, capsys.readouterr().err) == (2, f"openkeel-heat-lint: {tmp_path / 'nowhere'}: not a directory\n")


def test_the_linter_tells_the_line_of_a_mapping_that_fails(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plugins").mkdir()
    written(tmp_path / "plugins", name="Room")
    module = tmp_path / "plugins" / "broken.py"
    module.write_text("def resource_mapping():\n    return {'ACME::Thing': Thing}\n")
    status, told = linted(tmp_path, capsys)
    assert status == 0 and told.endswith(f": {module}:2: NameError: name 'Thing' is not defined\n")


def test_the_linter_lives_with_a_mapping_that_is_none(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plugins").mkdir()
    written(tmp_path / "plugins", name="Room")
    (tmp_path / "plugins" / "list.py").write_text("def resource_mapping():\n    return [1]\n")
    status, told = linted(tmp_path, capsys)
    assert status == 0 and "Invalid type for resource_mapping" in told
