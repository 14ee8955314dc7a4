# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::CloudConfig: the cloud-config of cloud-init."""

from __future__ import annotations

import collections
from typing import Any

import yaml

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.heat.software_config import SoftwareConfig
from openkeel_heat.resources.kit import properties, support
from openkeel_heat.resources.kit.resource import Resource

_HEADER = "#cloud-config\n"


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes plain data, mappings that keep an order included."""


_Dumper.add_representer(collections.OrderedDict, lambda dumper, data: dumper.represent_dict(data.items()))


class CloudConfig(SoftwareConfig):
    """Keeps a cloud-config for the user data of servers, or as a part of a multi-part message.

    It is a map in the template, with its functions resolved, and YAML text when kept. cloud-init reads it at the
    first boot only: another one replaces the servers that have it.
    """

    support_status = support.SupportStatus(version="2014.1")

    PROPERTIES = (CLOUD_CONFIG,) = ("cloud_config",)

    properties_schema = {
        CLOUD_CONFIG: properties.Schema(properties.Schema.MAP, _("The cloud-config.")),
    }

    def config_values(self) -> dict[str, Any]:
        text = yaml.dump(self.properties[self.CLOUD_CONFIG], Dumper=_Dumper)
        return {"config": _HEADER + text, "group": self.DEFAULT_GROUP}


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::CloudConfig": CloudConfig}
