# SPDX-License-Identifier: Apache-2.0
"""Every sub-command that python-heatclient gives to the openstack command (data/heatclient/commands.yaml)."""

from __future__ import annotations

import contextlib
import difflib
import json
import pathlib
import re
import secrets
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any

import pytest
import yaml

from tests.fixtures import testbed
from tests.fixtures.openstack_shell import Done, Shell
from tests.fixtures.polling import until
from tests.fixtures.service import AllInOne, Installation

DATA = pathlib.Path(__file__).parent / "data" / "heatclient"
SCENARIOS: dict[str, list[dict[str, Any]]] = yaml.safe_load((DATA / "commands.yaml").read_text())
# All but what waits for long, and what is not allowed by default.
COMPARED = sorted(SCENARIOS.keys() - {"abandon", "cancels", "hooks", "signals"})


def commands() -> dict[str, str]:
    """The sub-commands of the installed client."""
    return {one.name.replace("_", " "): one.value for one in entry_points(group="openstack.orchestration.v1")}


def command_of(line: str) -> str:
    return max((name for name in commands() if (line + " ").startswith(name + " ")), key=len)


class Play:
    """A scenario on one cloud."""

    def __init__(self, shell: Shell, folder: pathlib.Path, scenario: str) -> None:
        self.shell = shell
        tail = secrets.token_hex(6)
        self.values = {"s": f"{scenario}-{tail}", "tail": tail, "tmp": str(folder), "data": str(DATA)}

    def fill(self, value: Any) -> Any:
        if isinstance(value, str):
            return value.format(**self.values) if "{" in value else value
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if isinstance(value, dict):
            return {self.fill(k): self.fill(v) for k, v in value.items()}
        return value

    def step(self, step: Mapping[str, Any]) -> Done:
        if not step.get("until"):
            return self._step(step)
        with contextlib.suppress(AssertionError):
            return self._step(step)
        last: list[AssertionError] = []

        def reached() -> Done | None:
            try:
                return self._step(step)
            except AssertionError as exc:
                last[:] = [exc]
                return None

        try:
            return until(reached, step["do"], 30, 0.2)  # type: ignore[return-value]
        except AssertionError as exc:
            raise AssertionError(f"{exc}: {last[0] if last else ''}") from None

    def _step(self, step: Mapping[str, Any]) -> Done:
        line = self.fill(step["do"])
        if ("fails" not in step and "text" not in step) and "--format" not in line:
            line += " -f json"
        done = self.shell(line)
        said = f"openstack {line}: {done.code}\n{done.out}\n{done.err}"
        if "fails" in step:
            assert done.code != 0, said
            assert self.fill(step["fails"]) in done.out + done.err, said
            return done
        assert done.code == 0, said
        for text in self.fill(step.get("has", [])):
            assert text in done.out, said
        for name, path in step.get("keep", {}).items():
            value = done.json()
            for key in path if isinstance(path, list) else [path]:
                value = value[key]
            self.values[name] = value
        if "exactly" in step:
            assert done.json() == step["exactly"], said
        if "json" in step:
            problem = unlike(self.fill(step["json"]), done.json())
            assert not problem, f"{problem}\n{said}"
        return done

    def general(self, done: Done) -> Any:
        """An output without what another run would not repeat."""
        text = done.out if done.code == 0 else re.sub(r" \(Request-ID: [^)]*\)", "", done.out + done.err)
        for name in ("snapshot", "config", "deployment", "derived", "event", "id", "tmp", "s", "tail"):
            text = text.replace(self.values.get(name, "\0"), f"<{name}>")
        text = re.sub(r"https?://[\w.:-]+/v1/\w+", "<api>", text)
        text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>", text)
        text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\dZ", "<time>", text)
        text = re.sub(r"-[a-z0-9]{12}\b", "-<random>", text)
        text = re.sub(r"\b[0-9a-f]{32}\b", "<hex>", text)
        with contextlib.suppress(ValueError):
            # Which events were seen before it depends on when the client looked.
            return ordered(Done(0, text, "").json())
        return text


