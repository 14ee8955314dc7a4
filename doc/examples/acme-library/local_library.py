# SPDX-License-Identifier: Apache-2.0
"""The library without a cloud around it: for trying the types of this folder.

``python local_library.py 8765`` is a service that keeps everything in memory. With ``cloud_backend =
local_library.Clients`` and its URL in ``LIBRARY_URL`` an engine without Keystone finds it.
"""

import http.server
import json
import os
import sys
import threading
import uuid

from keystoneauth1 import adapter, noauth, session
from shelf import LibraryClientPlugin

from openkeel_heat.clients import OpenStackClients


class LocalLibraryClientPlugin(LibraryClientPlugin):
    """The service at ``LIBRARY_URL``, which asks nobody for a token and is in no catalogue."""

    def endpoint(self):
        return os.environ["LIBRARY_URL"]

    def does_endpoint_exist(self, service_type, service_name):
        return True

    def _adapter(self):
        url = self.endpoint()
        return adapter.Adapter(session.Session(auth=noauth.NoAuth(endpoint=url)), endpoint_override=url)


class Clients(OpenStackClients):
    """All clients of an engine; that of the library is the one above."""

    def client_plugin(self, name):
        return LocalLibraryClientPlugin(self.context) if name == "library" else super().client_plugin(name)


ENVELOPES = {"shelves": "shelf", "cases": "case", "scans": "scan", "branches": "branch"}
#: The states that an object goes through, a step each time that it is looked at.
STATES = {"shelves": ("state", "BUILDING", "STANDING"), "scans": ("phase", "queued", "running", "done")}


class Library:
    """The objects of the service, by collection and id."""

    def __init__(self):
        self.objects = {keys: {} for keys in ENVELOPES}
        self.lock = threading.Lock()
        for name in ("north", "south"):
            self.make("branches", {"name": name})

    def make(self, keys, fields):
        field, *states = STATES.get(keys, ("",))
        made = {"id": uuid.uuid4().hex, **fields, **({field: states[0]} if field else {})}
        if keys == "shelves":
            made["free_places"] = 40 * made["board_count"]
        self.objects[keys][made["id"]] = made
        return made

    def go_on(self, keys, one):
        field, *states = STATES.get(keys, ("",))
        if field and one[field] in states[:-1]:
            one[field] = states[states.index(one[field]) + 1]
        if one.get("phase") == "done":
            if one["book"].startswith("lost"):
                one.update(phase="error", fault={"message": f"There is no book {one['book']}"})
            else:
                one["pages"] = 300

    def answer(self, method, path, body):
        _empty, _version, keys, *rest = path.partition("?")[0].split("/")
        objects, key = self.objects[keys], ENVELOPES[keys]
        if not rest:
            if method == "POST":
                return 201, {key: self.make(keys, body[key])}
            for one in objects.values():
                self.go_on(keys, one)
            return 200, {keys: list(objects.values())}
        one = objects[rest[0]]
        if method == "DELETE":
            del objects[rest[0]]
            return 204, None
        if method == "GET":
            self.go_on(keys, one)
        else:
            one.update(body[key])
        return 200, {key: one}


def server(port=0):
    """The service on a port of this machine, not yet serving."""
    library = Library()

    class Handler(http.server.BaseHTTPRequestHandler):
        def handle_any(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            with library.lock:
                try:
                    status, answer = library.answer(self.command, self.path, json.loads(body or "null"))
                except LookupError:
                    status, answer = 404, {"error": {"code": 404, "message": f"{self.path} is not here."}}
                data = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    made = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    made.library = library
    return made


if __name__ == "__main__":
    server(int(sys.argv[1])).serve_forever()
