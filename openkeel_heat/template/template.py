# SPDX-License-Identifier: Apache-2.0
"""Templates.

``Template(data)`` gives an object of the class for the version that the data
names.  The data is compiled when it is first needed: definitions of
resources, outputs and conditions become nodes, once, and the object can then
be shared by any number of stacks and threads.

The methods that change a template (``add_resource`` and the like) serve those
who put nested templates together; they drop what has been compiled, and are
never used on a shared object: ``copy.deepcopy`` it first.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.template import environment, nodes, text
from openkeel_heat.template.conditions import Conditions
from openkeel_heat.template.definition import BoundDefinition, ResourceDefinition
from openkeel_heat.template.output import OutputDefinition
from openkeel_heat.template.versions import BUILTIN_CLASSES

_classes: dict[tuple[str, str], Any] = {}


class TemplatePluginNotRegistered(exception.HeatException):
    """A template class of a plugin cannot be loaded."""

    msg_fmt = _("Could not load %(name)s: %(error)s")


def template_classes() -> dict[tuple[str, str], Any]:
    """All versions: (key, value) -> class or its place as "module:Class".

    Plugins add to the built-in ones by the entry points ``heat.templates``,
    named ``key.value``.
    """
    if not _classes:
        found: dict[tuple[str, str], Any] = {}
        from importlib import metadata

        for entry in metadata.entry_points(group="heat.templates"):
            key, _dot, value = entry.name.partition(".")
            if (key, value) not in BUILTIN_CLASSES:
                try:
                    found[key, value] = entry.load()
                except Exception as exc:
                    raise TemplatePluginNotRegistered(name=entry.name, error=str(exc)) from exc
        _classes.update(BUILTIN_CLASSES)
        _classes.update(found)
    return _classes


def get_version(template_data: Mapping[str, Any], available_versions: Any) -> tuple[str, str]:
    """The key and value that name the version of a template."""
    keys = {key for key, _value in available_versions}
    present = [key for key, value in template_data.items() if key in keys and isinstance(value, str)]
    if len(present) > 1:
        raise exception.InvalidTemplateVersion(explanation=_("Ambiguous versions (%s)") % ", ".join(present))
    if not present:
        raise exception.InvalidTemplateVersion(explanation=_("Template version was not provided"))
    return present[0], template_data[present[0]]


def get_template_class(template_data: Mapping[str, Any]) -> Any:
    """The class for a template; InvalidTemplateVersion if there is none."""
    available = template_classes()
    version = get_version(template_data, available)
    found = available.get(version)
    if found is None:
        values = sorted(value for key, value in available if key == version[0])
        wording = (
            _('"%(version)s". "%(version_type)s" should be one of: %(available)s')
            if len(values) > 1
            else _('"%(version)s". "%(version_type)s" should be: %(available)s')
        )
        raise exception.InvalidTemplateVersion(
            explanation=wording
            % {"version": ": ".join(version), "version_type": version[0], "available": ", ".join(values)}
        )
    if isinstance(found, str):
        module, _colon, name = found.partition(":")
        found = available[version] = getattr(importlib.import_module(module), name)
    return found


class Definitions(dict[str, ResourceDefinition]):
    """The compiled definitions by name; called with a scope, the bound ones that no condition leaves out."""

    def __call__(self, scope: Any) -> dict[str, BoundDefinition]:
        bound = {}
        _conditions = scope.conditions  # whatever is wrong with them is told first
        for name, definition in self.items():
            definition.prepare(scope)
            if definition.enabled(scope):
                bound[name] = definition.bind(scope)
        return bound


class Template(Mapping[str, Any]):
    """Base of all templates: a mapping of section names to their raw contents."""

    SECTIONS: ClassVar[tuple[str, ...]] = ()
    SECTIONS_NO_DIRECT_ACCESS: ClassVar[Any] = frozenset()
    #: the names of the sections; those of a format that lacks one are not used
    VERSION: ClassVar[str]
    DESCRIPTION: ClassVar[str]
    PARAMETERS: ClassVar[str]
    MAPPINGS: ClassVar[str]
    RESOURCES: ClassVar[str]
    OUTPUTS: ClassVar[str]

    functions: ClassVar[Mapping[str, Any]] = {}
    condition_functions: ClassVar[Mapping[str, Any]] = {}
    deletion_policies: ClassVar[Mapping[str, str]] = {}

    def __new__(cls, template: Mapping[str, Any], *args: Any, **kwargs: Any) -> Template:
        return super().__new__(get_template_class(template) if cls is Template else cls)

    def __init__(
        self, template: dict[str, Any], template_id: Any = None, files: Mapping[str, str] | None = None, env: Any = None
    ) -> None:
        self.id = template_id
        self.t = template
        self.files: Mapping[str, str] = {} if files is None else files
        self.env = environment.Environment({}) if env is None else env
        self.version = get_version(template, template_classes())
        self.maps = self[self.MAPPINGS]
        self.merge_sections = [self.PARAMETERS]
        self._validated = False
        self._definitions: Definitions | None = None
        self._static: bool | None = None
        self._compiled_outputs: Any = None
        self._compiled_conditions: Any = None
        self._schemata: dict[str, Any] | None = None
        self._compile_context: nodes.CompileContext | None = None

    def __deepcopy__(self, memo: Any) -> Template:
        return type(self)(copy.deepcopy(self.t, memo), files=self.files, env=self.env)

    def _changed(self) -> None:
        """Forget what has been compiled."""
        self._validated = False
        self._definitions = self._compiled_outputs = self._compiled_conditions = self._schemata = None
        self._compile_context = self._static = None

    # compiling

    @property
    def compile_context(self) -> nodes.CompileContext:
        """What snippets of this template are compiled with."""
        if self._compile_context is None:
            self._compile_context = nodes.CompileContext(
                self.functions, self.parser_condition_functions(), self._names_resource
            )
        return self._compile_context

    def _names_resource(self, name: Any) -> bool:
        return name in (self.t.get(self.RESOURCES) or {})

    def parser_condition_functions(self) -> Mapping[str, Any]:
        """Functions as they are where only conditions may stand."""
        table: dict[str, Any] = dict.fromkeys(self.functions, nodes.Invalid)
        table.update(self.condition_functions)
        return table

    def parse(self, scope: Any, snippet: Any, path: str = "") -> Any:
        """A raw snippet, compiled and bound to a scope."""
        return self._parse(scope, nodes.compile_snippet(snippet, self.compile_context, path))

    def parse_condition(self, scope: Any, snippet: Any, path: str = "") -> Any:
        """A raw condition, compiled and bound to a scope."""
        return self._parse(scope, nodes.compile_condition(snippet, self.compile_context, path))

    @staticmethod
    def _parse(scope: Any, node: Any) -> Any:
        nodes.prepare(node, scope)
        return nodes.bind(node, scope)

    @property
    def definitions(self) -> Definitions:
        """The compiled definitions of all resources, in the order of the template."""
        if self._definitions is None:
            self._definitions = Definitions(self.compile_definitions())
        return self._definitions

    resource_definitions = definitions

    @property
    def static_references(self) -> bool:
        """Whether resources refer to each other in the same way in every stack and at any time."""
        if self._static is None:
            self._static = (
                not any(
                    definition.flags & (nodes.UNSETTLED | nodes.DYNAMIC) for definition in self.definitions.values()
                )
                and self._outputs_static()
            )
        return self._static

    def _outputs_static(self) -> bool:
        return True

    # what formats provide

    def compile_definitions(self) -> dict[str, ResourceDefinition]:
        raise NotImplementedError

    def param_schemata(self, param_defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Schemata of the parameters by name."""
        raise NotImplementedError

    def parameter_schemata(self, param_defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The same as :meth:`param_schemata`."""
        return self.param_schemata(param_defaults)

    def parameters(
        self, stack_identifier: Any, user_params: Mapping[str, Any], param_defaults: Mapping[str, Any] | None = None
    ) -> Any:
        """The Parameters of a stack."""
        raise NotImplementedError

    def get_section_name(self, section: str) -> str:
        """The name in this format of a field of a resource or output."""
        raise NotImplementedError

    def conditions(self, scope: Any) -> Conditions:
        """The conditions in a scope."""
        return Conditions({}, scope)

    def outputs(self, scope: Any) -> dict[str, OutputDefinition]:
        """The outputs in a scope; those left out have the value None."""
        raise NotImplementedError

    def add_resource(self, definition: Any, name: str | None = None) -> None:
        """Put a resource into the template, under its own name or another."""
        raise NotImplementedError

    def add_output(self, definition: OutputDefinition) -> None:
        """Put an output into the template."""
        raise NotImplementedError

    # sections

    def __getitem__(self, section: str) -> Any:
        raise NotImplementedError

    def __iter__(self) -> Iterator[str]:
        return (section for section in self.SECTIONS if section not in self.SECTIONS_NO_DIRECT_ACCESS)

    def __len__(self) -> int:
        return len(self.SECTIONS) - len(self.SECTIONS_NO_DIRECT_ACCESS)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def all_param_schemata(self, files: Mapping[str, str] | None) -> dict[str, Any]:
        """Schemata of this template's parameters and those of all templates among the files."""
        schemata: dict[str, Any] = {}
        for content in (files or {}).values():
            try:
                data = text.parse(content)
            except ValueError:
                continue
            schemata.update(Template(data).param_schemata())
        schemata.update(self.param_schemata())
        return schemata

    def merge_snippets(self, other: Template) -> None:
        """Take over the parameters (and conditions) of another template."""
        for section in self.merge_sections:
            if section in other.t:
                merged = dict(self.t.get(section) or {})
                merged.update(other.t[section] or {})
                self.t[section] = merged
        self._changed()

    def remove_resource(self, name: str) -> None:
        """Take a resource out of the template."""
        self.t.get(self.RESOURCES, {}).pop(name)
        self._changed()

    def remove_all_resources(self) -> None:
        """Take all resources out of the template."""
        if self.RESOURCES in self.t:
            self.t[self.RESOURCES] = {}
        self._changed()

    def validate(self) -> None:
        """Check the names of sections and the form of resources; once only."""
        if self._validated:
            return
        for section in self.t:
            if section not in self.SECTIONS:
                raise exception.InvalidTemplateSection(section=section)
        resources = self[self.RESOURCES]
        if not isinstance(resources, Mapping):
            # the words in which clients know this mistake
            raise exception.StackValidationFailed(
                message="'%s' object has no attribute 'values'" % type(resources).__name__
            )
        for resource in resources.values():
            if not resource:
                raise exception.StackValidationFailed(message=_("Each Resource must contain a Type key."))
            if not isinstance(resource, Mapping):
                raise exception.StackValidationFailed(
                    message=_("Resources must contain Resource. Found a [%s] instead") % type(resource)
                )
            if not resource.get("Type"):
                raise exception.StackValidationFailed(message=_("Each Resource must contain a Type key."))
        self._validated = True

    @classmethod
    def create_empty_template(
        cls, version: tuple[str, str] = ("heat_template_version", "2015-04-30"), from_template: Template | None = None
    ) -> Template:
        """A template without resources, new or like another one."""
        if from_template is not None:
            template = copy.deepcopy(from_template)
            template.remove_all_resources()
            return template
        return cls({version[0]: version[1]})

    @classmethod
    def load(
        cls,
        template: Mapping[str, Any],
        files: Mapping[str, str] | None = None,
        env: Any = None,
        template_id: Any = None,
    ) -> Template:
        """A template of its parts."""
        return cls(dict(template), template_id, files, env)

    def without_resources(self) -> Template:
        """A copy that has no resources."""
        return self.create_empty_template(from_template=self)
