# SPDX-License-Identifier: Apache-2.0
"""The HTTP server of the API daemons, on cheroot.

`ApiServer` serves one WSGI application on one address; it can run in a thread (all-in-one, tests) or own the main
thread.  `serve` is what the commands call: it reads ``[heat_api]`` or ``[heat_api_cfn]``, forks ``workers`` processes
over one listening socket, drains on SIGTERM and reloads the mutable options on SIGHUP.

    server = ApiServer(app, "127.0.0.1", 0).start()
    ... server.port ...
    server.stop()
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_to_bytes

from cheroot import connections, server as cheroot_server, wsgi as cheroot_wsgi
from oslo_config import cfg

from openkeel_heat.common import config

LOG = logging.getLogger(__name__)

WSGIApp = Callable[..., Any]

#: Requests that one process answers at the same time; each of them may wait for an engine's reply.
THREADS = 24
#: Idle connections a process keeps open for the clients' next request.
KEEP_ALIVE_CONNECTIONS = 200
#: How long a stopping process waits for the requests it has begun, in seconds.
DRAIN_SECONDS = 60
#: Longer bodies are refused unread; what an API takes is bounded by options, and much less.
MAX_BODY = 64 * 1024 * 1024
#: All header lines of one request together may take this many times the length allowed for one line.
HEADER_LINES = 8


class CannotListen(OSError):
    """The address is taken, or none of this machine; the message names it."""


def listen(host: str, port: int, backlog: int = 4096, tcp_keepidle: int | None = None) -> socket.socket:
    """A listening socket, not blocking, which several processes may share."""
    try:
        return _listen(host, port, backlog, tcp_keepidle)
    except OSError as error:
        where = host if host.startswith("/") else f"{host}:{port}"
        raise CannotListen(error.errno, f"Cannot listen on {where}: {error.strerror}") from error


def _listen(host: str, port: int, backlog: int, tcp_keepidle: int | None) -> socket.socket:
    if host.startswith("/"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(host)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.bind(host)
    else:
        info = socket.getaddrinfo(host or None, port, socket.AF_UNSPEC, socket.SOCK_STREAM, 0, socket.AI_PASSIVE)
        family, kind, proto, _, address = info[0]
        sock = socket.socket(family, kind, proto)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tcp_keepidle and hasattr(socket, "TCP_KEEPIDLE"):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, tcp_keepidle)
        if family == socket.AF_INET6 and host in ("::", "::0"):
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind(address)
    sock.listen(backlog)
    sock.setblocking(False)
    return sock


class _Headers(cheroot_server.HeaderReader):
    """Takes no header whose name could pass for another's: an underscore is a hyphen in the environment.

    A length is digits and nothing else, as for whoever stands before this server: ``1_2`` and ``+12`` are numbers to
    Python only, and where two take different bodies for one, the second holds a request that nobody looked at.
    """

    def __call__(self, rfile: Any, hdict: dict[bytes, bytes] | None = None) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = super().__call__(rfile, hdict)
        if not found.get(b"Content-Length", b"0").isdigit():
            raise ValueError("Malformed Content-Length Header.")
        return found

    def _allow_header(self, key_name: bytes) -> bool:
        return b"_" not in key_name


class _Request(cheroot_server.HTTPRequest):
    """Takes ``//v1/...`` for a path."""

    header_reader = _Headers()

    def __init__(self, server: Any, conn: Any, proxy_mode: bool = False, strict_mode: bool = False) -> None:
        super().__init__(server, conn, proxy_mode, strict_mode)


class _Connection(cheroot_server.HTTPConnection):
    RequestHandlerClass = _Request


class _Body:
    """The body of a request; where it stops coming, nothing is read from its connection any more after the answer."""

    def __init__(self, request: cheroot_server.HTTPRequest) -> None:
        self._request = request
        self._file = request.rfile

    def read(self, size: int | None = None) -> bytes:
        try:
            return bytes(self._file.read(size))
        except (OSError, ValueError):
            self._request.close_connection = True
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _Gateway(cheroot_wsgi.Gateway_10):
    """The environment as other WSGI servers make it: escaped slashes in the path are slashes."""

    def get_environ(self) -> dict[str, Any]:  # type: ignore[override]
        environ: dict[str, Any] = super().get_environ()
        environ["wsgi.input"] = _Body(self.req)
        uri = bytes(self.req.uri)
        if uri.startswith(b"/"):
            path = unquote_to_bytes(uri.partition(b"?")[0].lstrip(b"/"))
            environ["PATH_INFO"] = "/" + path.decode("latin-1")
        address = self.req.server.bind_addr
        environ["SERVER_NAME"] = "localhost" if isinstance(address, str) else str(address[0])
        return environ


