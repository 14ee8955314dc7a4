# SPDX-License-Identifier: Apache-2.0
"""The table of tests/functional/access against the recorded routes and policies of Heat 27.0.1.

Every recorded operation has a row; a persona is refused (403) exactly where the recorded rule refuses it, else it gets
the recorded status, unless `ALLOWED_BUT` has a reason for another.
"""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import pytest
from oslo_config import cfg
from oslo_policy import policy

from tests.fixtures.access import Row, Table

DATA = pathlib.Path(__file__).parent / "data"
TABLE = Table("native")
ROUTES = [r for r in json.loads((DATA / "routes.json").read_text())["native"] if r["kind"] == "action"]
RULES = json.loads((DATA / "policies.json").read_text())["rules"]

ROLES = {
    "admin": ["admin", "member", "reader"],
    "member": ["member", "reader"],
    "reader": ["reader"],
    "stack_user": ["heat_stack_user"],
    "outsider": ["member", "reader"],
    "cloud_admin": ["admin", "member", "reader"],
}
#: Paths that name something of the owner; another project does not find it.
OF_THE_OWNER = re.compile(r"^[STN]|{(name|id|\w*config|\w*deployment)}")
#: (row, persona) -> what one who may use the operation is answered, and why.
ALLOWED_BUT: dict[tuple[str, str], int] = {
    # an administrator finds another project's stack by its id, not by its name
    **{(f"{verb} /stacks/{{name}}", "cloud_admin"): 404 for verb in ("GET", "POST", "PUT", "PATCH", "DELETE")},
    **{
        (f"GET /stacks/{{name}}/{part}", "cloud_admin"): 404
        for part in ("resources", "events", "template", "environment", "files")
    },
    ("POST /stacks/{name}/actions", "cloud_admin"): 404,
    # a stack user reaches the resource that it was made for, in its own stack
    ("GET S/resources/handle/metadata", "stack_user"): 403,
    ("GET T/resources/server/metadata", "stack_user"): 404,
    ("POST T/resources/handle/signal done", "stack_user"): 404,
    # nothing is in progress that could be cancelled
    **{
        (f"POST S/actions {name}", persona): 400
        for name in ("cancel_update", "cancel_without_rollback")
        for persona in ("admin", "member", "cloud_admin")
    },
    # another project's config
    ("POST /software_deployments deployment", "outsider"): 404,
}
#: Rows that need no rule: what is answered before one is asked.
NO_RULE = ("POST S/actions unknown", "PUT /stacks", "OPTIONS /stacks", "GET /nothing", "GET //", "GET //healthcheck")


def pattern(path: str) -> re.Pattern[str]:
    """A recorded path, with its variables, as an expression over concrete paths."""
    made = re.sub(r"\{(\w+)(?::((?:[^{}\\]|\\.)+))?\}", lambda m: f"(?:{m.group(2) or '[^/]+'})", path)
    return re.compile(made)


def route_of(row: Row) -> dict[str, Any]:
    path = re.sub(r"^[STN]\b", "/stacks/name/id", row.path.partition("?")[0]).replace("{arn}", "arn:x")
    for route in ROUTES:
        if row.method in route["methods"] and pattern(route["path"]).fullmatch("/v1/p" + path):
            return route
    raise LookupError(row.title)


def rules_of(row: Row, route: dict[str, Any]) -> list[str]:
    if row.path.endswith("/actions") and row.path[0] == "N" or row.path == "S/actions":
        return [f"actions:{row.body}"]
    if isinstance(route["policy"], list):
        return ["stacks:update_no_change" if row.body == "nothing" else "stacks:update_patch"]
    rules = [route["policy"]]
    if "global_tenant" in row.path:
        rules.append(route["policy"].partition(":")[0] + ":global_index")
    return rules


@pytest.fixture(scope="module")
def enforcer() -> policy.Enforcer:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    made = policy.Enforcer(conf, use_conf=False)
    made.set_rules(policy.Rules.from_dict({rule["name"]: rule["check_str"] for rule in RULES}))
    return made


@pytest.mark.parametrize("row", [row for row in TABLE.rows if row.title not in NO_RULE], ids=lambda row: row.title)
def test_row(enforcer: policy.Enforcer, row: Row) -> None:
    route = route_of(row)
    for persona, roles in ROLES.items():
        credentials = {"roles": roles, "project_id": "p"}
        allowed = all(enforcer.enforce(rule, {"project_id": "p"}, credentials) for rule in rules_of(row, route))
        expected = 403
        if allowed:
            expected = ALLOWED_BUT.get((row.title, persona), route["success_status"])
            if persona == "outsider" and OF_THE_OWNER.search(row.path):
                expected = 404
        assert row.statuses[persona] == expected, persona
    assert (row.statuses["nobody"], row.statuses["expired"]) == (401, 401)


def test_every_operation_has_a_row() -> None:
    covered = {(row.method, route_of(row)["path"]) for row in TABLE.rows if row.title not in NO_RULE}
    recorded = {(method, route["path"]) for route in ROUTES for method in route["methods"]}
    assert len(TABLE.rows) == 81
    # the ARN and the paths behind a name are tried with some of the methods that all lead to one function
    missing = {(m, p) for m, p in recorded - covered if "arn" not in p}
    assert not missing
