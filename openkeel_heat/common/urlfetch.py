# SPDX-License-Identifier: Apache-2.0
"""Fetching what a user names by URL: bounded in size and time, and kept out of networks that are not the user's.

The address is checked where the connection is made, after the name was resolved, so that neither a redirect nor a name
that changes its address leads around the check.

All that comes counts against the time and the size, not only what is asked for: whoever answers may send its headers a
byte at a time, a redirect with a body that has no end, or a few kilobytes that were compressed twice.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import socket
import urllib.request
from collections.abc import Collection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import clock, exceptions
from openkeel_heat.common.i18n import _

if TYPE_CHECKING:
    import requests

LOG = logging.getLogger(__name__)

CHUNK = 8192
#: One compression makes a thousand bytes of one; two, one after the other, a million.
_ENCODINGS = frozenset(("", "identity", "gzip", "x-gzip", "deflate"))


class URLFetchError(exceptions.Error, OSError):
    """The text is for users and says nothing about why an address did not answer."""


def get(url: str, allowed_schemes: Collection[str] = ("http", "https")) -> bytes:
    """What is at *url*; ``file:`` only where *allowed_schemes* has it (files of the operator, not of users)."""
    scheme = urlsplit(url).scheme
    if scheme not in allowed_schemes:
        raise URLFetchError(_("Invalid URL scheme %s") % scheme)
    if scheme == "file":
        return _read_file(url)
    LOG.info("Fetching %s", _for_log(url))
    import requests
    from urllib3 import exceptions as http_errors

    deadline = clock.Deadline(cfg.CONF.template_fetch_timeout)
    try:
        with _session(deadline) as session:
            return _read(session, url, deadline)
    except (requests.RequestException, http_errors.HTTPError, OSError) as error:
        if isinstance(error, URLFetchError):
            raise
        LOG.info("Fetching %s failed: %s", _for_log(url), type(error).__name__)
        raise URLFetchError(_("Failed to retrieve template from %s") % url) from None


def _for_log(url: str) -> str:
    """Without a password and a query, which may be a signature."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _read_file(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url) as file:
            content: bytes = file.read()
            return content
    except OSError as error:
        raise URLFetchError(_("Failed to retrieve template: %s") % error) from None


def _read(session: requests.Session, url: str, deadline: clock.Deadline) -> bytes:
    limit = cfg.CONF.max_template_size
    answer = session.get(url, stream=True, timeout=cfg.CONF.template_fetch_timeout, hooks={"response": _drop_body})
    answer.raise_for_status()
    if answer.headers.get("Content-Encoding", "").strip().lower() not in _ENCODINGS:
        raise OSError("an encoding that was not asked for")
    content = bytearray()
    # What has come so far, and not so many bytes: whoever sends one now and then does not keep us for ever.
    read = getattr(answer.raw, "read1", answer.raw.read)
    while chunk := read(CHUNK, decode_content=True):
        content += chunk
        if len(content) > limit:
            raise URLFetchError(_("Template exceeds maximum allowed size (%s bytes)") % limit)
        if deadline.expired():
            raise TimeoutError("the answer took too long")
    return bytes(content)


def _drop_body(answer: requests.Response, **_arguments: Any) -> None:
    """The body of a redirect is for nobody; else all of it would be read before the redirect is followed."""
    if answer.is_redirect:
        answer.close()
        answer._content = b""  # type: ignore[attr-defined]  # what there is of it
        answer._content_consumed = True  # type: ignore[attr-defined]


def permitted(address: str) -> bool:
    """Whether users' URLs may lead to *address*."""
    options = cfg.CONF.template_fetch

    def within(one: Any, networks: list[str]) -> bool:
        return any(one in ipaddress.ip_network(network, strict=False) for network in networks)

    parsed: Any = ipaddress.ip_address(address.split("%", 1)[0])
    inner = _ipv4_within(parsed)
    ends = [parsed] if inner is None else [inner] if _is_mapped(parsed) else [parsed, inner]
    return any(within(end, options.allowed_networks) for end in ends) or not any(
        within(end, options.denied_networks) for end in ends
    )


#: Prefixes of IPv6 addresses that stand for the IPv4 address in their last bits, as a translator on the way makes of
#: them; the first is that of addresses from before there were mapped ones.
_TRANSLATED = [ipaddress.ip_network(prefix) for prefix in ("::/96", "64:ff9b::/96", "64:ff9b:1::/48")]


def _is_mapped(address: Any) -> bool:
    return getattr(address, "ipv4_mapped", None) is not None


def _ipv4_within(address: Any) -> Any:
    """The IPv4 address to which packets to an IPv6 address go in the end; None where there is none."""
    if address.version == 4:
        return None
    if address.teredo is not None:
        return address.teredo[1]
    if address.sixtofour is not None:
        return address.sixtofour
    if _is_mapped(address):
        return address.ipv4_mapped
    if any(address in network for network in _TRANSLATED):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def _session(deadline: clock.Deadline) -> requests.Session:
    """A session whose direct connections check where they go. A proxy of the operator makes its own rules."""
    import requests

    session = requests.Session()
    session.max_redirects = cfg.CONF.template_fetch.max_redirects
    session.headers["Accept-Encoding"] = "gzip, deflate"
    session.adapters.clear()
    adapter = _adapter(deadline)
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    return session


class _InTime(io.RawIOBase):
    """What a socket receives, until the deadline."""

    def __init__(self, raw: Any, sock: socket.socket, deadline: clock.Deadline) -> None:
        self._raw, self._sock, self._deadline = raw, sock, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._deadline.remaining()
        if left <= 0:
            raise TimeoutError("the answer took too long")
        self._sock.settimeout(left)
        found: int | None = self._raw.readinto(buffer)
        return found

    def close(self) -> None:
        self._raw.close()
        super().close()


def _adapter(deadline: clock.Deadline) -> Any:
    from requests.adapters import HTTPAdapter
    from urllib3 import connection, connectionpool
    from urllib3.util.connection import create_connection

    class Answer(http.client.HTTPResponse):
        def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
            super().__init__(sock, *args, **kwargs)
            received: Any = self.fp
            self.fp = io.BufferedReader(_InTime(received.detach(), sock, deadline))

    class Checked:
        response_class: Any = Answer

        def _new_conn(self: Any) -> socket.socket:
            addresses = {info[4][0] for info in socket.getaddrinfo(self._dns_host, self.port, type=socket.SOCK_STREAM)}
            error: Exception = ConnectionRefusedError(f"{self.host} is not to be reached")
            for address in sorted(filter(permitted, map(str, addresses))):
                try:
                    return create_connection(
                        (address, self.port), self.timeout, self.source_address, self.socket_options
                    )
                except OSError as failure:
                    error = failure
            raise error

    class HTTPConnection(Checked, connection.HTTPConnection):
        pass

    class HTTPSConnection(Checked, connection.HTTPSConnection):
        pass

    class HTTPPool(connectionpool.HTTPConnectionPool):
        ConnectionCls = HTTPConnection

    class HTTPSPool(connectionpool.HTTPSConnectionPool):
        ConnectionCls = HTTPSConnection

    class Adapter(HTTPAdapter):
        def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
            super().init_poolmanager(*args, **kwargs)  # type: ignore[no-untyped-call]
            self.poolmanager.pool_classes_by_scheme = {"http": HTTPPool, "https": HTTPSPool}

    return Adapter()