class _Server(cheroot_wsgi.Server):
    """cheroot's server over a socket that is listening already."""

    keep_alive_conn_limit = KEEP_ALIVE_CONNECTIONS
    ConnectionClass = _Connection

    def __init__(self, app: WSGIApp, sock: socket.socket, threads: int) -> None:
        name = sock.getsockname()
        address = name if isinstance(name, str) else name[:2]
        super().__init__(address, app, numthreads=threads, server_name="openkeel-heat", shutdown_timeout=DRAIN_SECONDS)
        self.listening: socket.socket = sock
        self.gateway = _Gateway
        self.max_request_body_size = MAX_BODY

    def prepare(self) -> None:
        """As in cheroot, but for the socket, which is given."""
        self._interrupt = None
        self.software = self.software or self.server_name
        self.socket = self.listening
        self._connections = connections.ConnectionManager(self)
        self.requests.start()
        self.ready = True
        self._start_time = time.time()

    def error_log(self, msg: str = "", level: int = logging.INFO, traceback: bool = False) -> None:
        LOG.log(level, "%s", msg, exc_info=traceback)


class ApiServer:
    """One WSGI application served on one address by a pool of native threads."""

    def __init__(
        self,
        app: WSGIApp,
        bind_host: str = "0.0.0.0",
        bind_port: int = 8004,
        *,
        backlog: int = 4096,
        threads: int = THREADS,
        cert_file: str | None = None,
        key_file: str | None = None,
        max_header_line: int = 16384,
        tcp_keepidle: int | None = 600,
        sock: socket.socket | None = None,
    ) -> None:
        self.socket = sock or listen(bind_host, bind_port, backlog, tcp_keepidle)
        self._server = _Server(app, self.socket, threads)
        self._server.max_request_header_size = max_header_line * HEADER_LINES
        self._thread: threading.Thread | None = None
        if cert_file:
            from cheroot.ssl.builtin import BuiltinSSLAdapter

            if not key_file:
                raise RuntimeError("cert_file is set without key_file")
            self._server.ssl_adapter = BuiltinSSLAdapter(cert_file, key_file)

    @property
    def port(self) -> int:
        """The port it listens on (the one the system chose when 0 was asked for)."""
        name = self.socket.getsockname()
        return 0 if isinstance(name, str) else int(name[1])

    def start(self) -> ApiServer:
        """Serve in a thread of its own; returns when connections are accepted."""
        self._server.prepare()
        self._thread = threading.Thread(target=self._server.serve, name=f"api-{self.port}", daemon=True)
        self._thread.start()
        return self

    def serve_forever(self) -> None:
        """Serve in this thread until `stop` is called from another or from a signal handler's thread."""
        self._server.prepare()
        self._server.serve()

    def stop(self, timeout: int | None = None) -> None:
        """Accept no more, finish the requests that have begun (for at most `timeout` seconds), close."""
        if timeout is not None:
            self._server.shutdown_timeout = timeout
        self._server.stop()
        with contextlib.suppress(OSError):
            self.socket.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(5)
            self._thread = None


def server_from_conf(
    app: WSGIApp, conf: cfg.ConfigOpts, group: str = "heat_api", sock: socket.socket | None = None
) -> ApiServer:
    """An `ApiServer` with the options of ``[heat_api]`` or ``[heat_api_cfn]``."""
    options = conf[group]
    return ApiServer(
        app,
        str(options.bind_host),
        options.bind_port,
        backlog=options.backlog,
        cert_file=options.cert_file,
        key_file=options.key_file,
        max_header_line=options.max_header_line,
        tcp_keepidle=options.tcp_keepidle,
        sock=sock,
    )


