# SPDX-License-Identifier: Apache-2.0
"""A service: the endpoints of an engine in this process, and what tests want to see of its database."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.contract.rpc_replay import error_of
from tests.fixtures.polling import until

HOT = "2021-04-16"


def hot(resources: Mapping[str, Any] | None = None, **sections: Any) -> dict[str, Any]:
    return {"heat_template_version": HOT, "resources": dict(resources or {}), **sections}


def value(what: Any = "x", **more: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::Value", "properties": {"value": what}, **more}


class Service:
    """RPC methods as functions of a project's user; ``refused`` answers the error instead of raising it."""

    def __init__(self, engine: Any) -> None:
        from openkeel_heat.engine.service import EngineService

        self.runtime = engine
        self.endpoints = EngineService(engine)

    def context(self, project: str = "demo", **more: Any) -> Any:
        from openkeel_heat.common.context import RequestContext

        values = {
            "username": "demo",
            "user_name": "demo",
            "user_id": "demo",
            "password": "secret",
            "roles": ["member"],
            "is_admin": False,
            **more,
        }
        return RequestContext(project_id=project, project_name=project, **values)

    def call(self, method: str, context: Any = None, **arguments: Any) -> Any:
        reply, error = error_of(lambda: getattr(self.endpoints, method)(context or self.context(), **arguments))
        if error is not None:
            raise error
        return reply

    def refused(self, method: str, context: Any = None, **arguments: Any) -> BaseException:
        reply, error = error_of(lambda: getattr(self.endpoints, method)(context or self.context(), **arguments))
        assert error is not None, f"{method} answered {reply!r}"
        return error

    def create(
        self,
        template: Any,
        params: Any = None,
        *,
        name: str = "",
        files: Any = None,
        args: Any = None,
        wait: bool = True,
        context: Any = None,
        **more: Any,
    ) -> dict[str, str]:
        identity = self.call(
            "create_stack",
            context,
            stack_name=name or "s" + secrets.token_hex(4),
            template=template,
            params=params or {},
            files=files or {},
            args=args or {},
            **more,
        )
        if wait:
            self.settle(identity)
        return dict(identity)

    def update(
        self,
        identity: Any,
        template: Any = None,
        params: Any = None,
        *,
        files: Any = None,
        args: Any = None,
        wait: bool = True,
        **more: Any,
    ) -> dict[str, Any]:
        self.call(
            "update_stack",
            stack_identity=identity,
            template=template,
            params=params or {},
            files=files or {},
            args=args or {},
            **more,
        )
        return self.settle(identity) if wait else {}

    def show(self, identity: Any, outputs: bool = True) -> dict[str, Any]:
        return dict(self.call("show_stack", stack_identity=identity, resolve_outputs=outputs)[0])

    def outputs(self, identity: Any) -> dict[str, Any]:
        return {one["output_key"]: one["output_value"] for one in self.show(identity)["outputs"]}

    def settle(self, identity: Any, seconds: float = 15) -> dict[str, Any]:
        """Wait until nothing is in progress; the stack."""
        end = time.monotonic() + seconds
        while (found := self.show(identity, outputs=False))["stack_status"] == "IN_PROGRESS":
            assert time.monotonic() < end, found
            time.sleep(0.01)
        return found

    def state(self, identity: Any) -> str:
        found = self.settle(identity)
        return f"{found['stack_action']}_{found['stack_status']}"

    def rows(self, sql: str, **parameters: Any) -> list[Any]:
        import sqlalchemy as sa

        from openkeel_heat.db import session

        with session.get_engine().connect() as connection:
            return list(connection.execute(sa.text(sql), parameters))

    def gone(self, sql: str, **parameters: Any) -> None:
        """Wait until a query finds nothing: the credentials of a stack go after it, when nobody waits for them."""
        until(lambda: self.rows(sql, **parameters) == [], f"there is nothing of {sql!r} {parameters}", 15)

    def census(self) -> dict[str, int]:
        """How many rows the tables have that an operation writes first."""
        return {
            table: self.rows(f"SELECT COUNT(*) FROM {table}")[0][0]
            for table in (
                "stack",
                "raw_template",
                "user_creds",
                "resource",
                "event",
                "sync_point",
                "stack_tag",
                "snapshot",
                "raw_template_files",
            )
        }


@pytest.fixture(scope="module")
def service(engine: Any) -> Iterator[Service]:
    yield Service(engine.engine)


@pytest.fixture
def config() -> Iterator[Any]:
    """Set options for one test: ``config(max_stacks_per_tenant=1)``."""
    from oslo_config import cfg

    touched: list[str] = []

    def override(**options: Any) -> None:
        for name, wanted in options.items():
            cfg.CONF.set_override(name, wanted)
            touched.append(name)

    yield override
    for name in touched:
        cfg.CONF.clear_override(name)
