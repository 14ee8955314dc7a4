# SPDX-License-Identifier: Apache-2.0
"""Random snippets mean the same in Python Heat and here.

What may differ: which of several errors in one snippet is told, since Heat
decides conditions while it parses; and what is inside a function that a
version has removed, which no stack gets past validation with.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from typing import Any

import pytest

from openkeel_heat.template import environment
from tests.contract import reference_snippets as snippets, test_functions as vectors

HERE = pathlib.Path(__file__).parent
REFERENCE = pathlib.Path(
    os.environ.get("OPENKEEL_HEAT_REFERENCE_PYTHON")
    or pathlib.Path.home() / ".cache/openkeel-testbed/venvs/heat-ref/bin/python"
)

COUNT = 1500

pytestmark = [
    pytest.mark.reference,
    pytest.mark.skipif(not REFERENCE.exists(), reason="no installation of Python Heat is there"),
]


@pytest.fixture(autouse=True)
def no_global_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_global", None)


def agree(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    if ours == theirs:
        return True
    errors = {key for key in (*ours, *theirs) if key.endswith("error")}
    return set(ours) == set(theirs) and all(ours[key] == theirs[key] or key in errors for key in ours)


def uses_removed(version: str, snippet: Any) -> bool:
    if version in ("heat_template_version.2013-05-23",) or not version.startswith("heat_template_version"):
        return False
    text = json.dumps(snippet)
    return '"Fn::' in text or '"Ref"' in text


def test_random_snippets(tmp_path: pathlib.Path) -> None:
    cases = snippets.make_cases(20240229, COUNT, vectors.FIXTURE)
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    subprocess.run(
        [
            REFERENCE,
            HERE / "reference_snippets.py",
            HERE / "data" / "function-vectors.json",
            tmp_path / "cases.json",
            tmp_path / "results.json",
        ],
        check=True,
        capture_output=True,
        cwd=tmp_path,
    )
    results = json.loads((tmp_path / "results.json").read_text())
    bad = []
    exact = 0
    for (version, mode, snippet), theirs in zip(cases, results, strict=True):
        if uses_removed(version, snippet) or "<object>" in json.dumps(theirs):
            continue
        ours, want = (vectors.comparable(result) for result in (vectors.outcome(version, mode, snippet), theirs))
        exact += ours == want
        if not agree(ours, want):
            bad.append("%s %s %s\n   theirs %s\n   ours   %s" % (version, mode, json.dumps(snippet), want, ours))
    print("%d snippets, %d with the very same outcome" % (len(cases), exact))
    assert not bad, "\n".join(bad)
    assert exact > COUNT * 0.95
