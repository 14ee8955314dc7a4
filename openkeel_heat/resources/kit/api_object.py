# SPDX-License-Identifier: Apache-2.0
"""Where a service has the objects of a type: the first of the declarations of a :class:`.rest.RestResource`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _

UPDATE_METHODS = ("PUT", "PATCH", "POST")

_PLACEHOLDER = re.compile(r"[{}]|%\(")


@dataclass(frozen=True)
class ApiObject:
    """Where a service has the objects of a type, and how it tells their state."""

    path: str
    key: str
    keys: str = ""
    update_method: str = "PUT"
    status: str = ""
    ready: tuple[str, ...] = ("ACTIVE",)
    busy: tuple[str, ...] = ("BUILD", "PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE")
    failed: tuple[str, ...] = ("ERROR",)
    name: str = "name"
    microversion: str | None = None
    #: The field of the id.
    id: str = "id"
    #: The collection with all fields, if it is not *path*.
    list_path: str = ""
    #: DELETE only begins the deletion; None: for objects with a state.
    slow_delete: bool | None = None

    def __post_init__(self) -> None:
        """A declaration that means nothing is refused where it stands, not when a stack needs it."""
        for path in (self.path, self.list_path):
            if _PLACEHOLDER.search(path):
                raise _wrong(_("nothing is put into the path %r; override collection_path()") % path)
            if path and (not path.startswith("/") or path.endswith("/")):
                raise _wrong(_("the path %r has to begin with a slash, and to end without one") % path)
        if self.update_method not in UPDATE_METHODS:
            text = _("update_method is %(wrong)r, none of %(known)s")
            raise _wrong(text % {"wrong": self.update_method, "known": ", ".join(UPDATE_METHODS)})
        self._require_states()

    def _require_states(self) -> None:
        meanings: dict[str, str] = {}
        for meaning in ("ready", "busy", "failed"):
            states = getattr(self, meaning)
            if isinstance(states, str):
                raise _wrong(_("%(name)s is a text, not a tuple: (%(states)r,)") % {"name": meaning, "states": states})
            for state in states:
                if meanings.setdefault(state, meaning) != meaning:
                    text = _("the state %(state)r is both %(one)s and %(other)s")
                    raise _wrong(text % {"state": state, "one": meanings[state], "other": meaning})

    @property
    def collection(self) -> str:
        """The envelope of lists."""
        return self.keys or f"{self.key}s"

    @property
    def deletes_slowly(self) -> bool:
        return bool(self.status) if self.slow_delete is None else self.slow_delete


def _wrong(text: str) -> Exception:
    return exceptions.InvalidSchemaError(message=f"ApiObject: {text}")
