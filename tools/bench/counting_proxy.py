# SPDX-License-Identifier: Apache-2.0
"""A proxy in front of the services of a cloud, which counts the requests of one client.

Who uses a cloud finds its services by the catalogue that comes with a token. The proxy has a port for each service and
writes these ports into all that the services answer, the catalogue included: a client that is told the proxy's
Keystone sends everything through it. What others send to the same services at the same time is not seen, and what the
services send each other is not either.

:class:`Proxy` runs it as a process of its own. ``python counting_proxy.py NAME=HOST:PORT …`` is that process: it prints
a line of JSON with its ports, and the counts whenever a line comes in.
"""

from __future__ import annotations

import collections
import http.client
import http.server
import json
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

#: What is a request's own in a path: ids, and the names of servers made up by the service.
OWN = re.compile(r"/[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}(?=/|$)")
HOP = frozenset({"connection", "keep-alive", "content-length", "transfer-encoding", "accept-encoding", "host"})

Counts = collections.Counter[tuple[str, str]]


class Table:
    """Requests by service and kind."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counts = collections.Counter()

    def note(self, service: str, method: str, target: str, status: int) -> None:
        path, _mark, query = target.partition("?")
        kind = f"{method} {OWN.sub('/ID', path)}" + (f"?{','.join(sorted(_names(query)))}" if query else "")
        with self._lock:
            self._counts[(service, f"{kind} {status}")] += 1

    def rows(self) -> list[tuple[str, str, int]]:
        with self._lock:
            return [(service, kind, count) for (service, kind), count in self._counts.items()]


def _names(query: str) -> set[str]:
    return {part.partition("=")[0] for part in query.split("&")}


def handler(service: str, upstream: str, ports: Mapping[str, int], table: Table) -> type:
    """The class that passes the requests of one service on; *ports* is filled before the first comes."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1
        _connection: http.client.HTTPConnection | None = None

        def log_message(self, format: str, *words: Any) -> None:
            pass

        def _ask(self, body: bytes | None) -> tuple[http.client.HTTPResponse, bytes]:
            headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
            for last in (False, True):
                kept = self._connection is not None
                self._connection = self._connection or http.client.HTTPConnection(upstream, timeout=300)
                try:
                    self._connection.request(self.command, self.path, body, headers)
                    reply = self._connection.getresponse()
                    return reply, reply.read()
                except (http.client.RemoteDisconnected, ConnectionError):
                    self._connection.close()
                    self._connection = None
                    if last or not kept:
                        raise
            raise AssertionError("not reached")

        def _pass(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            try:
                reply, content = self._ask(self.rfile.read(length) if length else None)
            except OSError:
                self.close_connection = True
                return
            table.note(service, self.command, self.path, reply.status)
            for address, port in ports.items():
                content = content.replace(address.encode(), f"127.0.0.1:{port}".encode())
            self.send_response_only(reply.status, reply.reason)
            for name, value in reply.getheaders():
                if name.lower() not in HOP:
                    self.send_header(name, value)
            if reply.status not in (204, 304):
                given = reply.getheader("Content-Length") if self.command == "HEAD" else None
                self.send_header("Content-Length", given or str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _pass

    return Handler


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


class Proxy:
    """The process; *upstreams* are the services by name, each as HOST:PORT."""

    def __init__(self, upstreams: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, *(f"{name}={where}" for name, where in upstreams.items())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        #: Ours for each HOST:PORT of theirs.
        self.addresses: dict[str, str] = {where: f"127.0.0.1:{port}" for where, port in self._answer().items()}

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def counts(self) -> Counts:
        """The requests by service and kind, since it was started."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return collections.Counter({(service, kind): count for service, kind, count in self._answer()})

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


def main(arguments: list[str]) -> None:
    table, ports = Table(), {}
    for argument in arguments:
        name, _sign, upstream = argument.partition("=")
        server = Server(("127.0.0.1", 0), handler(name, upstream, ports, table))
        ports[upstream] = int(server.server_address[1])
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps(ports), flush=True)
    for _line in sys.stdin:
        print(json.dumps(table.rows()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
