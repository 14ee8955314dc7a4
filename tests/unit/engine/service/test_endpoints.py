# SPDX-License-Identifier: Apache-2.0
"""The endpoint object: every method of the table of RPC methods, thin, and how errors leave it."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

import pytest
from oslo_config import cfg

from openkeel_heat.common import exceptions
from openkeel_heat.engine.service import EngineService
from openkeel_heat.engine.service.endpoint import Endpoints, endpoint
from openkeel_heat.rpc import methods


def test_methods_are_those_of_the_table() -> None:
    table = methods.TOPICS[methods.ENGINE].methods
    assert set(EngineService.methods()) == set(table)
    for name, method in table.items():
        ours = list(inspect.signature(getattr(EngineService, name)).parameters.values())[2:]
        wanted = list(method.signature.parameters.values())
        assert [(one.name, one.default) for one in ours] == [(one.name, one.default) for one in wanted], name


def test_methods_are_thin() -> None:
    for name in EngineService.methods():
        source = textwrap.dedent(inspect.getsource(inspect.unwrap(getattr(EngineService, name))))
        (method,) = ast.parse(source).body
        statements = [node for node in ast.walk(method) if isinstance(node, ast.stmt)]
        assert len(statements) - 1 <= 5, name


class _Service(Endpoints):
    @endpoint
    def refuse(self, context: Any) -> None:
        raise exceptions.StackExists(stack_name="s")

    @endpoint
    def break_down(self, context: Any) -> None:
        raise RuntimeError("bug")


def test_errors_of_the_vocabulary_are_expected() -> None:
    from oslo_messaging.rpc.dispatcher import ExpectedException

    service = _Service(None)  # type: ignore[arg-type]
    with pytest.raises(ExpectedException) as caught:
        service.refuse(None)
    assert isinstance(caught.value.exc_info[1], exceptions.StackExists)
    with pytest.raises(RuntimeError):
        service.break_down(None)


def test_revision() -> None:
    from openkeel_heat.common import config

    config.register_all(cfg.CONF)
    service = EngineService(None)  # type: ignore[arg-type]
    assert service.get_revision(None) == cfg.CONF.revision.heat_revision
