# SPDX-License-Identifier: Apache-2.0
"""Which schema the type of a resource has.

The registry of the language decides: what environment files map comes first,
then the types of this release and of plug-ins, then the operator's usual
aliases.  A type that is a template is read from its file, which is looked for
beside the file that names it.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from typing import Any
from urllib import parse as urlparse

from openkeel_heat.common import exceptions as exception
from openkeel_heat.lint import catalogue
from openkeel_heat.lint.document import Document, SyntaxProblem
from openkeel_heat.template import Template
from openkeel_heat.template.environment import Environment
from openkeel_heat.template.registry import ResourceRegistry, TemplateResourceInfo

TEMPLATE_ENDINGS = (".yaml", ".template")


@dataclasses.dataclass(frozen=True)
class Found:
    """What became of looking for a type."""

    type: catalogue.ResourceType | None = None
    #: why a template that is named cannot be used
    problem: str | None = None
    #: the type that the operator's aliases name instead
    alias_of: str | None = None
    #: why the registry leads nowhere
    lost: str | None = None


def template_of(data: dict[str, Any]) -> Template:
    """A template that falls back on no environment of a service."""
    return Template(data, env=Environment({}, user_env=False))


def is_template_name(value: Any) -> bool:
    return isinstance(value, str) and value.endswith(TEMPLATE_ENDINGS)


def local_path(name: str, folder: str) -> str | None:
    """The file that a name or URL stands for; None if it is not on this computer."""
    url = urlparse.urlsplit(name)
    if url.scheme == "file":
        return urlparse.unquote(url.path)
    if len(url.scheme) > 1:
        return None
    return os.path.normpath(os.path.join(folder, name))


def templates_in(data: Any, folder: str) -> list[str]:
    """Files of the templates that are types of a template's resources, but for those that have a condition."""
    resources = data.get("resources", data.get("Resources")) if isinstance(data, Mapping) else None
    entries = resources.values() if isinstance(resources, Mapping) else ()
    names = [
        entry.get("type", entry.get("Type"))
        for entry in entries
        if isinstance(entry, Mapping) and not {"condition", "Condition"} & entry.keys()
    ]
    paths = [local_path(name, folder) for name in names if is_template_name(name)]
    return [path for path in dict.fromkeys(paths) if path is not None]


class Registry:
    """Schemata of the types of one template with its environments."""

    def __init__(self, folder: str, plugin_types: catalogue.PluginTypes | None = None) -> None:
        self._folder = folder
        self._packaged = catalogue.packaged()
        self._plugins = catalogue.PluginTypes() if plugin_types is None else plugin_types
        self._param_defaults: dict[str, Any] = {}
        operator = ResourceRegistry(None, {}, user_env=False)
        operator.load(self._packaged.aliases)
        for name in {**dict.fromkeys(self._packaged), **self._plugins}:
            operator.register_class(name, _Named(name))  # type: ignore[arg-type]
        self._registry = ResourceRegistry(operator, self._param_defaults, user_env=True)
        self._templates: dict[str, Found] = {}
        #: of each template that was read: those that are types in it
        self._inner: dict[str, list[str]] = {}
        self._mapped: dict[str, None] = {}

    def add_environment(self, data: Mapping[str, Any], folder: str) -> None:
        """Take over the registry and the defaults of an environment file; later ones win."""
        entries = data.get("resource_registry")
        defaults = data.get("parameter_defaults")
        if isinstance(defaults, Mapping):
            self._param_defaults.update(defaults)
        if isinstance(entries, Mapping):
            base = entries.get("base_url")
            if isinstance(base, str):
                folder = local_path(base, folder) or folder
            prepared = _absolute({**entries, "resources": _single_resources(entries.get("resources"))}, folder)
            self._mapped.update(dict.fromkeys(key for key in prepared if key != "resources"))
            if prepared["resources"]:
                self._mapped["resources"] = None
            for key, value in prepared.items():
                try:
                    self._registry.load({key: value})
                except (exception.HeatException, TypeError, AttributeError):
                    # what is wrong with it is for the rules on environments to say; the others hold nevertheless
                    continue

    def names(self) -> list[str]:
        """All types that could be meant."""
        return [
            name
            for name in {**dict.fromkeys(self._packaged), **self._plugins, **self._mapped}
            if name != "resources" and not name.endswith("*")
        ]

    def constraint_names(self) -> list[str]:
        return [*self._packaged.constraints, *sorted(self._plugins.constraints)]

    def find(self, name: str, resource_name: str | None = None) -> Found:
        """The schema of a type, as it is for a resource of that name."""
        try:
            info = self._registry.get_resource_info(name, resource_name)
        except exception.EntityNotFound:
            return Found()
        except exception.StackValidationFailed as exc:
            return Found(lost=str(exc).rstrip("."))
        if isinstance(info, TemplateResourceInfo):
            if not info.user_resource:
                return Found(catalogue.ResourceType(name, opaque=True))
            return self._template(info.template_name)
        return self._class(name, info)

    def _class(self, name: str, info: Any) -> Found:
        real = info.value.name
        found = self._plugins.get(real) or self._packaged[real]
        alias = real if real != name and name not in self._mapped and not self._is_mapped(name) else None
        return Found(found, alias_of=alias)

    def _is_mapped(self, name: str) -> bool:
        return (
            any(key.endswith("*") and name.startswith(key[:-1]) for key in self._mapped) or "resources" in self._mapped
        )

    def inner_templates(self, path: str) -> list[str]:
        """Files of the templates in the stacks that each stack of a template has; none of one that cannot be read."""
        if path not in self._inner:
            self._template(path)
        return self._inner.get(path, [])

    def _template(self, name: str) -> Found:
        if name not in self._templates:
            self._templates[name] = self._read(name)
        return self._templates[name]

    def _read(self, name: str) -> Found:
        path = local_path(name, self._folder)
        if path is None:
            return Found(catalogue.ResourceType(name, opaque=True))
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as exc:
            reason = exc.strerror if isinstance(exc, OSError) else "not a text"
            return Found(problem="%s: %s" % (name, reason))
        try:
            data = Document(path, text).data
            self._inner[path] = templates_in(data, os.path.dirname(path))
            if not isinstance(data, dict):
                return Found(problem="%s: not a map" % name)
            return Found(catalogue.of_template(name, template_of(data), self._param_defaults))
        except SyntaxProblem as exc:
            return Found(problem="%s, line %d: %s" % (name, exc.position.line, exc))
        except (exception.HeatException, ValueError, TypeError, AttributeError) as exc:
            return Found(problem="%s: %s" % (name, exc))


class _Named:
    """Stands for a class; knows the name it was registered under."""

    def __init__(self, name: str) -> None:
        self.name = name


def _single_resources(entries: Any) -> dict[Any, Any]:
    """The part of a raw registry on single resources, without what has not its form."""
    return (
        {key: value for key, value in entries.items() if isinstance(value, Mapping)}
        if isinstance(entries, Mapping)
        else {}
    )


def _absolute(entries: Mapping[Any, Any], folder: str) -> dict[str, Any]:
    """A raw registry in which the names of templates do not depend on where it was read."""
    out: dict[str, Any] = {}
    for key, value in entries.items():
        if key == "base_url" and isinstance(value, str):
            continue
        if isinstance(value, Mapping):
            if str(key).endswith("*"):
                # no type; a rule on environments says so
                continue
            out[str(key)] = _absolute(value, folder)
        elif is_template_name(value):
            out[str(key)] = local_path(value, folder) or value
        elif isinstance(value, str) or value is None or isinstance(value, Iterable):
            out[str(key)] = value
    return out
