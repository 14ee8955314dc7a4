# SPDX-License-Identifier: Apache-2.0
"""The virtual environment of the programs in tools. Python's standard library only.

It is made in ``.venv`` of the checkout, or where OPENKEEL_VENV says, with the exact versions of constraints.txt, and
made again only when what it is made from has changed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ("pyproject.toml", "setup.py", "constraints.txt")
LOWEST_PYTHON = (3, 11)


def say(message: str) -> None:
    print(f"==> {message}", flush=True)


def folder() -> pathlib.Path:
    return pathlib.Path(os.environ.get("OPENKEEL_VENV") or ROOT / ".venv").expanduser().absolute()


def program(name: str) -> pathlib.Path:
    return folder() / "bin" / name


def _fingerprint(extras: str) -> str:
    digest = hashlib.sha256(f"{sys.version}|{ROOT}|{extras}".encode())
    for name in SOURCES:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def ensure(*extras: str) -> pathlib.Path:
    """Make the environment with the project and these extras in it, unless it is there; its directory."""
    if sys.version_info < LOWEST_PYTHON:
        sys.exit(f"Python {'.'.join(map(str, LOWEST_PYTHON))} or newer is needed, this is {sys.version.split()[0]}")
    where = folder()
    wanted = ",".join(sorted(extras))
    stamp = where / f"made-{wanted.replace(',', '-') or 'plain'}"
    fingerprint = _fingerprint(wanted)
    if stamp.exists() and stamp.read_text() == fingerprint:
        return where
    python = program("python")
    if not python.exists() or not _works(python):
        say(f"making a virtual environment in {where}")
        shutil.rmtree(where, ignore_errors=True)
        venv.EnvBuilder(with_pip=True, symlinks=True).create(where)
    say(f"installing openkeel-heat[{wanted}] (a minute or two the first time)")
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    done = subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), "-e", f"{ROOT}[{wanted}]"], check=False)
    if done.returncode:
        sys.exit("pip could not install what is needed (see above); is the package index reachable?")
    stamp.write_text(fingerprint)
    return where


def enter(*extras: str) -> None:
    """Go on with the Python of the environment, unless this one has what the project and its tests need."""
    if all(importlib.util.find_spec(name) for name in ("oslo_messaging", "pytest", "requests")):
        return
    ensure(*extras)
    python = str(program("python"))
    os.execv(python, [python, *sys.argv])


def _works(python: pathlib.Path) -> bool:
    return subprocess.run([str(python), "-c", "import pip"], capture_output=True).returncode == 0
