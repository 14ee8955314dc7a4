# SPDX-License-Identifier: Apache-2.0
"""JSON calls of one service, with what is to be done when they fail.

:class:`RestClient` sits on an adapter of keystoneauth (session, catalogue, microversions) and knows which request may
be sent a second time: one that changes nothing or always to the same, whatever happened to it; one that makes
something only if it cannot have been carried out. Of the others the caller is told (:func:`perhaps_carried_out`), who
looks whether its object is there.

What a service answers is not believed to be what was asked for before that was looked at; nor is an id that somebody
gave believed to be one: a path that it would lead elsewhere is not found.
"""

from __future__ import annotations

import contextlib
import random
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from oslo_log import log as logging

from openkeel_heat.clients import patience, rest_errors
from openkeel_heat.clients.rest_errors import RestError
from openkeel_heat.common import exceptions

LOG = logging.getLogger(__name__)

__all__ = ["RestClient", "RestError", "outcome_unknown", "perhaps_carried_out"]

#: Answers that mean "not now": nothing was done.
REFUSED = frozenset({429, 503})
#: Answers of something in between that lost the service.
LOST = frozenset({502, 504})
#: The service broke down over it, perhaps when all was done.
BROKEN = frozenset({500})
REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"})

FIRST_PAUSE, LONGEST_PAUSE = 0.25, 8.0
#: How often a list is begun anew.
LISTS = 3
#: A thread does not sleep longer than this because a service wishes it.
LONGEST_SLEEP = 5.0
#: Seconds for a connection to be made, and without a byte of an answer: then the service is lost. Whoever asks holds a
#: thread meanwhile, and of those there are few.
ANSWER_WITHIN = (60.0, 600.0)

#: Fields that are in no log, nor are the answers to requests that have them.
SECRETS = frozenset({"adminpass", "admin_pass", "blob", "password", "private_key", "psk", "secret", "user_data"})
#: For services that have secrets wherever they are asked.
ALL_PATHS = re.compile(".*", re.DOTALL)


def below(collection: str, id_: Any) -> str:
    """The path of an object of a collection; whatever is in the id, it leads nowhere else."""
    return f"{collection}/{quote(str(id_), safe='')}"


def perhaps_carried_out(error: BaseException) -> bool:
    """Whether the request that ended in *error* may have been carried out all the same."""
    return bool(getattr(error, "perhaps_carried_out", False))


def outcome_unknown(error: BaseException) -> bool:
    """Whether the service may have done what was asked, all or a part of it, be it asked again or not.

    There was no answer, or the service, or something before it, broke down over the request.
    """
    return bool(getattr(error, "outcome_unknown", False))


def made_without_id(key: str) -> Exception:
    """The error for the answer to a creation that does not say what was made, if anything was."""
    error: Any = rest_errors.InvalidResponse(f"The answer to the creation has no {key or 'object'}")
    error.perhaps_carried_out = error.outcome_unknown = True
    return error  # type: ignore[no-any-return]


class _PageGone(Exception):
    """A list has to be begun anew."""


