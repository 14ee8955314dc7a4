# SPDX-License-Identifier: Apache-2.0
"""OS::Glance::WebImage on a real Glance, side by side with Heat 27.0.1. The images come from a server of the test."""

from __future__ import annotations

import functools
import http.server
import pathlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fixtures.api import Stack
from tests.fixtures.comparison import Both

pytestmark = [pytest.mark.cloud, pytest.mark.keystone, pytest.mark.services]


def own_address() -> str:
    """An address of this host that others could use; nothing is sent to find it out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A web site with ``disk.raw``. By default Glance fetches from no loop-back address, and from port 80 and 443."""
    root: pathlib.Path = tmp_path_factory.mktemp("site")
    (root / "disk.raw").write_bytes(bytes(4096))
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(root))
    try:
        server = http.server.ThreadingHTTPServer((own_address(), 80), handler)
    except OSError as error:
        pytest.skip(f"Glance fetches from port 80 of an address that is not loop-back, which cannot be had: {error}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://{server.server_address[0]}"
    server.shutdown()
    server.server_close()


def template(location: str, **props: Any) -> dict[str, Any]:
    given = {
        "name": "image",
        "disk_format": "raw",
        "container_format": "bare",
        "location": location,
        **{name: value for name, value in props.items() if value is not None},
    }
    resources = {"image": {"type": "OS::Glance::WebImage", "properties": given}}
    return {"heat_template_version": "2018-08-31", "resources": resources}


def shown(stack: Stack) -> dict[str, Any]:
    attributes: dict[str, Any] = stack.resource("image")["attributes"]
    return attributes


#: What Glance keeps for itself.
IGNORED = {
    "image.os_glance_*",
    "image.os_hash_value",
    "image.checksum",
    "image.stores",
    "image.file",
    "image.direct_url",
}


def test_an_image_through_its_updates(both: Both, site: str) -> None:
    def stack(**props: Any) -> dict[str, Any]:
        return template(f"{site}/disk.raw", **props)

    pair = both.create(stack(tags=["a", "b"], os_distro="debian", extra_properties={"x": "1"}, min_ram=64))
    pair.compare({*IGNORED, "image.x"})  # 27.0.1 sends it when the service is importing, which may then lose it
    assert pair.ours.resource("image")["attributes"]["x"] == "1"
    pair.update(stack(tags=["b", "c"], os_distro="debian", extra_properties={"x": "2", "y": "3"}, min_ram=64))
    pair.compare(IGNORED)
    pair.update(stack(tags=["c"], os_distro="ubuntu", extra_properties={"y": "3"}, min_ram=64)).compare(IGNORED)
    pair.action("check", "CHECK_COMPLETE").compare(IGNORED)
    pair.delete()


def test_an_image_that_is_not_active(both_as_admin: Both, site: str) -> None:
    pair = both_as_admin.create(template(f"{site}/disk.raw", active=False)).compare(IGNORED)
    pair.update(template(f"{site}/disk.raw", active=True)).compare(IGNORED)
    pair.update(template(f"{site}/disk.raw", active=False)).compare(IGNORED)
    pair.delete()


def test_members_change(deploy: Any, service: Any, tenant: Any, site: str) -> None:
    """Heat 27.0.1 sends them as a field of the image, which the service refuses."""
    projects = ["1" * 32, "2" * 32, "3" * 32]

    def members(stack: Stack) -> set[str]:
        image_id = stack.resource("image")["physical_resource_id"]
        listed = service.get("image", f"/v2/images/{image_id}/members")["members"]
        return {one["member_id"] for one in listed}

    stack = deploy(template(f"{site}/disk.raw", visibility="shared", members=projects[:2]))
    assert members(stack) == set(projects[:2])
    stack.update(template(f"{site}/disk.raw", visibility="shared", members=projects[1:]))
    assert members(stack) == set(projects[1:])


def test_contents_that_are_not_there(deploy: Any, site: str) -> None:
    """The stack fails with what the service's task says; with Heat 27.0.1 it waits until its time is over."""
    stack = deploy(template(f"{site}/absent.raw"), wait="CREATE_FAILED")
    reason = stack.resource("image")["resource_status_reason"]
    told = "Task failed due to Internal Error"
    assert reason == f'ResourceInError: resources.image: Went to status queued due to "{told}"'


def test_refusals(both: Both, site: str) -> None:
    assert "Invalid mix of disk and container formats" in both.refused(
        template(f"{site}/disk.raw", container_format="ami")
    )
