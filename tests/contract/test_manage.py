# SPDX-License-Identifier: Apache-2.0
"""``heat-manage`` and ``heat-status``: arguments, outputs and exit codes of ``manage.json``.

The commands run in forked children of this process: its imports are theirs, their configuration is their own.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from openkeel_heat.cmd import manage, status
from openkeel_heat.common import config
from openkeel_heat.db import crypt, migrate, models, resources, services, session, stacks, templates
from tests.fixtures import stores

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "manage.json").read_text("utf-8"))
MANAGE, STATUS = FACTS["heat-manage"], FACTS["heat-status"]

config.register_all(cfg.CONF)


def run(folder: Path, main: Callable[[], Any], words: list[str], answers: str = "") -> tuple[int, list[str], list[str]]:
    """Exit code, lines of standard output and of standard error."""
    (folder / "in").write_text(answers)
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for descriptor, name, flags in (
                (0, "in", os.O_RDONLY),
                (1, "out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
                (2, "err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
            ):
                os.dup2(os.open(folder / name, flags, 0o600), descriptor)
            sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
            sys.argv = words
            cfg.CONF.reset()
            try:
                code = main() or 0
            except SystemExit as exc:
                code = exc.code if isinstance(exc.code, int) else 1 if exc.code else 0  # type: ignore[assignment]
                if isinstance(exc.code, str):
                    print(exc.code, file=sys.stderr)
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    _pid, wait_status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(wait_status)
    return code, (folder / "out").read_text().splitlines(), (folder / "err").read_text().splitlines()


@pytest.fixture
def heat_manage(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Runs a command on an empty SQLite database."""
    url = f"sqlite:///{tmp_path}/heat.sqlite"
    yield _runner(tmp_path, url)
    session.dispose()


def _runner(folder: Path, url: str) -> Callable[..., Any]:
    conf = folder / "heat.conf"
    conf.write_text(
        f"[DEFAULT]\nlog_file = {folder}/log\ntransport_url = fake://\nrpc_response_timeout = 1\n"
        f"[database]\nconnection = {url}\n"
    )
    session.configure(connection=url)

    def call(*words: str, answers: str = "") -> tuple[int, list[str], list[str]]:
        return run(folder, manage.main, ["heat-manage", "--config-file", str(conf), *words], answers)

    return call


# what is recorded -------------------------------------------------------------------------------------------------

#: Runs that end otherwise on purpose: words -> (exit code, output, last line of errors).
BETTER = {
    ("purge_deleted",): (0, [], ""),
    ("purge_deleted", "0"): (0, [], ""),
    ("purge_deleted", "1", "-g", "hours", "-p", "x", "-b", "5"): (0, [], ""),
}


def test_recorded_runs(heat_manage: Callable[..., Any]) -> None:
    """One after the other, as they were recorded."""
    count = 0
    resets = 0
    for case in MANAGE["runs"]:
        words = tuple(case["command"][1:])
        if words == ("--version",):
            continue  # this package's own
        answers = ""
        if words[:1] == ("reset_stack_status",):
            resets += 1
            answers = "n\n" if resets == 1 else "y\n"
        code, out, err = heat_manage(*words, answers=answers)
        expected = (case["exit_code"], case["stdout"], (case["stderr_last"] or [""])[-1])
        expected = BETTER.get(words, expected)
        assert code == expected[0], (words, out, err)
        if expected[1] and expected[1][0].startswith("<"):
            assert len(out) == int(expected[1][0].split()[0][1:]), (words, out)
        else:
            assert out == expected[1], (words, out)
        assert (err or [""])[-1].split(" (choose from")[0] == expected[2].split(" (choose from")[0], (words, err)
        count += 1
    print(f"{count} recorded runs of heat-manage")
    assert count == len(MANAGE["runs"]) - 1 == 30


def _arguments(parser: argparse.ArgumentParser) -> dict[str, Any]:
    found: dict[str, Any] = {"arguments": []}
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        if isinstance(action, argparse._SubParsersAction):
            found["subcommands"] = {name: _arguments(sub) for name, sub in action.choices.items()}
            found["subcommands_dest"] = action.dest
            found["subcommands_required"] = action.required
            continue
        found["arguments"].append({
            "choices": list(action.choices) if action.choices else None,
            "default": action.default,
            "dest": action.dest,
            "kind": type(action).__name__.strip("_"),
            "names": list(action.option_strings) or [action.dest],
            "nargs": action.nargs,
            "positional": not action.option_strings,
            "required": action.required,
        })  # fmt: skip
    return found


def test_arguments() -> None:
    parser = argparse.ArgumentParser()
    subparsers = parser.add_subparsers(dest="command")
    manage.add_command_parsers(subparsers)
    found = {name: _arguments(sub) for name, sub in subparsers.choices.items()}
    assert json.loads(json.dumps(found)) == MANAGE["commands"]
    assert len(found) == 9


@pytest.mark.parametrize("case", STATUS["runs"], ids=lambda c: " ".join(c["command"]))
def test_heat_status(tmp_path: Path, case: dict[str, Any]) -> None:
    code, out, err = run(tmp_path, status.main, case["command"])
    assert code == case["exit_code"], (out, err)
    if case["stdout"] != ["<usage text>"]:
        assert [line for line in out if line] == case["stdout"]
    assert (err or [""])[-1] == (case["stderr_last"] or [""])[-1]


