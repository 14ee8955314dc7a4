# SPDX-License-Identifier: Apache-2.0
"""Constraints of properties: those of the template package, and the base of custom ones.

A custom constraint is a class known by a name, that of the entry point group
``heat.constraints`` or of a ``constraint_mapping()`` of a plugin module; it is imported when
a value is checked against it for the first time.
"""

from __future__ import annotations

import threading
from typing import Any

from openkeel_heat.clients import patience
from openkeel_heat.clients.cache import MEMOIZE_CONSTRAINTS
from openkeel_heat.clients.once import once
from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.template.constraints import (
    AllowedPattern,
    AllowedValues,
    AnyIndexDict,
    Constraint,
    CustomConstraint,
    Length,
    Modulo,
    Range,
    Schema,
    set_custom_lookup,
)

__all__ = [
    "AllowedPattern",
    "AllowedValues",
    "AnyIndexDict",
    "BaseCustomConstraint",
    "Constraint",
    "CustomConstraint",
    "Length",
    "Modulo",
    "Range",
    "Schema",
]


def _lookup(name: str) -> Any:
    from openkeel_heat.resources.kit import registry

    return registry.constraint(name)


set_custom_lookup(_lookup)


class BaseCustomConstraint:
    """A check that asks a service: ``resource_getter_name`` of a client plugin must find the value.

    A value that was found is not asked for again in the same operation, nor, where ``[constraint_validation_cache]``
    says so, by others of the project; one that was not found is, since somebody may make it meanwhile. Instances are
    shared by threads, so the message of a failure is kept for each of them.
    """

    expected_exceptions: tuple[type[Exception], ...] = (exception.EntityNotFound,)
    resource_client_name: str | None = None
    resource_getter_name: str | None = None

    @property
    def _error_message(self) -> str | None:
        return self._message_of_threads().get(threading.get_ident())

    @_error_message.setter
    def _error_message(self, text: str | None) -> None:
        self._message_of_threads()[threading.get_ident()] = text

    def _message_of_threads(self) -> dict[int, str | None]:
        """Its own: what another instance said must not be said by this one. Sub-classes need not call __init__."""
        known: dict[int, str | None] = self.__dict__.setdefault("_messages", {})
        return known

    def error(self, value: Any) -> str:
        if self._error_message is None:
            return _("Error validating value '%(value)s'") % {"value": value}
        return _("Error validating value '%(value)s': %(message)s") % {"value": value, "message": self._error_message}

    def validate(self, value: Any, context: Any) -> bool:
        def found() -> bool:
            self.validate_with_client(context.clients, value)
            return True

        kind = "%s.%s" % (type(self).__module__, type(self).__qualname__)
        whose = (str(getattr(context, name, None)) for name in ("auth_url", "project_id", "region_name"))
        key = "|".join((kind, *whose, repr(value)))
        try:
            once(context, key, lambda: MEMOIZE_CONSTRAINTS.get_or_create(key, found))
        except self.expected_exceptions as ex:
            if patience.asked_pause(ex) is not None:
                raise
            self._error_message = str(ex)
            return False
        return True

    def validate_with_client(self, client: Any, resource_id: Any) -> None:
        if not self.resource_client_name or not self.resource_getter_name:
            raise exception.InvalidSchemaError(message=_("Client name and resource getter name must be specified."))
        getattr(client.client_plugin(self.resource_client_name), self.resource_getter_name)(resource_id)