class RestClient:
    """The API of one service.

    *changed* is told the path of each request that changes something, and the id of each object that was made;
    *microversion* gives the one to be used where the caller asks for none; paths that fit *quiet* have secrets in what
    is sent or answered.
    """

    def __init__(
        self,
        adapter: Any,
        service: str,
        *,
        retries: int = 2,
        microversion: Callable[[], str | None] = lambda: None,
        changed: Callable[[str], None] = lambda path: None,
        quiet: re.Pattern[str] | None = None,
    ) -> None:
        self.adapter = adapter
        self.service = service
        self._retries = max(retries, 0)
        self._microversion = microversion
        self._changed = changed
        self._quiet = quiet

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
        """The decoded body of the answer, None if it has none or it is no JSON.

        *log* is False where secrets are in the bodies that cannot be told by path or field.
        """
        response = self.send(
            method, path, json=json, params=params, microversion=microversion, headers=headers, data=data, log=log
        )
        body = decoded(response)
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
        found = body.get(key) if key and isinstance(body, Mapping) else body
        if not isinstance(found, Mapping):
            raise rest_errors.InvalidResponse(f"{self.service} answered GET {path} without {key or 'an object'}")
        return dict(found)

    def _pages(
        self, path: str, key: str, params: Mapping[str, Any] | None, more: Mapping[str, Any], last: bool = False
    ) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        query: Mapping[str, Any] | None = params
        pages: set[str] = set()
        while True:
            try:
                body = self.get(path, params=query, **more)
            except Exception as error:
                if pages and not last and rest_errors.status_of(error) in (400, 404):
                    # The object that the page was to follow has been deleted meanwhile.
                    raise _PageGone from error
                raise
            page = body.get(key) if isinstance(body, Mapping) else None
            if not isinstance(page, list):
                # Taken for an empty list it would tell that all of its objects are gone.
                raise rest_errors.InvalidResponse(f"{self.service} answered GET {path} without {key}")
            found += page
            following = _next_link(body, key)
            if not following or not page:
                return found
            if following in pages:
                raise rest_errors.InvalidResponse(f"{self.service} answers GET {path} with the same page for ever")
            pages.add(following)
            # The rest of the link may name a host that only the service's own proxies know.
            query = {**(params or {}), **parse_qs(urlsplit(following).query)}

    def list(self, path: str, key: str, params: Mapping[str, Any] | None = None, **more: Any) -> list[dict[str, Any]]:
        """The objects of a collection, of all its pages."""
        for _again in range(LISTS):
            try:
                return self._pages(path, key, params, more)
            except _PageGone:
                continue
        return self._pages(path, key, params, more, last=True)

    # --- one request, as often as it takes

    def send(self, method: str, path: str, **more: Any) -> Any:
        """The answer as it came (of ``requests``), if its status is below 300.

        *free_path*: what is in the path was looked at by the caller; there are names that end in a slash.
        """
        method = method.upper()
        if not more.pop("free_path", False) and _leads_elsewhere(path):
            raise rest_errors.not_found(self.service, "The path", path)
        more = {name: value for name, value in more.items() if value is not None}
        if more.get("log", True) and self._is_secret(path, more.get("json")):
            more["log"] = False
            LOG.debug("%(service)s: %(method)s %(path)s", {"service": self.service, "method": method, "path": path})
        try:
            return persistently(lambda: self._try(method, path, dict(more)), self._retries)
        finally:
            if method not in ("GET", "HEAD"):
                self._changed(path)

    def _is_secret(self, path: str, body: Any) -> bool:
        return bool(self._quiet and self._quiet.fullmatch(path.partition("?")[0])) or _has_secret(body)

    def _try(self, method: str, path: str, more: dict[str, Any]) -> Any:
        from keystoneauth1 import exceptions as errors

        headers = {"Accept": "application/json", **more.pop("headers", {})}
        try:
            microversion = more.pop("microversion", None) or self._microversion()
            if microversion:
                more["microversion"] = microversion
            response = self.adapter.request(
                path,
                method,
                headers=headers,
                raise_exc=False,
                connect_retries=0,
                status_code_retries=0,
                timeout=ANSWER_WITHIN,
                **more,
            )
        except errors.ConnectionError as error:
            never_sent, hopeless = _never_sent(error), _is_hopeless(error)
            error.again = not hopeless and (never_sent or method in REPEATABLE)  # type: ignore[attr-defined]
            error.perhaps_carried_out = not never_sent and method not in REPEATABLE  # type: ignore[attr-defined]
            error.outcome_unknown = not never_sent  # type: ignore[attr-defined]
            raise
        except errors.DiscoveryFailure as error:
            error.again = True  # type: ignore[attr-defined]
            raise
        except errors.HttpError as error:
            _tell_from_answer(error)
            raise
        status = response.status_code
        if status < 300:
            return response
        failure: Any = rest_errors.from_response(self.service, response)
        # With a quota the same status comes without a time, or with the time zero.
        wait_told = status == 413 and bool(getattr(failure, "retry_after", None))
        lost = status in LOST
        failure.again = status in REFUSED or wait_told or (lost and method in REPEATABLE)
        failure.perhaps_carried_out = lost and method not in REPEATABLE
        # One that leads away leads nowhere, or has led too far: followed it was.
        failure.outcome_unknown = status in BROKEN or lost or status < 400
        raise failure


