# SPDX-License-Identifier: Apache-2.0
"""Option groups that belong to keystoneauth: ``[trustee]`` and ``[ec2authtoken]``.

keystoneauth is imported when they are asked for, not before.
"""

from __future__ import annotations

from collections.abc import Iterator

from oslo_config import cfg

TRUSTEE = "trustee"
EC2 = "ec2authtoken"

ec2: list[cfg.Opt] = [
    cfg.BoolOpt("multi_cloud", default=False, help="Try several clouds for the credentials of a signed request."),
    cfg.ListOpt(
        "clouds",
        default=[],
        help="Names of the clouds to try. Each has a section [ec2authtoken.NAME] with its identity settings.",
    ),
]


def trustee_options() -> list[cfg.Opt]:
    from keystoneauth1 import loading

    return [*loading.get_auth_common_conf_options(), *loading.get_auth_plugin_conf_options("password")]


def ec2_options() -> list[cfg.Opt]:
    from keystoneauth1 import loading

    return [
        *ec2,
        *loading.get_auth_common_conf_options(),
        *loading.get_auth_plugin_conf_options("v3password"),
        *loading.get_session_conf_options(),
        *loading.get_adapter_conf_options(),
    ]


def register_trustee(conf: cfg.ConfigOpts) -> None:
    from keystoneauth1 import loading

    loading.register_auth_conf_options(conf, TRUSTEE)


def register_ec2(conf: cfg.ConfigOpts, group: str = EC2) -> None:
    """Register a group with identity settings of signed requests: the general one, or one cloud's."""
    from keystoneauth1 import loading

    if group == EC2:
        conf.register_opts(ec2, group=group)
    loading.register_auth_conf_options(conf, group)
    loading.register_session_conf_options(conf, group)
    loading.register_adapter_conf_options(conf, group)
    conf.set_default("service_type", "identity", group=group)


def list_trustee() -> Iterator[tuple[str, list[cfg.Opt]]]:
    yield TRUSTEE, trustee_options()


def list_ec2() -> Iterator[tuple[str, list[cfg.Opt]]]:
    yield EC2, ec2_options()
