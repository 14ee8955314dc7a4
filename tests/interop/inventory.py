# SPDX-License-Identifier: Apache-2.0
"""A project of its own for stacks of cloud types, and what the services have of it.

``Ground.objects()`` are the ids of all that is there, by kind; ``Ground.strays(stack)`` is what of it no resource of
the stack has: nothing may be made twice, nothing left over.
"""

from __future__ import annotations

from typing import Any

import requests

from tests.fixtures.api import Api, Stack
from tests.fixtures.identity import Realm, Token, login
from tests.fixtures.polling import NotInTime, until

ROLES = ("member", "reader", "heat_stack_owner", "creator", "admin")

#: Kind → service, path, key of the list.
LISTS = {
    "server": ("compute", "/servers/detail?all_tenants=1&project_id={project}", "servers"),
    "key": ("compute", "/os-keypairs", "keypairs"),
    "volume": ("volumev3", "/volumes/detail", "volumes"),
    "backup": ("volumev3", "/backups/detail", "backups"),
    "image": ("image", "/v2/images?owner={project}", "images"),
    "network": ("network", "/v2.0/networks?project_id={project}", "networks"),
    "subnet": ("network", "/v2.0/subnets?project_id={project}", "subnets"),
    "port": ("network", "/v2.0/ports?project_id={project}", "ports"),
    "router": ("network", "/v2.0/routers?project_id={project}", "routers"),
    "address": ("network", "/v2.0/floatingips?project_id={project}", "floatingips"),
    "group": ("network", "/v2.0/security-groups?project_id={project}", "security_groups"),
    "project": ("identity", "/projects?parent_id={project}", "projects"),
}


class Ground:
    """A project, an administrator of it, and the services as that one sees them."""

    def __init__(self) -> None:
        self.realm = Realm()
        self.project = self.realm.project("interop")
        self.user = self.realm.user("interop", {self.project: ROLES})
        self.token: Token = login(self.user, self.project)
        self.stacks: list[Stack] = []
        # Other tests have regions and services of their own.
        self.urls = {
            entry["type"]: endpoint["url"]
            for entry in self.token.body["catalog"]
            for endpoint in entry["endpoints"]
            if endpoint["interface"] == "public" and endpoint["region_id"] == "RegionOne"
        }

    def api(self, root: str) -> Api:
        return Api(root, self.project, self.token.id)

    def create(self, root: str, template: dict[str, Any], **body: Any) -> Stack:
        """A stack that is deleted at the end, whatever becomes of it."""
        made = self.api(root).create(template, wait=False, **body)
        self.stacks.append(made)
        return made

    def clear(self) -> None:
        for stack in self.stacks:
            stack.delete(wait=False)
        for stack in self.stacks:
            stack.wait_gone(240)

    def get(self, service: str, path: str) -> Any:
        url = self.urls[service].rstrip("/") + path
        reply = requests.get(url, headers={"X-Auth-Token": self.token.id}, timeout=60)
        assert reply.status_code == 200, f"{url}: {reply.status_code} {reply.text[:500]}"
        return reply.json()

    def objects(self, *kinds: str) -> dict[str, set[str]]:
        return {kind: self._ids(kind) for kind in kinds or LISTS}

    def _ids(self, kind: str) -> set[str]:
        service, path, key = LISTS[kind]
        found = self.get(service, path.format(project=self.project))[key]
        if kind == "key":
            return {str(one["keypair"]["name"]) for one in found}
        if kind == "port":
            found = [one for one in found if not one["device_owner"].startswith("network:")]
        if kind == "group":
            found = [one for one in found if one["name"] != "default"]
        return {str(one["id"]) for one in found}

    def strays(self, *stacks: Stack) -> dict[str, set[str]]:
        """Ids that no resource of the stacks or of the stacks in them has; ports of their servers are the servers'."""
        known = {str(one["physical_resource_id"]) for stack in stacks for one in stack.resources(depth=5).values()}
        ports = self.get("network", f"/v2.0/ports?project_id={self.project}")["ports"]
        known |= {one["id"] for one in ports if one["device_id"] in known}
        found = {kind: ids - known for kind, ids in self.objects().items()}
        return {kind: ids for kind, ids in found.items() if ids}

    def expect_nothing_but(self, *stacks: Stack) -> None:
        """What a service deletes in its own time may be there for a while."""
        found: dict[str, set[str]] = {}

        def tidy() -> bool:
            found.clear()
            found.update(self.strays(*stacks))
            return not found

        try:
            until(tidy, "nothing is there that no resource has", 60)
        except NotInTime as error:
            raise AssertionError(f"{error}\n{found}") from None

    def close(self) -> None:
        self.realm.close()
