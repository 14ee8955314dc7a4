# SPDX-License-Identifier: Apache-2.0
"""Identities of stacks, resources and events.

An identity is a mapping of four texts, ``tenant``, ``stack_name``, ``stack_id`` and ``path``; the mapping is what
crosses the bus. It is also written as an ARN (``arn:openstack:heat::TENANT:stacks/NAME/ID/PATH``) and as the path of a
URL, both percent-encoded UTF-8. A resource is the path ``/resources/NAME`` behind its stack's, an event
``/events/ID`` behind that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Self
from urllib.parse import quote, unquote, urlsplit

from openkeel_heat.common.i18n import _

_ARN_TAIL = re.compile(r"stacks/([^/]+)/([^/]+)(.*)")
_ARN_IN_URL = re.compile(r"/arn%3Aopenstack%3Aheat%3A%3A", re.IGNORECASE)


class HeatIdentifier(Mapping[str, str]):
    """The identity of a stack, and the base of the others. Its four fields are also attributes."""

    TENANT, STACK_NAME, STACK_ID, PATH = FIELDS = ("tenant", "stack_name", "stack_id", "path")

    __slots__ = ("identity",)

    def __init__(self, tenant: str, stack_name: str, stack_id: Any, path: str = "") -> None:
        if "/" in stack_name:
            raise ValueError(_('Stack name may not contain "/"'))
        if path and not path.startswith("/"):
            path = f"/{path}"
        self.identity = {"tenant": tenant, "stack_name": stack_name, "stack_id": str(stack_id), "path": path}

    # --- as a mapping, and as attributes

    def __getitem__(self, key: str) -> str:
        if key not in self.FIELDS:
            raise KeyError(_('Unknown attribute "%s"') % key)
        return self.identity[key]

    def __getattr__(self, name: str) -> str:
        if name not in HeatIdentifier.FIELDS:
            raise AttributeError(_('Unknown attribute "%s"') % name)
        return self.identity[name]

    def __contains__(self, key: object) -> bool:
        return key in self.FIELDS

    def __iter__(self) -> Iterator[str]:
        return iter(self.FIELDS)

    def __len__(self) -> int:
        return len(self.FIELDS)

    def __repr__(self) -> str:
        return repr(self.identity)

    def as_dict(self) -> dict[str, str]:
        """The mapping itself, which is what crosses the bus."""
        return dict(self.identity)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    # --- the written forms

    @classmethod
    def from_arn(cls, arn: str) -> Self:
        fields = arn.split(":", 5)
        if len(fields) < 6 or fields[0].lower() != "arn":
            raise ValueError(_('"%s" is not a valid ARN') % arn)
        tail = _ARN_TAIL.match(fields[5])
        if fields[1:3] != ["openstack", "heat"] or tail is None:
            raise ValueError(_('"%s" is not a valid Heat ARN') % arn)
        return cls(unquote(fields[4]), *(unquote(part) for part in tail.groups()))

    @classmethod
    def from_arn_url(cls, url: str) -> Self:
        """The identity in the path of a URL such as those of signals."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc or not parts.path:
            raise ValueError(_('"%s" is not a valid URL') % url)
        found = _ARN_IN_URL.search(parts.path)
        if found is None:
            raise ValueError(_('"%s" is not a valid ARN URL') % url)
        return cls.from_arn(unquote(parts.path[found.start() + 1 :]))

    def arn(self) -> str:
        return f"arn:openstack:heat::{quote(self.tenant, '')}:{self._tenant_path()}"

    def arn_url_path(self) -> str:
        return "/" + quote(self.arn())

    def url_path(self) -> str:
        """``TENANT/stacks/NAME/ID/PATH``"""
        return f"{quote(self.tenant, '')}/{self._tenant_path()}"

    def stack_path(self) -> str:
        """``NAME/ID``"""
        return f"{quote(self.stack_name, '')}/{quote(self.stack_id, '')}"

    def _tenant_path(self) -> str:
        return f"stacks/{self.stack_path()}{quote(self.path)}"

    def _path_components(self) -> list[str]:
        return self.path.lstrip("/").split("/")

    def _shorter_path(self) -> str:
        return "/".join(self._path_components()[:-2])


class ResourceIdentifier(HeatIdentifier):
    RESOURCE_NAME = "resource_name"

    __slots__ = ()

    def __init__(
        self, tenant: str, stack_name: str, stack_id: Any, path: str = "", resource_name: str | None = None
    ) -> None:
        if resource_name is not None:
            if "/" in resource_name:
                raise ValueError(_('Resource name may not contain "/"'))
            path = f"{path.rstrip('/')}/resources/{resource_name}"
        super().__init__(tenant, stack_name, stack_id, path)

    @property
    def resource_name(self) -> str:
        return self._path_components()[-1]

    def stack(self) -> HeatIdentifier:
        return HeatIdentifier(self.tenant, self.stack_name, self.stack_id, self._shorter_path())


class EventIdentifier(HeatIdentifier):
    RESOURCE_NAME, EVENT_ID = ResourceIdentifier.RESOURCE_NAME, "event_id"

    __slots__ = ()

    def __init__(
        self, tenant: str, stack_name: str, stack_id: Any, path: str = "", event_id: str | None = None
    ) -> None:
        if event_id is not None:
            path = f"{path.rstrip('/')}/events/{event_id}"
        super().__init__(tenant, stack_name, stack_id, path)

    @property
    def resource_name(self) -> str:
        return self.resource().resource_name

    @property
    def event_id(self) -> str:
        return self._path_components()[-1]

    def resource(self) -> ResourceIdentifier:
        return ResourceIdentifier(self.tenant, self.stack_name, self.stack_id, self._shorter_path())

    def stack(self) -> HeatIdentifier:
        return self.resource().stack()
