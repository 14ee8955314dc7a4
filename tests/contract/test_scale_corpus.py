# SPDX-License-Identifier: Apache-2.0
"""The templates of TripleO, read as Heat 27.0.1 reads them: 1,700 files, one of them with 3,000 lines.

The collection is the source archive of the package ``tripleo-heat-templates``, which pip finds where it finds any
package; it is kept in ``OPENKEEL_CORPUS_CACHE`` (``~/.cache/openkeel-corpus``).  The test is skipped where it cannot be
had.  What Heat makes of the files was written by ``corpus_outcome.py``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tarfile

import pytest

from openkeel_heat.template import environment
from tests.contract import corpus_outcome

PACKAGE, VERSION = "tripleo-heat-templates", "18.0.0"
SHA256 = "09026a2ace181b1a2eeddb941504add4a10429a391bd265b4c04571f131b8b89"
EXPECTED = json.loads((pathlib.Path(__file__).parent / "data" / "tripleo-expected.json").read_text())
CACHE = pathlib.Path(os.environ.get("OPENKEEL_CORPUS_CACHE") or pathlib.Path.home() / ".cache" / "openkeel-corpus")

#: pip would build the archive to learn its dependencies, which needs more than is here; this only fetches it
FETCH = """
import sys
from pip._internal.commands import create_command
command = create_command('download')
options, _rest = command.parse_args(['--no-deps', '--no-binary', ':all:', sys.argv[1]])
with command.main_context():
    session = command.get_default_session(options)
    finder = command._build_package_finder(options=options, session=session, ignore_requires_python=True)
    found = [one for one in finder.find_all_candidates(sys.argv[1])
             if str(one.version) == sys.argv[2] and one.link.filename.endswith('.tar.gz')]
    answer = session.get(found[0].link.url_without_fragment, timeout=60)
    answer.raise_for_status()
    open(sys.argv[3], 'wb').write(answer.content)
"""


def is_whole(archive: pathlib.Path) -> bool:
    return archive.exists() and hashlib.sha256(archive.read_bytes()).hexdigest() == SHA256


def fetched() -> pathlib.Path:
    archive = CACHE / ("%s-%s.tar.gz" % (PACKAGE, VERSION))
    if not is_whole(archive):
        CACHE.mkdir(parents=True, exist_ok=True)
        part = archive.with_suffix(".part%d" % os.getpid())
        try:
            done = subprocess.run(
                [sys.executable, "-c", FETCH, PACKAGE, VERSION, part], capture_output=True, text=True, timeout=180
            )
        except subprocess.TimeoutExpired:
            pytest.skip("%s cannot be fetched in time" % PACKAGE)
        if done.returncode or not is_whole(part):
            part.unlink(missing_ok=True)
            pytest.skip("%s %s cannot be fetched: %s" % (PACKAGE, VERSION, (done.stderr.splitlines() or ["?"])[-1]))
        part.rename(archive)
    return archive


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The collection with its Jinja templates rendered for the roles that it has by default."""
    if importlib.util.find_spec("jinja2") is None:
        pytest.skip("jinja2 is not installed")
    place = tmp_path_factory.mktemp("tripleo")
    with tarfile.open(fetched()) as archive:
        # the digest of the archive was compared; Python has filters since 3.11.4 only
        archive.extractall(place, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    source = place / ("%s-%s" % (PACKAGE, VERSION))
    subprocess.run(
        [sys.executable, "tools/process-templates.py", "-o", place / "rendered"],
        cwd=source,
        check=True,
        capture_output=True,
    )
    return place / "rendered"


def test_every_file(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_global", None)
    found = corpus_outcome.outcomes(corpus_outcome.Ours(), folder)
    templates = [outcome for outcome in found.values() if "version" in outcome]
    print(
        "%d files, %d templates with %d resources"
        % (len(found), len(templates), sum(len(outcome["resources"]) for outcome in templates))
    )
    got = corpus_outcome.digests(found)
    assert sorted(got) == sorted(EXPECTED)
    assert {name: found.get(name) for name in got if got[name] != EXPECTED[name]} == {}
    assert len(templates) == 327
