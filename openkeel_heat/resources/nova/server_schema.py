# SPDX-License-Identifier: Apache-2.0
"""Properties and attributes of OS::Nova::Server. Those of its disks and networks are with the code for them."""

from __future__ import annotations

from oslo_config import cfg

from openkeel_heat.common import config as options
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, support
from openkeel_heat.resources.nova import block_devices, server_networks

options.register_all(cfg.CONF)

Schema = properties.Schema

PROPERTIES = (
    NAME, IMAGE, BLOCK_DEVICE_MAPPING, BLOCK_DEVICE_MAPPING_V2, FLAVOR, FLAVOR_UPDATE_POLICY, IMAGE_UPDATE_POLICY,
    KEY_NAME, ADMIN_USER, AVAILABILITY_ZONE, SECURITY_GROUPS, NETWORKS, SCHEDULER_HINTS, METADATA, USER_DATA_FORMAT,
    USER_DATA, RESERVATION_ID, CONFIG_DRIVE, DISK_CONFIG, PERSONALITY, ADMIN_PASS, SOFTWARE_CONFIG_TRANSPORT,
    USER_DATA_UPDATE_POLICY, TAGS, DEPLOYMENT_SWIFT_DATA,
) = (
    "name", "image", block_devices.BLOCK_DEVICE_MAPPING, block_devices.BLOCK_DEVICE_MAPPING_V2, "flavor",
    "flavor_update_policy", "image_update_policy", "key_name", "admin_user", "availability_zone",
    server_networks.SECURITY_GROUPS, server_networks.NETWORKS, "scheduler_hints", "metadata", "user_data_format",
    "user_data", "reservation_id", "config_drive", "diskConfig", "personality", "admin_pass",
    "software_config_transport", "user_data_update_policy", "tags", "deployment_swift_data",
)  # fmt: skip

RESIZE, REPLACE, REBUILD, IGNORE = "RESIZE", "REPLACE", "REBUILD", "IGNORE"
REBUILD_PRESERVE_EPHEMERAL = "REBUILD_PRESERVE_EPHEMERAL"

USER_DATA_FORMATS = (HEAT_CFNTOOLS, RAW, SOFTWARE_CONFIG) = ("HEAT_CFNTOOLS", "RAW", "SOFTWARE_CONFIG")

TRANSPORTS = ("POLL_SERVER_CFN", "POLL_SERVER_HEAT", "POLL_TEMP_URL", "ZAQAR_MESSAGE")

CONTAINER, OBJECT = "container", "object"

_of_old = support.SupportStatus(version="2013.2")

