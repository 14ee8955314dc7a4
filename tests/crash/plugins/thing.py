# SPDX-License-Identifier: Apache-2.0
"""Test::Thing: a resource with an object outside of the database, so that tests see what is made twice or forgotten.

The cloud is a directory (``OPENKEEL_TEST_CLOUD``): an object is a file of its name with its value in it, and ``log``
has one line per creation and deletion.
"""

from __future__ import annotations

import os
import pathlib
import time
from typing import Any

from openkeel_heat.resources.kit import attributes, properties
from openkeel_heat.resources.kit.resource import Resource


def cloud() -> pathlib.Path:
    return pathlib.Path(os.environ["OPENKEEL_TEST_CLOUD"])


def note(*words: str) -> None:
    with open(cloud() / "log", "a") as out:
        out.write(" ".join(words) + "\n")


class Thing(Resource):
    """A file. ``seconds`` is how long each action takes; ``fail`` names the action that fails at its end, once."""

    PROPERTIES = (VALUE, KIND, SECONDS, FAIL) = ("value", "kind", "seconds", "fail")

    properties_schema = {
        VALUE: properties.Schema(properties.Schema.STRING, default="v", update_allowed=True),
        KIND: properties.Schema(properties.Schema.STRING, default="k"),
        SECONDS: properties.Schema(properties.Schema.NUMBER, default=0, update_allowed=True),
        FAIL: properties.Schema(properties.Schema.STRING, default="", update_allowed=True),
    }
    attributes_schema = {"value": attributes.Schema("What it holds.")}

    repeatable_update = True
    poll_interval = 0.2

    def _path(self, name: str | None = None) -> pathlib.Path:
        wanted = name or self.resource_id
        assert wanted is not None
        return cloud() / "objects" / wanted

    def _write(self, value: str) -> None:
        path = self._path()
        part = cloud() / f"part-{os.getpid()}-{time.monotonic_ns()}"
        part.write_text(value)
        os.replace(part, path)

    def handle_create(self) -> float:
        name = self.physical_resource_name()
        assert name is not None
        try:
            os.close(os.open(self._path(name), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            note("create", name)
        except FileExistsError:
            note("twice", name)
        self.resource_id_set(name)
        self._write(self.properties[self.VALUE])
        return time.time() + self.properties[self.SECONDS]

    def _done(self, until: float) -> bool:
        if time.time() < until:
            return False
        mark = cloud() / f"failed-{self.resource_id}-{self.action}"
        if self.properties[self.FAIL] == self.action.lower() and not mark.exists():
            mark.touch()
            raise ValueError(f"{self.name} fails to {self.action}")
        return True

    def check_create_complete(self, until: float) -> bool:
        return self._done(until)

    def find_physical(self) -> str | None:
        name = self.physical_resource_name()
        return name if name and self._path(name).exists() else None

    def handler_data_on_resume(self, action: str) -> float:
        self._write(self.properties[self.VALUE])
        return time.time() + self.properties[self.SECONDS]

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> float:
        self.properties = json_snippet.properties(self.properties_schema, self.context)
        if not self._path().exists():
            note("update of nothing", str(self.resource_id))
            raise ValueError(f"{self.resource_id} is not there")
        if self.VALUE in prop_diff:
            self._write(self.properties[self.VALUE])
        return time.time() + self.properties[self.SECONDS]

    def check_update_complete(self, until: float) -> bool:
        return self._done(until)

    def handle_delete(self) -> float:
        if self.resource_id is None:
            found = self.find_physical()
            if found is None:
                return 0
            self.resource_id_set(found)
        return time.time() + self.properties[self.SECONDS]

    def check_delete_complete(self, until: float) -> bool:
        if not self._done(until):
            return False
        if self.resource_id is not None and self._path().exists():
            os.unlink(self._path())
            note("delete", self.resource_id)
        return True

    def handle_check(self) -> None:
        if self.resource_id is None or not self._path().exists():
            raise ValueError(f"{self.name} is not there")

    def handle_suspend(self) -> float:
        return time.time() + self.properties[self.SECONDS]

    def check_suspend_complete(self, until: float) -> bool:
        return self._done(until)

    def handle_resume(self) -> float:
        return time.time() + self.properties[self.SECONDS]

    def check_resume_complete(self, until: float) -> bool:
        return self._done(until)

    def handle_snapshot(self) -> None:
        self.data_set("kept", self._path().read_text())

    def handle_delete_snapshot(self, snapshot: Any) -> None:
        """Nothing is kept outside."""

    def _resolve_attribute(self, name: str) -> Any:
        if self.resource_id is None or not self._path().exists():
            return None
        return self._path().read_text()


def resource_mapping() -> dict[str, type[Resource]]:
    return {"Test::Thing": Thing}
