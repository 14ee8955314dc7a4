# SPDX-License-Identifier: Apache-2.0
"""Resource types that are one object of a REST API, as declarations.

A type says where its objects are (:class:`ApiObject`), which properties are not fields of the body or have another
name there, and what is peculiar to it; the life cycle it inherits::

    class Network(RestResource):
        default_client_name = "neutron"
        api_object = ApiObject("/v2.0/networks", "network", status="status", busy=("BUILD",), ready=("ACTIVE", "DOWN"))
        renamed = {"dhcp_agent_ids": "agents"}
        not_sent = ("tags",)

Nothing is made twice and nothing is left behind: a request whose answer was lost is followed by a look for the object
of the resource (:meth:`RestResource.find_physical`) before another is made, also by whoever deletes the resource
later. Objects in progress are polled together (:mod:`openkeel_heat.clients.polling`).
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from oslo_log import log as logging

from openkeel_heat.clients import patience, polling
from openkeel_heat.clients.rest import RestClient, made_without_id, outcome_unknown, perhaps_carried_out
from openkeel_heat.common import clock, exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit.api_object import ApiObject
from openkeel_heat.resources.kit.properties import Properties
from openkeel_heat.resources.kit.resource import Resource

__all__ = ["ApiObject", "RestResource"]

LOG = logging.getLogger(__name__)

VALUE_SPECS = "value_specs"

#: resource_data of a resource that may have an object of which it does not know the id.
UNSURE = "perhaps_created"
#: Looks for such an object, and seconds before the first; the pause doubles.
LOOKS, LOOK_PAUSE = 3, 1.0
#: resource_data: the collection of an object, where not all of a type have the same.
PLACE = "collection_path"
#: Attributes of which it has been told that services do not show them.
_absent: set[tuple[type, str]] = set()
#: Seconds for which what was seen at the end of an action is good for attributes.
FRESH = 2.0
#: Clocks of two machines may differ by so many seconds.
SKEW = 10.0


class RestResource(Resource):
    """A resource that is an object of a service."""

    api_object: ClassVar[ApiObject]
    #: Property → field, where they differ.
    renamed: ClassVar[Mapping[str, str]] = {}
    #: Properties that are not fields of the body.
    not_sent: ClassVar[tuple[str, ...]] = ()
    #: Attribute → field, where they differ.
    attribute_fields: ClassVar[Mapping[str, str]] = {}

    repeatable_create = True
    repeatable_update = True

    _looks = 0
    #: How often in a row it was in a failed state while it was to go; None: it was in no other one yet.
    _failures_to_leave: int | None = None
    _seen: tuple[float, dict[str, Any]] | None = None

    def __init_subclass__(cls, **more: Any) -> None:
        """A type with a handler of its own says itself whether that may be called again."""
        super().__init_subclass__(**more)
        for action in ("create", "update"):
            if f"handle_{action}" in vars(cls) and f"repeatable_{action}" not in vars(cls):
                setattr(cls, f"repeatable_{action}", False)

    # --- the service

    @property
    def api(self) -> RestClient:
        client: RestClient = self.client_plugin().api
        return client

    def collection_path(self) -> str:
        return self.api_object.path

    def place(self) -> str:
        """The collection that the object was made in.

        Where it depends on properties it is noted with the resource: what names meant then they may not mean any more,
        and stored properties are as they were given. Of one that was made otherwise the properties tell, once more
        translated; what cannot be found again stays as it is, and is not found.
        """
        if type(self).collection_path is RestResource.collection_path:
            return self.collection_path()
        known: str | None = self.data().get(PLACE)
        if known:
            return known
        live = self._properties
        given: Properties = self.frozen_definition().properties(self.properties_schema, self.context)
        self.translate_properties(given, ignore_resolve_error=True)
        self._properties = given
        try:
            return self.collection_path()
        finally:
            self._properties = live

    def _note_place(self) -> None:
        if type(self).collection_path is not RestResource.collection_path:
            self.data_set(PLACE, self.collection_path())

    def object_path(self) -> str:
        return f"{self.place()}/{quote(str(self.resource_id), safe='')}"

    def _envelope(self, body: Any) -> Any:
        return {self.api_object.key: body} if self.api_object.key else body

    def _unwrap(self, answer: Any) -> dict[str, Any]:
        key = self.api_object.key
        if not isinstance(answer, Mapping):
            return {}
        found = answer.get(key) if key else answer
        return dict(found) if isinstance(found, Mapping) else {}

    def _call(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        answer = self.api.request(
            method,
            path,
            json=None if body is None else self._envelope(body),
            microversion=self.api_object.microversion,
        )
        return self._unwrap(answer)

    def _show_resource(self) -> Any:
        return self.api.show(self.object_path(), self.api_object.key, microversion=self.api_object.microversion)

    def observe(self, leaving: bool = False) -> dict[str, Any]:
        """The object as it is, seen together with others that are waited for; *leaving*: its deletion was asked for."""
        api = self.api_object
        seen: dict[str, Any] = self.client_plugin().observe(
            self.object_path(),
            # In lists objects are told apart by "id".
            (api.list_path or self.place()) if api.id == "id" else "",
            api.key,
            api.collection,
            str(self.resource_id),
            microversion=api.microversion,
            leaving=leaving,
        )
        return seen

    # --- bodies

    def fields(self, props: Mapping[str, Any]) -> dict[str, Any]:
        """Properties as fields: renamed, without those that are none, ``value_specs`` merged."""
        found = {
            self.renamed.get(key, key): value
            for key, value in props.items()
            if key not in self.not_sent and key != VALUE_SPECS
        }
        found.update(props.get(VALUE_SPECS) or {})
        return found

    def create_body(self, props: dict[str, Any]) -> dict[str, Any]:
        """The body of the request that makes the object; *props* are the properties that have a value."""
        body = self.fields(props)
        if self.api_object.name and body.get(self.api_object.name) is None:
            body[self.api_object.name] = self.physical_resource_name()
        return body

    def update_body(self, prop_diff: dict[str, Any]) -> dict[str, Any]:
        """The body of the request that changes it; *prop_diff* are the changed properties (None: no longer given)."""
        if prop_diff.get(VALUE_SPECS):
            before = self.properties.get(VALUE_SPECS) or {}
            specs = {key: value for key, value in prop_diff[VALUE_SPECS].items() if before.get(key) != value}
            prop_diff = {**prop_diff, VALUE_SPECS: specs}
        body = self.fields(prop_diff)
        name = self.api_object.name
        if name and name in body and body[name] is None:
            body[name] = self.physical_resource_name()
        return body

    def _answered(self, method: str, body: Any) -> dict[str, Any]:
        """A body, if the method of a type gave one."""
        if not isinstance(body, Mapping):
            text = _("%(cls)s.%(method)s answered %(kind)s, not the fields to be sent")
            raise TypeError(text % {"cls": type(self).__name__, "method": method, "kind": type(body).__name__})
        return dict(body)

    def given_properties(self) -> dict[str, Any]:
        return {key: value for key, value in self.properties.items() if value is not None}

    # --- create

    def handle_create(self) -> Any:
        made = self.make(self._answered("create_body", self.create_body(self.given_properties())))
        self._note_place()
        self.resource_id_set(str(made[self.api_object.id]))
        return made

    def make(self, body: dict[str, Any]) -> dict[str, Any]:
        """Make the object, once: if it is not known whether it was made, look for it first."""
        while True:
            found = self._look() if self._looks else None
            if found is not None:
                return {self.api_object.id: found}
            try:
                made = self.send_creation(body)
                if made.get(self.api_object.id) is None:
                    raise made_without_id(self.api_object.key)
                return made
            except Exception as error:
                self.note_doubt(error)
                if not perhaps_carried_out(error) or self._looks >= LOOKS:
                    raise
                LOG.warning("The answer to the creation of %(name)s was lost: %(why)s", {"name": self, "why": error})
                self._looks = 1
                patience.wait(LOOK_PAUSE, error)

    def note_doubt(self, error: BaseException) -> None:
        """Note that something may have been made all the same: who deletes the resource will look for it."""
        if outcome_unknown(error):
            self.data_set(UNSURE, "1")

    def forget_doubt(self) -> None:
        """The object is known."""
        if self.data().get(UNSURE):
            self.data_delete(UNSURE)

    def send_creation(self, body: dict[str, Any]) -> dict[str, Any]:
        """The request that makes the object; answers it, or its id at least."""
        return self._call("POST", self.collection_path(), body)

    def _look(self) -> str | None:
        """The id of the object made by a request without an answer; it may appear late."""
        while self._looks < LOOKS:
            found = self.find_physical()
            if found is not None:
                return found
            self._looks += 1
            patience.wait(LOOK_PAUSE * 2 ** (self._looks - 1), patience.ComeBack(0))
        return self.find_physical()

    def check_create_complete(self, made: Any) -> bool:
        done = self._settled(made if isinstance(made, Mapping) else None)
        if done and self._looks:
            self.forget_doubt()
        return done

    # --- state

    def _settled(self, known: Mapping[str, Any] | None = None) -> bool:
        """Whether the object has come to a state; *known* is what the service answered just now, if it tells it."""
        field = self.api_object.status
        if not field:
            return True
        shown = dict(known) if known is not None and known.get(field) and self._seen is None else self.observe()
        self._seen = (time.monotonic(), shown)
        return self.is_ready(shown)

    def is_ready(self, shown: dict[str, Any]) -> bool:
        """Whether the object is what it should be; an error says that it will never be."""
        status = str(shown.get(self.api_object.status))
        if status in self.api_object.ready:
            return True
        if status in self.api_object.busy:
            return False
        if status in self.api_object.failed:
            raise self._error_of(shown, status)
        result = _("Resource is not built")
        if self.api_object.status not in shown:
            result += _(' (the service shows no "%s")') % self.api_object.status
        raise exceptions.ResourceUnknownStatus(resource_status=status, result=result)

    def _error_of(self, shown: dict[str, Any], status: str) -> Exception:
        error = self.error_of(shown, status)
        if not isinstance(error, Exception):
            text = _("%(cls)s.error_of answered %(kind)s, not an error; the object went to status %(status)s")
            where = {"cls": type(self).__name__, "kind": type(error).__name__, "status": status}
            error = TypeError(text % where)
        return error

    def error_of(self, shown: dict[str, Any], status: str) -> Exception:
        """The error for an object that failed."""
        return exceptions.ResourceInError(resource_status=status)

    # --- update

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Any:
        if not prop_diff:
            return None
        body = self._answered("update_body", self.update_body(dict(prop_diff)))
        return self.change(body) if body else None

    def change(self, body: dict[str, Any]) -> dict[str, Any]:
        """Send the changed fields; what the service answers."""
        self._seen = None
        return self._call(self.api_object.update_method, self.object_path(), body)

    def check_update_complete(self, answer: Any) -> bool:
        if answer is None:
            return True
        return self._settled(answer if isinstance(answer, Mapping) else None)

    # --- delete

    def has_object(self) -> bool:
        """Whether there is an object to be deleted, its id known or not."""
        if self.resource_id is None:
            found = self.find_physical() if self.data().get(UNSURE) else None
            if found is not None:
                self.resource_id_set(found)
        return self.resource_id is not None

    def handle_delete(self) -> Any:
        if not self.has_object():
            return None
        self._failures_to_leave = None
        with self._default_client_plugin().ignore_not_found:
            self._call("DELETE", self.object_path())
            return self.resource_id if self.api_object.deletes_slowly else None
        return None

    def check_delete_complete(self, deleted: Any) -> bool:
        if not deleted:
            return True
        with self._default_client_plugin().ignore_not_found:
            shown = self.observe(leaving=True)
            if self.is_deleted(shown):
                return True
            self._expect_leaving(shown)
            return False
        return True

    def _expect_leaving(self, shown: dict[str, Any]) -> None:
        """One whose deletion has failed is not waited for until the time of the stack is over.

        It was in another state since its deletion was asked for, and is seen twice in this one: what had failed before
        may go on saying so until it is gone.
        """
        field = self.api_object.status
        status = str(shown.get(field)) if field else ""
        if status not in self.api_object.failed:
            self._failures_to_leave = 0
        elif self._failures_to_leave is not None:
            self._failures_to_leave += 1
            if self._failures_to_leave > 1:
                raise self._error_of(shown, status)

    def is_deleted(self, shown: dict[str, Any]) -> bool:
        """Whether an object that the service still shows is gone all the same."""
        return False

    # --- check

    def look(self) -> Any:
        """What there is of it; not found is an error."""
        return self._show_resource()

    def verify_presence(self) -> None:
        """Heat checks few types; the others at least have to be there."""
        if self.resource_id is None:
            return
        try:
            self.look()
        except Exception as error:
            if self._default_client_plugin().is_not_found(error):
                raise
            LOG.info("Whether %(name)s is there cannot be told: %(why)s", {"name": self, "why": error})

    def check_object(self) -> None:
        """For the ``handle_check`` of types that have one: the object must be there, and in no wrong state."""
        shown = self._show_resource()
        field = self.api_object.status
        if field and shown:
            self._verify_check_conditions(
                [{"attr": field, "expected": list(self.api_object.ready), "current": shown.get(field)}]
            )

    # --- what there is

    def _resolve_attribute(self, name: str) -> Any:
        if self.resource_id is None:
            return None
        field = self.attribute_fields.get(name, name)
        shown = self.shown_recently()
        if field not in shown and (type(self), name) not in _absent:
            _absent.add((type(self), name))
            LOG.warning(
                "Attribute %(name)s of %(cls)s has no value: the service shows no %(field)s, only %(known)s",
                {"name": name, "cls": type(self).__name__, "field": field, "known": ", ".join(sorted(shown))},
            )
        return shown.get(field)

    def shown_recently(self) -> dict[str, Any]:
        """The object, for reading several attributes: not asked for each time as long as nothing happened to it."""
        if self._seen is not None:
            at, shown = self._seen
            if time.monotonic() - at < FRESH and at > polling.changed_at(str(self.resource_id)):
                return shown
        at = time.monotonic()
        shown = self._show_resource()
        self._seen = (at, shown)
        return shown

    def parse_live_resource_data(self, resource_properties: Properties, resource_data: Any) -> dict[str, Any]:
        named = {self.renamed.get(key, key): key for key in self._update_allowed_properties}
        renamed = {named.get(field, field): value for field, value in resource_data.items()}
        found = super().parse_live_resource_data(resource_properties, renamed)
        if VALUE_SPECS in self.properties_schema:
            specs = self.properties.get(VALUE_SPECS) or {}
            found[VALUE_SPECS] = {key: resource_data[key] for key in specs if key in resource_data}
        return found

    def find_physical(self) -> str | None:
        """The id of the object that was made for this resource, by its name.

        A made-up name is the resource's own. One that the template gives may be another object's, too: then it has to
        be younger than the resource.
        """
        field = self.api_object.name
        if not field:
            return None
        name = self.fields(self.given_properties()).get(field)
        made_up = name is None
        if made_up and (name := self.physical_resource_name()) is None:
            return None
        api = self.api_object
        listed = self.api.list(
            api.list_path or self.place(), api.collection, {field: name}, microversion=api.microversion
        )
        found = [one for one in listed if one.get(field) == name and (made_up or self._is_younger(one))]
        if len(found) != 1:
            return None
        if found[0].get(api.id) is None:
            text = _('what the service has in %(path)s shows no field "%(field)s" that could be the id')
            raise exceptions.Error(text % {"path": self.place(), "field": api.id})
        return str(found[0][api.id])

    def _is_younger(self, shown: Mapping[str, Any]) -> bool:
        created, began = shown.get("created_at") or shown.get("created"), self.record.created_at
        if not created or began is None:
            return False
        return clock.parse_isotime(str(created)) >= began - datetime.timedelta(seconds=SKEW)
