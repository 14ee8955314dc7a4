# SPDX-License-Identifier: Apache-2.0
"""Which implementation a resource type has: the ``resource_registry`` of an environment.

A type is looked for in the user's registry and the global one; what it finds
is a class, a template, or another type to look for.  The order among several
matches is part of what users rely on: the user's before the global, the
deeper path (``resources/NAME/TYPE``) before the plain one, then by name, so
that ``A::*`` comes before ``A::B``.

The same structure holds hooks and restricted actions of single resources.
"""

from __future__ import annotations

import contextlib
import fnmatch
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from oslo_log import log as logging

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.template import patterns

LOG = logging.getLogger(__name__)

HOOK_TYPES = (
    HOOK_PRE_CREATE,
    HOOK_PRE_UPDATE,
    HOOK_PRE_DELETE,
    HOOK_POST_CREATE,
    HOOK_POST_UPDATE,
    HOOK_POST_DELETE,
) = (
    "pre-create",
    "pre-update",
    "pre-delete",
    "post-create",
    "post-update",
    "post-delete",
)

RESTRICTED_ACTIONS = (UPDATE, REPLACE) = ("update", "replace")

_TEMPLATE_ENDINGS = (".yaml", ".template")

SUPPORT_STATUSES = ("UNKNOWN", "SUPPORTED", "DEPRECATED", "UNSUPPORTED", "HIDDEN")


class TemplateResourceKit(Protocol):
    """What makes resources out of templates."""

    def template_resource_class(self) -> Any:
        """The class of all resources that are templates."""

    def read_template(self, template_name: str, user_resource: bool) -> str:
        """The text of a template that is not among the files."""

    def generate_class(self, name: str, data: str, param_defaults: Mapping[str, Any]) -> Any:
        """A class with the schemata of a template."""


_kit: TemplateResourceKit | None = None


def set_template_resource_kit(kit: TemplateResourceKit | None) -> None:
    """Say what makes resources out of templates."""
    global _kit
    _kit = kit


def _template_kit() -> TemplateResourceKit:
    if _kit is None:
        raise RuntimeError("Nothing has been set to make resources out of templates")
    return _kit


class LazyClass:
    """A class that is imported when it is first asked for."""

    def __init__(self, loader: Callable[[], Any], target: str = "") -> None:
        self._loader = loader
        self._loaded: Any = None
        self.target = target

    def load(self) -> Any:
        if self._loaded is None:
            self._loaded = self._loader()
        return self._loaded

    def __str__(self) -> str:
        return self.target


def valid_hook_type(hook: Any) -> bool:
    return hook in HOOK_TYPES


def valid_restricted_actions(action: Any) -> bool:
    return action in RESTRICTED_ACTIONS


def _all_valid(value: Any, is_valid: Callable[[Any], bool]) -> bool:
    if isinstance(value, str):
        return is_valid(value)
    return isinstance(value, Sequence) and all(is_valid(item) for item in value)


def is_hook_definition(key: str, value: Any) -> bool:
    """Whether an entry sets hooks; InvalidBreakPointHook if it tries to and fails."""
    if key != "hooks":
        return False
    if not _all_valid(value, valid_hook_type):
        raise exception.InvalidBreakPointHook(
            message=_('Invalid hook type "%(value)s" for resource breakpoint, acceptable hook types are: %(types)s')
            % {"value": value, "types": HOOK_TYPES}
        )
    return True


def is_valid_restricted_action(key: str, value: Any) -> bool:
    """Whether an entry restricts actions; InvalidRestrictedAction if it tries to and fails."""
    if key != "restricted_actions":
        return False
    if not _all_valid(value, valid_restricted_actions):
        raise exception.InvalidRestrictedAction(
            message=_(
                'Invalid restricted_action type "%(value)s" for resource, acceptable restricted_action '
                "types are: %(types)s"
            )
            % {"value": value, "types": RESTRICTED_ACTIONS}
        )
    return True


