# SPDX-License-Identifier: Apache-2.0
"""The environment of a stack: parameters, their defaults, event sinks, and which resource types mean what.

An environment of a user falls back on the *global* one, which knows all types
of the process; whoever keeps the types sets it with :func:`set_global`.  A
type that is the name of a template, or is mapped to one, is implemented by
what was given to :func:`set_template_resource_kit`.
"""

from __future__ import annotations

import glob
import itertools
import os.path
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from oslo_log import log as logging

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.template import text
from openkeel_heat.template.registry import (
    HOOK_POST_CREATE,
    HOOK_POST_DELETE,
    HOOK_POST_UPDATE,
    HOOK_PRE_CREATE,
    HOOK_PRE_DELETE,
    HOOK_PRE_UPDATE,
    HOOK_TYPES,
    REPLACE,
    RESTRICTED_ACTIONS,
    UPDATE,
    ClassResourceInfo,
    GlobResourceInfo,
    LazyClass,
    MapResourceInfo,
    ResourceInfo,
    ResourceRegistry,
    TemplateResourceInfo,
    is_hook_definition,
    is_valid_restricted_action,
    set_template_resource_kit,
    valid_hook_type,
    valid_restricted_actions,
)

__all__ = [
    "HOOK_POST_CREATE",
    "HOOK_POST_DELETE",
    "HOOK_POST_UPDATE",
    "HOOK_PRE_CREATE",
    "HOOK_PRE_DELETE",
    "HOOK_PRE_UPDATE",
    "HOOK_TYPES",
    "REPLACE",
    "RESTRICTED_ACTIONS",
    "UPDATE",
    "ClassResourceInfo",
    "Environment",
    "GlobResourceInfo",
    "LazyClass",
    "MapResourceInfo",
    "ResourceInfo",
    "ResourceRegistry",
    "TemplateResourceInfo",
    "get_child_environment",
    "global_environment",
    "is_hook_definition",
    "is_valid_restricted_action",
    "read_global_environment",
    "set_global",
    "set_template_resource_kit",
    "valid_hook_type",
    "valid_restricted_actions",
]

LOG = logging.getLogger(__name__)


class _HasRegistry(Protocol):
    registry: Any
    event_sink_classes: Any


_global: _HasRegistry | Callable[[], _HasRegistry] | None = None


def set_global(environment: _HasRegistry | Callable[[], _HasRegistry] | None) -> None:
    """Set what user environments fall back on: an environment, or a function that makes one when needed."""
    global _global
    _global = environment


def global_environment() -> Any:
    """The global environment, None if the process has none."""
    global _global
    if callable(_global):
        _global = _global()
    return _global