def serve(conf: cfg.ConfigOpts, group: str, make_app: Callable[[], WSGIApp]) -> int:
    """Run the daemon until SIGTERM or SIGINT; returns the exit code.

    `make_app` is called once in each worker process, after the fork, so that no connection is shared.
    """
    options = conf[group]
    try:
        sock = listen(str(options.bind_host), options.bind_port, options.backlog, options.tcp_keepidle)
    except CannotListen as error:
        LOG.critical("%s", error.strerror)
        return 1
    LOG.info("Listening on %s:%s", options.bind_host, options.bind_port)
    workers = options.workers or 0
    if workers <= 1:
        return _work(conf, group, make_app, sock)
    return _Prefork(conf, group, make_app, sock, workers).run()


def _work(
    conf: cfg.ConfigOpts,
    group: str,
    make_app: Callable[[], WSGIApp],
    sock: socket.socket,
    parent: int | None = None,
) -> int:
    """Serve in this process until told to stop, or until the pipe `parent` closes because the parent is gone."""
    told = _signals_to_pipe(_STOP_OR_RELOAD)
    server = server_from_conf(make_app(), conf, group, sock).start()
    sources = [told] if parent is None else [told, parent]
    while True:
        ready = select.select(sources, [], [])[0]
        if told not in ready or os.read(told, 1) == b"s":
            break
        config.reload(conf)
    server.stop(_drain_seconds(conf))
    LOG.info("Stopped")
    return 0


_STOP_OR_RELOAD = {signal.SIGTERM: b"s", signal.SIGINT: b"s", signal.SIGHUP: b"r"}


def _signals_to_pipe(words: dict[signal.Signals, bytes]) -> int:
    """Turn signals into bytes of a pipe; returns its reading end.

    A handler does nothing but write: anything with a lock could meet itself in the thread that it interrupts.
    """
    told, tell = os.pipe()
    os.set_blocking(tell, False)

    def on_signal(signum: int, frame: Any) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(tell, words[signal.Signals(signum)])

    for signum in words:
        signal.signal(signum, on_signal)
    return told


def _drain_seconds(conf: cfg.ConfigOpts) -> int:
    from oslo_service import opts

    opts.register_service_opts(conf)
    return conf.graceful_shutdown_timeout or DRAIN_SECONDS


class _Prefork:
    """The parent of the worker processes: starts them, replaces those that die, passes signals on."""

    #: A worker that lives shorter than this is replaced only after a pause, so that a broken one does not spin.
    SHORT_LIFE = 2.0

    def __init__(
        self, conf: cfg.ConfigOpts, group: str, make_app: Callable[[], WSGIApp], sock: socket.socket, workers: int
    ) -> None:
        self.conf = conf
        self.group = group
        self.make_app = make_app
        self.sock = sock
        self.workers = workers
        self.children: dict[int, float] = {}
        # Only the parent keeps the writing end: its death, however it comes, ends the workers.
        self.alive, self.life = os.pipe()

    def run(self) -> int:
        told = _signals_to_pipe({**_STOP_OR_RELOAD, signal.SIGCHLD: b"c"})
        while True:
            while len(self.children) < self.workers:
                self._fork()
            word = os.read(told, 1)
            if word == b"s":
                break
            if word == b"r":
                config.reload(self.conf)
                self._kill(signal.SIGHUP)
            for pid, lived in self._reap():
                LOG.error("Worker %s ended", pid)
                if lived < self.SHORT_LIFE:
                    time.sleep(1)
        self.sock.close()
        self._kill(signal.SIGTERM)
        deadline = time.monotonic() + _drain_seconds(self.conf) + 5
        while self.children and time.monotonic() < deadline:
            if not self._reap():
                time.sleep(0.05)
        self._kill(signal.SIGKILL)
        return 0

    def _fork(self) -> None:
        pid = os.fork()
        if pid:
            self.children[pid] = time.monotonic()
            return
        code = 1
        try:
            os.close(self.life)
            self.children.clear()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            code = _work(self.conf, self.group, self.make_app, self.sock, self.alive)
        except BaseException:
            LOG.exception("The worker could not go on")
        finally:
            logging.shutdown()
            os._exit(code)

    def _reap(self) -> list[tuple[int, float]]:
        """The workers that have ended, and how long they lived."""
        ended: list[tuple[int, float]] = []
        with contextlib.suppress(ChildProcessError):
            while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                if pid in self.children:
                    ended.append((pid, time.monotonic() - self.children.pop(pid)))
        return ended

    def _kill(self, signum: int) -> None:
        for pid in list(self.children):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signum)