class ResourceInfo:
    """What a registry says of a type; creating one gives the class for its kind."""

    __slots__ = ("_registry", "path", "name", "value", "user_resource")

    description = ""

    def __new__(cls, registry: ResourceRegistry, path: list[str], value: Any) -> ResourceInfo:
        kind: Any = cls
        if cls is ResourceInfo:
            name = path[-1]
            if name.endswith(_TEMPLATE_ENDINGS):
                kind = TemplateResourceInfo
            elif not isinstance(value, str):
                kind = ClassResourceInfo
            elif value.endswith(_TEMPLATE_ENDINGS):
                kind = TemplateResourceInfo
            elif name.endswith("*"):
                kind = GlobResourceInfo
            else:
                kind = MapResourceInfo
        made: ResourceInfo = super().__new__(kind)
        return made

    def __init__(self, registry: ResourceRegistry, path: list[str], value: Any) -> None:
        self._registry = weakref.ref(registry)
        self.path = path
        self.name = path[-1]
        self.value = value
        self.user_resource = True

    @property
    def registry(self) -> Any:
        return self._registry()

    def _key(self) -> tuple[bool, int, list[str]]:
        return not self.user_resource, -len(self.path), self.path

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ResourceInfo)
            and self.path == other.path
            and self.value == other.value
            and self.user_resource == other.user_resource
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: ResourceInfo) -> bool:
        return self._key() < other._key()

    def __gt__(self, other: ResourceInfo) -> bool:
        return other._key() < self._key()

    def get_resource_info(self, resource_type: str | None = None, resource_name: str | None = None) -> Any:
        return self

    def matches(self, resource_type: str) -> bool:
        return False

    def get_class(self, files: Any = None) -> Any:
        raise NotImplementedError

    def get_class_to_instantiate(self) -> Any:
        return self.get_class()

    def __str__(self) -> str:
        return "[%s](User:%s) %s -> %s" % (self.description, self.user_resource, self.name, self.value)


class ClassResourceInfo(ResourceInfo):
    """The type is a class."""

    description = "Plugin"

    __slots__ = ()

    def get_class(self, files: Any = None) -> Any:
        return self.value.load() if isinstance(self.value, LazyClass) else self.value


class TemplateResourceInfo(ResourceInfo):
    """The type is a template."""

    description = "Template"

    __slots__ = ("template_name",)

    def __init__(self, registry: ResourceRegistry, path: list[str], value: Any) -> None:
        super().__init__(registry, path, value)
        self.template_name = self.name if self.name.endswith(_TEMPLATE_ENDINGS) else value
        self.value = self.template_name

    def get_class(self, files: Any = None) -> Any:
        kit = _template_kit()
        if files and self.template_name in files:
            data = files[self.template_name]
        else:
            data = kit.read_template(self.template_name, self.user_resource)
        return kit.generate_class(str(self.name), data, self.registry.param_defaults)

    def get_class_to_instantiate(self) -> Any:
        return _template_kit().template_resource_class()


class MapResourceInfo(ResourceInfo):
    """The type is another type."""

    description = "Mapping"

    __slots__ = ()

    def get_class(self, files: Any = None) -> Any:
        return None

    def get_resource_info(self, resource_type: str | None = None, resource_name: str | None = None) -> Any:
        return self.registry.get_resource_info(self.value, resource_name)


class GlobResourceInfo(MapResourceInfo):
    """All types of a prefix are those of another prefix, or one type."""

    description = "Wildcard Mapping"

    __slots__ = ()

    def get_resource_info(self, resource_type: str | None = None, resource_name: str | None = None) -> Any:
        target = self.value
        if target.endswith("*"):
            assert resource_type is not None
            target = target[:-1] + resource_type[len(self.name) - 1 :]
        return self.registry.get_resource_info(target, resource_name)

    def matches(self, resource_type: str) -> bool:
        # a type mapped to itself would be looked for without end
        return resource_type != self.value and resource_type.startswith(self.name[:-1])


class _Trail(threading.local):
    """Types that lead to each other while one is looked up in this thread.

    Mappings may lead in a circle, or from prefix to prefix without end, and each that leads nowhere is tried again
    from every other one that leads to it. Where several prefixes fit each type, the types they lead to double with
    every step.
    """

    def __init__(self) -> None:
        self.types: list[str] = []
        self.in_vain: set[str] = set()

    @contextlib.contextmanager
    def step(self, resource_type: str) -> Iterator[None]:
        if (
            resource_type in self.types
            or len(self.types) >= _LONGEST_TRAIL
            or len(self.in_vain) >= _MOST_IN_VAIN
            or (self.types and len(resource_type) > _LONGEST_TYPE)
        ):
            raise exception.StackValidationFailed(
                message=_('The resource registry leads from type "%s" to itself, or through too many others.')
                % self.types[0]
            )
        if resource_type in self.in_vain:
            raise exception.EntityNotFound(entity="Resource Type", name=resource_type)
        self.types.append(resource_type)
        try:
            yield
        except exception.EntityNotFound:
            self.in_vain.add(resource_type)
            raise
        finally:
            self.types.pop()
            if not self.types:
                self.in_vain.clear()


