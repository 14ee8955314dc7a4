# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a server that its schema cannot tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit.server_base import BaseServer
from openkeel_heat.resources.nova import block_devices, server_networks as networks, server_schema as schema
from openkeel_heat.resources.nova.server_updates import TAGS_SINCE

ALLOCATION_SINCE, NIC_TAGS_SINCE, VOLUME_TYPE_SINCE, PERSONALITY_UNTIL = "2.37", "2.42", "2.67", "2.57"

IMAGE_ACTIVE = "active"


def validate(server: BaseServer) -> None:
    """Raise for the first thing that is wrong."""
    props = server.properties
    if server.user_data_software_config() and "deployments" in server.t.metadata():
        raise _failed(_("deployments key not allowed in resource metadata with user_data_format of SOFTWARE_CONFIG"))
    block_devices.validate(
        server.name, props[schema.BLOCK_DEVICE_MAPPING], props[schema.BLOCK_DEVICE_MAPPING_V2], props[schema.IMAGE]
    )
    if props[schema.IMAGE]:
        _validate_image_and_flavor(server, props[schema.IMAGE], props[schema.FLAVOR])
    nets = props[schema.NETWORKS] or []
    networks.validate(nets, server.name)
    if any(net[networks.PORT] is not None for net in nets) and props[schema.SECURITY_GROUPS]:
        raise exception.ResourcePropertyConflict(schema.SECURITY_GROUPS, f"{schema.NETWORKS}/{networks.PORT}")
    _validate_versions(server, nets)
    _validate_limits(server, props[schema.METADATA], props[schema.PERSONALITY])


def _failed(message: str) -> exception.StackValidationFailed:
    return exception.StackValidationFailed(message=message)


def _validate_image_and_flavor(server: BaseServer, image: str, flavor: str) -> None:
    plugin, glance = server.client_plugin(), server.client_plugin("glance")
    try:
        wanted, given = glance.image_of_operation(image), plugin.get_flavor(flavor)
    except Exception as error:
        # They may be made by the same stack.
        if plugin.is_not_found(error) or glance.is_not_found(error):
            return
        raise
    if wanted.status.lower() != IMAGE_ACTIVE:
        raise _failed(
            _("Image status is required to be %(cstatus)s not %(wstatus)s.")
            % {"cstatus": IMAGE_ACTIVE, "wstatus": wanted.status}
        )
    if given.ram < wanted.min_ram:
        raise _failed(
            _("Image %(image)s requires %(imram)s minimum ram. Flavor %(flavor)s has only %(flram)s.")
            % {"image": image, "imram": wanted.min_ram, "flavor": flavor, "flram": given.ram}
        )
    if given.disk < wanted.min_disk:
        raise _failed(
            _("Image %(image)s requires %(imsz)s GB minimum disk space. Flavor %(flavor)s has only %(flsz)s GB.")
            % {"image": image, "imsz": wanted.min_disk, "flavor": flavor, "flsz": given.disk}
        )


def _validate_versions(server: BaseServer, nets: Sequence[Mapping[str, Any]]) -> None:
    """What needs a version of the compute API that the service may not have."""
    props, supported = server.properties, server.client_plugin().is_version_supported
    if networks.allocation(nets) and not supported(ALLOCATION_SINCE):
        raise _failed(
            _('Cannot use "%s" property - compute service does not support the required api microversion.')
            % networks.ALLOCATE_NETWORK
        )
    if networks.any_tagged(nets) and not supported(NIC_TAGS_SINCE):
        raise _failed(
            _('Cannot use "%s" property in networks - nova does not support required api microversion.') % networks.TAG
        )
    if props[schema.TAGS] and not supported(TAGS_SINCE):
        raise _failed(_('Cannot use "%s" property - nova does not support required api microversion.') % schema.TAGS)
    devices = props[schema.BLOCK_DEVICE_MAPPING_V2] or []
    if any(device.get(block_devices.VOLUME_TYPE) for device in devices) and not supported(VOLUME_TYPE_SINCE):
        raise _failed(
            _(
                'Cannot use "%s" property in block_device_mapping_v2 - nova does not support required api '
                "microversion 2.67."
            )
            % block_devices.VOLUME_TYPE
        )
    if props[schema.PERSONALITY] and supported(PERSONALITY_UNTIL):
        raise _failed(_("Cannot use the personality parameter as nova no longer supports it. Use user_data instead."))


def _validate_limits(server: BaseServer, metadata: Mapping[str, Any], files: Mapping[str, Any]) -> None:
    if not (metadata or files):
        return
    limits = server.client_plugin().absolute_limits()
    if metadata:
        server._check_maximum(
            len(metadata),
            limits["maxServerMeta"],
            _(
                "Instance metadata must not contain greater than %s entries.  This is the maximum number allowed by "
                "your service provider"
            )
            % limits["maxServerMeta"],
        )
    if not files:
        return
    server._check_maximum(
        len(files),
        limits["maxPersonality"],
        _("The personality property may not contain greater than %s entries.") % limits["maxPersonality"],
    )
    for path, contents in files.items():
        server._check_maximum(
            len((contents or "").encode()),
            limits["maxPersonalitySize"],
            _(
                'The contents of personality file "%(path)s" is larger than the maximum allowed personality file size '
                "(%(max_size)s bytes)."
            )
            % {"path": path, "max_size": limits["maxPersonalitySize"]},
        )
