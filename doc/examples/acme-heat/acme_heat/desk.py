"""The help desk: a directory, in the place of a service with an API.

Every queue is a folder, every ticket a JSON file in it.
"""

import json
import os
import pathlib
import uuid

from oslo_config import cfg

OPTIONS = [cfg.StrOpt("desk", default="/var/lib/acme/desk", help="Folder of the help desk.")]
cfg.CONF.register_opts(OPTIONS, group="acme")


class Gone(Exception):
    """There is no such ticket."""


def folder():
    return pathlib.Path(cfg.CONF.acme.desk)


def queues():
    return sorted(path.name for path in folder().iterdir() if path.is_dir())


def _path(ticket_id):
    queue, _, name = ticket_id.partition(":")
    return folder() / queue / f"{name}.json"


def find(queue, reference):
    """The id of the ticket that somebody opened under this reference."""
    for path in (folder() / queue).glob("*.json"):
        if json.loads(path.read_text())["reference"] == reference:
            return f"{queue}:{path.stem}"
    return None


def open_ticket(queue, reference, title):
    ticket_id = f"{queue}:{uuid.uuid4().hex[:8]}"
    write(ticket_id, {"reference": reference, "title": title, "state": "new"})
    return ticket_id


def read(ticket_id):
    try:
        return json.loads(_path(ticket_id).read_text())
    except FileNotFoundError:
        raise Gone(ticket_id)


def write(ticket_id, ticket):
    path = _path(ticket_id)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(ticket))
    os.replace(part, path)


def close(ticket_id):
    try:
        _path(ticket_id).unlink()
    except FileNotFoundError:
        raise Gone(ticket_id)
