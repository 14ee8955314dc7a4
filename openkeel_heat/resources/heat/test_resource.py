# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::TestResource: a resource that takes as long, and fails, as it is told."""

from __future__ import annotations

import datetime
import time
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import clock
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource

LOG = logging.getLogger(__name__)

Cookie = tuple[Any, float]


class TestResource(Resource):
    """Keeps a text, for tests.

    Properties make its actions slow, let them fail or ask for a replacement.
    """

    __test__ = False

    support_status = support.SupportStatus(version="5.0.0")

    # The physical name is all it has outside of the database.
    deferred_resource_id = True
    deferred_data = True
    repeatable_create = True
    repeatable_update = True

    ACTION_TIMES = (CREATE_WAIT_SECS, UPDATE_WAIT_SECS, DELETE_WAIT_SECS) = ("create", "update", "delete")

    PROPERTIES = (
        VALUE,
        UPDATE_REPLACE,
        FAIL,
        CLIENT_NAME,
        ENTITY_NAME,
        WAIT_SECS,
        ACTION_WAIT_SECS,
        ATTR_WAIT_SECS,
        CONSTRAINT_PROP_SECS,
        UPDATE_REPLACE_VALUE,
    ) = (
        "value",
        "update_replace",
        "fail",
        "client_name",
        "entity_name",
        "wait_secs",
        "action_wait_secs",
        "attr_wait_secs",
        "constraint_prop_secs",
        "update_replace_value",
    )

    ATTRIBUTES = (OUTPUT,) = ("output",)

    properties_schema = {
        CONSTRAINT_PROP_SECS: properties.Schema(
            properties.Schema.NUMBER,
            _("Seconds that checking this property takes."),
            default=0,
            update_allowed=True,
            constraints=[constraints.CustomConstraint("test_constr")],
            support_status=support.SupportStatus(version="6.0.0"),
        ),
        ATTR_WAIT_SECS: properties.Schema(
            properties.Schema.NUMBER,
            _("Seconds that reading the output takes."),
            default=0,
            update_allowed=True,
            support_status=support.SupportStatus(version="6.0.0"),
        ),
        VALUE: properties.Schema(
            properties.Schema.STRING, _("The text to keep."), default="test_string", update_allowed=True
        ),
        UPDATE_REPLACE_VALUE: properties.Schema(
            properties.Schema.STRING,
            _("A text that cannot be changed in place."),
            support_status=support.SupportStatus(version="7.0.0"),
        ),
        FAIL: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether actions fail when their time is over."),
            update_allowed=True,
            default=False,
        ),
        UPDATE_REPLACE: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether a changed value replaces the resource."),
            update_allowed=True,
            default=False,
        ),
        WAIT_SECS: properties.Schema(
            properties.Schema.NUMBER, _("Seconds that an action takes; -1 is for ever."), update_allowed=True, default=0
        ),
        ACTION_WAIT_SECS: properties.Schema(
            properties.Schema.MAP,
            _("Seconds that single actions take."),
            update_allowed=True,
            schema={
                action: properties.Schema(
                    properties.Schema.NUMBER,
                    _("Seconds that this action takes instead of wait_secs."),
                    update_allowed=True,
                )
                for action in ACTION_TIMES
            },
        ),
        CLIENT_NAME: properties.Schema(
            properties.Schema.STRING, _("Client to call at each poll."), default="", update_allowed=True
        ),
        ENTITY_NAME: properties.Schema(
            properties.Schema.STRING, _("Collection of that client to read from."), default="", update_allowed=True
        ),
    }

    attributes_schema = {
        OUTPUT: attributes.Schema(_("The text that is kept."), cache_mode=attributes.Schema.CACHE_NONE),
    }

    def _wait_secs(self) -> float:
        action = self.action.lower()
        by_action = self.properties[self.ACTION_WAIT_SECS]
        secs = by_action[action] if by_action else None
        if secs is None:
            secs = self.properties[self.WAIT_SECS]
        LOG.info("%(name)s wait_secs:%(wait)s, action:%(action)s", {"name": self.name, "wait": secs, "action": action})
        return secs

    def handle_create(self) -> Cookie:
        if not self.properties[self.FAIL]:
            self.data_set("value", self.properties[self.VALUE], redact=False)
            self.resource_id_set(self.physical_resource_name())
        return clock.utcnow(), self._wait_secs()

    def check_create_complete(self, cookie: Cookie) -> bool:
        return self._check_status_complete(*cookie)

    def needs_replace_with_prop_diff(
        self, changed_properties_set: set[str], after_props: Any, before_props: Any
    ) -> bool:
        return self.VALUE in changed_properties_set and after_props[self.UPDATE_REPLACE]

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Cookie:
        self.properties = json_snippet.properties(self.properties_schema, self.context)
        value = prop_diff.get(self.VALUE)
        if not value:
            return clock.utcnow(), 0
        if not self.properties[self.FAIL]:
            self.data_set("value", value, redact=False)
        return clock.utcnow(), self._wait_secs()

    def check_update_complete(self, cookie: Cookie) -> bool:
        return self._check_status_complete(*cookie)

    def handle_delete(self) -> Cookie:
        return clock.utcnow(), self._wait_secs()

    def check_delete_complete(self, cookie: Cookie) -> bool:
        return self._check_status_complete(*cookie)

    def handle_check(self) -> None:
        if not self.resource_id:
            raise Exception("Resource not created")

    def _check_status_complete(self, started_at: Any, wait_secs: float) -> bool:
        left = datetime.timedelta(seconds=max(wait_secs, 0)) - (clock.utcnow() - started_at)
        if wait_secs >= 0 and left <= datetime.timedelta(0):
            if self.properties[self.FAIL] and self.action != self.DELETE:
                raise ValueError("Test Resource failed %s" % self.name)
            return True
        if self.properties[self.CLIENT_NAME] and self.properties[self.ENTITY_NAME]:
            self._call_client()
        elif wait_secs >= 0:
            self.poll_after = left.total_seconds()
        else:
            self.poll_after = 60.0
        return False

    def _call_client(self) -> None:
        """Read something from a service, whatever comes of it."""
        client_name, entity = self.properties[self.CLIENT_NAME], self.properties[self.ENTITY_NAME]
        entity_id = self.data().get("value") or self.resource_id
        try:
            getattr(self.client(name=client_name), entity).get(entity_id)
        except Exception as ex:
            LOG.debug("%s.%s(%s) %s", client_name, entity, entity_id, ex)

    def handler_data_on_resume(self, action: str) -> Cookie:
        return self.updated_time or self.created_time or clock.utcnow(), self._wait_secs()

    def _resolve_attribute(self, name: str) -> Any:
        if self.properties[self.ATTR_WAIT_SECS]:
            time.sleep(self.properties[self.ATTR_WAIT_SECS])
        return self.data().get("value") if name == self.OUTPUT else None


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::TestResource": TestResource}
