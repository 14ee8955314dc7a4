# SPDX-License-Identifier: Apache-2.0
"""``widgets``: a service of one kind of object; ``cloud``, ``plugin`` and ``api`` lead to it.

Nobody waits long for what is sent again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.clients import rest
from openkeel_heat.clients.rest import RestClient
from openkeel_heat.clients.service import RestClientPlugin
from tests.fixtures.rest_server import FakeCloud, Request, RestServer
from tests.unit.conftest import Option


class Widgets(RestServer):
    prefix = "/v1"

    def setup(self) -> None:
        self.widgets = self.collection("/widgets", "widget")
        self.route("GET", "/?", self.versions)

    def versions(self, request: Request) -> tuple[int, Any]:
        links = [{"rel": "self", "href": self.url + "/"}]
        version = {"id": "v1.0", "status": "CURRENT", "version": "1.20", "min_version": "1.1", "links": links}
        return 200, {"versions": [version]}


class WidgetPlugin(RestClientPlugin):
    NAME = "widget"
    service_types = ["widget"]

    def _create(self, version: str | None = None) -> Any:
        return None


class Newest(WidgetPlugin):
    """Knows microversions, and newer ones than the service."""

    MAX_MICROVERSION = "1.30"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, option: Option) -> None:
    monkeypatch.setattr(rest, "FIRST_PAUSE", 0.005)


@pytest.fixture
def widgets(quick: None) -> Iterator[Widgets]:
    with Widgets() as service:
        yield service


@pytest.fixture
def cloud(widgets: Widgets) -> FakeCloud:
    return FakeCloud(widget=widgets)


@pytest.fixture
def plugin(cloud: FakeCloud) -> WidgetPlugin:
    return WidgetPlugin(cloud.context)


@pytest.fixture
def api(plugin: WidgetPlugin) -> RestClient:
    return plugin.api
