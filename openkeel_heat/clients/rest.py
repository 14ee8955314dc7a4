# SPDX-License-Identifier: Apache-2.0
"""JSON calls of one service, with what is to be done when they fail.

:class:`RestClient` sits on an adapter of keystoneauth (session, catalogue, microversions) and knows which request may
be sent a second time: one that changes nothing or always to the same, whatever happened to it; one that makes
something only if it cannot have been carried out. Of the others the caller is told (:func:`perhaps_carried_out`), who
looks whether its object is there.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from openkeel_heat.clients import patience, rest_errors
from openkeel_heat.clients.rest_errors import RestError

__all__ = ["RestClient", "RestError", "perhaps_carried_out"]

#: Answers that mean "not now": nothing was done.
REFUSED = frozenset({429, 503})
#: Answers of something in between that lost the service.
LOST = frozenset({502, 504})
REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"})

FIRST_PAUSE, LONGEST_PAUSE = 0.25, 8.0
#: A thread does not sleep longer than this because a service wishes it.
LONGEST_SLEEP = 5.0


def perhaps_carried_out(error: BaseException) -> bool:
    """Whether the request that ended in *error* may have been carried out all the same."""
    return bool(getattr(error, "perhaps_carried_out", False))


class RestClient:
    """The API of one service.

    *changed* is told the path of each request that changes something, and the id of each object that was made;
    *microversion* gives the one to be used where the caller asks for none.
    """

    def __init__(
        self,
        adapter: Any,
        service: str,
        *,
        retries: int = 2,
        microversion: Callable[[], str | None] = lambda: None,
        changed: Callable[[str], None] = lambda path: None,
    ) -> None:
        self.adapter = adapter
        self.service = service
        self._retries = max(retries, 0)
        self._microversion = microversion
        self._changed = changed

    # --- requests

    def request(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        params: Mapping[str, Any] | None = None,
        microversion: str | None = None,
        headers: Mapping[str, str] | None = None,
        data: Any = None,
        log: bool = True,
    ) -> Any:
        """The decoded body of the answer, None if it has none. *log* is False where secrets are in the bodies."""
        response = self.send(
            method, path, json=json, params=params, microversion=microversion, headers=headers, data=data, log=log
        )
        if not response.content:
            return None
        try:
            body = response.json()
        except ValueError:
            return None
        if method.upper() == "POST" and isinstance(body, Mapping):
            for made in body.values():
                if isinstance(made, Mapping) and isinstance(made.get("id"), str):
                    self._changed(made["id"])
        return body

    def get(self, path: str, **more: Any) -> Any:
        return self.request("GET", path, **more)

    def post(self, path: str, **more: Any) -> Any:
        return self.request("POST", path, **more)

    def put(self, path: str, **more: Any) -> Any:
        return self.request("PUT", path, **more)

    def patch(self, path: str, **more: Any) -> Any:
        return self.request("PATCH", path, **more)

    def delete(self, path: str, **more: Any) -> Any:
        return self.request("DELETE", path, **more)

    def show(self, path: str, key: str, **more: Any) -> dict[str, Any]:
        """One object, out of its envelope (``""``: it has none)."""
        body = self.get(path, **more)
        return dict(body[key] if key else body)

    def list(self, path: str, key: str, params: Mapping[str, Any] | None = None, **more: Any) -> list[dict[str, Any]]:
        """The objects of a collection, of all its pages."""
        found: list[dict[str, Any]] = []
        query: Mapping[str, Any] | None = params
        while True:
            body = self.get(path, params=query, **more)
            page = body.get(key) or []
            found += page
            following = _next_link(body, key)
            if not following or not page:
                return found
            # The rest of the link may name a host that only the service's own proxies know.
            query = {**(params or {}), **parse_qs(urlsplit(following).query)}

    # --- one request, as often as it takes

    def send(self, method: str, path: str, **more: Any) -> Any:
        """The answer as it came (of ``requests``), if its status is below 400."""
        method = method.upper()
        microversion = more.pop("microversion", None) or self._microversion()
        if microversion:
            more["microversion"] = microversion
        more = {name: value for name, value in more.items() if value is not None}
        try:
            return self._send(method, path, more)
        finally:
            if method not in ("GET", "HEAD"):
                self._changed(path)

    def _send(self, method: str, path: str, more: dict[str, Any]) -> Any:
        tried = 0
        while True:
            response, error = self._try(method, path, dict(more))
            if error is None:
                return response
            pause = self._pause_before_next(error, tried)
            if pause is None:
                raise error
            tried += 1
            patience.wait(pause, error)

    def _try(self, method: str, path: str, more: dict[str, Any]) -> tuple[Any, Exception | None]:
        from keystoneauth1 import exceptions as errors

        headers = {"Accept": "application/json", **more.pop("headers", {})}
        try:
            response = self.adapter.request(
                path, method, headers=headers, raise_exc=False, connect_retries=0, status_code_retries=0, **more
            )
        except errors.ConnectionError as error:
            never_sent = _never_sent(error)
            error.again = never_sent or method in REPEATABLE  # type: ignore[attr-defined]
            error.perhaps_carried_out = not never_sent and method not in REPEATABLE  # type: ignore[attr-defined]
            return None, error
        if response.status_code < 400:
            return response, None
        failure: Any = rest_errors.from_response(self.service, response)
        status = response.status_code
        # With a quota the same status comes without a time, or with the time zero.
        wait_told = status == 413 and bool(getattr(failure, "retry_after", None))
        lost = status in LOST
        failure.again = status in REFUSED or wait_told or (lost and method in REPEATABLE)
        failure.perhaps_carried_out = lost and method not in REPEATABLE
        return response, failure

    def _pause_before_next(self, error: Exception, tried: int) -> float | None:
        """Seconds to the next try; None when there is no use in it."""
        if not getattr(error, "again", False):
            return None
        told: float | None = getattr(error, "retry_after", None)
        pause = min(FIRST_PAUSE * 2**tried, LONGEST_PAUSE) * (1 + random.random() / 2)
        if patience.can_pause():
            return max(told or 0.0, pause)
        if tried >= self._retries or (told or 0.0) > LONGEST_SLEEP:
            return None
        return max(told or 0.0, pause)


def _never_sent(error: BaseException) -> bool:
    """Whether a connection failed before anything could be sent over it."""
    from urllib3 import exceptions as errors

    seen: BaseException | None = error
    while seen is not None:
        for reason in (seen, *seen.args, *(getattr(one, "reason", None) for one in seen.args)):
            if isinstance(reason, (errors.NewConnectionError, errors.ConnectTimeoutError)):
                return True
        seen = seen.__cause__ or seen.__context__
    return False


def _next_link(body: Mapping[str, Any], key: str) -> str | None:
    """The link to the next page, in any of the forms that services have."""
    links = body.get(f"{key}_links")
    if links:
        return next((link["href"] for link in links if link.get("rel") == "next"), None)
    inner = body.get("links")
    found = inner.get("next") if isinstance(inner, Mapping) else body.get("next")
    return found if isinstance(found, str) else None
