# SPDX-License-Identifier: Apache-2.0
"""What servers boot with, in each format."""

from __future__ import annotations

import base64
import email
import json
import os
import pathlib
import subprocess
import sys
from email.mime import multipart, text
from importlib import resources
from typing import Any
from urllib import parse

import pytest

from openkeel_heat.clients import nova_userdata
from tests.unit.conftest import Option

pytestmark = pytest.mark.usefixtures("option")

PREPARING = [
    ("text/cloud-config", "cloud-config"),
    ("text/cloud-boothook", "boothook.sh"),
    ("text/part-handler", "part-handler.py"),
]
URL = "http://heat:8000/v1/"


def parts(message: str | None) -> list[tuple[str, Any, str]]:
    assert message is not None
    found = email.message_from_string(message)
    assert found.get_content_type() == "multipart/mixed"
    return [
        (one.get_content_type(), one.get_filename(), one.get_payload(decode=True).decode())  # type: ignore[union-attr]
        for one in found.get_payload()
    ]


def test_raw() -> None:
    assert nova_userdata.build({"a": 1}, "text", "RAW") == "text"
    assert nova_userdata.build({}, None, "RAW") is None


def test_for_cfntools(option: Option) -> None:
    option("instance_connection_is_secure", True)
    found = parts(nova_userdata.build({"a": 1}, "#!/bin/sh\necho ä", "HEAT_CFNTOOLS", URL))
    assert [one[:2] for one in found] == [
        *PREPARING,
        ("text/x-cfninitdata", "cfn-userdata"),
        ("text/x-shellscript", "loguserdata.py"),
        ("text/x-cfninitdata", "cfn-init-data"),
        ("text/x-cfninitdata", "cfn-metadata-server"),
        ("text/x-cfninitdata", "cfn-boto-cfg"),
    ]
    contents = {name: content for _type, name, content in found}
    assert contents["cfn-userdata"] == "#!/bin/sh\necho ä" and contents["cfn-init-data"] == '{"a": 1}'
    assert contents["cfn-metadata-server"] == URL
    assert contents["cfn-boto-cfg"].splitlines() == [
        "[Boto]", "debug = 0", "is_secure = True", "https_validate_certificates = 1", "cfn_region_name = heat",
        "cfn_region_endpoint = heat"]  # fmt: skip


def test_a_user_of_its_own() -> None:
    found = {name: content for _type, name, content in parts(nova_userdata.build(
        None, "", "HEAT_CFNTOOLS", URL, instance_user="ec2-user"))}  # fmt: skip
    assert "user: ec2-user" in found["cloud-config"] and "useradd -m ec2-user" in found["boothook.sh"]


def test_a_text_for_software_config() -> None:
    found = parts(nova_userdata.build({"a": 1}, "#!/bin/sh", "SOFTWARE_CONFIG"))
    assert [one[:2] for one in found[:3]] == PREPARING
    assert found[3:] == [("text/plain", "", "#!/bin/sh"), ("text/x-cfninitdata", "cfn-init-data", '{"a": 1}')]


def test_a_message_for_software_config() -> None:
    """Its parts as they were before they were encoded, those of messages in it too."""
    inner = multipart.MIMEMultipart(_subparts=[text.MIMEText("ünner", "x-shellscript", "utf-8")])
    first = text.MIMEText("a: 1", "cloud-config", "us-ascii")
    first.add_header("Content-Disposition", "attachment", filename="first")
    message = multipart.MIMEMultipart(_subparts=[first, inner]).as_string()
    found = parts(nova_userdata.build(None, message, "SOFTWARE_CONFIG"))
    assert [(kind, content) for kind, _name, content in found[3:]] == [
        ("text/cloud-config", "a: 1"), ("text/x-shellscript", "ünner")]  # fmt: skip
    assert found[3][1] == "first"


IGNITION = {"ignition": {"version": "2.2.0"}}


