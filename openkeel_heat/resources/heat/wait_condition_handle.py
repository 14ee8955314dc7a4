# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::WaitConditionHandle: what servers signal to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_serialization import jsonutils

from openkeel_heat.common import passwords
from openkeel_heat.common.exceptions import UpdateReplace
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.aws.cfn.wait_condition_handle import WaitConditionHandle
from openkeel_heat.resources.kit import (
    attributes,
    constraints,
    properties,
    signal_responder,
    support,
    wait_condition as base,
)
from openkeel_heat.resources.kit.resource import Resource


class HeatWaitConditionHandle(base.BaseWaitConditionHandle):
    """Receives signals of servers and keeps them for wait conditions.

    It has a user of its own, with which signals are sent in the way that
    ``signal_transport`` says.
    """

    support_status = support.SupportStatus(version="2014.2")

    PROPERTIES = (SIGNAL_TRANSPORT,) = ("signal_transport",)

    SIGNAL_TRANSPORTS = (
        CFN_SIGNAL,
        TEMP_URL_SIGNAL,
        HEAT_SIGNAL,
        NO_SIGNAL,
        ZAQAR_SIGNAL,
        TOKEN_SIGNAL,
    ) = (
        "CFN_SIGNAL",
        "TEMP_URL_SIGNAL",
        "HEAT_SIGNAL",
        "NO_SIGNAL",
        "ZAQAR_SIGNAL",
        "TOKEN_SIGNAL",
    )

    properties_schema = {
        SIGNAL_TRANSPORT: properties.Schema(
            properties.Schema.STRING,
            _(
                "How signals are sent. CFN_SIGNAL: to a signed URL. TEMP_URL_SIGNAL: to a temporary URL of Swift. "
                "HEAT_SIGNAL: to the API with the credentials of a user. ZAQAR_SIGNAL: to a queue. TOKEN_SIGNAL: to "
                "the API with a token. NO_SIGNAL: nothing is waited for."
            ),
            default="TOKEN_SIGNAL",
            constraints=[constraints.AllowedValues(SIGNAL_TRANSPORTS)],
            support_status=support.SupportStatus(version="6.0.0"),
        ),
    }

    ATTRIBUTES = (  # type: ignore[assignment]
        TOKEN,
        ENDPOINT,
        CURL_CLI,
        SIGNAL,
    ) = ("token", "endpoint", "curl_cli", "signal")

    attributes_schema = {
        TOKEN: attributes.Schema(
            _("With TOKEN_SIGNAL: the token to signal with."),
            cache_mode=attributes.Schema.CACHE_NONE,
            type=attributes.Schema.STRING,
        ),
        ENDPOINT: attributes.Schema(
            _("With TOKEN_SIGNAL: the URL to signal to."),
            cache_mode=attributes.Schema.CACHE_NONE,
            type=attributes.Schema.STRING,
        ),
        CURL_CLI: attributes.Schema(
            _(
                "With TOKEN_SIGNAL: a curl command that signals when --data-binary is added to it, with "
                '\'{"status": "SUCCESS"}\' or \'{"status": "FAILURE"}\'.'
            ),
            cache_mode=attributes.Schema.CACHE_NONE,
            type=attributes.Schema.STRING,
        ),
        SIGNAL: attributes.Schema(
            _("All that the chosen transport needs, as JSON text."),
            cache_mode=attributes.Schema.CACHE_NONE,
            type=attributes.Schema.STRING,
        ),
    }

    METADATA_KEYS = (DATA, REASON, STATUS, UNIQUE_ID) = ("data", "reason", "status", "id")

    def _signal_transport_token(self) -> bool:
        return self._transport_is(self.TOKEN_SIGNAL)

    def handle_create(self) -> Any:
        if self.password is None:
            self.password = passwords.generate_openstack_password()
        super().handle_create()
        if self._signal_transport_token():
            self.data_set("token", self._user_token(), True)
            self.data_set("endpoint", "%s/signal" % self._get_resource_endpoint())

    def _get_resource_endpoint(self) -> str:
        """The URL of the resource, in the project of its user."""
        project_id = self.context.project_id
        url = self.client_plugin("heat").get_heat_url().replace(project_id, self.identifier().url_path())
        return url.replace(project_id, self.stack.stack_user_project_id)

    def _resolve_attribute(self, name: str) -> Any:
        if not self.resource_id:
            return None
        if name == self.SIGNAL:
            return jsonutils.dumps(self._get_signal(signal_type=signal_responder.WAITCONDITION, multiple_signals=True))
        if name in (self.TOKEN, self.ENDPOINT):
            return self.data().get(name)
        if name == self.CURL_CLI:
            return self._curl_command()
        return None

    def _curl_command(self) -> str | None:
        endpoint, token = self.data().get("endpoint"), self.data().get("token")
        if endpoint is None or token is None:
            return None
        insecure = "--insecure " if self.client_plugin("heat").get_insecure_option() else ""
        return (
            "curl %s-i -X POST -H 'X-Auth-Token: %s' -H 'Content-Type: application/json' "
            "-H 'Accept: application/json' %s" % (insecure, token, endpoint)
        )

    def get_status(self) -> list[str]:
        # Some transports have to be asked.
        self._service_signal()
        return super().get_status()

    def normalise_signal_data(self, signal_data: Any, latest_metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Whatever is missing in a signal is made up: it is the next one, and a success."""
        number = len(latest_metadata) + 1
        while str(number) in latest_metadata:
            # Somebody gave that number as an id: no signal takes the place of another.
            number += 1
        return {
            self.REASON: "Signal %s received" % number,
            self.DATA: None,
            self.UNIQUE_ID: number,
            self.STATUS: self.STATUS_SUCCESS,
            **(signal_data or {}),
        }


class UpdateWaitConditionHandle(WaitConditionHandle):
    """A handle of the CloudFormation kind that is a new one, without signals, after each update.

    Whoever signals has to be told the new URL, so that an update is complete when all of
    them have done their work again.
    """

    support_status = support.SupportStatus(version="2014.1")

    def _needs_update(
        self,
        after: Any,
        before: Any,
        after_props: Any,
        before_props: Any,
        prev_resource: Any,
        check_init_complete: bool = True,
    ) -> bool:
        raise UpdateReplace(self.name)


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Heat::WaitConditionHandle": HeatWaitConditionHandle,
        "OS::Heat::UpdateWaitConditionHandle": UpdateWaitConditionHandle,
    }