def ordered(value: Any) -> Any:
    """Without the order of lists of objects: what runs at once ends in any order."""
    if isinstance(value, dict):
        return {key: ordered(item) for key, item in value.items()}
    if isinstance(value, list):
        items = [ordered(item) for item in value]
        if items and all(isinstance(item, dict | list) for item in items):
            return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
        return items
    return value


def wordless(value: Any) -> Any:
    """Without what each says in words of its own."""
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if key not in ("description", "Description")}
        return {key: wordless(item) for key, item in kept.items()}
    if isinstance(value, list | tuple):
        return ordered([wordless(item) for item in value])
    return value


def difference(theirs: Any, ours: Any) -> str:
    texts = [one if isinstance(one, str) else json.dumps(one, indent=1, sort_keys=True) for one in (theirs, ours)]
    return "\n".join(difflib.unified_diff(*(t.splitlines() for t in texts), "theirs", "ours", n=2, lineterm=""))


def unlike(wanted: Any, found: Any, path: str = "") -> str | None:
    """Where an answer lacks what is wanted of it."""
    if isinstance(found, str) and isinstance(wanted, dict | list):
        with contextlib.suppress(ValueError):
            found = json.loads(found)
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key, value in wanted.items():
            if key not in found:
                return f"{path}: no {key}"
            problem = unlike(value, found[key], f"{path}.{key}")
            if problem:
                return problem
        return None
    if isinstance(wanted, list) and isinstance(found, list):
        for index, value in enumerate(wanted):
            if all(unlike(value, item) for item in found):
                return f"{path}[{index}]: nothing like {value}"
        return None
    return None if wanted == found else f"{path}: {found!r} is not {wanted!r}"


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A service of its own: whoever adopts must be allowed to."""
    folder = tmp_path_factory.mktemp("heatclient")
    service = AllInOne(folder, {"DEFAULT": {"enable_stack_adopt": True, "enable_stack_abandon": True}})
    shell = Shell(f"{service.url}/v1/demo")
    try:
        service.start()
        yield shell
    finally:
        shell.close()
        service.stop()


def test_every_command_is_in_the_table() -> None:
    used = {command_of(step["do"]) for steps in SCENARIOS.values() for step in steps}
    assert used == set(commands()), set(commands()) - used
    steps = sum(len(steps) for steps in SCENARIOS.values())
    print(f"{len(used)} sub-commands, {steps} command lines")
    assert len(used) >= 49 and steps >= 140


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_embedded(embedded: Shell, tmp_path: pathlib.Path, scenario: str) -> None:
    play = Play(embedded, tmp_path, scenario)
    for step in SCENARIOS[scenario]:
        if not step.get("refused"):
            play.step(step)


@pytest.mark.services
@pytest.mark.keystone
@pytest.mark.reference
@pytest.mark.parametrize("scenario", COMPARED)
def test_as_the_reference(three_daemons: tuple[Installation, str], tmp_path: pathlib.Path, scenario: str) -> None:
    """The outputs are those that Heat 27.0.1 gives."""
    if not testbed.reference_up():
        pytest.skip("Heat 27.0.1 of the test bed is not up (tools/testbed/testbed up heat-ref)")
    token, project = testbed.token()
    outputs: list[list[tuple[str, Any]]] = []
    for root in (testbed.REFERENCE_URL, three_daemons[1]):
        shell = Shell(f"{root}/v1/{project}", token)
        play = Play(shell, tmp_path, scenario)
        outputs.append([])
        try:
            for step in SCENARIOS[scenario]:
                if not step.get("allowed"):
                    try:
                        done = play.step(step)
                    except AssertionError as exc:
                        raise AssertionError(f"{root}: {exc}") from None
                    if step.get("same", True):
                        outputs[-1].append((step["do"], play.general(done)))
        finally:
            shell(f"stack delete --yes {play.values['s']}")
            shell.close()
    theirs, ours = outputs
    if scenario == "discovery":
        theirs, ours = wordless(theirs), wordless(ours)
    different = [
        f"{line}\n{difference(their, our)}"
        for (line, their), (_, our) in zip(theirs, ours, strict=True)
        if their != our
    ]
    if different:
        pytest.fail("\n".join(different), pytrace=False)
