# SPDX-License-Identifier: Apache-2.0
"""Every value in every field of every body, and odd queries everywhere: an answer below 500, never a traceback."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

from openkeel_heat.api.native import routes
from tests.contract import api_harness as harness

RECORDED = harness.load("routes.json")
VALUES: list[Any] = [
    None, True, 0, -1, 1.5, 1e308, "", "x", "é\x00", "a: [", "a\r\nb",
    [], [None], ["x"], [[]], {}, {"": None}, {"a": {"b": []}},
]  # fmt: skip
CFN_VALUES = ("", "x", "%00", "%C3%A9", "arn:x", "arn:openstack:heat::t:stacks/a/b", "-1")
TEMPLATE = {"heat_template_version": "2018-08-31"}
FIELDS = sorted(
    {field for keys in RECORDED["body_keys"].values() for group in (keys if isinstance(keys, list) else keys.values())
     for field in (group if isinstance(group, list) else [group])}
)  # fmt: skip
#: Fetching is tested elsewhere.
FIELDS.remove("template_url")
ROWS = [row for row in routes.table() if isinstance(row, routes.Route)]
SAMPLE = {"tenant_id": "test_tenant_id", "type_name": "OS::Heat::Value", "path": "events"}


def path_of(row: routes.Route) -> str:
    def value(match: re.Match[str]) -> str:
        if "arn" in match.group(0):
            return "arn:openstack:heat::t:stacks/a/b"
        return SAMPLE.get(match.group(1), "x")

    return "/v1" + re.sub(r"\{(\w+)[^{}]*\}", value, row.path)


#: A redirect takes a body and does not look at it.
WITH_BODY = [row for row in ROWS if row.body != routes.NONE and row.function != "lookup:lookup"]


@pytest.mark.parametrize("row", WITH_BODY, ids=lambda row: row.methods + row.path)
def test_bodies(engine: Any, row: routes.Route, caplog: pytest.LogCaptureFixture) -> None:
    application = harness.native(engine)
    count = 0
    for method in row.methods.split(","):
        for field, value in itertools.product(FIELDS, VALUES):
            body = {"stack_name": "s", "template": TEMPLATE, field: value}
            if field == "adopt_stack_data":
                del body["template"]
            if row.function in ("actions:action", "resources:mark_unhealthy"):
                body = {field: value}
            reply = harness.request(application, method, path_of(row), body)
            assert reply.status < 500, (field, value, reply.body)
            assert not [record for record in caplog.records if record.levelname == "ERROR"], (field, value)
            count += 1
            engine.sent.clear()
    print(f"{count} bodies")


QUERIES = ["", "=", "&&", "%00", "limit=", "limit=0", "limit=99999999999999999999", "marker=%00", "nested_depth=-1"] + [
    f"{name}={value}"
    for name in ("with_count", "show_nested", "with_detail", "resolve_outputs", "global_tenant", "sort_dir", "tags",
                 "template_type", "with_condition_func", "with_description", "ignore_errors", "sort_keys", "version")
    for value in ("", "x", "%C3%A9", "1")
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.methods + row.path)
def test_queries(engine: Any, row: routes.Route) -> None:
    application = harness.native(engine)
    for query in QUERIES:
        body = {"stack_name": "s", "template": TEMPLATE} if row.body == routes.WANTED else None
        reply = harness.request(application, row.methods.split(",")[0], f"{path_of(row)}?{query}", body)
        assert reply.status < 500, (query, reply.body)


CFN_FIELDS = ("StackName", "TemplateBody", "TimeoutInMinutes", "DisableRollback", "OnFailure", "LogicalResourceId",
              "PhysicalResourceId", "Parameters.member.1.ParameterKey", "Parameters.member.x.ParameterKey",
              "Parameters.member.99999999999999999999.ParameterKey", "ContentType", "NextToken")  # fmt: skip


@pytest.mark.parametrize("action", [route["matched_by_Action_parameter"] for route in RECORDED["cfn"]
                                    if route["matched_by_Action_parameter"]])  # fmt: skip
def test_cfn(engine: Any, action: str) -> None:
    application = harness.cfn(engine)
    for field, value in itertools.product(CFN_FIELDS, CFN_VALUES):
        reply = harness.request(application, "GET", f"/v1/?Action={action}&StackName=s&{field}={value}")
        assert reply.status < 500, (field, value, reply.body)
