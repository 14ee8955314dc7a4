# SPDX-License-Identifier: Apache-2.0
"""Options of the processes and of what instances are told about them."""

from __future__ import annotations

import socket

from oslo_config import cfg

rpc: list[cfg.Opt] = [
    cfg.StrOpt(
        "host",
        default=socket.gethostname(),
        sample_default="<Hostname>",
        help="Name of this node on the message bus and in the list of services. Any text will do, "
        "an address or a host name is usual.",
    ),
]

#: For the sample and for validators only: ``cmd.backend`` reads it before there is an oslo.config.
threads: list[cfg.Opt] = [
    cfg.StrOpt(
        "threading_backend",
        default="threading",
        choices=["threading", "eventlet"],
        help="What threads are made of. OPENKEEL_HEAT_BACKEND of the environment counts less, --threading-backend of "
        "the command line more. eventlet is for plug-ins that depend on it.",
    ),
]

service: list[cfg.Opt] = [
    cfg.IntOpt("periodic_interval", default=60, help="Seconds between the heartbeats and house-keeping of an engine."),
    cfg.URIOpt(
        "heat_metadata_server_url",
        schemes=["http", "https"],
        help="URL under which instances reach the CloudFormation API for metadata. "
        "Needed only where it differs from the catalogue's endpoint.",
    ),
    cfg.URIOpt(
        "heat_waitcondition_server_url",
        schemes=["http", "https"],
        help="URL under which instances report to wait conditions.",
    ),
    cfg.StrOpt(
        "instance_connection_is_secure",
        default="0",
        help="Whether the tools inside instances use https towards the CloudFormation API (0 or 1).",
    ),
    cfg.StrOpt(
        "instance_connection_https_validate_certificates",
        default="1",
        help="Whether the tools inside instances check certificates when they use https (0 or 1).",
    ),
    cfg.StrOpt("region_name_for_services", help="Region whose endpoints are used when a request names none."),
    cfg.StrOpt("region_name_for_shared_services", help="Region of the services that all regions share."),
    cfg.ListOpt(
        "shared_services_types",
        default=["image", "volumev3"],
        help="Types of the services to look for in region_name_for_shared_services.",
    ),
    cfg.StrOpt(
        "heat_stack_user_role",
        default="heat_stack_user",
        help="Role of the users that stacks make for signals and metadata.",
    ),
    cfg.StrOpt(
        "stack_user_domain_id",
        help="Id of the Keystone domain in which stacks make their projects and users. "
        "It wins over stack_user_domain_name.",
    ),
    cfg.StrOpt(
        "stack_user_domain_name",
        help="Name of the Keystone domain in which stacks make their projects and users.",
    ),
    cfg.StrOpt("stack_domain_admin", help="A user who may administer the domain of the stacks' users."),
    cfg.StrOpt("stack_domain_admin_password", secret=True, help="Password of stack_domain_admin."),
]

crypt: list[cfg.Opt] = [
    cfg.StrOpt(
        "auth_encryption_key",
        secret=True,
        default="notgood but just long enough i t",
        help="Key, 32 characters long, with which secrets are encrypted before they are stored. "
        "All engines need the same one; a change makes stored secrets unreadable.",
    ),
]

GROUPS: list[tuple[str | None, list[cfg.Opt]]] = [(None, rpc), (None, service)]