def persistently(ask: Callable[[], Any], retries: int) -> Any:
    """What *ask* answers, asked again as long as its errors say that there is use in it."""
    tried = 0
    while True:
        try:
            return ask()
        except Exception as error:
            pause = _pause_before_next(error, tried, retries)
            if pause is None:
                raise
            patience.wait(pause, error)
        tried += 1


def _pause_before_next(error: Exception, tried: int, retries: int) -> float | None:
    """Seconds to the next try; None when there is no use in it."""
    if not getattr(error, "again", False):
        return None
    told: float | None = getattr(error, "retry_after", None)
    pause = min(FIRST_PAUSE * 2**tried, LONGEST_PAUSE) * (1 + random.random() / 2)
    if patience.can_pause():
        return max(told or 0.0, pause)
    if tried >= retries or (told or 0.0) > LONGEST_SLEEP:
        return None
    return max(told or 0.0, pause)


@contextlib.contextmanager
def asking_keystone() -> Iterator[None]:
    """What is refused in here Keystone refuses: the service itself has not been asked yet."""
    from keystoneauth1 import exceptions as errors

    try:
        yield
    except errors.ConnectionError as error:
        error.again = not _is_hopeless(error)  # type: ignore[attr-defined]
        raise
    except errors.HttpError as error:
        _tell_from_answer(error)
        raise


def decoded(response: Any) -> Any:
    """The body; None where there is none, or it is no JSON."""
    try:
        return response.json() if response.content else None
    except (ValueError, RecursionError):
        return None


def _has_secret(body: Any) -> bool:
    if isinstance(body, Mapping):
        return any(str(key).lower() in SECRETS or _has_secret(value) for key, value in body.items())
    return isinstance(body, list) and any(_has_secret(value) for value in body)


def _leads_elsewhere(path: str) -> bool:
    """Whether something in it that should be an id is none: nothing, a step upwards, or the end of the path."""
    if path in ("", "/"):
        return False
    parts = path.partition("?")[0].split("/")
    return "#" in path or "" in parts[1:] or any(unquote(part) in (".", "..") for part in parts)


def _tell_from_answer(error: Any) -> None:
    """Make of an error of Keystone, which gave no token, one that nobody takes for an answer of the service."""
    status = error.http_status
    if status != 401 and 400 <= status < 500 and status not in REFUSED:
        # It would say that an object is not there, or in use.
        raise exceptions.AuthorizationFailure(failure_reason=str(error)) from error
    error.again = status in REFUSED | LOST
    error.retry_after = rest_errors.retry_after(getattr(error.response, "headers", None) or {})


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and all that it was made of."""
    todo: list[Any] = [error]
    seen: set[int] = set()
    while todo:
        one = todo.pop()
        if isinstance(one, BaseException) and id(one) not in seen:
            seen.add(id(one))
            yield one
            todo += [*one.args, getattr(one, "reason", None), one.__cause__, one.__context__]


def _never_sent(error: BaseException) -> bool:
    """Whether a connection failed before anything could be sent over it."""
    from urllib3 import exceptions as errors

    return _is_hopeless(error) or any(
        isinstance(one, (errors.NewConnectionError, errors.ConnectTimeoutError)) for one in _causes(error)
    )


def _is_hopeless(error: BaseException) -> bool:
    """Whether it will never be sent: the certificate is not trusted, or the URL or a header is none."""
    from requests import exceptions as errors

    wrong: tuple[type[Exception], ...] = (ssl.SSLCertVerificationError, errors.InvalidHeader)
    wrong += (errors.InvalidURL, errors.InvalidSchema, errors.MissingSchema)
    return any(isinstance(one, wrong) for one in _causes(error))


def _next_link(body: Mapping[str, Any], key: str) -> str | None:
    """The link to the next page, in any of the forms that services have."""
    links = body.get(f"{key}_links") or body.get(f"{key.removesuffix('s')}_links")
    if isinstance(links, list):
        return next((link["href"] for link in links if link.get("rel") == "next"), None)
    inner = body.get("links")
    found = inner.get("next") if isinstance(inner, Mapping) else body.get("next")
    return found if isinstance(found, str) else None
