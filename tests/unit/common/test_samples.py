# SPDX-License-Identifier: Apache-2.0
"""tools/samples: what the generators write of this service."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("samples")
    subprocess.run(
        [sys.executable, str(ROOT / "tools" / "samples"), "--directory", str(folder)], check=True, capture_output=True
    )
    return folder


def test_configuration(samples: pathlib.Path) -> None:
    text = (samples / "heat.conf.sample").read_text()
    for line in (
        "#max_stacks_per_tenant = 512",
        "#host = <Hostname>",
        "#threading_backend = threading",
        "[clients_nova]",
        "[heat_api_cfn]",
        "#bind_port = 8000",
        "[trustee]",
        "[ec2authtoken]",
        "[template_fetch]",
        "[keystone_authtoken]",
        "[oslo_messaging_rabbit]",
        "#allow_methods = GET,PUT,POST,DELETE,PATCH",
    ):
        assert f"\n{line}\n" in text, line


def test_policy(samples: pathlib.Path) -> None:
    text = (samples / "policy.yaml.sample").read_text()
    assert text.count('\n#"') + text.startswith('#"') == 100
    assert '#"stacks:create": "role:member and project_id:%(project_id)s"' in text
