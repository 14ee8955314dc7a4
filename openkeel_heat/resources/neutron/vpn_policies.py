# SPDX-License-Identifier: Apache-2.0
"""What the ends of a VPN connection agree on: OS::Neutron::IKEPolicy and OS::Neutron::IPsecPolicy."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron.neutron import NeutronResource, without_status

AUTH_ALGORITHMS = ["sha1", "sha256", "sha384", "sha512", "aes-xcbc", "aes-cmac"]

_KEYS = (128, 192, 256)
ENCRYPTION_ALGORITHMS = [
    "3des",
    *(f"aes-{bits}" for bits in _KEYS),
    *(f"aes-{bits}-{mode}-{tag}" for mode in ("ccm", "gcm") for tag in (8, 12, 16) for bits in _KEYS),
    *(f"aes-{bits}-ctr" for bits in _KEYS),
]

PFS_GROUPS = [f"group{number}" for number in (2, 5, *range(14, 32))]

#: Extension of a service that has done away with the weak algorithms.
NO_SHA1 = "vpn-no-sha1-3des"


LIFETIME_UNITS, LIFETIME_VALUE = "units", "value"


def _lifetime(update_allowed: bool) -> properties.Schema:
    return properties.Schema(
        properties.Schema.MAP,
        _("How long a security association lasts."),
        update_allowed=update_allowed,
        schema={
            LIFETIME_UNITS: properties.Schema(
                properties.Schema.STRING,
                _("What the lifetime is counted in."),
                default="seconds",
                constraints=[constraints.AllowedValues(["seconds", "kilobytes"])],
            ),
            LIFETIME_VALUE: properties.Schema(properties.Schema.INTEGER, _("The lifetime in that unit."), default=3600),
        },
    )


def _pfs(update_allowed: bool) -> properties.Schema:
    return properties.Schema(
        properties.Schema.STRING,
        _("Group for perfect forward secrecy."),
        default="group5",
        update_allowed=update_allowed,
        constraints=[constraints.AllowedValues(PFS_GROUPS)],
    )


class _Policy(NeutronResource):
    _LIFETIME_KEYS = (LIFETIME_UNITS, LIFETIME_VALUE)
    AUTH_ALGORITHM = "auth_algorithm"

    def _fitting(self, body: dict[str, Any], given: properties.Properties) -> dict[str, Any]:
        """The default hash is one that the service has."""
        if (
            self.AUTH_ALGORITHM in body
            and given.get_user_value(self.AUTH_ALGORITHM) is None
            and self.client_plugin().has_extension(NO_SHA1)
        ):
            body[self.AUTH_ALGORITHM] = "sha256"
        return body

    def create_body(self, props: dict[str, Any]) -> dict[str, Any]:
        return self._fitting(super().create_body(props), self.properties)

    repeatable_update = True

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Any:
        if self.AUTH_ALGORITHM in prop_diff:
            given = json_snippet.properties(self.properties_schema, self.context)
            prop_diff = self._fitting(dict(prop_diff), given)
        return super().handle_update(json_snippet, tmpl_diff, prop_diff)


class IKEPolicy(_Policy):
    """How the two ends of a VPN connection agree on keys."""

    required_service_extension = "vpnaas"
    entity = "ikepolicy"
    api_object = without_status("vpn/ikepolicies", "ikepolicy", "ikepolicies")

    PROPERTIES = (
        NAME,
        DESCRIPTION,
        AUTH_ALGORITHM,
        ENCRYPTION_ALGORITHM,
        PHASE1_NEGOTIATION_MODE,
        LIFETIME,
        PFS,
        IKE_VERSION,
    ) = (
        "name",
        "description",
        "auth_algorithm",
        "encryption_algorithm",
        "phase1_negotiation_mode",
        "lifetime",
        "pfs",
        "ike_version",
    )
    ATTRIBUTES = (
        AUTH_ALGORITHM_ATTR,
        DESCRIPTION_ATTR,
        ENCRYPTION_ALGORITHM_ATTR,
        IKE_VERSION_ATTR,
        LIFETIME_ATTR,
        NAME_ATTR,
        PFS_ATTR,
        PHASE1_NEGOTIATION_MODE_ATTR,
        TENANT_ID,
    ) = (
        "auth_algorithm",
        "description",
        "encryption_algorithm",
        "ike_version",
        "lifetime",
        "name",
        "pfs",
        "phase1_negotiation_mode",
        "tenant_id",
    )

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the policy."), update_allowed=True),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("What the policy is for."), update_allowed=True),
        AUTH_ALGORITHM: properties.Schema(
            properties.Schema.STRING,
            _("Hash to authenticate with; if not given, sha256 where the cloud refuses sha1 and 3des, else sha1."),
            default="sha1",
            update_allowed=True,
            constraints=[constraints.AllowedValues(AUTH_ALGORITHMS)],
        ),
        ENCRYPTION_ALGORITHM: properties.Schema(
            properties.Schema.STRING,
            _("Cipher of the negotiation."),
            default="aes-128",
            update_allowed=True,
            constraints=[constraints.AllowedValues(ENCRYPTION_ALGORITHMS)],
        ),
        PHASE1_NEGOTIATION_MODE: properties.Schema(
            properties.Schema.STRING,
            _("Mode of the first phase."),
            default="main",
            constraints=[constraints.AllowedValues(["main"])],
        ),
        LIFETIME: _lifetime(update_allowed=True),
        PFS: _pfs(update_allowed=True),
        IKE_VERSION: properties.Schema(
            properties.Schema.STRING,
            _("Version of IKE."),
            default="v1",
            update_allowed=True,
            constraints=[constraints.AllowedValues(["v1", "v2"])],
        ),
    }

    attributes_schema = {
        AUTH_ALGORITHM_ATTR: attributes.Schema(_("Hash to authenticate with."), type=attributes.Schema.STRING),
        DESCRIPTION_ATTR: attributes.Schema(_("What the policy is for."), type=attributes.Schema.STRING),
        ENCRYPTION_ALGORITHM_ATTR: attributes.Schema(_("Cipher of the negotiation."), type=attributes.Schema.STRING),
        IKE_VERSION_ATTR: attributes.Schema(_("Version of IKE."), type=attributes.Schema.STRING),
        LIFETIME_ATTR: attributes.Schema(_("How long a security association lasts."), type=attributes.Schema.MAP),
        NAME_ATTR: attributes.Schema(_("Name of the policy."), type=attributes.Schema.STRING),
        PFS_ATTR: attributes.Schema(_("Group for perfect forward secrecy."), type=attributes.Schema.STRING),
        PHASE1_NEGOTIATION_MODE_ATTR: attributes.Schema(_("Mode of the first phase."), type=attributes.Schema.STRING),
        TENANT_ID: attributes.Schema(_("Project that owns the policy."), type=attributes.Schema.STRING),
    }


class IPsecPolicy(_Policy):
    """How the traffic of a VPN connection is authenticated, encrypted and wrapped."""

    required_service_extension = "vpnaas"
    entity = "ipsecpolicy"
    api_object = without_status("vpn/ipsecpolicies", "ipsecpolicy", "ipsecpolicies")

    PROPERTIES = (
        NAME,
        DESCRIPTION,
        TRANSFORM_PROTOCOL,
        ENCAPSULATION_MODE,
        AUTH_ALGORITHM,
        ENCRYPTION_ALGORITHM,
        LIFETIME,
        PFS,
    ) = (
        "name",
        "description",
        "transform_protocol",
        "encapsulation_mode",
        "auth_algorithm",
        "encryption_algorithm",
        "lifetime",
        "pfs",
    )
    ATTRIBUTES = (
        AUTH_ALGORITHM_ATTR,
        DESCRIPTION_ATTR,
        ENCAPSULATION_MODE_ATTR,
        ENCRYPTION_ALGORITHM_ATTR,
        LIFETIME_ATTR,
        NAME_ATTR,
        PFS_ATTR,
        TENANT_ID,
        TRANSFORM_PROTOCOL_ATTR,
    ) = (
        "auth_algorithm",
        "description",
        "encapsulation_mode",
        "encryption_algorithm",
        "lifetime",
        "name",
        "pfs",
        "tenant_id",
        "transform_protocol",
    )

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the policy."), update_allowed=True),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("What the policy is for."), update_allowed=True),
        TRANSFORM_PROTOCOL: properties.Schema(
            properties.Schema.STRING,
            _("Protocol of the packets."),
            default="esp",
            constraints=[constraints.AllowedValues(["esp", "ah", "ah-esp"])],
        ),
        ENCAPSULATION_MODE: properties.Schema(
            properties.Schema.STRING,
            _("Whether whole packets are wrapped or their content only."),
            default="tunnel",
            constraints=[constraints.AllowedValues(["tunnel", "transport"])],
        ),
        AUTH_ALGORITHM: properties.Schema(
            properties.Schema.STRING,
            _("Hash to authenticate with; if not given, sha256 where the cloud refuses sha1 and 3des, else sha1."),
            default="sha1",
            constraints=[constraints.AllowedValues(AUTH_ALGORITHMS)],
        ),
        ENCRYPTION_ALGORITHM: properties.Schema(
            properties.Schema.STRING,
            _("Cipher of the traffic."),
            default="aes-128",
            constraints=[constraints.AllowedValues(ENCRYPTION_ALGORITHMS)],
        ),
        LIFETIME: _lifetime(update_allowed=False),
        PFS: _pfs(update_allowed=False),
    }

    attributes_schema = {
        AUTH_ALGORITHM_ATTR: attributes.Schema(_("Hash to authenticate with."), type=attributes.Schema.STRING),
        DESCRIPTION_ATTR: attributes.Schema(_("What the policy is for."), type=attributes.Schema.STRING),
        ENCAPSULATION_MODE_ATTR: attributes.Schema(_("What of a packet is wrapped."), type=attributes.Schema.STRING),
        ENCRYPTION_ALGORITHM_ATTR: attributes.Schema(_("Cipher of the traffic."), type=attributes.Schema.STRING),
        LIFETIME_ATTR: attributes.Schema(_("How long a security association lasts."), type=attributes.Schema.MAP),
        NAME_ATTR: attributes.Schema(_("Name of the policy."), type=attributes.Schema.STRING),
        PFS_ATTR: attributes.Schema(_("Group for perfect forward secrecy."), type=attributes.Schema.STRING),
        TENANT_ID: attributes.Schema(_("Project that owns the policy."), type=attributes.Schema.STRING),
        TRANSFORM_PROTOCOL_ATTR: attributes.Schema(_("Protocol of the packets."), type=attributes.Schema.STRING),
    }


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Neutron::IKEPolicy": IKEPolicy,
        "OS::Neutron::IPsecPolicy": IPsecPolicy,
    }
