# SPDX-License-Identifier: Apache-2.0
"""The WSGI application of the CloudFormation API.

``/`` takes the query actions (``?Action=ListStacks``), ``/stacks`` a few of them in REST style, ``/waitcondition/ARN``
and ``/signal/ARN`` the signals.  Every error leaves here as an answer in the vocabulary of `errors`: this pipeline has
no fault filter.  ``ContentType=JSON`` asks for JSON in place of XML.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from oslo_config import cfg
from webob import exc

from openkeel_heat.api import response
from openkeel_heat.api.cfn import actions, errors, params, serializer, signals
from openkeel_heat.api.request import Request
from openkeel_heat.api.router import Router
from openkeel_heat.common import exceptions, policy
from openkeel_heat.common.i18n import _

LOG = logging.getLogger(__name__)

Answer = tuple[str, bytes, str]

_EMPTY: Answer = (response.STATUS_OK, b"", "text/html; charset=UTF-8")
_ALL = ("HEAD", "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class API:
    """The CloudFormation API behind its filters; the name that ``heat.app_factory`` gives."""

    def __init__(self, conf: cfg.ConfigOpts | None = None, rpc: Any = None, **local_conf: str) -> None:
        self.conf = conf
        if rpc is None:
            from openkeel_heat.rpc.client import EngineClient

            rpc = EngineClient()
        self.rpc = rpc
        self.router: Router[Callable[..., Answer]] = Router(
            (
                (("POST",), "/stacks", self._create),
                (("PUT",), "/stacks/{stack_name}", self._update),
                (("DELETE",), "/stacks/{stack_name}", self._delete),
                (("GET",), "/stacks", self._no_action),
                (("GET",), "/stacks/{stack_name}", self._no_action),
                (("GET",), "/stacks/{stack_name}/edit", self._no_action),
                (_ALL, "/", self._query),
                (("PUT",), "/waitcondition/{arn:.*}", self._wait_condition),
                (("POST",), "/signal/{arn:.*}", self._signal),
            )
        )

    def __call__(self, environ: dict[str, Any], start_response: response.StartResponse) -> Iterable[bytes]:
        method = environ["REQUEST_METHOD"]
        try:
            path = environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8")
        except UnicodeDecodeError:
            return exc.HTTPBadRequest()(environ, start_response)
        as_json = False
        try:
            given = params.read(environ)
            as_json = given.get("ContentType") == "JSON"
            if not path and "Action" in given:
                path = "/"
            match = self.router.match(method, path)
            if match is None:
                return exc.HTTPNotFound()(environ, start_response)
            LOG.info("Processing request: %s %s", method, path)
            status, body, content_type = match.target(environ, given, as_json, **match.variables)
        except Exception as error:
            status, body, content_type = _refusal(error, as_json)
        return response.send(start_response, status, body, content_type, method=method)

    # --- query actions

    def _query(self, environ: dict[str, Any], given: dict[str, str], as_json: bool) -> Answer:
        return self._act(environ, given, as_json, given.get("Action"))

    def _act(self, environ: dict[str, Any], given: dict[str, str], as_json: bool, action: str | None) -> Answer:
        function = actions.ACTIONS.get(action or "")
        if action is None or function is None:
            raise errors.InvalidAction()
        context = Request(environ, self.rpc).context
        _enforce(context, action)
        result = function(self.rpc, context, given)
        return _serialized({f"{action}Response": {f"{action}Result": result}}, as_json)

    # --- REST style

    def _create(self, environ: dict[str, Any], given: dict[str, str], as_json: bool) -> Answer:
        return self._act(environ, given, as_json, "CreateStack")

    def _update(self, environ: dict[str, Any], given: dict[str, str], as_json: bool, stack_name: str) -> Answer:
        return self._act(environ, {**given, "StackName": stack_name}, as_json, "UpdateStack")

    def _delete(self, environ: dict[str, Any], given: dict[str, str], as_json: bool, stack_name: str) -> Answer:
        return self._act(environ, {**given, "StackName": stack_name}, as_json, "DeleteStack")

    def _no_action(self, *arguments: Any, **variables: str) -> Answer:
        raise errors.InvalidAction()

    # --- signals

    def _wait_condition(self, environ: dict[str, Any], given: dict[str, str], as_json: bool, arn: str) -> Answer:
        req = Request(environ, self.rpc)
        result = signals.wait_condition(self.rpc, req.context, arn, _json_body(req))
        return _serialized(result, as_json)

    def _signal(self, environ: dict[str, Any], given: dict[str, str], as_json: bool, arn: str) -> Answer:
        req = Request(environ, self.rpc)
        signals.signal(self.rpc, req.context, arn, _json_body(req))
        return _EMPTY


def _json_body(req: Request) -> dict[str, Any] | None:
    try:
        return req.json_body()
    except exc.HTTPBadRequest as error:
        raise errors.InvalidParameterValue(error) from error


def _enforce(context: Any, action: str) -> None:
    """Refuse unless the policy allows the action in the project of the caller."""
    if not context.project_id:
        raise errors.AccessDenied(_("Action %s not allowed for user") % action)
    try:
        policy.get_enforcer().enforce(
            context,
            action,
            scope="cloudformation",
            target={"project_id": context.project_id},
            is_registered_policy=True,
        )
    except exceptions.Forbidden as error:
        raise errors.AccessDenied(_("Action %s not allowed for user") % action) from error
    except Exception as error:
        LOG.exception("The policy could not be asked")
        raise errors.InternalFailure(_("Error authorizing action %s") % action) from error


def _serialized(data: dict[str, Any], as_json: bool, status: str = response.STATUS_OK) -> Answer:
    if as_json:
        return status, response.to_json(data), "application/json"
    return status, serializer.to_xml(data), "application/xml; charset=UTF-8"


def _refusal(error: Exception, as_json: bool) -> Answer:
    told = errors.from_engine(error)
    if isinstance(told, errors.InternalFailure) and not isinstance(error, errors.CfnError):
        LOG.error("Unexpected error occurred serving API: %s", error, exc_info=error if cfg.CONF.debug else None)
    return _serialized(told.body(), as_json, _status_line(told.status))


def _status_line(status: int) -> str:
    return f"{status} {exc.status_map[status].title}"


def answer(error: errors.CfnError, environ: dict[str, Any], start_response: response.StartResponse) -> list[bytes]:
    """The answer to an error found by a filter in front of the application."""
    as_json = "ContentType=JSON" in environ.get("QUERY_STRING", "").split("&")
    status, body, content_type = _refusal(error, as_json)
    return response.send(start_response, status, body, content_type, method=environ["REQUEST_METHOD"])
