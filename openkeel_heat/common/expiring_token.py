# SPDX-License-Identifier: Apache-2.0
"""The token of a request, and what takes its place when it is over.

Work on a stack can outlast the token of the request that began it. A stack keeps credentials of its own (a trust):
when the token is about to expire, or a service refuses it, these authenticate instead, and the work goes on. Without
any the token stays what it is, and the refusal is an error of the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keystoneauth1 import access, session as sessions
from keystoneauth1.identity import base
from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: Gives the plug-in that comes after the token; None where there is none.
Successor = Callable[[], Any]


class ExpiringToken(base.BaseIdentityPlugin):
    def __init__(self, auth_ref: access.AccessInfo, auth_url: str | None, successor: Successor) -> None:
        super().__init__(auth_url=auth_url, reauthenticate=False)
        self.auth_ref = auth_ref
        self._token = auth_ref
        self._successor = successor
        self._next: Any = None

    def get_auth_ref(self, session: sessions.Session, **kwargs: Any) -> access.AccessInfo:
        return self._token

    def get_access(self, session: sessions.Session, **kwargs: Any) -> access.AccessInfo:
        with self._lock:
            if self._next is None and self._is_ending():
                self._replace()
        if self._next is None:
            return super().get_access(session, **kwargs)
        found: access.AccessInfo = self._next.get_access(session)
        return found

    def invalidate(self) -> bool:
        """A service refused the token; True when there is something else to try with."""
        with self._lock:
            if self._next is None:
                return self._replace()
        return bool(self._next.invalidate())

    def _is_ending(self) -> bool:
        try:
            return bool(self._token.will_expire_soon(self.MIN_TOKEN_LIFE_SECONDS))
        except KeyError:  # what a middleware told of the token need not have a time
            return False

    def _replace(self) -> bool:
        self._next = self._successor()
        if self._next is None:
            return False
        LOG.info("The token of the request is over; the work goes on with the credentials of the stack")
        return True
