# SPDX-License-Identifier: Apache-2.0
"""Ansible's module openstack.cloud.stack, by ansible-playbook."""

from __future__ import annotations

import os
import pathlib
import secrets

import pytest

from tests.fixtures import client_venv
from tests.fixtures.processes import ROOT, run
from tests.fixtures.service import AllInOne

PLAYBOOK = pathlib.Path(__file__).parent / "data" / "ansible_stack.yaml"


@pytest.mark.slow
@pytest.mark.timeout(700)
def test_stack_module(cloud: AllInOne, tmp_path: pathlib.Path) -> None:
    try:
        programs = client_venv.environment("ansible")
        collections = client_venv.ansible_collections()
    except client_venv.NotInstallable as exc:
        pytest.skip(str(exc))
    environment = tmp_path / "environment.yaml"
    environment.write_text("parameters: {members: 2}\n")
    values = {
        "endpoint": f"{cloud.url}/v1/demo",
        "stack": "ansible-" + secrets.token_hex(4),
        "template": ROOT / "doc" / "examples" / "quickstart.yaml",
        "environment_file": environment,
    }
    words = [word for name, value in values.items() for word in ("-e", f"{name}={value}")]
    done = run(
        [programs / "ansible-playbook", "-i", "localhost,", "-c", "local", *words, PLAYBOOK],
        env={
            "ANSIBLE_COLLECTIONS_PATH": str(collections),
            "ANSIBLE_HOME": str(tmp_path / "ansible"),
            "LC_ALL": "C.UTF-8",
            "PATH": f"{programs}:{os.environ['PATH']}",
        },
        cwd=tmp_path,
        limit=300,
    )
    assert "failed=0" in done.stdout
