# SPDX-License-Identifier: Apache-2.0
"""Where the database of a crash is: prepared once, then copied for each point at which an engine dies."""

from __future__ import annotations

import pathlib
import subprocess
from typing import Protocol

from tests.fixtures import stores


class Base(Protocol):
    """Databases by the folders of lives."""

    def url(self, folder: pathlib.Path) -> str: ...

    def make(self, folder: pathlib.Path) -> None:
        """An empty one."""

    def copy(self, source: pathlib.Path, target: pathlib.Path) -> None:
        """What the folder itself does not bring along."""

    def drop(self, folder: pathlib.Path) -> None: ...


class Sqlite:
    """A file in the folder."""

    def url(self, folder: pathlib.Path) -> str:
        return f"sqlite:///{folder / 'heat.sqlite'}"

    def make(self, folder: pathlib.Path) -> None:
        """It is made with its first table."""

    def copy(self, source: pathlib.Path, target: pathlib.Path) -> None:
        """It was copied with the folder."""

    def drop(self, folder: pathlib.Path) -> None:
        """It goes with the folder."""


class MariaDB:
    """A database of the server of this machine for each folder."""

    def __init__(self) -> None:
        self._prefix = stores.fresh("crash")

    def _name(self, folder: pathlib.Path) -> str:
        return f"{self._prefix}_{folder.name.replace('-', '_')}"

    def url(self, folder: pathlib.Path) -> str:
        return f"mysql+pymysql://{stores.MARIADB_USER}@127.0.0.1/{self._name(folder)}?charset=utf8mb4"

    def make(self, folder: pathlib.Path) -> None:
        stores.mariadb(f"CREATE DATABASE `{self._name(folder)}` CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")

    def copy(self, source: pathlib.Path, target: pathlib.Path) -> None:
        self.make(target)
        server = ["--host=127.0.0.1", f"--user={stores.MARIADB_USER}"]
        dump = subprocess.run(["mysqldump", *server, self._name(source)], check=True, capture_output=True)
        subprocess.run(["mysql", *server, self._name(target)], check=True, input=dump.stdout)

    def drop(self, folder: pathlib.Path) -> None:
        stores.mariadb(f"DROP DATABASE IF EXISTS `{self._name(folder)}`")


BASES: dict[str, type[Base]] = {"sqlite": Sqlite, "mariadb": MariaDB}
