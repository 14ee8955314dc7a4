# SPDX-License-Identifier: Apache-2.0
"""Which threads are chosen: command line over configuration files over environment over the default."""

from __future__ import annotations

import contextlib
import os
import pathlib
import sqlite3
import stat
import subprocess
import sys

import pytest

from openkeel_heat.cmd import all_in_one, backend, engine


@pytest.fixture
def conf(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "heat.conf"
    path.write_text("[DEFAULT]\nthreading_backend = eventlet\nbad line without value\n[database]\nconnection = a%b\n")
    return path


def words(conf: pathlib.Path) -> dict[str, tuple[list[str], dict[str, str], str]]:
    file = ["--config-file", str(conf)]
    env = {backend.ENVIRONMENT: "eventlet"}
    return {
        "default": ([], {}, "threading"),
        "environment": ([], env, "eventlet"),
        "file": (file, {}, "eventlet"),
        "file, one word": ([f"--config-file={conf}"], {}, "eventlet"),
        "flag over file": (["--threading-backend", "threading", *file], {}, "threading"),
        "flag, one word": (["--threading-backend=eventlet"], {}, "eventlet"),
        "flag over environment": (["--threading-backend=threading"], env, "threading"),
        "absent file": (["--config-file", "/nowhere"], {}, "threading"),
        "behind --": (["--", "--threading-backend", "eventlet"], {}, "threading"),
    }


@pytest.mark.parametrize("case", list(words(pathlib.Path("x"))))
def test_choice(case: str, conf: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "DEFAULT_FILES", ())
    argv, env, expected = words(conf)[case]
    assert backend.choose(list(argv), env) == expected


def test_the_flag_is_taken_off() -> None:
    argv = ["prog", "--threading-backend", "threading", "--debug"]
    backend.choose(argv, {})
    assert argv == ["prog", "--debug"]


def test_unknown_backend() -> None:
    with pytest.raises(SystemExit, match="gevent"):
        backend.choose(["--threading-backend", "gevent"], {})


def test_last_file_wins(conf: pathlib.Path, tmp_path: pathlib.Path) -> None:
    other = tmp_path / "other.conf"
    other.write_text("[DEFAULT]\nthreading_backend = threading\n")
    assert backend.from_files([conf, other]) == "threading"
    assert backend.from_files([other, tmp_path]) == "threading"


def test_native_threads_without_eventlet() -> None:
    """The package can be imported where eventlet is not installed, and does not load it where it is."""
    code = (
        "import sys\nfrom openkeel_heat.cmd import backend\nbackend.select([])\n"
        "from openkeel_heat.cmd import process\nprocess.preload_engine()\n"
        "assert 'eventlet' not in sys.modules, 'loaded'\n"
    )
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )


def test_only_the_owner_reads_the_database(tmp_path: pathlib.Path) -> None:
    path = pathlib.Path(all_in_one.private_database(str(tmp_path)))
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE t (a)")
        assert {one.stat().st_mode & 0o777 for one in tmp_path.iterdir()} == {0o600}
    assert all_in_one.private_database(str(tmp_path)) == str(path)  # one that is there stays as it is
    assert path.stat().st_size > 0


def test_encryption_key_stays(tmp_path: pathlib.Path) -> None:
    key = all_in_one.encryption_key(str(tmp_path))
    assert len(key) == 32
    assert all_in_one.encryption_key(str(tmp_path)) == key
    assert stat.S_IMODE((tmp_path / "encryption-key").stat().st_mode) == 0o600


def test_worker_count() -> None:
    assert engine.worker_count(3) == 3
    assert engine.worker_count(None) >= 4
    assert engine.worker_count(0) >= 4


@pytest.mark.parametrize("module", ["oslo_cache._memcache_pool", "oslo_cache._bmemcache_pool"])
def test_a_thread_that_caches_tokens_ends(tmp_path: pathlib.Path, module: str) -> None:
    """Loading eventlet in a thread makes it one that cannot be joined; the token cache loads it where it is there."""
    pytest.importorskip("eventlet")
    for name in ("memcache", "bmemcached"):
        (tmp_path / f"{name}.py").write_text("class Client: pass\n")
    program = (
        "import importlib, threading; from openkeel_heat.cmd import backend; backend.select([])\n"
        f"thread = threading.Thread(target=importlib.import_module, args=['{module}'], daemon=True)\n"
        "thread.start(); thread.join(20); print('runs' if thread.is_alive() else 'ended')\n"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "ended\n"
