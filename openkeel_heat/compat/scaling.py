# SPDX-License-Identifier: Apache-2.0
"""``heat.scaling.lbutils`` and ``heat.engine.notification.autoscaling``, for plugins with groups of their own."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from openkeel_heat.resources.heat.instance_group import reconfigured
from openkeel_heat.resources.kit import stepwise


def reconfigure_loadbalancers(load_balancers: Iterable[Any], id_list: list[Any]) -> None:
    """Let load balancers of a stack use these members; returns when they have been updated."""
    for balancer in load_balancers:
        change = functools.partial(reconfigured, id_list)
        stepwise.run(balancer, balancer.stack.update_resource(balancer.name, change))


def send(
    stack: Any,
    adjustment: Any = None,
    adjustment_type: str | None = None,
    capacity: int | None = None,
    groupname: str | None = None,
    message: str = "error",
    suffix: str | None = None,
) -> None:
    """Tell of the scaling of a group."""
    stack.notify_scaling(
        suffix,
        adjustment=adjustment,
        adjustment_type=adjustment_type,
        capacity=capacity,
        groupname=groupname,
        message=message,
    )
