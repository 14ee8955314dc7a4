# SPDX-License-Identifier: Apache-2.0
"""Objects of services as plug-ins of others read them: ``plugin.get_volume(id).status``."""

from __future__ import annotations

from typing import Any


class Answer(dict[str, Any]):
    """What a service told of an object, its keys for attributes too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def to_dict(self) -> dict[str, Any]:
        return dict(self)
