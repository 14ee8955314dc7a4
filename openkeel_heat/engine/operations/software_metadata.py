# SPDX-License-Identifier: Apache-2.0
"""How deployments reach a server, and how signals come back where they have to be fetched (Swift, Zaqar).

The metadata of the server's resource lists the configs deployed to it. It is written as a compare-and-swap; where the
server reads it from a Swift object or a Zaqar queue it is put there too, in the order of the writes.
"""

from __future__ import annotations

import json
from typing import Any
from urllib import parse

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import exceptions, signal_body
from openkeel_heat.common.i18n import _
from openkeel_heat.db import resources

LOG = logging.getLogger(__name__)

_TRIES = 50


def _server_resource(context: Any, server_id: str) -> Any:
    tenant = None if context.is_admin else context.project_id
    rows = resources.list_by_physical_id(server_id, tenant)
    return rows[0] if rows else None


def knows_server(context: Any, server_id: str) -> bool:
    """Whether some resource that is not being deleted is this server."""
    row = _server_resource(context, server_id)
    return row is not None and row.action != "DELETE"


def push(context: Any, server_id: str, stack_user_project_id: str | None) -> None:
    """Tell the server which configs are deployed to it."""
    from openkeel_heat.engine.operations import software

    for _attempt in range(_TRIES):
        row = _server_resource(context, server_id)
        if row is None or row.action == "DELETE":
            return
        metadata = dict(row.rsrc_metadata or {})
        metadata["deployments"] = software.metadata(context, server_id)
        if not resources.update(row.id, {"rsrc_metadata": metadata}, row.atomic_key, row.engine_id):
            continue
        data = resources.get_data(row.id)
        put_url, queue_id = data.get("metadata_put_url"), data.get("metadata_queue_id")
        if put_url:
            _put(server_id, put_url, metadata)
        if queue_id:
            queue = _zaqar_queue(context, data, stack_user_project_id, queue_id)
            queue.post({"body": metadata, "ttl": context.clients.client_plugin("zaqar").DEFAULT_TTL})
        # written a second time, so that of two who put concurrently the later one knows and puts again
        if not put_url or resources.update(row.id, {}, resources.next_key(row.atomic_key), row.engine_id):
            return
    raise exceptions.ConcurrentTransaction(action=_("deployments of server %s") % server_id)


def _put(server_id: str, url: str, metadata: Any) -> None:
    import requests

    try:
        requests.put(url, json.dumps(metadata), timeout=cfg.CONF.metadata_put_timeout).raise_for_status()
    except requests.RequestException as error:
        LOG.error("Failed to deliver deployment data to server %s: %s", server_id, error)


def _zaqar_queue(context: Any, data: dict[str, Any], project: str | None, queue_name: str) -> Any:
    plugin = context.clients.client_plugin("zaqar")
    signed = data.get("zaqar_queue_signed_url_data")
    if signed is None:
        token = context.clients.client("keystone").stack_domain_user_token(
            user_id=data.get("user_id"), project_id=project, password=data.get("password")
        )
        zaqar = plugin.create_for_tenant(project, token)
    else:
        url_data = json.loads(signed)
        url_data.pop("project", None)
        zaqar = plugin.create_from_signed_url(project, **url_data)
    return zaqar.queue(queue_name)


def _place(url: Any) -> list[str] | None:
    """Container and name of the object at a URL; None for what is no such URL."""
    try:
        found = parse.urlparse(url).path.split("/")[-2:] if isinstance(url, str) else []
    except ValueError:
        return None
    return None if len(found) < 2 or any(part in ("", ".", "..") for part in found) else found


def swift_signal(context: Any, deployment: Any, signal_url: Any) -> tuple[Any, str] | None:
    """(details, when) of a signal newer than the last one seen, from the object that the server writes.

    What the server wrote may be no signal: ``signal_body.Unreadable``. A deployment that no resource made may have
    anything as its URL: nobody can have left a signal there.
    """
    place = _place(signal_url)
    if place is None:
        return None
    container, name = place
    plugin = context.clients.client_plugin("swift")
    swift = plugin.client()
    try:
        headers = swift.head_object(container, name)
        modified = plugin.parse_last_modified(headers.get("last-modified"))
        if deployment.updated_at and modified <= deployment.updated_at:
            return None
        signal_body.check_size(headers.get("content-length"))
        _headers, body = swift.get_object(container, name)
    except Exception as error:
        if plugin.is_not_found(error):  # Swift may not be consistent yet
            LOG.info("Signal object not found: %s %s", container, name)
            return None
        raise
    return (signal_body.read(body), modified.isoformat()) if body else None


def zaqar_signal(context: Any, deployment: Any, queue_id: Any) -> tuple[Any, None] | None:
    """(details, None) of a signal waiting in the queue of the deployment."""
    row = _server_resource(context, deployment.id)
    if row is None or not queue_id:  # a deployment that no resource made: nobody has a queue for it
        return None
    data = resources.get_data(row.id)
    messages = list(_zaqar_queue(context, data, deployment.stack_user_project_id, queue_id).pop())
    return (messages[0].body, None) if messages else None
