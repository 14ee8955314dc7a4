# SPDX-License-Identifier: Apache-2.0
"""The linter on broken templates: what it prints is what stands in the .txt beside each.

``OPENKEEL_HEAT_GOLDENS=write`` writes them anew.
"""

from __future__ import annotations

import io
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from openkeel_heat.cmd import lint as command
from openkeel_heat.lint import runner
from openkeel_heat.lint.rules import RULES

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TEMPLATES = sorted(path for ending in ("yaml", "template") for path in (HERE / "templates").glob("*." + ending))


@pytest.fixture(autouse=True)
def beside_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE / "templates")


def arguments(path: pathlib.Path) -> list[str]:
    env = path.with_suffix(".env")
    return [path.name, *(["-e", env.name] if env.exists() else [])]


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    status = command.main(list(argv))
    return status, capsys.readouterr().out


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_golden(path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(capsys, *arguments(path))
    golden = path.with_suffix(".txt")
    if os.environ.get("OPENKEEL_HEAT_GOLDENS") == "write":
        golden.write_text(out)
    assert out == golden.read_text()
    assert status == command.FOUND


def test_templates_break_nearly_every_rule() -> None:
    print("%d templates" % len(TEMPLATES))
    assert len(TEMPLATES) >= 20
    texts = "".join(path.with_suffix(".txt").read_text() for path in TEMPLATES)
    unseen = {name for name in RULES if "[%s]" % name not in texts}
    # the types of this release have nothing to break these rules with, or other tests do
    assert unseen <= {
        "deprecated-function",
        "deprecated-property",
        "unsupported-property",
        "deprecated-attribute",
        "unsupported-attribute",
    }


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_other_formats_tell_the_same(path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = path.with_suffix(".txt").read_text().splitlines()[:-1]
    data = json.loads(run(capsys, *arguments(path), "--format", "json")[1])
    assert [
        "%(file)s:%(line)d:%(column)d: %(severity)s: %(message)s [%(rule)s]" % item for item in data["findings"]
    ] == lines
    assert data["errors"] + data["warnings"] == len(lines)
    log = json.loads(run(capsys, *arguments(path), "--format", "sarif")[1])
    check_sarif(log)
    assert [_as_line(result) for result in log["runs"][0]["results"]] == lines


def check_sarif(log: dict[str, Any]) -> None:
    """What version 2.1.0 of the format demands."""
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    (single,) = log["runs"]
    driver = single["tool"]["driver"]
    assert driver["name"]
    assert len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"])
    assert all(rule["shortDescription"]["text"] for rule in driver["rules"])
    assert {rule["defaultConfiguration"]["level"] for rule in driver["rules"]} <= {"none", "note", "warning", "error"}
    for result in single["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("warning", "error") and result["message"]["text"]
        (location,) = result["locations"]
        region = location["physicalLocation"]["region"]
        assert region["startLine"] >= 1 and region["startColumn"] >= 1
        assert "\\" not in location["physicalLocation"]["artifactLocation"]["uri"]


def _as_line(result: dict[str, Any]) -> str:
    place = result["locations"][0]["physicalLocation"]
    return "%s:%d:%d: %s: %s [%s]" % (
        place["artifactLocation"]["uri"],
        place["region"]["startLine"],
        place["region"]["startColumn"],
        result["level"],
        result["message"]["text"],
        result["ruleId"],
    )


GOOD = """heat_template_version: 2021-04-16
parameters:
  length: {type: number, default: 4}
resources:
  random:
    type: OS::Heat::RandomString
    properties: {length: {get_param: length}}
"""
WARNED = GOOD.replace("{length: {get_param: length}}", "{length: 4}")


@pytest.mark.parametrize(
    ("text", "options", "status"),
    [
        (GOOD, [], 0),
        (GOOD, ["--strict"], 0),
        (WARNED, [], 0),
        (WARNED, ["--strict"], 1),
        (WARNED, ["--strict", "--disable", "unused-parameter"], 0),
        (GOOD.replace("RandomString", "Random"), [], 1),
        ("{", [], 1),
        ("\x00", [], 1),
        ("", [], 1),
        ("- a", [], 1),
        ("parameters: {}", [], 1),
        ("[" * 5000, [], 1),
        ("a: &a [1]\nb: &b [" + "*a," * 9 + "]\nc: &c [" + "*b," * 9 + "]\nheat_template_version: 1", [], 1),
    ],
)
def test_status(
    text: str, options: list[str], status: int, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.yaml").write_text(text)
    assert run(capsys, str(tmp_path / "t.yaml"), *options)[0] == status


@pytest.mark.parametrize(
    "argv", [[], ["--format", "xml", "a.yaml"], ["--disable", "nothing", "a.yaml"], ["-", "-e", "-"]]
)
def test_wrong_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        command.main(argv)
    assert caught.value.code == command.FAILED


@pytest.mark.parametrize(
    "argv, reason",
    [
        (["not-there.yaml"], "No such file or directory"),
        (["nested"], "Is a directory"),
        (["nested/member.yaml", "-e", "not-there.env"], "No such file or directory"),
        (["https://example.org/stack.yaml"], "a URL is not read; give the file"),
        (["/dev/zero"], "larger than any template"),
    ],
)
def test_unreadable(argv: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(argv) == command.FAILED
    assert f"{argv[-1]}: {reason}" in capsys.readouterr().err


COMPUTED = """heat_template_version: 2021-04-16
parameters:
  p: {type: string}
conditions:
  c: {equals: [{get_param: p}, x]}
resources:
  z: {type: OS::Heat::TestResource}
  w: {type: OS::Heat::Value, properties: {value: {get_attr: %s}}}
"""


@pytest.mark.parametrize(
    "args",
    [
        "[z, {get_param: p}]",
        "[{get_param: p}, output]",
        "[z, {get_attr: [z, output]}]",
        "[z, output, {get_param: p}]",
        "[z, {if: [c, output, show]}]",
    ],
)
def test_an_attribute_that_is_computed_may_be_right(args: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "t.yaml").write_text(COMPUTED % args)
    assert runner.lint(str(tmp_path / "t.yaml"), disabled=["unused-condition", "unused-parameter"]) == []


def given(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_standard_input(ends: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    given(monkeypatch, GOOD.replace("RandomString", "RandomSträng").replace("\n", ends).encode())
    status, text = run(capsys, "-")
    assert status == command.FOUND
    assert '-:6:11: error: there is no resource type "OS::Heat::RandomSträng"' in text


def test_standard_input_that_is_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, b"\xff\xfe")
    assert command.main(["-"]) == command.FAILED


def test_not_utf8(tmp_path: pathlib.Path) -> None:
    (tmp_path / "t.yaml").write_bytes(b"\xff\xfe")
    assert command.main([str(tmp_path / "t.yaml")]) == command.FAILED


def test_output_and_several_templates(tmp_path: pathlib.Path) -> None:
    out = tmp_path / "report.json"
    assert command.main(["types.yaml", "nested.yaml", "-f", "json", "-o", str(out)]) == command.FOUND
    assert {item["file"] for item in json.loads(out.read_text())["findings"]} == {"types.yaml", "nested.yaml"}


def test_all_rules_are_listed_and_documented(capsys: pytest.CaptureFixture[str]) -> None:
    listed = run(capsys, "--list-rules")[1]
    page = (ROOT / "doc" / "source" / "lint.rst").read_text()
    for name in RULES:
        assert name in listed
        assert "``%s``" % name in page


def test_needs_neither_configuration_nor_a_service() -> None:
    code = (
        'import sys; from openkeel_heat.cmd import lint; assert lint.main(["types.yaml"]) == 1; '
        'heavy = {"sqlalchemy", "oslo_messaging", "openstack", "keystoneauth1", "yaql", "oslo_db"}; '
        "assert not heavy & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_findings_have_paths() -> None:
    paths = {finding.path for finding in runner.lint("properties.yaml")}
    assert "resources.server.properties.networks[1].if[1].subnett" in paths


def test_types_file_is_what_the_contract_says() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "tools" / "lint_types"), "--check"], check=False)
    assert done.returncode == 0
