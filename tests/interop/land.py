# SPDX-License-Identifier: Apache-2.0
"""One database and one vhost on which Python Heat 27.0.1 and this service live, in every mix of APIs and engines.

Servers are told one URL of the CloudFormation API, and sign requests for its host. ``Land.signal`` sends them to the
daemon of either kind in that host's name, as a load balancer before both would.
"""

from __future__ import annotations

import secrets
import threading
from urllib.parse import urlsplit

import requests

from tests.fixtures.api import Api
from tests.fixtures.checks import Database
from tests.fixtures.polling import until
from tests.fixtures.processes import Program
from tests.fixtures.service import OURS, THEIRS, Installation

MIXES = {"theirs": (THEIRS,), "both": (THEIRS, OURS), "ours": (OURS,)}
OPTIONS = {
    "DEFAULT": {
        "periodic_interval": 2,
        "engine_life_check_timeout": 2,
        "num_engine_workers": 1,
        # Python Heat validates one resource after the other before it answers.
        "rpc_response_timeout": 120,
    },
}


class Land:
    """The shared database and vhost, an API of each kind, and the engines that run at the moment."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.database = Database(installation.connection)
        self._apis: dict[str, Api] = {}
        self._cfns: dict[str, str] = {}
        self._lock = threading.Lock()
        self.running: dict[str, list[Program]] = {OURS: [], THEIRS: []}

    def api(self, kind: str) -> Api:
        if kind not in self._apis:
            self._apis[kind] = self.installation.client(self.installation.api(kind))
        return self._apis[kind]

    @property
    def apis(self) -> dict[str, Api]:
        return {kind: self.api(kind) for kind in (OURS, THEIRS)}

    def signal(self, kind: str, url: str, body: object, method: str = "POST") -> requests.Response:
        """Call a signed URL at the CloudFormation API of a kind."""
        with self._lock:
            if kind not in self._cfns:
                self._cfns[kind] = self.installation.cfn(kind)
        told = urlsplit(url)
        there = told._replace(netloc=urlsplit(self._cfns[kind]).netloc).geturl()
        return requests.request(method, there, json=body, headers={"Host": told.netloc}, timeout=120)

    def engines(self, *kinds: str) -> None:
        """Have one engine of each named kind, and no others."""
        for kind in (OURS, THEIRS):
            if kind in kinds and not self.running[kind]:
                self.add(kind)
        for kind in (OURS, THEIRS):
            if kind not in kinds:
                self.kill(kind)

    def add(self, kind: str) -> Program:
        program = self.installation.engine(kind, f"{kind}-engine-{secrets.token_hex(2)}")
        self.running[kind].append(program)
        return program

    def kill(self, kind: str) -> None:
        for program in self.running[kind]:
            program.kill()
        self.running[kind] = []


def at_rest(land: Land) -> None:
    """Nothing of a finished operation is left behind (resources are cleared just after the stack is complete)."""
    until(lambda: not land.database.unrest(), "the database is at rest", 30)
