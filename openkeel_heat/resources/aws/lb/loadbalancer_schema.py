# SPDX-License-Identifier: Apache-2.0
"""Names and schemata of AWS::ElasticLoadBalancing::LoadBalancer."""

from __future__ import annotations

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties


def _integer(description: str) -> properties.Schema:
    return properties.Schema(properties.Schema.INTEGER, description, required=True)


def _ignored(kind: str) -> properties.Schema:
    return properties.Schema(kind, _("Has no effect."), implemented=False)


def _text(description: str) -> attributes.Schema:
    return attributes.Schema(description, type=attributes.Schema.STRING)


class LoadBalancerSchema:
    """The declarations of the load balancer, apart from what it does."""

    PROPERTIES = (
        AVAILABILITY_ZONES,
        HEALTH_CHECK,
        INSTANCES,
        LISTENERS,
        APP_COOKIE_STICKINESS_POLICY,
        LBCOOKIE_STICKINESS_POLICY,
        SECURITY_GROUPS,
        SUBNETS,
    ) = (
        "AvailabilityZones",
        "HealthCheck",
        "Instances",
        "Listeners",
        "AppCookieStickinessPolicy",
        "LBCookieStickinessPolicy",
        "SecurityGroups",
        "Subnets",
    )

    _HEALTH_CHECK_KEYS = (
        HEALTH_CHECK_HEALTHY_THRESHOLD,
        HEALTH_CHECK_INTERVAL,
        HEALTH_CHECK_TARGET,
        HEALTH_CHECK_TIMEOUT,
        HEALTH_CHECK_UNHEALTHY_THRESHOLD,
    ) = ("HealthyThreshold", "Interval", "Target", "Timeout", "UnhealthyThreshold")

    _LISTENER_KEYS = (
        LISTENER_INSTANCE_PORT,
        LISTENER_LOAD_BALANCER_PORT,
        LISTENER_PROTOCOL,
        LISTENER_SSLCERTIFICATE_ID,
        LISTENER_POLICY_NAMES,
    ) = ("InstancePort", "LoadBalancerPort", "Protocol", "SSLCertificateId", "PolicyNames")

    ATTRIBUTES = (
        CANONICAL_HOSTED_ZONE_NAME,
        CANONICAL_HOSTED_ZONE_NAME_ID,
        DNS_NAME,
        SOURCE_SECURITY_GROUP_GROUP_NAME,
        SOURCE_SECURITY_GROUP_OWNER_ALIAS,
    ) = (
        "CanonicalHostedZoneName",
        "CanonicalHostedZoneNameID",
        "DNSName",
        "SourceSecurityGroup.GroupName",
        "SourceSecurityGroup.OwnerAlias",
    )

    properties_schema = {
        AVAILABILITY_ZONES: properties.Schema(properties.Schema.LIST, _("Has no effect."), required=True),
        HEALTH_CHECK: properties.Schema(
            properties.Schema.MAP,
            _("How HAProxy finds out whether an instance is in service."),
            schema={
                HEALTH_CHECK_HEALTHY_THRESHOLD: _integer(_("Answers in a row that put an instance into service.")),
                HEALTH_CHECK_INTERVAL: _integer(_("Seconds between two probes.")),
                HEALTH_CHECK_TARGET: properties.Schema(
                    properties.Schema.STRING, _("The port that is probed."), required=True
                ),
                HEALTH_CHECK_TIMEOUT: _integer(_("Seconds after which there is no answer.")),
                HEALTH_CHECK_UNHEALTHY_THRESHOLD: _integer(
                    _("Probes without an answer in a row that take an instance out of service.")
                ),
            },
        ),
        INSTANCES: properties.Schema(
            properties.Schema.LIST,
            _("Ids of the servers behind it. A group that names the load balancer sets them itself."),
            update_allowed=True,
        ),
        LISTENERS: properties.Schema(
            properties.Schema.LIST,
            _("Ports in front and behind. Only the first entry counts."),
            schema=properties.Schema(
                properties.Schema.MAP,
                schema={
                    LISTENER_INSTANCE_PORT: _integer(_("Port of the instances.")),
                    LISTENER_LOAD_BALANCER_PORT: _integer(_("Port of the load balancer.")),
                    LISTENER_PROTOCOL: properties.Schema(
                        properties.Schema.STRING,
                        _("Has no effect: it is HTTP."),
                        required=True,
                        constraints=[constraints.AllowedValues(["TCP", "HTTP"])],
                    ),
                    LISTENER_SSLCERTIFICATE_ID: _ignored(properties.Schema.STRING),
                    LISTENER_POLICY_NAMES: _ignored(properties.Schema.LIST),
                },
            ),
            required=True,
        ),
        APP_COOKIE_STICKINESS_POLICY: _ignored(properties.Schema.STRING),
        LBCOOKIE_STICKINESS_POLICY: _ignored(properties.Schema.STRING),
        SECURITY_GROUPS: properties.Schema(
            properties.Schema.LIST, _("Security groups of the load balancer's instance."), update_allowed=True
        ),
        SUBNETS: _ignored(properties.Schema.LIST),
    }

    attributes_schema = {
        CANONICAL_HOSTED_ZONE_NAME: _text(_("Empty.")),
        CANONICAL_HOSTED_ZONE_NAME_ID: _text(_("Empty.")),
        DNS_NAME: _text(_("Address of the load balancer.")),
        SOURCE_SECURITY_GROUP_GROUP_NAME: _text(_("Empty.")),
        SOURCE_SECURITY_GROUP_OWNER_ALIAS: _text(_("Empty.")),
    }
