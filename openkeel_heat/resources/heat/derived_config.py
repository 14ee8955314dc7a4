# SPDX-License-Identifier: Apache-2.0
"""The config that a deployment derives from the one it is told: its inputs have values.

Besides the values that the template gives there are inputs ``deploy_*``, of which a server learns what is
deployed, why, and how to report back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import software_io
from openkeel_heat.resources.kit.signal_responder import SignalResponder

COMPONENT_GROUP, DEFAULT_GROUP = "component", "Heat::Ungrouped"


class DerivedConfig(SignalResponder):
    """The part of a deployment that makes derived configs."""

    CONFIG, SERVER, INPUT_VALUES, NAME = "config", "server", "input_values", "name"

    DERIVED_CONFIG_INPUTS = (
        DEPLOY_SERVER_ID,
        DEPLOY_ACTION,
        DEPLOY_SIGNAL_ID,
        DEPLOY_STACK_ID,
        DEPLOY_RESOURCE_NAME,
        DEPLOY_AUTH_URL,
        DEPLOY_USERNAME,
        DEPLOY_PASSWORD,
        DEPLOY_PROJECT_ID,
        DEPLOY_USER_ID,
        DEPLOY_SIGNAL_VERB,
        DEPLOY_SIGNAL_TRANSPORT,
        DEPLOY_QUEUE_ID,
        DEPLOY_REGION_NAME,
    ) = (
        "deploy_server_id",
        "deploy_action",
        "deploy_signal_id",
        "deploy_stack_id",
        "deploy_resource_name",
        "deploy_auth_url",
        "deploy_username",
        "deploy_password",
        "deploy_project_id",
        "deploy_user_id",
        "deploy_signal_verb",
        "deploy_signal_transport",
        "deploy_queue_id",
        "deploy_region_name",
    )

    # the derived config -----------------------------------------------
    def empty_config(self) -> Any:
        return ""

    def _load_config(self, config_id: str | None = None) -> dict[str, Any]:
        """A config, its inputs and outputs as objects; that of the properties unless another is named."""
        config_id = config_id or self.properties.get(self.CONFIG)
        found = dict(self.stack.software.show_config(self, config_id)) if config_id else {}
        found["inputs"] = [software_io.InputConfig(**entry) for entry in found.get("inputs") or []]
        found["outputs"] = [software_io.OutputConfig(**entry) for entry in found.get("outputs") or []]
        return found

    def _build_derived_config_params(self, action: str, source: Mapping[str, Any]) -> dict[str, Any]:
        inputs = self._build_derived_inputs(action, source)
        options = self._build_derived_options(action, source)
        return {
            "group": source.get("group") or DEFAULT_GROUP,
            "config": self._build_derived_config(action, source, inputs, options) or self.empty_config(),
            "options": options,
            "inputs": [entry.as_dict() for entry in inputs],
            "outputs": [entry.as_dict() for entry in source["outputs"]],
            "name": self.properties.get(self.NAME) or source.get("name") or self.physical_resource_name(),
        }

    def _build_derived_config(
        self,
        action: str,
        source: Mapping[str, Any],
        derived_inputs: Sequence[software_io.InputConfig],
        derived_options: Any,
    ) -> Any:
        return source.get("config")

    def _build_derived_options(self, action: str, source: Mapping[str, Any]) -> Any:
        return source.get("options")

    def _build_derived_inputs(self, action: str, source: Mapping[str, Any]) -> list[software_io.InputConfig]:
        values = dict(self.properties[self.INPUT_VALUES] or {})
        derived = []
        for entry in source["inputs"]:
            value = values.pop(entry.name(), entry.default())
            derived.append(software_io.InputConfig(value=value, **entry.as_dict()))
        # Values of inputs that the config does not declare are passed on all the same.
        derived += [software_io.InputConfig(name=name, value=value) for name, value in values.items()]
        derived += [
            software_io.InputConfig(name=name, value=value, description=description)
            for name, value, description in self._deploy_inputs(action)
        ]
        return derived

    def _deploy_inputs(self, action: str) -> Iterator[tuple[str, Any, str]]:
        """(name, value, description) of what the server has to know."""
        yield self.DEPLOY_SERVER_ID, self.properties[self.SERVER], _("ID of the server being deployed to")
        yield self.DEPLOY_ACTION, action, _("Name of the current action being deployed")
        yield (
            self.DEPLOY_STACK_ID,
            self.stack.identifier().stack_path(),
            _("ID of the stack this deployment belongs to"),
        )
        yield self.DEPLOY_RESOURCE_NAME, self.name, _("Name of this deployment resource in the stack")
        yield (
            self.DEPLOY_SIGNAL_TRANSPORT,
            self.properties[self.SIGNAL_TRANSPORT],
            _("How the server should signal to heat with the deployment output values."),
        )
        if self._signal_transport_cfn():
            yield from self._url_inputs(self._get_ec2_signed_url(), "POST")
        elif self._signal_transport_temp_url():
            yield from self._url_inputs(self._get_swift_signal_url(), "PUT")
        elif self._signal_transport_heat() or self._signal_transport_zaqar():
            yield from self._credential_inputs()
        if self._signal_transport_zaqar():
            yield (
                self.DEPLOY_QUEUE_ID,
                self._get_zaqar_signal_queue_id(),
                _("ID of queue to use for signaling output values"),
            )

    def _url_inputs(self, url: str | None, verb: str) -> Iterator[tuple[str, Any, str]]:
        yield self.DEPLOY_SIGNAL_ID, url, _("ID of signal to use for signaling output values")
        yield self.DEPLOY_SIGNAL_VERB, verb, _("HTTP verb to use for signaling output values")

    def _credential_inputs(self) -> Iterator[tuple[str, Any, str]]:
        found = self._get_heat_signal_credentials()
        yield self.DEPLOY_AUTH_URL, found["auth_url"], _("URL for API authentication")
        yield self.DEPLOY_USERNAME, found["username"], _("Username for API authentication")
        yield self.DEPLOY_USER_ID, found["user_id"], _("User ID for API authentication")
        yield self.DEPLOY_PASSWORD, found["password"], _("Password for API authentication")
        yield self.DEPLOY_PROJECT_ID, found["project_id"], _("ID of project for API authentication")
        if found["region_name"]:
            yield self.DEPLOY_REGION_NAME, found["region_name"], _("Region name for API authentication")


def essence(config: Mapping[str, Any]) -> Any:
    """What makes two derived configs the same for a server (signed URLs are made anew each time)."""
    values = {
        entry["name"]: entry.get("value")
        for entry in config["inputs"]
        if entry["name"] != DerivedConfig.DEPLOY_SIGNAL_ID
    }
    return config["group"], config["config"], config["options"] or {}, values
