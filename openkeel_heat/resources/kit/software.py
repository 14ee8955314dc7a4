# SPDX-License-Identifier: Apache-2.0
"""What resource types need of the store of software configs and deployments, as a protocol.

``stack.software`` is an implementation of :class:`Software`. Configs and deployments go out as
the dictionaries that the API answers (``id``, ``config``, ``inputs`` … and ``id``, ``config_id``,
``status`` …). Calls are made with the project of the resource's context; what is not there is
``NotFound``. Each call is committed when it returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource

Config = dict[str, Any]
Deployment = dict[str, Any]


class Software(Protocol):
    """Configs and deployments of the project of a resource."""

    # configs ----------------------------------------------------------
    def show_config(self, resource: Resource, config_id: str) -> Config:
        """The config."""

    def create_config(self, resource: Resource, values: Mapping[str, Any]) -> Config:
        """A new one of ``name``, ``group``, ``config``, ``inputs``, ``outputs``, ``options``.

        With an ``id`` it is only made if there is none of that id yet.
        """

    def delete_config(self, resource: Resource, config_id: str) -> None:
        """Delete it; nothing happens when it is gone."""

    # deployments ------------------------------------------------------
    def show_deployment(self, resource: Resource, deployment_id: str) -> Deployment:
        """The deployment, after looking for a signal where signals have to be fetched."""

    def deploy(
        self, resource: Resource, deployment_id: str, config: Mapping[str, Any], values: Mapping[str, Any]
    ) -> Deployment:
        """Give a server a config that is made for this deployment, and tell the server.

        ``config``: values of the new config. ``values``: ``server_id``, ``action``, ``status``,
        ``status_reason``, ``input_values``, ``stack_user_project_id``. The deployment is made
        when there is none of that id; otherwise it is changed, and the config that it had is
        deleted. All in one transaction.
        """

    def cancel_deployment(self, resource: Resource, deployment_id: str, reason: str) -> None:
        """FAILED, where it is still in progress."""

    def delete_deployment(self, resource: Resource, deployment_id: str) -> None:
        """Delete it with its config, and tell the server; nothing happens when it is gone."""

    def signal_deployment(self, resource: Resource, deployment_id: str, details: Any) -> str | None:
        """Take the outputs. A text for the event; None when no signal was awaited."""

    def knows_server(self, resource: Resource, server_id: str) -> bool:
        """Whether a resource of the project that is not being deleted has this physical id."""
