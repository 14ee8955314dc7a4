# SPDX-License-Identifier: Apache-2.0
"""Hints to the schedulers of other services that tell where in which stack an object belongs.

With ``stack_scheduler_hints`` on, filters and weighers of a site can place the members of a
stack together or apart.
"""

from __future__ import annotations

from typing import Any

from oslo_config import cfg


class SchedulerHintsMixin:
    """For resources whose service takes scheduler hints."""

    name: str
    stack: Any
    uuid: str | None

    HEAT_ROOT_STACK_ID = "heat_root_stack_id"
    HEAT_STACK_ID = "heat_stack_id"
    HEAT_STACK_NAME = "heat_stack_name"
    HEAT_PATH_IN_STACK = "heat_path_in_stack"
    HEAT_RESOURCE_NAME = "heat_resource_name"
    HEAT_RESOURCE_UUID = "heat_resource_uuid"

    def _scheduler_hints(self, scheduler_hints: dict[str, Any] | None) -> dict[str, Any] | None:
        """The user's hints, with those of the stack when they are wanted."""
        if not cfg.CONF.stack_scheduler_hints:
            return scheduler_hints
        return {
            **(scheduler_hints or {}),
            self.HEAT_ROOT_STACK_ID: self.stack.root_stack_id(),
            self.HEAT_STACK_ID: self.stack.id,
            self.HEAT_STACK_NAME: self.stack.name,
            self.HEAT_PATH_IN_STACK: _path_in_stack(self.stack),
            self.HEAT_RESOURCE_NAME: self.name,
            self.HEAT_RESOURCE_UUID: self.uuid,
        }


def _path_in_stack(stack: Any) -> list[str]:
    """The stacks from the outermost inwards; hints are texts and lists of texts only."""
    return [
        stack_name if resource_name is None else f"{resource_name},{stack_name}"
        for resource_name, stack_name in stack.path_in_stack()
    ]
