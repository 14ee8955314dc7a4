# SPDX-License-Identifier: Apache-2.0
"""The page "A type in declarations": its types against its service, as an engine without Keystone has them."""

from __future__ import annotations

import importlib
import pathlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from openkeel_heat.clients import once, polling
from openkeel_heat.cmd import lint
from openkeel_heat.common import exceptions
from openkeel_heat.common.context import RequestContext
from openkeel_heat.resources.kit import lifecycle, registry
from tests.unit.conftest import Option
from tests.unit.resources.fakes import Driver, FakeStack, drive, hot

EXAMPLE = pathlib.Path(__file__).resolve().parents[4] / "doc" / "examples" / "acme-library"

Stacks = Callable[..., Any]


@pytest.fixture
def library(option: Option, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The service of the page, and the types of its folder known to the registry."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    local = importlib.import_module("local_library")
    server = local.server()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setenv("LIBRARY_URL", f"http://127.0.0.1:{server.server_address[1]}")
    option("cloud_backend", "local_library.Clients")
    for name in ("shelf", "stock"):
        for kind, cls in importlib.import_module(name).resource_mapping().items():
            registry.global_env().register_class(kind, cls)
    registry.types()
    registry._plugin_constraints.update(importlib.import_module("stock").constraint_mapping())
    once.reset()
    polling.reset()
    yield server.library
    server.shutdown()
    server.server_close()
    registry.reset()
    for name in ("shelf", "stock", "local_library"):
        sys.modules.pop(name, None)


@pytest.fixture
def stack(library: Any) -> Stacks:
    context = RequestContext(user_id="ada", project_id="demo", roles=[], is_admin=False)

    def make(kind: str, **props: Any) -> Any:
        made = FakeStack(hot({"r": {"type": f"ACME::Library::{kind}", "properties": props}}), clients=context.clients)
        made.context = context
        return made

    return make


def created(made: Any) -> Any:
    resource = made["r"]
    resource.validate()
    assert drive(lifecycle.create(resource), resource).short[-1] == "CREATE_COMPLETE"
    return resource


def update(resource: Any, after: Any) -> Any:
    return drive(lifecycle.update(resource, after.defn.resource_definition("r")), resource)


def branch(library: Any, name: str) -> str:
    [found] = [one["id"] for one in library.objects["branches"].values() if one["name"] == name]
    return str(found)


ROWS = [{"topic": "birds", "height": 40}, {}]


def test_a_case(stack: Stacks, library: Any) -> None:
    case = created(stack("Case", branch="north", rows=ROWS))
    [made] = library.objects["cases"].values()
    assert made["branch_id"] == branch(library, "north")
    assert made["rows"] == [{"topic": "birds", "height": 40}, {"height": 30}], "no null, and the default"
    assert case.FnGetAtt("height") == 70

    assert update(case, stack("Case", branch="north", rows=[{}])).short[-1] == "UPDATE_COMPLETE"
    assert made["rows"] == [{"height": 30}]
    same = update(case, stack("Case", branch=branch(library, "north"), rows=[{}]))
    assert same.short == ["UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"] and made["rows"] == [{"height": 30}]
    with pytest.raises(exceptions.UpdateReplace):
        update(case, stack("Case", branch="south", rows=[{}]))

    assert drive(lifecycle.check(case), case).states[-1][1:] == ("COMPLETE", "state changed")
    library.objects["cases"].clear()
    with pytest.raises(exceptions.ResourceFailure, match="NotFound: resources.r: /v1/cases/.* is not here"):
        drive(lifecycle.check(case), case)
    assert drive(lifecycle.delete(case), case).short[-1] == "DELETE_COMPLETE"


def test_a_branch_that_is_not_there(stack: Stacks) -> None:
    with pytest.raises(exceptions.StackValidationFailed) as refused:
        stack("Case", branch="east", rows=ROWS)["r"].validate()
    why = "Error validating value 'east': The branch (east) could not be found."
    assert str(refused.value) == f"Property error: resources.r.properties.branch: {why}"


def test_what_somebody_changed_meanwhile_is_put_right(stack: Stacks, library: Any, option: Option) -> None:
    option("observe_on_update", True)
    case = created(stack("Case", branch="north", rows=ROWS))
    [made] = library.objects["cases"].values()
    made["rows"] = [{"height": 20}]
    update(case, stack("Case", branch="north", rows=ROWS))
    assert made["rows"] == [{"topic": "birds", "height": 40}, {"height": 30}]
    library.objects["cases"].clear()
    with pytest.raises(exceptions.UpdateReplace):
        update(case, stack("Case", branch="north", rows=ROWS))


def test_a_scan(stack: Stacks) -> None:
    scan = created(stack("Scan", book="GB-1871"))
    assert scan.FnGetAtt("pages") == 300
    assert drive(lifecycle.check(scan), scan).states[-1][2] == "CHECK not supported for ACME::Library::Scan"


def test_scans_that_wait_together_are_listed(stack: Stacks, library: Any) -> None:
    scans = [stack("Scan", book=f"GB-{number}")["r"] for number in range(polling.ENOUGH + 1)]
    drivers = [Driver(lifecycle.create(scan), scan) for scan in scans]
    until = time.monotonic() + 20
    while not all(driver.done for driver in drivers):
        assert time.monotonic() < until
        for driver in drivers:
            if not driver.done:
                driver.step()
    assert {one["phase"] for one in library.objects["scans"].values()} == {"done"}


def test_a_scan_that_fails_is_not_tried_again(stack: Stacks, library: Any, option: Option) -> None:
    option("action_retry_limit", 3)
    scan = stack("Scan", book="lost-1")["r"]
    with pytest.raises(exceptions.ResourceFailure) as failed:
        drive(lifecycle.create(scan), scan)
    assert str(failed.value) == "Error: resources.r: The scan went to error: There is no book lost-1"
    assert len(library.objects["scans"]) == 1
    assert drive(lifecycle.delete(scan), scan).short[-1] == "DELETE_COMPLETE"
    assert library.objects["scans"] == {}


@pytest.mark.parametrize(
    ("modules", "template"),
    [
        (("acme-library/shelf.py", "acme-library/stock.py"), "acme-library/stack.yaml"),
        (("acme-heat/plugins/acme_ticket.py",), "quickstart.yaml"),
    ],
)
def test_the_author_s_tool_has_nothing_to_say(
    modules: tuple[str, ...],
    template: str,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE.parent / "acme-heat"))
    for name in modules:
        (tmp_path / pathlib.Path(name).name).write_text((EXAMPLE.parent / name).read_text())
    assert lint.main(["--plugin-dir", str(tmp_path), str(EXAMPLE.parent / template)]) == 0
    assert capsys.readouterr().err == ""
