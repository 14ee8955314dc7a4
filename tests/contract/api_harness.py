# SPDX-License-Identifier: Apache-2.0
"""Runs recorded requests through the real pipeline of an API, with the engine's recorded replies behind it."""

from __future__ import annotations

import io
import json
import pathlib
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import config
from openkeel_heat.rpc.client import EngineClient

DATA = pathlib.Path(__file__).parent / "data"
#: Sections of the recorded calls in which a reply is looked for first.
SECTIONS = ("create_and_show", "template_calls")
MARKERS = {"<isotime>": "2026-01-02T03:04:05Z", "<datetime>": "2026-01-02T03:04:05"}


def load(name: str) -> Any:
    return json.loads((DATA / name).read_text())


def configure() -> None:
    cfg.CONF.reset()
    config.register_all(cfg.CONF)
    logging.register_options(cfg.CONF)
    cfg.CONF([], project="heat", default_config_files=[])


def plain(value: Any) -> Any:
    """Markers of the recording as the values that the examples show."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return MARKERS.get(value, value) if isinstance(value, str) else value


def replies() -> dict[str, Any]:
    """The first good reply recorded for each method."""
    sections = load("rpc-examples.json")["sections"]
    order = [*SECTIONS, *(name for name in sections if name not in SECTIONS)]
    found: dict[str, Any] = {}
    for name in order:
        for call in sections[name]["calls"]:
            if "exception" not in call:
                found.setdefault(call["method"], plain(call.get("reply")))
    # What the recording had in place of the real replies.
    found["list_events"] = found["list_events"][:2]
    found["update_software_deployment"] = found["create_software_deployment"]
    return found | {
        "abandon_stack": None,
        "find_physical_resource": {
            "tenant": "test_tenant_id",
            "stack_name": "s1",
            "stack_id": "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee",
            "path": "/resources/a",
        },
        "generate_template": {"HeatTemplateFormatVersion": "2012-12-12"},
        "list_resource_types": ["OS::Heat::Value"],
        "list_template_functions": [{"functions": "get_attr", "description": "d"}],
        "resource_signal": None,
        "update_stack": found["identify_stack"],
    }


class RecordedEngine(EngineClient):
    """The real client with a recording in place of the bus."""

    def __init__(self, answers: dict[str, Any]) -> None:
        super().__init__()
        self.answers = answers
        self.sent: list[dict[str, Any]] = []

    def call(self, ctxt: Any, msg: Any, version: str | None = None, timeout: float | None = None) -> Any:
        method, args = msg
        # What is sent is JSON; a change made later by the caller must not show.
        self.sent.append(
            {
                "method": method,
                "args": json.loads(json.dumps(args)),
                "version": version or self.BASE_RPC_API_VERSION,
                "timeout": timeout,
                "context_is_admin": ctxt.is_admin,
            }
        )
        answer = self.answers.get(method)
        if isinstance(answer, Exception):
            raise answer
        return json.loads(json.dumps(answer))

    def cast(self, ctxt: Any, msg: Any, version: str | None = None) -> None:
        self.call(ctxt, msg, version)


class Reply:
    def __init__(self, status: str, headers: list[tuple[str, str]], body: bytes) -> None:
        self.status = int(status.split()[0])
        self.headers = {name.lower(): value for name, value in headers}
        self.body = body

    @property
    def content_type(self) -> str | None:
        value = self.headers.get("content-type")
        return value.split(";")[0] if value else None

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


class Identity:
    """Stands for the authentication: puts the user of the recording into the request."""

    def __init__(self, application: Any, **headers: str) -> None:
        self.application = application
        self.headers = headers

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        environ.setdefault("HTTP_X_ROLES", "member,reader")
        environ.update(
            {
                "HTTP_X_PROJECT_ID": "test_tenant_id",
                "HTTP_X_PROJECT_NAME": "test_tenant",
                "HTTP_X_USER_ID": "test_user_id",
                "HTTP_X_USER_NAME": "test_user",
                **self.headers,
            }
        )
        return self.application(environ, start_response)


def request(
    application: Any,
    method: str,
    path: str,
    body: Any = None,
    headers: dict[str, str] | None = None,
    content_type: str = "application/json",
) -> Reply:
    """Send a request as a server would hand it over; a `body` that is no text is sent as JSON."""
    from urllib.parse import unquote_to_bytes

    raw = (
        b""
        if body is None
        else body
        if isinstance(body, bytes)
        else (body if isinstance(body, str) else json.dumps(body)).encode()
    )
    path, _, query = path.partition("?")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "SERVER_NAME": "api",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "api",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(raw),
        "wsgi.version": (1, 0),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    if body is not None:
        environ["CONTENT_TYPE"] = content_type
        environ["CONTENT_LENGTH"] = str(len(raw))
    for name, value in (headers or {}).items():
        environ["HTTP_" + name.upper().replace("-", "_")] = value
    started: list[Any] = []

    def start_response(status: str, response_headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
        started[:] = [status, response_headers]

    content = b"".join(application(environ, start_response))
    return Reply(started[0], started[1], content)


def native(engine: Any) -> Any:
    """The native API behind the filters that the recording had."""
    from openkeel_heat.api.middleware import context, fault, versions
    from openkeel_heat.api.native.app import API

    return fault.FaultWrapper(versions.VersionNegotiation(Identity(context.ContextMiddleware(API(cfg.CONF, engine)))))


def cfn(engine: Any) -> Any:
    from openkeel_heat.api.cfn.app import API
    from openkeel_heat.api.middleware import context, versions

    return versions.VersionNegotiation(Identity(context.ContextMiddleware(API(cfg.CONF, engine))))
