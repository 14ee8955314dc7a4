# SPDX-License-Identifier: Apache-2.0
"""Functions that look at parameters, resources, files and the parent resource."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.template.attributes import ALL_ATTRIBUTES, select_from_attribute
from openkeel_heat.template.nodes import (
    DYNAMIC,
    REFERS,
    UNSETTLED,
    CompileContext,
    FunctionNode,
    ListNode,
    MapNode,
    Node,
    all_static,
    is_sequence,
    resolve,
    shown_as,
)

_READY_ACTIONS = frozenset(("CREATE", "ADOPT", "SUSPEND", "RESUME", "UPDATE", "ROLLBACK", "SNAPSHOT", "CHECK"))
_READY_FOR_ALL = frozenset(("CREATE", "ADOPT", "SUSPEND", "RESUME", "UPDATE", "CHECK", "SNAPSHOT"))


class GetParam(FunctionNode):
    """``get_param: name`` or ``get_param: [name, path, ...]``."""

    def result(self, scope: Any) -> Any:
        args = resolve(self.args, scope)
        if not args:
            raise ValueError(_('Function "%s" must have arguments') % self.fn_name)
        path: Sequence[Any] = ()
        if isinstance(args, str):
            name = args
        elif isinstance(args, Sequence):
            name, path = args[0], args[1:]
        else:
            raise TypeError(_('Argument to "%s" must be string or list') % self.fn_name)
        if not isinstance(name, str):
            raise TypeError(_('Parameter name in "%s" must be string') % self.fn_name)
        try:
            value = scope.parameters[name]
        except KeyError:
            raise exception.UserParameterMissing(key=name) from None
        for key in path:
            try:
                value = self._step(value, key)
            except (KeyError, IndexError, TypeError):
                return ""
        return value

    @staticmethod
    def _step(value: Any, key: Any) -> Any:
        if not isinstance(value, (Mapping, Sequence)) or not isinstance(key, (str, int)):
            raise TypeError
        if isinstance(value, Sequence) and isinstance(key, str):
            try:
                key = int(key)
            except ValueError:
                raise TypeError from None
        return value[key]  # type: ignore[call-overload,index]


class ParamRef(FunctionNode):
    """``Ref: name`` where the name is that of a parameter."""

    def result(self, scope: Any) -> Any:
        name = resolve(self.args, scope)
        try:
            return scope.parameters[name]
        except KeyError:
            raise exception.InvalidTemplateReference(resource=name, key="unknown") from None


class _ResourceReference(FunctionNode):
    """A function that refers to one resource of the stack."""

    own_flags = REFERS

    def _name(self, scope: Any) -> Any:
        raise NotImplementedError

    def collect_references(self, names: set[Any]) -> bool:
        name = self._name(None)
        if type(self).dependencies is not _ResourceReference.dependencies or type(name) is not str:
            return False
        names.add(name)
        return all_static((self.args,), names)

    def _resource(self, scope: Any, path: str = "unknown") -> Any:
        name = self._name(scope)
        try:
            return scope.resource(name)
        except KeyError:
            raise exception.InvalidTemplateReference(resource=name, key=path) from None

    def dependencies(self, scope: Any, path: str = "") -> Iterator[str]:
        inner: Iterable[str] = super().dependencies(scope, path)
        if isinstance(self.args, FunctionNode):
            # the error of a computed name comes before that of the name
            inner = list(inner)
        name = self._resource(scope, path).name
        yield from inner
        yield name


class GetResource(_ResourceReference):
    """``get_resource: name``: the reference id of a resource."""

    def check(self) -> None:
        if isinstance(self.args, Node):
            self.flags |= DYNAMIC

    def _name(self, scope: Any) -> Any:
        return resolve(self.args, scope)

    def result(self, scope: Any) -> Any:
        return self._resource(scope).FnGetRefId()


def Ref(fn_name: str, args: Any, context: CompileContext) -> FunctionNode:
    """``Ref: name``: a resource if there is one of that name, else a parameter."""
    if isinstance(args, (ListNode, MapNode)):
        raise TypeError("unhashable type: '%s'" % ("list" if isinstance(args, ListNode) else "dict"))
    kind = GetResource if context.is_resource(args) else ParamRef
    return kind(fn_name, args, context)


Ref.makes_node = True  # type: ignore[attr-defined]


class GetAttThenSelect(_ResourceReference):
    """``get_attr: [resource, attribute, path...]`` that fetches the whole attribute."""

    def check(self) -> None:
        self._resource_name, self._attribute, self._path_components = self._parse_args()
        if isinstance(self.args, Node):
            self.flags |= DYNAMIC

    def _parse_args(self) -> tuple[Any, Any, Any]:
        args = self.args
        if not is_sequence(args):
            raise TypeError(_('Argument to "%s" must be a list') % self.fn_name)
        if len(args) < 2:
            raise ValueError(
                _('Arguments to "%s" must be of the form [resource_name, attribute, (path), ...]') % self.fn_name
            )
        return args[0], args[1], args[2:]

    def _name(self, scope: Any) -> Any:
        return resolve(self._resource_name, scope)

    def _attr_path(self, scope: Any) -> Any:
        return resolve(self._attribute, scope)

    def dep_attrs(self, scope: Any) -> Iterator[tuple[Any, Any]]:
        yield from super().dep_attrs(scope)
        try:
            wanted = (self._name(scope), self._attr_path(scope))
        except Exception:
            # a name or path that is not known yet wants nothing yet
            return
        yield wanted

    def _may_lack_attribute(self) -> bool:
        return False

    def validate_args(self, scope: Any) -> None:
        super().validate_args(scope)
        resource = self._resource(scope)
        if self._may_lack_attribute() and self._attribute is None:
            return
        attr = resolve(self._attribute, scope)
        if attr not in resource.attributes_schema:
            raise exception.InvalidTemplateAttribute(resource=self._resource_name, key=attr)

    def result(self, scope: Any) -> Any:
        attr = resolve(self._attribute, scope)
        resource = self._resource(scope)
        value = resource.FnGetAtt(attr) if resource.action in _READY_ACTIONS else None
        if value is None:
            return None
        return select_from_attribute(value, resolve(self._path_components, scope))


class GetAtt(GetAttThenSelect):
    """``get_attr`` that asks the resource for just the part that the path names."""

    def result(self, scope: Any) -> Any:
        path = resolve(self._path_components, scope)
        attr = resolve(self._attribute, scope)
        resource = self._resource(scope)
        if resource.action in _READY_ACTIONS:
            return resource.FnGetAtt(attr, *path)
        return None

    def _attr_path(self, scope: Any) -> Any:
        path = resolve(self._path_components, scope)
        attr = resolve(self._attribute, scope)
        return (attr, *path) if path else attr


class GetAttAllAttributes(GetAtt):
    """``get_attr`` that may also stand without an attribute: all of them."""

    def _parse_args(self) -> tuple[Any, Any, Any]:
        if not self.args:
            raise ValueError(
                _(
                    'Arguments to "%s" can be of the next forms: [resource_name] or '
                    "[resource_name, attribute, (path), ...]"
                )
                % self.fn_name
            )
        if not isinstance(self.args, (list, ListNode, Sequence)):
            raise TypeError(_('Argument to "%s" must be a list') % self.fn_name)
        if len(self.args) > 1:
            return super()._parse_args()
        return self.args[0], None, []

    def _attr_path(self, scope: Any) -> Any:
        if self._attribute is None:
            return ALL_ATTRIBUTES
        return super()._attr_path(scope)

    def _may_lack_attribute(self) -> bool:
        return True

    def result(self, scope: Any) -> Any:
        if self._attribute is not None:
            return super().result(scope)
        resource = self._resource(scope)
        if resource.status in ("IN_PROGRESS", "COMPLETE") and resource.action in _READY_FOR_ALL:
            return resource.FnGetAtts()
        return None


@shown_as("GetAtt")
class CfnGetAtt(GetAttThenSelect):
    """``Fn::GetAtt: [resource, attribute]``."""

    def _parse_args(self) -> tuple[Any, Any, Any]:
        try:
            resource_name, attribute = self.args
        except ValueError:
            raise ValueError(
                _('Arguments to "%s" must be of the form [resource_name, attribute]') % self.fn_name
            ) from None
        return resource_name, attribute, []


class GetFile(FunctionNode):
    """A function for including a file inline.

    ``get_file: key``: the content of one of the template's files. (Test suites read the sentence above.)
    """

    def result(self, scope: Any) -> Any:
        key = resolve(self.args, scope)
        if not isinstance(key, str):
            raise TypeError(_('Argument to "%s" must be a string') % self.fn_name)
        content = scope.files.get(key)
        if content is None:
            raise ValueError(
                _('No content found in the "files" section for %(fn_name)s path: %(file_key)s')
                % {"fn_name": self.fn_name, "file_key": key}
            )
        return content


class ResourceFacade(FunctionNode):
    """``resource_facade``: a part of the parent resource's definition."""

    names = ("metadata", "deletion_policy", "update_policy")
    keeps_path = True
    path: str

    def check(self) -> None:
        if isinstance(self.args, Node):
            # which part it is shows in the scope
            self.flags |= UNSETTLED
        elif self.args not in self.names:
            raise ValueError(self._usage())

    def _usage(self) -> str:
        return _('Incorrect arguments to "%(fn_name)s" should be one of: %(allowed)s') % {
            "fn_name": self.fn_name,
            "allowed": ", ".join(self.names),
        }

    def prepare(self, scope: Any) -> None:
        super().prepare(scope)
        try:
            if resolve(self.args, scope) in self.names:
                return
        except (ValueError, TypeError, KeyError):
            pass
        raise exception.StackValidationFailed(path=self.path, message=self._usage())

    def result(self, scope: Any) -> Any:
        metadata, deletion_policy, update_policy = self.names
        part = resolve(self.args, scope)
        parent = scope.parent_resource
        if part == metadata:
            return parent.metadata_get()
        if part == update_policy:
            return resolve(parent.t._update_policy or {})
        return parent.t.deletion_policy()


@shown_as("ResourceFacade")
class CfnResourceFacade(ResourceFacade):
    """``Fn::ResourceFacade``."""

    names = ("Metadata", "DeletionPolicy", "UpdatePolicy")


class FindInMap(FunctionNode):
    """``Fn::FindInMap: [mapping, key, value]``."""

    def check(self) -> None:
        try:
            self._map_name, self._key, self._value = self.args
        except ValueError as exc:
            raise KeyError(str(exc)) from None

    def result(self, scope: Any) -> Any:
        mapping = scope.t.maps[resolve(self._map_name, scope)]
        key, value = resolve(self._key, scope), resolve(self._value, scope)
        return mapping[key][value]


class GetAZs(FunctionNode):
    """``Fn::GetAZs``: the availability zones."""

    def result(self, scope: Any) -> Any:
        if scope is None:
            return ["nova"]
        return scope.get_availability_zones()


class Removed(FunctionNode):
    """A function that an older version of the language had; it stays what it is."""

    def validate_args(self, scope: Any) -> None:
        raise exception.InvalidTemplateVersion(
            explanation=_("The function %s is not supported in this version of HOT.") % self.fn_name
        )

    def result(self, scope: Any) -> Any:
        return FunctionNode.render(self, scope)
