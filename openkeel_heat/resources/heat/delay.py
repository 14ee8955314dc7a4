# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::Delay: takes time, nothing else."""

from __future__ import annotations

import datetime
import random
from typing import Any

from openkeel_heat.common import clock, exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource

Cookie = tuple[datetime.datetime, float]


class Delay(Resource):
    """Waits during some of the stack's actions, at the place its dependencies give it.

    A random part can be added, so that many of them do not end at the same moment.
    """

    support_status = support.SupportStatus(version="11.0.0")

    repeatable_create = True
    repeatable_update = True

    _ALLOWED_ACTIONS = (Resource.CREATE, Resource.DELETE, Resource.SUSPEND, Resource.RESUME)

    PROPERTIES = (MIN_WAIT_SECS, MAX_JITTER, JITTER_MULTIPLIER_SECS, DELAY_ACTIONS) = (
        "min_wait",
        "max_jitter",
        "jitter_multiplier",
        "actions",
    )

    properties_schema = {
        MIN_WAIT_SECS: properties.Schema(
            properties.Schema.NUMBER,
            _("Seconds to wait at least."),
            update_allowed=True,
            default=0,
            constraints=[constraints.Range(min=0)],
        ),
        MAX_JITTER: properties.Schema(
            properties.Schema.NUMBER,
            _("Largest random part, in units of jitter_multiplier."),
            update_allowed=True,
            default=0,
            constraints=[constraints.Range(min=0)],
        ),
        JITTER_MULTIPLIER_SECS: properties.Schema(
            properties.Schema.NUMBER,
            _("Seconds that one unit of max_jitter is."),
            update_allowed=True,
            default=1.0,
            constraints=[constraints.Range(min=0)],
        ),
        DELAY_ACTIONS: properties.Schema(
            properties.Schema.LIST,
            _("Actions to wait in."),
            update_allowed=True,
            default=[Resource.CREATE],
            constraints=[constraints.AllowedValues(_ALLOWED_ACTIONS)],
        ),
    }

    attributes_schema = {}

    def _delay_parameters(self) -> tuple[float, float]:
        """Seconds at least, and random seconds at most."""
        props = self.properties
        return props[self.MIN_WAIT_SECS], props[self.MAX_JITTER] * props[self.JITTER_MULTIPLIER_SECS]

    def validate(self) -> Any:
        result = super().validate()
        if self.stack.strict_validate:
            longest = sum(self._delay_parameters())
            if longest > self.stack.timeout_secs():
                raise exception.StackValidationFailed(
                    message=_("%(res_type)s maximum delay %(max_wait)ss exceeds stack timeout.")
                    % {"res_type": self.type(), "max_wait": longest}
                )
        return result

    def _wait_secs(self, action: str) -> float:
        if action not in self.properties[self.DELAY_ACTIONS]:
            return 0
        least, jitter = self._delay_parameters()
        return least + jitter * random.random()

    def _handle_action(self) -> Cookie:
        return clock.utcnow(), self._wait_secs(self.action)

    def _check_complete(self, started_at: datetime.datetime, wait_secs: float) -> bool:
        left = wait_secs - clock.seconds_since(started_at)
        if not wait_secs or left <= 0:
            return True
        self.poll_after = left
        return False

    def handle_create(self) -> Cookie:
        return self._handle_action()

    def handle_delete(self) -> Cookie:
        return self._handle_action()

    def handle_suspend(self) -> Cookie:
        return self._handle_action()

    def handle_resume(self) -> Cookie:
        return self._handle_action()

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> None:
        """New times are for the actions to come."""

    def check_create_complete(self, cookie: Cookie) -> bool:
        return self._check_complete(*cookie)

    def check_delete_complete(self, cookie: Cookie) -> bool:
        return self._check_complete(*cookie)

    def check_suspend_complete(self, cookie: Cookie) -> bool:
        return self._check_complete(*cookie)

    def check_resume_complete(self, cookie: Cookie) -> bool:
        return self._check_complete(*cookie)


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::Delay": Delay}
