# SPDX-License-Identifier: Apache-2.0
"""Custom constraints ``cinder.*``: the value is an object of the volume service."""

from __future__ import annotations

from openkeel_heat.clients.cinder import NotFound
from openkeel_heat.resources.kit.constraints import BaseCustomConstraint


class BaseCinderConstraint(BaseCustomConstraint):
    resource_client_name = "cinder"


class VolumeConstraint(BaseCinderConstraint):
    resource_getter_name = "get_volume"


class VolumeSnapshotConstraint(BaseCinderConstraint):
    resource_getter_name = "get_volume_snapshot"


class VolumeBackupConstraint(BaseCinderConstraint):
    resource_getter_name = "get_volume_backup"


class VolumeTypeConstraint(BaseCinderConstraint):
    """By name or id."""

    resource_getter_name = "get_volume_type"


class QoSSpecsConstraint(BaseCinderConstraint):
    """By name or id."""

    expected_exceptions = (NotFound,)
    resource_getter_name = "get_qos_specs"
