# SPDX-License-Identifier: Apache-2.0
"""Stored credentials (``user_creds``) of each service, read by the other and used against Keystone."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from tests.fixtures import testbed
from tests.fixtures.access_plugin import Guarded
from tests.fixtures.checks import Database
from tests.fixtures.identity import Keystone, login
from tests.fixtures.processes import ROOT, run

pytestmark = [pytest.mark.services, pytest.mark.keystone, pytest.mark.reference]

#: Run by either Python; ``make`` stores a context, ``show`` reads rows, ``who`` logs in with one.
THEIRS = """
import json, sys
from oslo_config import cfg
from heat.common import config, context
from heat.db import api
from heat.engine import clients
from heat.objects import user_creds
cfg.CONF(["--config-file", sys.argv[1]], project="heat", prog="heat-engine", version="1")
config.set_config_defaults()
clients.initialise()
admin = context.get_admin_context()
what, given = sys.argv[2], json.loads(sys.argv[3])
if what == "make":
    print(json.dumps([api.user_creds_create(context.RequestContext.from_dict(one))["id"] for one in given]))
else:
    rows = [user_creds.UserCreds.get_by_id(admin, one).obj_to_primitive()["versioned_object.data"] for one in given]
    if what == "show":
        own = ("id", "created_at", "updated_at")
        print(json.dumps([{k: v for k, v in row.items() if k not in own} for row in rows]))
    else:
        stored = context.StoredContext.from_dict(rows[0], is_admin=False)
        print(json.dumps(stored.auth_plugin.get_user_id(stored.keystone_session)))
"""
OURS = """
import json, sys
from openkeel_heat.cmd import backend
backend.select([])
from openkeel_heat.common import config, context
from openkeel_heat.db import session, user_creds
conf = config.setup(["--config-file", sys.argv[1]], "heat-engine", logs=False)
session.configure(conf)
what, given = sys.argv[2], json.loads(sys.argv[3])
if what == "make":
    made = [context.RequestContext.from_dict(one).to_dict() for one in given]
    print(json.dumps([user_creds.insert(one) for one in made]))
else:
    rows = [dict(user_creds.get(one)) for one in given]
    if what == "show":
        own = ("id", "created_at", "updated_at")
        print(json.dumps([{k: v for k, v in row.items() if k not in own} for row in rows]))
    else:
        stored = context.StoredContext.from_dict(rows[0], is_admin=False)
        print(json.dumps(stored.auth_plugin.get_user_id(stored.keystone_session)))
"""


def call(script: str, conf: pathlib.Path, what: str, given: Any) -> Any:
    python = [testbed.REFERENCE_VENV / "bin" / "python"] if script is THEIRS else [_own_python()]
    env = {"PYTHONPATH": "" if script is THEIRS else str(ROOT)}
    done = run([*python, "-c", script, conf, what, json.dumps(given)], env=env, cwd=conf.parent)
    return json.loads(done.stdout.splitlines()[-1])


def _own_python() -> str:
    import sys

    return sys.executable


@pytest.mark.parametrize(("writer", "reader"), [(OURS, THEIRS), (THEIRS, OURS)], ids=["ours", "theirs"])
def test_rows(guarded: Guarded, writer: str, reader: str) -> None:
    """The same values come back, whoever wrote them; and the same columns are filled."""
    conf = guarded.installation.conf
    common = {"auth_url": "http://k/v3", "region_name": "r", "project_name": "demo", "project_id": "p" * 32}
    made = call(
        writer,
        conf,
        "make",
        [
            {**common, "username": "joe", "password": "p\u00e4ssword", "user_id": "u"},
            {**common, "username": "joe", "password": None},
            {**common, "trust_id": "t" * 32, "trustor_user_id": "u" * 32, "username": "joe", "password": "pw"},
        ],
    )
    assert call(reader, conf, "show", made) == call(writer, conf, "show", made)
    rows = {row["id"]: row for row in Database(guarded.installation.connection).rows("SELECT * FROM user_creds")}
    with_password, without, with_trust = (rows[one] for one in made)
    assert with_password["username"] == "joe" and with_password["trust_id"] is None
    assert with_trust["username"] is None and with_trust["password"] is None
    assert with_trust["trustor_user_id"] == "u" * 32
    assert {row["decrypt_method"] for row in (with_password, with_trust)} == {with_password["decrypt_method"]}
    for row in (with_password, without, with_trust):
        assert (row["tenant"], row["tenant_id"], row["auth_url"], row["region_name"]) == (
            "demo",
            "p" * 32,
            "http://k/v3",
            "r",
        )


@pytest.mark.parametrize(("writer", "reader"), [(OURS, THEIRS), (THEIRS, OURS)], ids=["ours", "theirs"])
def test_trusts(guarded: Guarded, writer: str, reader: str) -> None:
    """A trust that one has stored is what the other logs in with."""
    realm = guarded.realm
    project = realm.project("stored")
    user = realm.user("erin", {project: ["member"]})
    token = login(user, project)
    keystone = Keystone(token)
    trustee = realm.admin.names("users")["heat"]
    trust = keystone.call(
        "POST",
        "/OS-TRUST/trusts",
        {
            "trust": {
                "trustor_user_id": user["id"],
                "trustee_user_id": trustee,
                "project_id": project,
                "impersonation": True,
                "roles": [{"name": "member"}],
            }
        },
    )["trust"]
    [row] = call(
        writer,
        guarded.installation.conf,
        "make",
        [
            {
                "project_id": project,
                "project_name": "stored",
                "trust_id": trust["id"],
                "trustor_user_id": user["id"],
                "auth_url": testbed.KEYSTONE,
            }
        ],
    )
    assert call(reader, guarded.installation.conf, "who", [row]) == user["id"]
