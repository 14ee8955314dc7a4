# SPDX-License-Identifier: Apache-2.0
"""What the types of the network service share: the base of them all, also of those that plugins bring along.

Our own types declare an ``api_object`` and are made, changed, looked at and deleted by
:class:`~openkeel_heat.resources.kit.rest.RestResource`. Beside its object a type may have parts with requests of their
own, such as tags or the agents that serve it: :meth:`NeutronResource.make_parts` and ``change_parts``. They are made
while the creation is polled, so that an engine that takes over from a dead one makes them too; whoever overrides these
methods sees to it that a second call does no harm.

Plugins written for Heat have ``entity`` in place of it, and call the Python client of the service.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, ClassVar

from oslo_log import log as logging

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit.properties import Properties
from openkeel_heat.resources.kit.rest import VALUE_SPECS, ApiObject, RestResource

LOG = logging.getLogger(__name__)

TAGS = "tags"
PORT_SECURITY_ENABLED = "port_security_enabled"

#: Fields that are empty as a text, never null.
EMPTY_TEXTS = frozenset({"description", "dns_name", "dns_domain"})
#: Fields that the service chooses at creation; later it has no word for "as you like".
WITHOUT_DEFAULT = frozenset({PORT_SECURITY_ENABLED, "propagate_uplink_status"})

READY, BUSY, FAILED = ("ACTIVE", "DOWN"), ("BUILD",), ("ERROR", "DEGRADED")

_PROTOCOLS = (
    "ah", "dccp", "egp", "esp", "gre", "icmp", "icmpv6", "igmp", "ipv6-encap", "ipv6-frag", "ipv6-icmp",
    "ipv6-nonxt", "ipv6-opts", "ipv6-route", "ospf", "pgm", "rsvp", "sctp", "tcp", "udp", "udplite", "vrrp",
)  # fmt: skip

ALLOWED_SECURITY_GROUP_PROTOCOLS = [*range(256), *_PROTOCOLS]

SECURITY_GROUP_PROTOCOL_DESCRIPTION = _("Protocol of the traffic: %s, or a number up to 255.") % ", ".join(_PROTOCOLS)


def with_status(path: str, key: str, keys: str = "") -> ApiObject:
    """An object that tells its state as networks, ports and routers do. What is deleted is gone at once."""
    return ApiObject(
        f"/v2.0/{path}", key, keys, status="status", ready=READY, busy=BUSY, failed=FAILED, slow_delete=False
    )


def without_status(path: str, key: str, keys: str = "", name: str = "name") -> ApiObject:
    return ApiObject(f"/v2.0/{path}", key, keys, name=name)


class NeutronResource(RestResource):
    """An object of the network service."""

    default_client_name = "neutron"

    api_object: ClassVar[ApiObject] = None  # type: ignore[assignment]

    #: For plugins: the key of what is shown, if it is not ``entity``.
    res_info_key: str | None = None

    not_sent: ClassVar[tuple[str, ...]] = (TAGS,)

    _parts_made = False

    #: What the service answered when the object was made; empty if that is not known (any more).
    answer: dict[str, Any] | None = None

    # validation -------------------------------------------------------
    def validate(self) -> Any:
        return super().validate() or self.validate_properties(self.properties)

    @staticmethod
    def validate_properties(properties: Mapping[str, Any]) -> str | None:
        """What is wrong: fields in ``value_specs`` that are properties, or not to be given."""
        if VALUE_SPECS not in properties:
            return None
        given = properties[VALUE_SPECS] or {}
        wrong = [key for key in given if key in ("shared", "tenant_id") or key in properties]
        return "%s not allowed in value_specs" % ", ".join(wrong) if wrong else None

    # create and update ------------------------------------------------
    def fields(self, props: Mapping[str, Any]) -> dict[str, Any]:
        """What names another object names none when it is empty."""
        return super().fields(
            {key: None if value == "" and key in self.renamed else value for key, value in props.items()}
        )

    def create_body(self, props: dict[str, Any]) -> dict[str, Any]:
        names = {key for key in self.renamed if props.get(key) == ""}
        return super().create_body({key: value for key, value in props.items() if key not in names})

    def update_body(self, prop_diff: dict[str, Any]) -> dict[str, Any]:
        """What is no longer given becomes empty, where null is no value to the service, or stays as it is."""
        body = super().update_body(prop_diff)
        return {
            key: "" if value is None and key in EMPTY_TEXTS else value
            for key, value in body.items()
            if value is not None or key not in WITHOUT_DEFAULT
        }

    def make_parts(self, props: dict[str, Any]) -> None:
        """What has requests of its own, once the object is there. ``props``: the properties that have a value."""
        if props.get(TAGS) and TAGS in self.properties_schema:
            self.set_tags(props[TAGS])

    def change_parts(self, prop_diff: dict[str, Any]) -> None:
        """The same when properties change; takes them out of ``prop_diff``."""
        if TAGS in prop_diff:
            self.set_tags(prop_diff.pop(TAGS))

    repeatable_create = True

    def handle_create(self) -> Any:
        # A second object in place of one that failed gets its parts, too.
        self._parts_made, self.answer = False, None
        return super().handle_create()

    def check_create_complete(self, made: Any) -> bool:
        if self.api_object is None:
            return True
        if not self._parts_made:
            # What the service answered tells nothing any more once a part was tried.
            self.answer = dict(made) if isinstance(made, Mapping) and self.answer is None else {}
            self.make_parts(self.given_properties())
            self._parts_made = True
        if not super().check_create_complete(made):
            return False
        if PORT_SECURITY_ENABLED in self.properties_schema:
            self._store_config_default_properties(self.shown_recently())
        return True

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Any:
        if self.api_object is None:
            return super(RestResource, self).handle_update(json_snippet, tmpl_diff, prop_diff)
        changed = dict(prop_diff)
        self.change_parts(changed)
        return super().handle_update(json_snippet, tmpl_diff, changed)

    repeatable_update = True

    def check_update_complete(self, answer: Any) -> bool:
        return self.api_object is None or super().check_update_complete(answer)

    def set_tags(self, tags: list[str] | None) -> None:
        """Give the object these tags and no others."""
        if self.api_object is not None:
            self.api.put(f"{self.object_path()}/tags", json={"tags": tags or []})
        elif self.get_resource_plural():
            self.client().replace_tag(self.get_resource_plural(), self.resource_id, {"tags": tags or []})

    def _store_config_default_properties(self, attrs: Mapping[str, Any]) -> None:
        """Note what the service chose by its own configuration, to know it from what somebody changed later."""
        if attrs.get(PORT_SECURITY_ENABLED) is not None:
            self.note(PORT_SECURITY_ENABLED, attrs[PORT_SECURITY_ENABLED])

    def note(self, key: str, value: Any) -> None:
        """Put a value into the resource's data, in the form that its column has it in Heat."""
        text = str(int(value)) if isinstance(value, bool) else str(value)
        if self.data().get(key) == text:
            return
        if self.status == self.IN_PROGRESS:
            # The service tells it at any time: it need not be safe before the state is.
            self.record.pending_data.append((key, text, False))
            if self.record.data is not None:
                self.record.data[key] = text
        else:
            self.data_set(key, text)

    # delete -----------------------------------------------------------
    def handle_delete(self) -> Any:
        if self.api_object is None:
            return super(RestResource, self).handle_delete()
        return super().handle_delete()

    def check_delete_complete(self, deleted: Any) -> bool:
        if self.api_object is not None:
            return super().check_delete_complete(deleted)
        if deleted and not self._not_found_in_call(self._show_resource):
            raise exceptions.PhysicalResourceExists(name=self.physical_resource_name_or_FnGetRefId())
        return True

    def find_physical(self) -> str | None:
        return None if self.api_object is None else super().find_physical()

    # what there is ----------------------------------------------------
    def _show_resource(self) -> Any:
        if self.api_object is not None:
            return super()._show_resource()
        if self.entity is None:
            return None
        show = getattr(self.client(), f"show_{self.entity}", None)
        if show is None:
            LOG.warning("The client of the network service cannot show %s", self.entity)
            return None
        return show(*self._res_get_args())[self.res_info_key or self.entity]

    def _resolve_attribute(self, name: str) -> Any:
        """A field that the service does not show, for want of an extension, is no attribute (KeyError)."""
        if self.resource_id is None:
            return None
        shown = self._show_resource() if self.api_object is None else self.shown_recently()
        return shown[self.attribute_fields.get(name, name)]

    def get_reference_id(self) -> Any:
        return self.resource_id

    def needs_replace_failed(self) -> bool:
        """What failed is kept if it is there and in order: an update may mend it."""
        if not self.resource_id:
            return True
        with self.client_plugin().ignore_not_found:
            shown = self._show_resource()
            if shown is not None:
                return bool(shown.get("status") == "ERROR")
        return True

    def parse_live_resource_data(self, resource_properties: Properties, resource_data: Any) -> dict[str, Any]:
        return self.drift(resource_properties, super().parse_live_resource_data(resource_properties, resource_data))

    @staticmethod
    def drift(given: Properties, live: dict[str, Any]) -> dict[str, Any]:
        """Of the live values those that are not what was asked for.

        What nobody asked for is the choice of the service (or of somebody else), and stays.
        """
        return {
            key: value
            for key, value in live.items()
            if key == VALUE_SPECS or given.get(key) is not None and not _agrees(given.get(key), value)
        }

    # for plugins ------------------------------------------------------
    def get_resource_plural(self) -> str | None:
        return f"{self.entity}s" if self.entity else None

    def _res_get_args(self) -> list[Any]:
        return [self.resource_id]

    @staticmethod
    def prepare_properties(properties: Mapping[str, Any], name: str | None) -> dict[str, Any]:
        """Fields of a request that makes an object: properties that have a value, ``value_specs`` merged."""
        props = {key: value for key, value in properties.items() if value is not None}
        if "name" in properties:
            props.setdefault("name", name)
        if VALUE_SPECS in props:
            NeutronResource.merge_value_specs(props)
        return props

    @staticmethod
    def merge_value_specs(props: MutableMapping[str, Any], before_value_specs: Mapping[str, Any] | None = None) -> None:
        """Put the entries of ``value_specs``, or those that have changed, beside the other fields."""
        given, before = props.pop(VALUE_SPECS) or {}, before_value_specs or {}
        props.update({key: value for key, value in given.items() if not (before and before.get(key) == value)})

    def prepare_update_properties(self, prop_diff: MutableMapping[str, Any]) -> None:
        """Make fields of a request of changed properties, in place."""
        if VALUE_SPECS in prop_diff:
            self.merge_value_specs(prop_diff, self.properties[VALUE_SPECS])
        if "name" in prop_diff and prop_diff["name"] is None:
            prop_diff["name"] = self.physical_resource_name()

    @staticmethod
    def is_built(attributes: Mapping[str, Any]) -> bool:
        status = attributes["status"]
        if status in FAILED:
            raise exceptions.ResourceInError(resource_status=status)
        if status not in (*READY, *BUSY):
            raise exceptions.ResourceUnknownStatus(resource_status=status, result=_("Resource is not built"))
        return status in READY

    def _not_found_in_call(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
        with self.client_plugin().ignore_not_found:
            func(*args, **kwargs)
            return False
        return True


def _agrees(given: Any, live: Any) -> bool:
    """Whether a live value is what was given; it may tell more. Lists of the service are in no order."""
    if isinstance(given, Mapping):
        return isinstance(live, Mapping) and all(
            _agrees(value, live.get(key)) for key, value in given.items() if value is not None
        )
    if isinstance(given, list):
        if not isinstance(live, list) or len(given) != len(live):
            return False
        left = list(live)
        for entry in given:
            match = next((other for other in left if _agrees(entry, other)), None)
            if match is None:
                return False
            left.remove(match)
        return True
    return bool(given == live) or str(given) == str(live)
