# SPDX-License-Identifier: Apache-2.0
"""Clients of services with microversions: one client per version, the newest by default."""

from __future__ import annotations

import abc
import threading
from typing import Any

from openkeel_heat.common import exceptions


class MicroversionMixin(abc.ABC):
    _client_instances: dict[str | None, Any]
    _instances_lock: threading.RLock

    def client(self, version: str | None = None) -> Any:
        if version is None:
            version = self.get_max_microversion()
        elif not self.is_version_supported(version):
            raise exceptions.InvalidServiceVersion(version=version, service=self._get_service_name())
        with self._instances_lock:
            if version not in self._client_instances:
                self._client_instances[version] = self._create(version=version)
            return self._client_instances[version]

    def _get_service_name(self) -> str:
        return type(self).__name__.removesuffix("ClientPlugin").lower()

    @abc.abstractmethod
    def _create(self, version: str | None = None) -> Any: ...

    @abc.abstractmethod
    def get_max_microversion(self) -> str: ...

    @abc.abstractmethod
    def is_version_supported(self, version: str) -> bool: ...
