# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::ScalingPolicy: a signal to it changes the size of a scaling group."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, scaling, signal_responder, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.stepwise import pauses

LOG = logging.getLogger(__name__)


class AutoScalingPolicy(signal_responder.SignalResponder):
    """Changes the size of an OS::Heat::AutoScalingGroup each time it is signalled.

    It is signalled by alarms (or by anybody) through the URL of one of its attributes, or by a
    call of the API. Signals within a cooldown, or while the group is being scaled, have no effect.
    """

    PROPERTIES = (  # type: ignore[assignment]
        AUTO_SCALING_GROUP_NAME,
        SCALING_ADJUSTMENT,
        ADJUSTMENT_TYPE,
        COOLDOWN,
        MIN_ADJUSTMENT_STEP,
    ) = ("auto_scaling_group_id", "scaling_adjustment", "adjustment_type", "cooldown", "min_adjustment_step")

    ATTRIBUTES = (ALARM_URL, SIGNAL_URL) = ("alarm_url", "signal_url")  # type: ignore[assignment]

    # The adjustment type for which min_adjustment_step has a meaning.
    PERCENT_CHANGE = scaling.PERCENT_CHANGE_IN_CAPACITY

    # The user and its key are found in the resource data when they were made already.
    repeatable_create = True

    properties_schema = {
        AUTO_SCALING_GROUP_NAME: properties.Schema(
            properties.Schema.STRING, _("Reference of the scaling group."), required=True
        ),
        SCALING_ADJUSTMENT: properties.Schema(
            properties.Schema.NUMBER,
            _("Members to add (or, below zero, to remove), a percentage of them, or their number."),
            required=True,
            update_allowed=True,
        ),
        ADJUSTMENT_TYPE: properties.Schema(
            properties.Schema.STRING,
            _("What scaling_adjustment is."),
            required=True,
            constraints=[
                constraints.AllowedValues(
                    [scaling.CHANGE_IN_CAPACITY, scaling.EXACT_CAPACITY, scaling.PERCENT_CHANGE_IN_CAPACITY]
                )
            ],
            update_allowed=True,
        ),
        COOLDOWN: properties.Schema(
            properties.Schema.NUMBER, _("Seconds for which the group is not scaled afterwards."), update_allowed=True
        ),
        MIN_ADJUSTMENT_STEP: properties.Schema(
            properties.Schema.INTEGER,
            _("With percent_change_in_capacity: fewest members to add or remove."),
            constraints=[constraints.Range(min=0)],
            update_allowed=True,
        ),
    }

    attributes_schema = {
        ALARM_URL: attributes.Schema(
            _("A signed URL of the CFN API that signals the policy."),
            type=attributes.Schema.STRING,
            cache_mode=attributes.Schema.CACHE_NONE,
        ),
        SIGNAL_URL: attributes.Schema(
            _("The URL of the native API that signals the policy."),
            support_status=support.SupportStatus(version="5.0.0"),
            type=attributes.Schema.STRING,
        ),
    }

    def validate(self) -> Any:
        super().validate()
        self._validate_min_adjustment_step()

    def _validate_min_adjustment_step(self) -> None:
        if (
            self.properties.get(self.MIN_ADJUSTMENT_STEP) is not None
            and self.properties.get(self.ADJUSTMENT_TYPE) != self.PERCENT_CHANGE
        ):
            raise exception.ResourcePropertyValueDependency(
                prop1=self.MIN_ADJUSTMENT_STEP, prop2=self.ADJUSTMENT_TYPE, value=self.PERCENT_CHANGE
            )

    def handle_create(self) -> Any:
        super().handle_create()
        self.resource_id_set(self._get_user_id())

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Any:
        if prop_diff:
            self.properties = json_snippet.properties(self.properties_schema, self.context)

    def handle_signal(self, details: Any = None) -> Generator[Any, None, None]:
        """Scale the group, whatever the state of the alarm that signals: the template says which are meant."""
        LOG.info("Alarm %(name)s, new state %(state)s", {"name": self.name, "state": _state_of(details)})
        reference = self.properties[self.AUTO_SCALING_GROUP_NAME]
        group = self.stack.resource_by_refid(reference)
        if group is None:
            raise exception.NotFound(
                _('Alarm %(alarm)s could not find scaling group named "%(group)s"')
                % {"alarm": self.name, "group": reference}
            )
        wanted = tuple(
            self.properties[key]
            for key in (self.SCALING_ADJUSTMENT, self.ADJUSTMENT_TYPE, self.MIN_ADJUSTMENT_STEP, self.COOLDOWN)
        )
        with group.frozen_properties():
            if _in_steps(group):
                yield from pauses(group, group.adjusting(*wanted))
            else:
                group.adjust(*wanted)

    def _resolve_attribute(self, name: str) -> Any:
        if self.resource_id is None:
            return None
        if name == self.ALARM_URL:
            return str(self._get_ec2_signed_url(never_expire=True))
        if name == self.SIGNAL_URL:
            return str(self._get_heat_signal_url())
        return None


def _state_of(details: Any) -> str:
    if not isinstance(details, dict):
        return "alarm"
    return str(details.get("current", details.get("state", "alarm"))).lower()


def _in_steps(group: Any) -> bool:
    """Whether a group scales in steps; a plugin's own ``adjust`` comes first."""
    from openkeel_heat.resources.aws.autoscaling.autoscaling_group import AutoScalingGroup

    return isinstance(group, AutoScalingGroup) and type(group).adjust is AutoScalingGroup.adjust


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::ScalingPolicy": AutoScalingPolicy}
