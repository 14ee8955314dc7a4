# SPDX-License-Identifier: Apache-2.0
"""The WSGI application of the native API.

A request goes: path → route → body → policy → function of the controller → JSON.  What a controller raises goes up to
the fault filter; what it raises as a response that is no error (302, 202, 204) is the answer.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from oslo_config import cfg
from webob import exc

from openkeel_heat.api import policy, response
from openkeel_heat.api.native import routes
from openkeel_heat.api.request import Request
from openkeel_heat.api.router import Router

LOG = logging.getLogger(__name__)

_PACKAGE = __name__.rpartition(".")[0]


class Endpoint(NamedTuple):
    """A row of the table with its function found."""

    function: Callable[..., Any]
    scope: str
    action: str
    policy: str
    body: str
    identified_stack: bool


class API:
    """The native API behind its filters; the name that ``heat.app_factory`` gives.

    :param conf: the configuration
    :param rpc: the client of the engines; made from the configuration when left out
    """

    def __init__(self, conf: cfg.ConfigOpts | None = None, rpc: Any = None, **local_conf: str) -> None:
        self.conf = conf
        if rpc is None:
            from openkeel_heat.rpc.client import EngineClient

            rpc = EngineClient()
        self.rpc = rpc
        self.router: Router[Endpoint | routes.Missing] = Router(_entries())

    def __call__(self, environ: dict[str, Any], start_response: response.StartResponse) -> Iterable[bytes]:
        try:
            return self._answer(environ, start_response)
        except response.Created as made:
            return response.send(
                start_response,
                response.STATUS_CREATED,
                response.to_json(made.body),
                headers=[("Location", made.location)],
            )
        except exc.HTTPException as answer:
            if not isinstance(answer, exc.HTTPError):
                return answer(environ, start_response)
            raise response.to_raise(answer, environ) from answer
        except TypeError as error:
            # Of the engine or our own: a value had a type that nobody reckoned with.
            LOG.error("A request was taken for malformed: %s", error, exc_info=cfg.CONF.debug)
            raise response.to_raise(response.malformed(), environ) from error
        except Exception as error:
            raised = response.to_raise(error, environ)
            if raised is error:
                raise
            raise raised from error

    def _answer(self, environ: dict[str, Any], start_response: response.StartResponse) -> Iterable[bytes]:
        method = environ["REQUEST_METHOD"]
        try:
            path = environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8")
        except UnicodeDecodeError:
            return exc.HTTPBadRequest()(environ, start_response)
        match = self.router.match(method, path)
        if match is None:
            return exc.HTTPNotFound()(environ, start_response)
        LOG.info("Processing request: %s %s", method, path)
        endpoint, variables = match
        if isinstance(endpoint, routes.Missing):
            headers = [("Allow", endpoint.allowed)]
            raise (
                exc.HTTPNoContent(headers=headers) if method == "OPTIONS" else exc.HTTPMethodNotAllowed(headers=headers)
            )
        result = self._call(endpoint, Request(environ, self.rpc), variables)
        return response.send(start_response, response.STATUS_OK, response.to_json(result))

    @staticmethod
    def _call(endpoint: Endpoint, req: Request, variables: dict[str, str]) -> Any:
        body = req.json_body()
        tenant = variables.pop("tenant_id")
        if endpoint.policy == routes.PROJECT_ONLY:
            policy.check_project(req.context, tenant)
        elif endpoint.policy == routes.BY_FUNCTION:
            variables["tenant"] = tenant
        else:
            policy.enforce(req.context, tenant, endpoint.scope, endpoint.action)
        if (body is None) if endpoint.body == routes.WANTED else (body is not None and endpoint.body == routes.NONE):
            raise response.malformed()
        arguments: dict[str, Any] = variables
        if endpoint.identified_stack:
            arguments["identity"] = {
                "tenant": req.context.project_id,
                "stack_name": variables.pop("stack_name"),
                "stack_id": variables.pop("stack_id"),
                "path": "",
            }
        if endpoint.body != routes.NONE:
            arguments["body"] = body
        return endpoint.function(req, **arguments)


def _entries() -> Iterable[tuple[Iterable[str], str, Endpoint | routes.Missing]]:
    for row in routes.table():
        if isinstance(row, routes.Missing):
            yield row.methods, row.path, row
            continue
        module, _, function = row.function.partition(":")
        scope, _, action = row.policy.partition(":")
        yield (
            row.methods.split(","),
            row.path,
            Endpoint(
                getattr(importlib.import_module(f"{_PACKAGE}.{module}"), function),
                scope,
                action,
                row.policy,
                row.body,
                row.identified_stack,
            ),
        )