class Environment:
    """An environment, from a map of sections or of flat parameters."""

    def __init__(self, env: dict[str, Any] | None = None, user_env: bool = True) -> None:
        env = {} if env is None else env
        fallback = global_environment() if user_env else None
        self.param_defaults: dict[str, Any] = dict(env.get(text.PARAMETER_DEFAULTS) or {})
        self.registry = ResourceRegistry(
            None if fallback is None else fallback.registry, self.param_defaults, user_env=user_env
        )
        self.registry.load(env.get(text.RESOURCE_REGISTRY) or {})
        self.encrypted_param_names: list[str] = env.get(text.ENCRYPTED_PARAM_NAMES) or []
        if text.PARAMETERS in env:
            self.params: dict[str, Any] = env[text.PARAMETERS]
        else:
            known = (text.PARAMETER_DEFAULTS, text.ENCRYPTED_PARAM_NAMES, text.EVENT_SINKS, text.RESOURCE_REGISTRY)
            self.params = {key: value for key, value in env.items() if key not in known}
        self.event_sink_classes: Any = {} if fallback is None else fallback.event_sink_classes
        self._event_sinks: list[Mapping[str, Any]] = []
        self._built_event_sinks: list[Any] = []
        self._update_event_sinks(env.get(text.EVENT_SINKS) or [])
        self.constraints: dict[str, Any] = {}
        self.stack_lifecycle_plugins: list[tuple[str, Any]] = []

    def load(self, env_snippet: Mapping[str, Any]) -> None:
        """Take over another environment; it wins."""
        self.registry.load(env_snippet.get(text.RESOURCE_REGISTRY) or {})
        self.params.update(env_snippet.get(text.PARAMETERS) or {})
        self.param_defaults.update(env_snippet.get(text.PARAMETER_DEFAULTS) or {})
        self._update_event_sinks(env_snippet.get(text.EVENT_SINKS) or [])

    def env_as_dict(self) -> dict[str, Any]:
        """The environment as it is stored."""
        return {**self.user_env_as_dict(), text.ENCRYPTED_PARAM_NAMES: self.encrypted_param_names}

    def user_env_as_dict(self) -> dict[str, Any]:
        """The environment as users see it and nested stacks get it."""
        return {
            text.RESOURCE_REGISTRY: self.registry.as_dict(),
            text.PARAMETERS: self.params,
            text.PARAMETER_DEFAULTS: self.param_defaults,
            text.EVENT_SINKS: self._event_sinks,
        }

    def register_class(self, resource_type: str, resource_class: Any, path: list[str] | None = None) -> None:
        self.registry.register_class(resource_type, resource_class, path=path)

    def register_constraint(self, constraint_name: str, constraint: Any) -> None:
        self.constraints[constraint_name] = constraint

    def register_stack_lifecycle_plugin(self, stack_lifecycle_name: str, stack_lifecycle_class: Any) -> None:
        self.stack_lifecycle_plugins.append((stack_lifecycle_name, stack_lifecycle_class))

    def register_event_sink(self, event_sink_name: str, event_sink_class: Any) -> None:
        self.event_sink_classes[event_sink_name] = event_sink_class

    def get_class(self, resource_type: str, resource_name: str | None = None, files: Any = None) -> Any:
        return self.registry.get_class(resource_type, resource_name, files=files)

    def get_class_to_instantiate(self, resource_type: str, resource_name: str | None = None) -> Any:
        return self.registry.get_class_to_instantiate(resource_type, resource_name)

    def get_types(
        self,
        cnxt: Any = None,
        support_status: str | None = None,
        type_name: str | None = None,
        version: str | None = None,
        with_description: bool = False,
    ) -> list[Any]:
        return self.registry.get_types(
            cnxt, support_status=support_status, type_name=type_name, version=version, with_description=with_description
        )

    def get_resource_info(
        self, resource_type: str, resource_name: str | None = None, registry_type: Any = None, ignore: Any = None
    ) -> Any:
        return self.registry.get_resource_info(resource_type, resource_name, registry_type, ignore=ignore)

    def get_constraint(self, name: str) -> Any:
        return self.constraints.get(name)

    def get_stack_lifecycle_plugins(self) -> list[tuple[str, Any]]:
        return self.stack_lifecycle_plugins

    def _update_event_sinks(self, sinks: Any) -> None:
        if not isinstance(sinks, list):
            raise exception.StackValidationFailed(
                message=_('environment section "%s" is not a list') % text.EVENT_SINKS
            )
        for sink in sinks:
            try:
                arguments = dict(sink)
                sink_class = self.event_sink_classes[arguments.pop("type")]
                self._built_event_sinks.append(sink_class(**arguments))
            except (KeyError, TypeError, ValueError) as exc:
                raise exception.StackValidationFailed(
                    message=_("Event sink %(sink)s is not valid: %(error)s") % {"sink": sink, "error": exc}
                ) from None
            self._event_sinks.append(sink)

    def get_event_sinks(self) -> list[Any]:
        """The event sinks, ready to be written to."""
        return self._built_event_sinks


def _is_flat(params: Any) -> bool:
    return params is not None and not any(section in params for section in text.ENVIRONMENT_SECTIONS)


def get_child_environment(
    parent_env: Environment, child_params: Any, item_to_remove: Any = None, child_resource_name: str | None = None
) -> Environment:
    """The environment of a nested stack.

    It has all of the parent's but the parameters, then what is given for the
    child (flat parameters or a whole environment).  With a resource name, the
    part of the registry that is about single resources becomes what the parent
    says about the inside of that resource.
    """
    child_env = parent_env.user_env_as_dict()
    child_env[text.PARAMETERS] = dict(child_params) if _is_flat(child_params) else {}
    environment = Environment()
    environment.load(child_env)
    if child_params is not None and not _is_flat(child_params):
        environment.load(child_params)
    if item_to_remove is not None:
        environment.registry.remove_item(item_to_remove)
    if child_resource_name:
        environment.registry.remove_resources_except(child_resource_name)
    return environment


def read_global_environment(env: Environment, env_dir: str) -> None:
    """Load all files of a directory into an environment; bad ones are logged and skipped."""
    for path in _files_of(env_dir):
        try:
            with open(path, encoding="utf-8") as stream:
                LOG.info("Loading %s", path)
                content = text.parse_environment(stream.read())
            text.default_for_missing(content)
            env.load(content)
        except ValueError:
            LOG.exception("Failed to parse %s", path)
        except OSError:
            LOG.exception("Failed to read %s", path)
        except exception.HeatException:
            LOG.exception("Failed to load %s", path)


def _files_of(directory: str) -> Iterator[str]:
    return itertools.chain(sorted(glob.glob(os.path.join(directory, "*"))))