schema = {
    NAME: Schema(
        Schema.STRING,
        _("Name of the server."),
        update_allowed=True,
    ),
    IMAGE: Schema(
        Schema.STRING,
        _("Name or ID of the image that the server boots from."),
        constraints=[constraints.CustomConstraint("glance.image")],
        update_allowed=True,
    ),
    BLOCK_DEVICE_MAPPING: block_devices.mapping_schema,
    BLOCK_DEVICE_MAPPING_V2: block_devices.mapping_v2_schema,
    FLAVOR: Schema(
        Schema.STRING,
        _("Name or ID of the flavor."),
        required=True,
        update_allowed=True,
        constraints=[constraints.CustomConstraint("nova.flavor")],
    ),
    FLAVOR_UPDATE_POLICY: Schema(
        Schema.STRING,
        _("What another flavor does to the server."),
        default=RESIZE,
        constraints=[constraints.AllowedValues([RESIZE, REPLACE])],
        update_allowed=True,
    ),
    IMAGE_UPDATE_POLICY: Schema(
        Schema.STRING,
        _("What another image does to the server: a rebuild (that can keep ephemeral disks), or a new server."),
        default=REBUILD,
        constraints=[constraints.AllowedValues([REBUILD, REPLACE, REBUILD_PRESERVE_EPHEMERAL])],
        update_allowed=True,
    ),
    KEY_NAME: Schema(
        Schema.STRING,
        _("Name of the key pair with which users sign in."),
        constraints=[constraints.CustomConstraint("nova.keypair")],
    ),
    ADMIN_USER: Schema(
        Schema.STRING,
        _("Without effect."),
        support_status=support.SupportStatus(
            status=support.HIDDEN,
            version="5.0.0",
            message=_("Images have users of their own, such as ubuntu, fedora or cloud-user."),
            previous_status=support.SupportStatus(status=support.DEPRECATED, version="2014.1", previous_status=_of_old),
        ),
    ),
    AVAILABILITY_ZONE: Schema(
        Schema.STRING,
        _("Name of the availability zone of the server."),
    ),
    SECURITY_GROUPS: Schema(
        Schema.LIST,
        _("Names or IDs of security groups of the ports that are made. Not allowed where a port is given."),
        default=[],
    ),
    NETWORKS: server_networks.schema,
    SCHEDULER_HINTS: Schema(
        Schema.MAP,
        _("What the scheduler goes by when it chooses a host."),
    ),
    METADATA: Schema(
        Schema.MAP,
        _(
            "Metadata that Nova keeps of the server. Values that are no texts become JSON; keys and values may have up "
            "to 255 characters."
        ),
        update_allowed=True,
        default={},
    ),
    USER_DATA_FORMAT: Schema(
        Schema.STRING,
        _(
            "What is made of user_data. HEAT_CFNTOOLS: a program that runs it is added, and what heat-cfntools has to "
            "know. RAW: nothing. SOFTWARE_CONFIG: it is a part of what the server boots with, and the server then "
            "looks for its deployments; a document for Ignition is given the metadata."
        ),
        default=cfg.CONF.default_user_data_format,
        constraints=[constraints.AllowedValues(USER_DATA_FORMATS)],
    ),
    SOFTWARE_CONFIG_TRANSPORT: Schema(
        Schema.STRING,
        _(
            "How the server gets its metadata. POLL_SERVER_CFN: from the CloudFormation API, with a key pair. "
            "POLL_SERVER_HEAT: from the native API, with the credentials of a user. POLL_TEMP_URL: from a temporary "
            "URL of Swift. ZAQAR_MESSAGE: from a queue."
        ),
        default=cfg.CONF.default_software_config_transport,
        update_allowed=True,
        constraints=[constraints.AllowedValues(TRANSPORTS)],
    ),
    USER_DATA_UPDATE_POLICY: Schema(
        Schema.STRING,
        _("What other user_data do to the server: they replace it, they rebuild it, or nothing."),
        default=REPLACE,
        constraints=[constraints.AllowedValues([REPLACE, IGNORE, REBUILD])],
        support_status=support.SupportStatus(version="6.0.0"),
        update_allowed=True,
    ),
    USER_DATA: Schema(
        Schema.STRING,
        _(
            "What cloud-init or Ignition does at the first boot: a text, or the ID of a software config that has it. "
            "user_data_update_policy tells what a change does."
        ),
        default="",
        update_allowed=True,
    ),
    RESERVATION_ID: Schema(
        Schema.STRING,
        _("Whether the service is asked for the ID of the reservation of the server."),
    ),
    CONFIG_DRIVE: Schema(
        Schema.BOOLEAN,
        _("Whether the server finds its metadata on a disk."),
    ),
    DISK_CONFIG: Schema(
        Schema.STRING,
        _("Who partitions the disk."),
        constraints=[constraints.AllowedValues(["AUTO", "MANUAL"])],
    ),
    PERSONALITY: Schema(
        Schema.MAP,
        _("Files that are written before the first boot: their names and contents."),
        support_status=support.SupportStatus(
            status=support.DEPRECATED,
            version="12.0.0",
            message=_(
                "Not supported by version 2.57 and above of the compute API. Use user_data or metadata; or set the "
                "option max_nova_api_microversion to a version below."
            ),
        ),
        default={},
    ),
    ADMIN_PASS: Schema(
        Schema.STRING,
        _("Password of the administrator of the server."),
        update_allowed=True,
    ),
    TAGS: Schema(
        Schema.LIST,
        _("Tags of the server. Needs version 2.26 of the compute API."),
        support_status=support.SupportStatus(version="8.0.0"),
        schema=Schema(Schema.STRING),
        update_allowed=True,
    ),
    DEPLOYMENT_SWIFT_DATA: Schema(
        Schema.MAP,
        _(
            "With POLL_TEMP_URL: the object where the metadata are. Without it the container is named like the server, "
            "and the object by a UUID."
        ),
        support_status=support.SupportStatus(version="9.0.0"),
        default={},
        update_allowed=True,
        schema={
            CONTAINER: Schema(
                Schema.STRING,
                _("Name of the container."),
                constraints=[constraints.Length(min=1)],
            ),
            OBJECT: Schema(
                Schema.STRING,
                _("Name of the object."),
                constraints=[constraints.Length(min=1)],
            ),
        },
    ),
}