#: types in a row, types that lead nowhere, and characters of one that the registry itself makes
_LONGEST_TRAIL, _MOST_IN_VAIN, _LONGEST_TYPE = 50, 300, 512
_trail = _Trail()


class ResourceRegistry:
    """The registry of one environment, chained to the global one."""

    def __init__(
        self, global_registry: ResourceRegistry | None, param_defaults: Mapping[str, Any], user_env: bool | None = None
    ) -> None:
        self._registry: dict[str, Any] = {"resources": {}}
        self.global_registry = global_registry
        self.param_defaults = param_defaults
        self._is_user = global_registry is not None if user_env is None else user_env
        self._changes = 0
        #: Classes that were looked up, and the state of both registries that they hold for.
        self._found: tuple[Any, dict[Any, Any]] = (None, {})

    def load(self, json_snippet: Mapping[str, Any]) -> None:
        """Take over a raw resource_registry."""
        self._load_registry([], json_snippet)

    def register_class(self, resource_type: str, resource_class: Any, path: list[str] | None = None) -> None:
        """Enter a class (or a LazyClass, or the name of a template) for a type."""
        path = [resource_type] if path is None else path
        self._register_info(path, ResourceInfo(self, path, resource_class))

    def _load_registry(self, path: list[str], registry: Mapping[str, Any]) -> None:
        for key, value in registry.items():
            here = [*path, key]
            if not isinstance(key, str):
                raise exception.StackValidationFailed(
                    message=_('The resource registry has a name that is no text: "%s"') % "/".join(map(str, here))
                )
            if value is None and here == ["resources"]:
                continue
            if value is None:
                self._register_info(here, None)
            elif is_hook_definition(key, value) or is_valid_restricted_action(key, value):
                self._level(here)[key] = value
            elif isinstance(value, dict):
                self._load_registry(here, value)
            elif isinstance(value, str) and here != ["resources"]:
                self._register_info(here, ResourceInfo(self, here, value))
            else:
                raise exception.StackValidationFailed(
                    message=_('The resource registry has no type or map for "%s"') % "/".join(map(str, here))
                )

    def _level(self, path: list[str]) -> dict[str, Any]:
        """The map that holds the last key of a path, made if need be."""
        level = self._registry
        for key in path[:-1]:
            level = level.setdefault(key, {})
            if not isinstance(level, dict):
                raise exception.StackValidationFailed(
                    message=_('The resource registry has both a type and a map for "%s"') % key
                )
        return level

    def _register_info(self, path: list[str], info: ResourceInfo | None) -> None:
        name = path[-1]
        level = self._level(path)
        shown = "/".join(path)
        if info is None:
            if name.endswith("*"):
                for other, entry in list(level.items()):
                    if isinstance(entry, ResourceInfo) and other.startswith(name[:-1]):
                        LOG.warning("Removing %(item)s from %(path)s", {"item": other, "path": shown})
                        del level[other]
            else:
                LOG.warning("Removing %(item)s from %(path)s", {"item": name, "path": shown})
                level.pop(name, None)
            self._changes += 1
            return
        present = level.get(name)
        if isinstance(present, ResourceInfo):
            if present == info:
                return
            LOG.warning(
                "Changing %(path)s from %(was)s to %(now)s",
                {"path": shown, "was": str(present.value), "now": str(info.value)},
            )
        info.user_resource = self._is_user
        level[name] = info
        self._changes += 1

    def log_resource_info(self, show_all: bool = False, prefix: str | None = None) -> None:
        """Log what is registered, or only the templates among it."""
        start = "" if prefix is None else "%s " % prefix
        for name, info in self._registry.items():
            if name != "resources" and (show_all or isinstance(info, TemplateResourceInfo)):
                LOG.info("%(p)sRegistered: %(t)s", {"p": start, "t": str(info)})

    def remove_item(self, info: Any) -> None:
        """Take a template out, so that it is not found inside itself."""
        if not isinstance(info, TemplateResourceInfo):
            return
        level = self._registry
        for key in info.path[:-1]:
            level = level.get(key, {})
        level.pop(info.path[-1], None)
        self._changes += 1

    # hooks and restricted actions

    def _entries(self, resource_name: str, key: str) -> Iterator[Any]:
        """The values of a key in all entries whose pattern fits a resource."""
        for pattern, entry in self._registry["resources"].items():
            if isinstance(entry, Mapping) and key in entry and fnmatch.fnmatchcase(resource_name, pattern):
                value = entry[key]
                if isinstance(value, str):
                    yield value
                elif isinstance(value, Sequence):
                    yield from value

    def get_rsrc_restricted_actions(self, resource_name: str) -> set[str]:
        """Actions that must not be done to a resource."""
        return set(self._entries(resource_name, "restricted_actions"))

    def matches_hook(self, resource_name: str, hook: str) -> bool:
        """Whether a resource is to stop at a hook."""
        return any(hook == value for value in self._entries(resource_name, "hooks"))

    def remove_resources_except(self, resource_name: str) -> None:
        """Keep of the entries for single resources what is inside those that fit a name."""
        resources = self._registry["resources"]
        kept: dict[str, Any] = {}
        for pattern, entry in resources.items():
            if isinstance(entry, dict) and fnmatch.fnmatchcase(resource_name, pattern):
                kept.update(entry)
        own = resources.get(resource_name)
        if isinstance(own, dict):
            kept.update(own)
        self._registry["resources"] = kept
        self._changes += 1

    # looking up

    def iterable_by(self, resource_type: str, resource_name: str | None = None) -> Iterator[ResourceInfo]:
        """All entries that speak of a type."""
        if self._is_user and resource_type.endswith(_TEMPLATE_ENDINGS):
            # a template as a type needs no entry; it gets one here
            if resource_type not in self._registry:
                self._register_info([resource_type], ResourceInfo(self, [resource_type], None))
            yield self._registry[resource_type]
        if resource_name:
            # what a parent says of the inside of a resource stands here by types and hooks, too
            entry = self._registry["resources"].get(resource_name)
            if isinstance(entry, dict) and isinstance(entry.get(resource_type), ResourceInfo):
                yield entry[resource_type]
        entry = self._registry.get(resource_type)
        if entry and isinstance(entry, ResourceInfo):
            yield entry
        for pattern in self._prefixes(resource_type):
            info = self._registry.get(pattern)
            if isinstance(info, ResourceInfo) and info.matches(resource_type):
                yield info

    def _prefixes(self, resource_type: str) -> list[str]:
        """The patterns that may fit a type; not all that there are, where those are many."""
        if len(resource_type) <= min(_LONGEST_TYPE, len(self._registry)):
            return [resource_type[:end] + "*" for end in range(len(resource_type) + 1)]
        return [pattern for pattern in list(self._registry) if pattern.endswith("*")]

    def get_resource_info(
        self, resource_type: str, resource_name: str | None = None, registry_type: Any = None, ignore: Any = None
    ) -> Any:
        """The entry that decides what a type is; EntityNotFound if there is none."""
        if registry_type is not None or ignore is not None:
            return self._look_up(resource_type, resource_name, registry_type, ignore)
        with _trail.step(resource_type):
            return self._look_up(resource_type, resource_name, None, None)

    def _look_up(self, resource_type: str, resource_name: str | None, registry_type: Any, ignore: Any) -> Any:
        matches = list(self.iterable_by(resource_type, resource_name))
        if self.global_registry is not None:
            matches.extend(self.global_registry.iterable_by(resource_type, resource_name))
        for info in sorted(matches):
            try:
                match = info.get_resource_info(resource_type, resource_name)
            except exception.EntityNotFound:
                continue
            if registry_type is not None and not isinstance(match, registry_type):
                continue
            if ignore is not None and match == ignore:
                continue
            if (
                match
                and not match.user_resource
                and len(info.path) == 1
                and not isinstance(info, (TemplateResourceInfo, ClassResourceInfo))
            ):
                # a mapping of the operator's environment goes on to hold for
                # this stack when that environment changes
                self._register_info([resource_type], info)
            return match
        raise exception.EntityNotFound(entity="Resource Type", name=resource_type)

    def get_class(self, resource_type: str, resource_name: str | None = None, files: Any = None) -> Any:
        """The class whose schemata a type has."""
        return self.get_resource_info(resource_type, resource_name=resource_name).get_class(files=files)

    def get_class_to_instantiate(self, resource_type: Any, resource_name: str | None = None) -> Any:
        """The class of the resources of a type; StackValidationFailed if it has none."""
        if resource_type == "":
            raise exception.StackValidationFailed(message=_('Resource "%s" has no type') % resource_name)
        if resource_type is None:
            raise exception.StackValidationFailed(
                message=_('Non-empty resource type is required for resource "%s"') % resource_name
            )
        if not isinstance(resource_type, str):
            raise exception.StackValidationFailed(message=_('Resource "%s" type is not a string') % resource_name)
        found = self._remembered()
        key = (resource_type, resource_name if self._speaks_of_resources() else None)
        cls = found.get(key)
        if cls is None:
            try:
                info = self.get_resource_info(resource_type, resource_name=resource_name)
            except exception.EntityNotFound as exc:
                raise exception.StackValidationFailed(message=str(exc)) from None
            cls = found[key] = info.get_class_to_instantiate()
        return cls

    def _speaks_of_resources(self) -> bool:
        """Whether an entry is for single resources, so that a class hangs on the name too."""
        above = self.global_registry
        return bool(self._registry["resources"] or (above is not None and above._registry["resources"]))

    def _remembered(self) -> dict[Any, Any]:
        """The classes found since the last change of this registry or the global one."""
        above = self.global_registry
        state = (self._changes, None if above is None else above._changes)
        known, found = self._found
        if known != state:
            found = {}
            self._found = (state, found)
        return found

    def as_dict(self) -> dict[str, Any]:
        """The user's part of the registry, raw."""

        def level_as_dict(level: Mapping[str, Any]) -> dict[str, Any]:
            out = {}
            # a look-up in another thread may add an entry meanwhile
            for key, value in list(level.items()):
                if isinstance(value, dict):
                    out[key] = level_as_dict(value)
                elif not isinstance(value, ResourceInfo):
                    out[key] = value
                elif value.user_resource:
                    out[key] = value.value
            return out

        return level_as_dict(self._registry)

    def get_types(
        self,
        cnxt: Any = None,
        support_status: str | None = None,
        type_name: str | None = None,
        version: str | None = None,
        with_description: bool = False,
        is_allowed: Callable[[Any, str, Any], bool] | None = None,
    ) -> list[Any]:
        """Names of the types that are classes or templates, filtered.

        ``is_allowed(context, name, class)`` decides about policy and the
        availability of services; it is only asked if there is a context.
        """
        if support_status is not None and support_status not in SUPPORT_STATUSES:
            raise exception.Invalid(reason=_("Invalid support status and should be one of %s") % str(SUPPORT_STATUSES))
        candidates = [
            (name, info)
            for name, info in list(self._registry.items())
            if isinstance(info, (ClassResourceInfo, TemplateResourceInfo))
        ]
        if type_name is not None:
            try:
                ends = patterns.match_ends(type_name, [name for name, _info in candidates])
            except patterns.BadPattern:
                return []
            candidates = [one for one, end in zip(candidates, ends, strict=True) if end is not None]
        out: list[Any] = []
        for name, info in candidates:
            cls = info.get_class_to_instantiate()
            status = cls.support_status
            if (
                status.status == "HIDDEN"
                or (version is not None and status.version != version)
                or (support_status is not None and status.status != support_status)
            ):
                continue
            check = is_allowed or _default_allowed
            if cnxt is not None and check is not None and not check(cnxt, name, cls):
                continue
            if with_description:
                described = info.get_class()
                out.append({"resource_type": name, "description": described.getdoc() if described else None})
            else:
                out.append(name)
        return out


_default_allowed: Callable[[Any, str, Any], bool] | None = None


def set_type_filter(is_allowed: Callable[[Any, str, Any], bool] | None) -> None:
    """Say which types a request context may see (policy, availability of services)."""
    global _default_allowed
    _default_allowed = is_allowed
