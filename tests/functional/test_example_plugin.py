# SPDX-License-Identifier: Apache-2.0
"""The plugins of the page "Plugins": installed by pip as the page says, and used by stacks."""

from __future__ import annotations

import json
import pathlib
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import Any, NamedTuple

import pytest
import yaml

from tests.fixtures.api import Api, Stack
from tests.fixtures.polling import until
from tests.fixtures.processes import ROOT, run
from tests.fixtures.service import AllInOne

EXAMPLE = ROOT / "doc" / "examples" / "acme-heat"
TEMPLATE = (EXAMPLE / "stack.yaml").read_text()


class Acme(NamedTuple):
    api: Api
    desk: pathlib.Path

    def tickets(self) -> dict[pathlib.Path, dict[str, Any]]:
        return {path: json.loads(path.read_text()) for path in sorted(self.desk.glob("*/*.json"))}

    def take(self, owner: str) -> dict[str, Any]:
        """As somebody of the help desk does with the one new ticket."""
        new = until(
            lambda: [item for item in self.tickets().items() if item[1]["state"] == "new"], "a ticket is opened"
        )
        [(path, ticket)] = new
        path.write_text(json.dumps({**ticket, "state": "taken", "owner": owner}))
        return ticket

    def done(self, stack: Stack) -> list[str]:
        """Operations that went through, as the lifecycle plugin has them."""
        lines = [line.split() for line in (self.desk / "done").read_text().splitlines()]
        return [f"{action} {end}" for name, action, end in lines if name == stack.name]


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Acme]:
    folder = tmp_path_factory.mktemp("acme")
    source, site, desk = folder / "source", folder / "site", folder / "desk"
    shutil.copytree(EXAMPLE, source)  # pip builds inside of it
    run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site, source])
    for queue in ("hardware", "network"):
        (desk / queue).mkdir(parents=True)
    conf = (EXAMPLE / "acme.conf").read_text()
    conf = conf.replace("/usr/lib/acme-heat/plugins", str(source / "plugins")).replace("/var/lib/acme/desk", str(desk))
    sections: dict[str, dict[str, str]] = {}
    for line in conf.split("\n["):
        name, _, options = line.strip("[").partition("]\n")
        sections[name] = dict(option.split(" = ") for option in options.strip().splitlines())
    service = AllInOne(folder, sections, env={"PYTHONPATH": f"{site}:{ROOT}"})
    try:
        yield Acme(service.start().api(), desk)
    finally:
        service.stop()


@pytest.fixture
def stack(acme: Acme) -> Iterator[Stack]:
    environment = yaml.safe_load((EXAMPLE / "environment.yaml").read_text())
    made = acme.api.create(TEMPLATE, wait=False, environment=environment)
    yield made
    made.delete()


def test_the_stack_of_the_page(acme: Acme, stack: Stack) -> None:
    ticket = acme.take("ada")
    assert ticket["title"] == "[URGENT] a rack is on fire"
    stack.wait("CREATE_COMPLETE")
    assert stack.outputs() == {"owner": "ada"}
    assert stack.resource("ticket")["attributes"] == {"state": "taken", "owner": "ada"}

    stack.update(TEMPLATE.replace("a rack is", "two racks are"), existing=True)
    [(path, ticket)] = acme.tickets().items()
    assert (ticket["title"], ticket["owner"]) == ("[URGENT] two racks are on fire", "ada"), "updated in place"

    stack.update(TEMPLATE.replace("hardware", "network"), wait=None, existing=True)
    acme.take("bob")
    stack.wait("UPDATE_COMPLETE")
    assert [one.parent.name for one in acme.tickets()] == ["network"], "replaced"
    assert stack.outputs() == {"owner": "bob"}

    stack.action("check", wait="CHECK_COMPLETE")
    stack.delete()
    assert acme.tickets() == {}
    until(lambda: acme.done(stack) == ["CREATE done", "UPDATE done", "UPDATE done", "CHECK done", "DELETE done"],
          "the lifecycle plugin heard of all")  # fmt: skip
    lines = [json.loads(line) for line in (acme.desk / "journal").read_text().splitlines()]
    mine = [line for line in lines if line["stack_id"] == stack.id]
    assert {line["label"] for line in mine} == {"tickets"}
    assert ("ticket", "CREATE", "COMPLETE") in {
        (line["resource_name"], line["resource_action"], line["resource_status"]) for line in mine
    }


def test_what_the_constraint_refuses(acme: Acme) -> None:
    body = {"stack_name": "nowhere", "template": TEMPLATE.replace("hardware", "gardening")}
    error = acme.api.call("POST", "/stacks", body, expect=400)["error"]
    assert error["message"] == (
        "Property error: : resources.ticket.properties.queue: : Error validating value 'gardening': "
        "The Queue (gardening) could not be found."
    )


def test_what_the_lifecycle_plugin_refuses(acme: Acme) -> None:
    freeze = acme.desk / "freeze"
    freeze.write_text("stocktaking\n")
    try:
        refused = acme.api.create(TEMPLATE, wait=False)
        assert refused.wait("CREATE_FAILED")
        assert refused.show()["stack_status_reason"] == "No create today: stocktaking"
        assert acme.tickets() == {} and refused.resources() == {}
    finally:
        freeze.unlink()
    refused.delete()


def test_the_type_is_known(acme: Acme) -> None:
    schema = acme.api.get("/resource_types/Acme::Desk::Ticket")
    assert schema["properties"]["queue"]["constraints"] == [{"custom_constraint": "acme.queue"}]
    assert schema["attributes"]["owner"]["description"] == "Who took it."
    versions = {one["version"]: one["aliases"] for one in acme.api.get("/template_versions")["template_versions"]}
    assert versions["heat_template_version.2031-01-01"] == ["heat_template_version.acme-1"]


def test_the_client_of_the_page_on_declarations(tmp_path: pathlib.Path) -> None:
    """Installed as the page says, it is what engines find under ``library``."""
    source, site = tmp_path / "source", tmp_path / "site"
    shutil.copytree(EXAMPLE.parent / "acme-library", source)
    run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site, source])
    [point] = [point for one in metadata.distributions(path=[str(site)]) for point in one.entry_points]
    assert (point.group, point.name) == ("heat.clients", "library")
    script = f"import {point.module} as module; print(module.{point.attr}.service_types)"
    told = run([sys.executable, "-c", script], env={"PYTHONPATH": f"{site}:{ROOT}"})
    assert told.stdout == "['library']\n"
