# SPDX-License-Identifier: Apache-2.0
"""The part of a resource that others refer to: names, reference id, attributes, node data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions as exception, identifier, names
from openkeel_heat.resources.kit import attributes
from openkeel_heat.resources.kit.node_data import NodeData
from openkeel_heat.resources.kit.record_access import RecordAccess

LOG = logging.getLogger(__name__)


class References(RecordAccess):
    """What templates, other resources and users know a resource by."""

    SHOW = attributes.SHOW_ATTR
    base_attributes_schema: dict[str, attributes.Schema] = {}

    # Longest physical name the service takes; None: no limit.
    physical_resource_name_limit: int | None = 255

    def identifier(self) -> Any:
        return identifier.ResourceIdentifier(resource_name=self.name, **self.stack.identifier())

    def physical_resource_name(self) -> str | None:
        """A name for the physical object, the same each time: made of the row's uuid."""
        if self.id is None or self.uuid is None or self.action == self.INIT:
            return None
        name = "%s-%s-%s" % (self.stack.name.rstrip("*"), self.name, names.short_id(self.uuid))
        limit = self.physical_resource_name_limit
        return self.reduce_physical_resource_name(name, limit) if limit else name

    @staticmethod
    def reduce_physical_resource_name(name: str, limit: int) -> str:
        return names.reduce_physical_resource_name(name, limit)

    def get_reference_id(self) -> Any:
        """What ``get_resource`` gives."""
        return str(self.name if self.resource_id is None else self.resource_id)

    def FnGetRefId(self) -> Any:
        return self.get_reference_id()

    def physical_resource_name_or_FnGetRefId(self) -> str:
        name = self.physical_resource_name()
        return References.get_reference_id(self) if name is None else str(name)

    # attributes -------------------------------------------------------
    def get_attribute(self, key: str, *path: Any) -> Any:
        """What ``get_attr`` gives; types with attributes of their own making override it."""
        try:
            value = self.attributes[key]
        except KeyError:
            raise exception.InvalidTemplateAttribute(resource=self.name, key=key) from None
        return attributes.select_from_attribute(value, path)

    def FnGetAtt(self, key: str, *path: Any) -> Any:
        """``get_attribute`` with a cache for types that override it."""
        if not self._has_custom_attributes() or (self.attributes.get_cache_mode(key) == attributes.Schema.CACHE_NONE):
            return self.get_attribute(key, *path)
        full_key = "tuple:" + str((key, *path)) if path else key
        cached = self.attributes.cached_attrs
        if full_key in cached:
            return cached[full_key]
        value = self.get_attribute(key, *path)
        self.attributes.set_cached_attr(full_key, value)
        return value

    def FnGetAtts(self) -> dict[str, Any]:
        """All attributes but ``show``."""
        return {name: self.FnGetAtt(name) for name in self.attributes if name != self.SHOW}

    def _has_custom_attributes(self) -> bool:
        return type(self).get_attribute is not References.get_attribute

    def _resolve_attribute(self, name: str) -> Any:
        """The value of an attribute, asked of the service; types with attributes override it."""
        return None

    def _resolve_any_attribute(self, attr: str) -> Any:
        plugin = self._default_client_plugin()
        if attr not in self.base_attributes_schema:
            with plugin.ignore_not_found:
                return self._resolve_attribute(attr)
        elif self.resource_id is not None:
            with plugin.ignore_not_found:
                return getattr(self, "_%s_resource" % attr)()
        return None

    def _default_client_plugin(self) -> Any:
        raise NotImplementedError

    # node data --------------------------------------------------------
    def referenced_attrs(
        self,
        stk_defn: Any = None,
        in_resources: bool = True,
        in_outputs: bool | Iterable[str] = True,
        load_all: bool = False,
    ) -> set[Any]:
        """Attributes (names or path tuples) of this resource that the template reads.

        ``in_outputs`` may name the outputs to look at.
        """
        defn = self.stack.defn if stk_defn is None else stk_defn
        return self._expand_all(defn.wanted_attributes(self.name, in_resources, in_outputs))

    def _expand_all(self, wanted: Iterable[Any]) -> set[Any]:
        """The set with the mark for "all attributes" replaced by their names."""
        found = set(wanted)
        if attributes.ALL_ATTRIBUTES in found:
            found.remove(attributes.ALL_ATTRIBUTES)
            found |= set(self.attributes) - {self.SHOW}
        return found

    def node_data(
        self, stk_defn: Any = None, for_resources: bool = True, for_outputs: bool | Iterable[str] = False
    ) -> NodeData:
        """What the nodes waiting for this one get to know.

        Attribute values that outputs read are looked up too, so that they are
        cached and stored while the resource is at hand.
        """
        wanted = self.referenced_attrs(stk_defn, in_resources=for_resources, in_outputs=for_outputs)
        if for_outputs is False:
            for_later = self.referenced_attrs(stk_defn, in_resources=False) - wanted
            for _pair in self._attribute_values(for_later, cacheable_only=True):
                pass
        values = dict(self._attribute_values(wanted))
        return NodeData(self.id, self.name, self.uuid, self.FnGetRefId(), values, self.action, self.status)

    def _attribute_values(self, wanted: Iterable[Any], cacheable_only: bool = False) -> Iterator[tuple[Any, Any]]:
        for attr in wanted:
            path = (attr,) if isinstance(attr, str) else attr
            if cacheable_only and self.attributes.get_cache_mode(path[0]) == attributes.Schema.CACHE_NONE:
                continue
            if self.action == self.INIT:
                if path[0] in self.attributes or self._attributes_overridden():
                    yield attr, None
                continue
            try:
                yield attr, self.FnGetAtt(*path)
            except exception.InvalidTemplateAttribute as ex:
                # Whoever reads it meets the same error then.
                LOG.info("%s", ex)
            except Exception as ex:
                yield attr, ex

    def _attributes_overridden(self) -> bool:
        return self._has_custom_attributes() or type(self).FnGetAtt is not References.FnGetAtt
