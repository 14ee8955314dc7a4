# SPDX-License-Identifier: Apache-2.0
"""The files that come with a template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from openkeel_heat.common.i18n import _


class TemplateFiles(Mapping[str, Any]):
    """Names of files and their contents; ``update`` does not touch the mapping it was made of."""

    def __init__(self, files: Mapping[str, Any] | None = None) -> None:
        if files is not None and not isinstance(files, Mapping):
            raise ValueError(
                _("Expected dict, got %(cname)s for files, (value is %(val)s)")
                % {"cname": type(files), "val": str(files)}
            )
        self.files: dict[str, Any] = dict(files or {})

    def __getitem__(self, key: str) -> Any:
        return self.files[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.update({key: value})

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def update(self, files: Mapping[str, Any]) -> None:
        """Add files."""
        self.files = {**self.files, **files}
