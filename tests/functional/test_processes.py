# SPDX-License-Identifier: Apache-2.0
"""What operators do with the processes: start, stop, reload, kill; and what they cost at rest."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.fixtures import stores, templates
from tests.fixtures.checks import Database
from tests.fixtures.polling import until
from tests.fixtures.processes import ROOT, free_port, run
from tests.fixtures.service import OURS, AllInOne, Installation

AT_REST_MIB = 90


def resident_mib(pid: int) -> float:
    match = re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())
    assert match is not None
    return int(match.group(1)) / 1024


def threads(pid: int) -> int:
    return len(list(pathlib.Path(f"/proc/{pid}/task").iterdir()))


def test_restart_keeps_stacks_and_secrets(tmp_path: pathlib.Path) -> None:
    service = AllInOne(tmp_path, {"DEFAULT": {"encrypt_parameters_and_properties": True}}).start()
    try:
        template = templates.hot(
            {"a": templates.resource({"get_param": "word"})},
            {"a": templates.attr("a")},
            {"word": {"type": "string", "hidden": True}},
        )
        stack = service.api().create(template, parameters={"word": "secret"})
        assert service.stop() == 0
        service.start()
        again = service.api().stack(stack.name, stack.id)
        assert again.outputs()["a"] == "secret"
        again.update(template, parameters={"word": "other"})
        assert again.outputs()["a"] == "other"
        again.delete()
    finally:
        service.stop()


def test_stop_during_work(tmp_path: pathlib.Path) -> None:
    """SIGTERM does not wait for slow resources; the next start goes on with them."""
    service = AllInOne(tmp_path).start()
    try:
        stack = service.api().create(templates.flat(slow=5), wait=False)
        stack.wait_resource("b", "IN_PROGRESS")
        assert service.stop() == 0
        service.start()
        service.api().stack(stack.name, stack.id).wait("CREATE_COMPLETE")
    finally:
        service.stop()


def test_kill_during_work(tmp_path: pathlib.Path) -> None:
    service = AllInOne(tmp_path).start()
    try:
        stack = service.api().create(templates.nested(count=3), wait=False, files=templates.files())
        service.kill()
        service.start()
        again = service.api().stack(stack.name, stack.id)
        again.wait("CREATE_COMPLETE")
        assert again.outputs()["all"] == ["b1", "b1", "b1"]
    finally:
        service.stop()


def test_reload_of_options(tmp_path: pathlib.Path) -> None:
    service = AllInOne(tmp_path).start()
    try:
        service.conf.write_text(service.conf.read_text().replace("[DEFAULT]", "[DEFAULT]\ndebug = true", 1))
        assert service.program is not None
        os.kill(service.program.pid, signal.SIGHUP)
        until(
            lambda: "debug" in service.program.log_file.read_text().lower(), "the log says that debug was changed", 20
        )
        assert service.api().get("/stacks")["stacks"] == []
    finally:
        service.stop()


@pytest.fixture(scope="module")
def bus_and_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """An installation without Keystone, for tests of the engine's processes alone."""
    folder = tmp_path_factory.mktemp("processes")
    with stores.mariadb_database("processes") as (_, connection), stores.rabbitmq_vhost("processes") as (_, transport):
        installation = Installation(
            folder,
            connection,
            transport,
            {"DEFAULT": {"num_engine_workers": 2, "periodic_interval": 2, "deferred_auth_method": "password"}},
        )
        try:
            installation.manage(OURS, "db_sync")
            yield installation
        finally:
            installation.stop()


@pytest.mark.services
def test_engine_workers(bus_and_database: Installation) -> None:
    """Two workers under a parent; one killed is replaced; SIGTERM ends all; each is small at rest."""
    installation = bus_and_database
    database = Database(installation.connection)
    program = installation.engine(OURS)

    def workers() -> list[int]:
        return [pid for pid in program.members() if pid != program.pid]

    def reported() -> int:
        return int(database.value("SELECT COUNT(*) FROM service WHERE deleted_at IS NULL"))

    until(lambda: len(workers()) == 2 and reported() == 2, "two workers report themselves", 60)
    sizes = {pid: resident_mib(pid) for pid in workers()}
    print("resident MiB of the workers:", {pid: round(size, 1) for pid, size in sizes.items()})
    assert max(sizes.values()) <= AT_REST_MIB
    first = workers()[0]
    os.kill(first, signal.SIGKILL)
    until(lambda: len(workers()) == 2 and first not in workers(), "the killed worker is replaced", 60)
    assert program.stop(60) == 0
    assert not program.members()


def test_help_of_every_command() -> None:
    for name in ("engine", "api", "api_cfn", "all_in_one", "manage", "status"):
        done = run([sys.executable, "-m", f"openkeel_heat.cmd.{name}", "--help"], cwd=ROOT)
        assert "usage" in done.stdout.lower(), name


def test_wsgi_script(tmp_path: pathlib.Path) -> None:
    port = free_port()
    conf = tmp_path / "heat.conf"
    conf.write_text("[DEFAULT]\ntransport_url = fake://\n[paste_deploy]\nflavor = noauth\n")
    script = ROOT / "openkeel_heat" / "cmd" / "scripts" / "heat-wsgi-api"
    process = subprocess.Popen(
        [sys.executable, str(script), "--host", "127.0.0.1", "--port", str(port), "--", "--config-file", str(conf)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        import requests

        from tests.fixtures.processes import listening

        until(lambda: listening(port) or process.poll() is not None, "the script serves", 30)
        assert requests.get(f"http://127.0.0.1:{port}/", timeout=10).status_code == 300
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("given", "flavor"),
    [(["--config-file", "site.conf"], "noauth"), (["--config-file=site.conf"], "noauth"), (["-w", "4"], "None")],
)
def test_arguments_of_a_wsgi_container(tmp_path: pathlib.Path, given: list[str], flavor: str) -> None:
    """``pyargv`` of uWSGI names our configuration; what a container left there of its own is passed over."""
    (tmp_path / "site.conf").write_text("[DEFAULT]\ntransport_url = fake://\n[paste_deploy]\nflavor = noauth\n")
    program = (
        "import sys; sys.argv[0] = 'container'\n"
        "import webob; from heat.wsgi.api import application; from oslo_config import cfg\n"
        "answer = webob.Request.blank('/').get_response(application)\n"
        "print(answer.status_int, cfg.CONF.paste_deploy.flavor)\n"
    )
    env = {"PYTHONPATH": f"{ROOT}:{ROOT / 'openkeel_heat' / 'compat'}", "HOME": str(tmp_path)}
    done = run([sys.executable, "-c", program, *given], env=env, cwd=tmp_path)
    assert done.stdout.split()[-2:] == ["300", flavor]


@pytest.mark.parametrize("way", ["environment", "option"])
def test_eventlet(tmp_path: pathlib.Path, way: str) -> None:
    """A smoke part of the suite on the eventlet backend."""
    pytest.importorskip("eventlet")
    sections = {"DEFAULT": {"threading_backend": "eventlet"}} if way == "option" else {}
    env = {"OPENKEEL_HEAT_BACKEND": "eventlet"} if way == "environment" else {}
    service = AllInOne(tmp_path, sections, env).start()
    try:
        stack = service.api().create(templates.nested(count=2), files=templates.files())
        assert stack.outputs()["all"] == ["b1", "b1"]
        stack.update(templates.nested(count=3, salt="2", generation="y"), files=templates.files())
        assert stack.outputs()["all"] == ["b2", "b2", "b2"]
        stack.delete()
    finally:
        assert service.stop() == 0
