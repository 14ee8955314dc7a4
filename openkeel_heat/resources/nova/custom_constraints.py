# SPDX-License-Identifier: Apache-2.0
"""Custom constraints ``nova.*``: the value is an object of the compute service."""

from __future__ import annotations

from typing import Any

from openkeel_heat.clients import rest_errors
from openkeel_heat.resources.kit.constraints import BaseCustomConstraint

_not_found = (rest_errors.class_for("nova", 404),)


class NovaBaseConstraint(BaseCustomConstraint):
    resource_client_name = "nova"


class ServerConstraint(NovaBaseConstraint):
    resource_getter_name = "get_server"


class KeypairConstraint(NovaBaseConstraint):
    resource_getter_name = "get_keypair"

    def validate_with_client(self, client: Any, key_name: Any) -> None:
        # That of a KeyPair resource which does not exist yet is empty.
        if key_name:
            super().validate_with_client(client, key_name)


class FlavorConstraint(NovaBaseConstraint):
    """By name or id."""

    expected_exceptions = _not_found
    resource_getter_name = "find_flavor_by_name_or_id"


class HostConstraint(NovaBaseConstraint):
    """A part of the name of a hypervisor."""

    expected_exceptions = _not_found
    resource_getter_name = "get_host"