def test_heat_status_of_a_json_policy_file(tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text("{}")
    (tmp_path / "heat.conf").write_text(f"[oslo_policy]\npolicy_file = {tmp_path}/policy.json\n")
    words = ["heat-status", "--config-file", str(tmp_path / "heat.conf"), "upgrade", "check"]
    code, out, _err = run(tmp_path, status.main, words)
    assert code == STATUS["exit_codes"]["failure"]
    assert any("Failure" in line for line in out)


# what the commands do ---------------------------------------------------------------------------------------------


def _stack(name: str = "s", **values: Any) -> str:
    template = templates.insert({"template": {}, "environment": {}})
    return stacks.insert({"name": name, "tenant": "t", "raw_template_id": template, "disable_rollback": True, **values})


def _purge(heat_manage: Callable[..., Any]) -> None:
    assert heat_manage("db_sync")[0] == 0
    deleted = {"deleted_at": datetime(2026, 1, 1), "created_at": datetime(2026, 1, 1)}
    for number in range(5):
        _stack(f"s{number}", **deleted)
    kept = _stack("kept")
    assert heat_manage("purge_deleted", "1", "-g", "hours", "-p", "other")[0] == 0
    assert len(stacks.list_stacks(show_deleted=True)) == 6
    assert heat_manage("purge_deleted", "1", "-g", "hours", "-p", "t", "-b", "2") == (0, [], [])
    assert [row.id for row in stacks.list_stacks(show_deleted=True)] == [kept]


def test_purge_deleted(heat_manage: Callable[..., Any]) -> None:
    _purge(heat_manage)


@pytest.mark.services
@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_purge_deleted_on_servers(tmp_path: Path, kind: str) -> None:
    if not (stores.have_mariadb() if kind == "mariadb" else stores.have_postgresql()):
        pytest.skip(f"no {kind} server on this machine")
    make = stores.mariadb_database if kind == "mariadb" else stores.postgresql_database
    with make("manage") as (_name, url):
        _purge(_runner(tmp_path, url))
        session.dispose()


def test_services(heat_manage: Callable[..., Any]) -> None:
    heat_manage("db_sync")
    row = {"host": "h", "hostname": "box", "binary": "heat-engine", "topic": "engine", "report_interval": 60}
    services.insert({**row, "engine_id": "alive"})
    beat = models.utcnow() - timedelta(hours=1)
    services.insert({**row, "engine_id": "dead", "created_at": beat, "updated_at": beat})
    _code, out, _err = heat_manage("service", "list")
    assert [line.split()[:6] for line in out[1:]] == [
        ["box", "heat-engine", "dead", "h", "engine", "down"],
        ["box", "heat-engine", "alive", "h", "engine", "up"],
    ]
    assert out[1].endswith(str(services.get_by_engine("dead").updated_at))  # type: ignore[union-attr]
    assert heat_manage("service", "clean") == (0, ["Dead engines are removed."], [])
    assert len(heat_manage("service", "list")[1]) == 2


def test_resource_data_list(heat_manage: Callable[..., Any]) -> None:
    heat_manage("db_sync")
    key = resources.insert({"stack_id": _stack(), "name": "r"})
    resources.set_datum(key, "clear", "plain")
    resources.set_datum(key, "secret", "s3cret", redact=True)
    assert heat_manage("resource_data_list", str(key)) == (
        0,
        [f"{'clear':<16} {'plain':<64}", f"{'secret':<16} {'s3cret':<64}"],
        [],
    )
    assert heat_manage("resource_data_list", "x")[0] == 1


def test_reset_stack_status(heat_manage: Callable[..., Any]) -> None:
    heat_manage("db_sync")
    key = _stack(action="CREATE", status="IN_PROGRESS")
    assert heat_manage("reset_stack_status", key, answers="no\n")[0] == 0
    assert stacks.get(key).status == "IN_PROGRESS"  # type: ignore[union-attr]
    assert heat_manage("reset_stack_status", key, answers="yes\n")[0] == 0
    assert stacks.get(key).status == "FAILED"  # type: ignore[union-attr]


def test_update_params(heat_manage: Callable[..., Any]) -> None:
    heat_manage("db_sync")
    hot = {"parameters": {"h": {"type": "string", "hidden": True}}}
    key = templates.insert({"template": hot, "environment": {"parameters": {"h": "s3cret"}}})

    def stored() -> Any:
        return templates.get(key).environment["parameters"]["h"]  # type: ignore[union-attr]

    other = "another key, thirty-two chars ok"
    assert heat_manage("update_params", "encrypt", other)[0] == 0
    assert crypt.decrypt(*stored(), other) == "s3cret"
    code, _out, err = heat_manage("update_params", "decrypt")
    assert code == 1
    assert err[-1].startswith("ERROR: 1 rows were left as they were")
    assert heat_manage("update_params", "decrypt", other)[0] == 0
    assert stored() == "s3cret"
    assert heat_manage("update_params", "encrypt", "--verbose-update-params")[0] == 0
    assert crypt.decrypt(*stored()) == "s3cret"


def test_db_sync_as_installed(heat_manage: Callable[..., Any]) -> None:
    assert heat_manage("db_version") == (0, ["None"], [])
    assert heat_manage("db_sync") == (0, [], [])
    assert heat_manage("db_version") == (0, [migrate.head()], [])


def test_unreachable_database(tmp_path: Path) -> None:
    call = _runner(tmp_path, "mysql+pymysql://nobody@127.0.0.1:1/none")
    conf = tmp_path / "heat.conf"
    conf.write_text(conf.read_text() + "max_retries = 1\nretry_interval = 0\n")
    code, out, err = call("db_version")
    assert (code, out) == (1, [])
    assert err[-1].startswith(("ERROR: ", "(Background on this error"))
    session.dispose()
