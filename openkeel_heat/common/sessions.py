# SPDX-License-Identifier: Apache-2.0
"""HTTP sessions to other services, and what all of one process share.

Each context has a session of its own, with its credentials, certificates and cookies. Connections are those of the
process, so that they are made once and not for every request; so is what services told of their versions, for some
minutes; and the tokens of accounts that belong to the service itself, and of the trusts by which it acts for the owners
of stacks (:func:`shared`), for as long as they are good: a node of a stack is handled with a context of its own, and
does not need a token of its own.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keystoneauth1 import plugin, session

#: Hosts to which connections are kept, and how many of them to each.
HOSTS, CONNECTIONS = 32, 32
#: Seconds without a byte of an answer after which whoever was asked, Keystone too, is taken for lost.
ANSWER_WITHIN = 600.0
#: Seconds for which a version document is believed.
DISCOVERY_AGE = 300.0
#: Accounts and trusts whose tokens are kept.
ACCOUNTS, TRUSTS = 16, 256


class _Process:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.adapter: Any = None
        self.discovery: dict[str, Any] = {}
        self.discovery_until = 0.0
        #: By trust, and keystoneauth's id of the account.
        self.accounts: OrderedDict[tuple[str | None, str], Any] = OrderedDict()
        self.trusts: OrderedDict[tuple[str | None, str], Any] = OrderedDict()


_process = _Process()


def reset() -> None:
    """Forget what was shared: connections, version documents and tokens."""
    global _process
    _process = _Process()


os.register_at_fork(after_in_child=reset)


def make(auth: Any = None, **options: Any) -> session.Session:
    """A new session (*options* as keystoneauth's) over the connections of this process."""
    import requests
    from keystoneauth1 import session

    http = requests.Session()
    adapter = _adapter()
    for scheme in list(http.adapters):
        http.mount(scheme, adapter)
    options.setdefault("timeout", ANSWER_WITHIN)
    return session.Session(auth=auth, session=http, discovery_cache=_discovery(), **options)


def _adapter() -> Any:
    process = _process
    with process.lock:
        if process.adapter is None:
            from keystoneauth1 import session

            process.adapter = session.TCPKeepAliveAdapter(pool_connections=HOSTS, pool_maxsize=CONNECTIONS)
        return process.adapter


def _discovery() -> dict[str, Any]:
    process = _process
    with process.lock:
        now = time.monotonic()
        if now >= process.discovery_until:
            process.discovery = {}
            process.discovery_until = now + DISCOVERY_AGE
        return process.discovery


def shared(auth: plugin.BaseAuthPlugin, trust_id: str | None = None) -> Any:
    """The plug-in of this process that authenticates as *auth* does: its token is used until it ends or is refused.

    For accounts of the configuration, alone or with a trust, never for those of users.
    """
    key = auth.get_cache_id()
    if not key:
        return auth
    process = _process
    with process.lock:
        kept, limit = (process.trusts, TRUSTS) if trust_id else (process.accounts, ACCOUNTS)
        known = kept.setdefault((trust_id, key), auth)
        kept.move_to_end((trust_id, key))
        while len(kept) > limit:
            kept.popitem(last=False)
        return known


def forget_trust(trust_id: str) -> None:
    """Whoever acts by this trust asks for a token anew, and hears when the trust is gone."""
    process = _process
    with process.lock:
        for name in [name for name in process.trusts if name[0] == trust_id]:
            del process.trusts[name]
