# SPDX-License-Identifier: Apache-2.0
"""Custom constraints that ask a client plug-in."""

from __future__ import annotations

from openkeel_heat.resources.kit.constraints import BaseCustomConstraint


class SecretConstraint(BaseCustomConstraint):
    """``barbican.secret``: the reference of a secret."""

    resource_client_name = "barbican"
    resource_getter_name = "get_secret_by_ref"


class ContainerConstraint(BaseCustomConstraint):
    """``barbican.container``: the reference of a container of secrets."""

    resource_client_name = "barbican"
    resource_getter_name = "get_container_by_ref"


class QueueConstraint(BaseCustomConstraint):
    """``zaqar.queue``: what can be the name of a queue."""

    resource_client_name = "zaqar"
    resource_getter_name = "get_queue"