def test_ignition() -> None:
    made = json.loads(str(nova_userdata.build({"a": "ä"}, json.dumps(IGNITION), "SOFTWARE_CONFIG")))
    assert made["ignition"] == IGNITION["ignition"]
    files = made["storage"]["files"]
    assert [one["path"] for one in files] == [
        "/var/lib/heat-cfntools/cfn-init-data", "/var/lib/cloud/data/cfn-init-data"]  # fmt: skip
    for one in files:
        assert (one["filesystem"], one["mode"], one["user"], one["group"]) == (
            "root", 0o640, {"name": "root"}, {"name": "root"})  # fmt: skip
        source = one["contents"]["source"]
        assert json.loads(parse.unquote(source.removeprefix("data:,"))) == {"a": "ä"}


def test_ignition_without_metadata() -> None:
    assert nova_userdata.build({}, json.dumps(IGNITION), "SOFTWARE_CONFIG") == json.dumps(IGNITION)


@pytest.mark.parametrize(("document", "message"), [
    ({"storage": []}, 'Ignition "storage" section must be a map'),
    ({"storage": {"files": {}}}, 'Ignition "files" section must be a list'),
])  # fmt: skip
def test_ignition_that_is_wrong(document: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nova_userdata.ignition({"a": 1}, json.dumps({**IGNITION, **document}))


@pytest.mark.parametrize("no_document", ["", None, "{}", "[]", '{"ignition": {}}', "text"])
def test_what_is_no_ignition_document(no_document: str | None) -> None:
    assert not nova_userdata.is_ignition(no_document)


# --- the programs that are sent along


def program(name: str, folder: pathlib.Path) -> str:
    """The text of one, with its files in a folder."""
    source = resources.files("openkeel_heat.clients").joinpath("cloudinit", name).read_text("utf-8")
    return source.replace("/var/", f"{folder}/var/")


def test_the_part_handler(tmp_path: pathlib.Path) -> None:
    (tmp_path / "var/log").mkdir(parents=True)
    (tmp_path / "var/lib/cloud/data").mkdir(parents=True)
    scope: dict[str, Any] = {}
    exec(program("part-handler", tmp_path), scope)
    assert scope["list_types"]() == ["text/x-cfninitdata"]
    handle = scope["handle_part"]
    for _again in range(2):
        handle(None, "__begin__", None, None)
    handle(None, "text/x-cfninitdata", "text", "ä")
    handle(None, "text/x-cfninitdata", "bytes", b"\xff")
    handle(None, "__end__", None, None)
    for place in ("var/lib/heat-cfntools", "var/lib/cloud/data"):
        assert (tmp_path / place / "text").read_text() == "ä" and (tmp_path / place / "bytes").read_bytes() == b"\xff"


@pytest.mark.parametrize(("user_data", "status", "finished"), [
    ("#!/bin/sh\necho told\n", 0, True),
    ("#!/bin/sh\nexit 3\n", 3, False),
    ("", 0, True),
])  # fmt: skip
def test_the_program_that_runs_the_user_data(
    tmp_path: pathlib.Path, user_data: str, status: int, finished: bool
) -> None:
    folder = tmp_path / "var/lib/heat-cfntools"
    folder.mkdir(parents=True)
    (tmp_path / "var/log").mkdir()
    (folder / "cfn-userdata").write_text(user_data)
    script = tmp_path / "loguserdata.py"
    script.write_text(program("loguserdata", tmp_path))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, env={**os.environ})
    assert done.returncode == status and (folder / "provision-finished").exists() == finished
    log = (tmp_path / "var/log/heat-provision.log").read_text()
    assert ("told" in log) == ("told" in user_data)


def test_what_is_sent_is_small() -> None:
    """Nova takes 64 KiB; most of it is the user's."""
    message = nova_userdata.build({}, "", "HEAT_CFNTOOLS", URL)
    assert message is not None and len(base64.b64encode(message.encode())) < 8192