ATTRIBUTES = (
    NAME_ATTR, ADDRESSES, NETWORKS_ATTR, FIRST_ADDRESS, INSTANCE_NAME, ACCESSIPV4, ACCESSIPV6, CONSOLE_URLS, TAGS_ATTR,
    OS_COLLECT_CONFIG,
) = (
    "name", "addresses", "networks", "first_address", "instance_name", "accessIPv4", "accessIPv6", "console_urls",
    "tags", "os_collect_config",
)  # fmt: skip

_deprecated = support.SupportStatus(
    status=support.DEPRECATED, version="14.0.0", previous_status=support.SupportStatus(version="2015.1")
)

attributes_schema = {
    NAME_ATTR: attributes.Schema(
        _("Name of the server."),
        type=attributes.Schema.STRING,
    ),
    ADDRESSES: attributes.Schema(
        _(
            "Addresses by network, which is there by its name and by its ID: each with the address (addr), the port, "
            "the subnets of the port, and the network."
        ),
        type=attributes.Schema.MAP,
        support_status=support.SupportStatus(
            version="11.0.0",
            status=support.SUPPORTED,
            message=_("Subnets and network are there since version 11.0.0."),
            previous_status=support.SupportStatus(status=support.SUPPORTED),
        ),
    ),
    NETWORKS_ATTR: attributes.Schema(
        _("Lists of addresses by network, which is there by its name and by its ID."),
        type=attributes.Schema.MAP,
    ),
    FIRST_ADDRESS: attributes.Schema(
        _("An address of the server, empty if it has none."),
        support_status=support.SupportStatus(
            status=support.HIDDEN,
            version="5.0.0",
            message=_('Use the attribute networks, as in "{get_attr: [<server>, networks, <network>, 0]}".'),
            previous_status=support.SupportStatus(status=support.DEPRECATED, version="2014.2", previous_status=_of_old),
        ),
    ),
    INSTANCE_NAME: attributes.Schema(
        _("Name of the server on its host."),
        type=attributes.Schema.STRING,
    ),
    ACCESSIPV4: attributes.Schema(
        _("IPv4 address by which users are to reach the server, as somebody has set it."),
        type=attributes.Schema.STRING,
        support_status=_deprecated,
    ),
    ACCESSIPV6: attributes.Schema(
        _("IPv6 address by which users are to reach the server, as somebody has set it."),
        type=attributes.Schema.STRING,
        support_status=_deprecated,
    ),
    CONSOLE_URLS: attributes.Schema(
        _(
            "URLs of consoles by their kind: novnc, xvpvnc, spice-html5, rdp-html5, serial, webmks. Name one as in "
            '"get_attr: [<server>, console_urls, novnc]".'
        ),
        type=attributes.Schema.MAP,
        support_status=support.SupportStatus(version="2015.1"),
    ),
    TAGS_ATTR: attributes.Schema(
        _("Tags of the server. Needs version 2.26 of the compute API."),
        type=attributes.Schema.LIST,
        support_status=support.SupportStatus(version="8.0.0"),
    ),
    OS_COLLECT_CONFIG: attributes.Schema(
        _("Configuration for the agent on the server, with which it finds its deployments."),
        type=attributes.Schema.MAP,
        support_status=support.SupportStatus(version="9.0.0"),
        cache_mode=attributes.Schema.CACHE_NONE,
    ),
}
