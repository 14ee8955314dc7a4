# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::SoftwareDeployment: a software config on a server; and groups of them."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import clock, config as options, exceptions as exception
from openkeel_heat.common.exceptions import UpdateReplace
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.heat.derived_config import COMPONENT_GROUP, DerivedConfig, essence
from openkeel_heat.resources.heat.resource_group import ResourceGroup, Steps
from openkeel_heat.resources.heat.resource_group_schema import batch_properties
from openkeel_heat.resources.kit import attributes, constraints, groups, properties, support
from openkeel_heat.resources.kit.resource import Resource

LOG = logging.getLogger(__name__)


class SoftwareDeployment(DerivedConfig):
    """Applies a software config to a server.

    For each action in which it is to be applied a config is derived, that has as inputs the values given here and,
    with names that begin with ``deploy_``, what the server needs to know of the deployment and to report back. The
    resource is in progress until the server has signalled the outputs, unless ``signal_transport`` is NO_SIGNAL.
    Outputs are attributes, as are ``deploy_stdout``, ``deploy_stderr`` and ``deploy_status_code``.
    """

    support_status = support.SupportStatus(version="2014.1")

    default_client_name = "heat"

    entity = "software_deployments"

    # A deployment that was made before is found by its id, which is that of the resource.
    repeatable_create = True
    repeatable_update = True

    # It has its own states, in which it takes a signal or not.
    no_signal_actions = ()
    signal_needs_metadata_updates = False

    PROPERTIES: Any
    ATTRIBUTES: Any
    PROPERTIES = (CONFIG, SERVER, INPUT_VALUES, DEPLOY_ACTIONS, NAME, SIGNAL_TRANSPORT) = (
        "config",
        "server",
        "input_values",
        "actions",
        "name",
        "signal_transport",
    )

    ALLOWED_DEPLOY_ACTIONS = ("CREATE", "UPDATE", "DELETE", "SUSPEND", "RESUME")

    ATTRIBUTES = (STDOUT, STDERR, STATUS_CODE) = ("deploy_stdout", "deploy_stderr", "deploy_status_code")

    SIGNAL_TRANSPORTS = (CFN_SIGNAL, TEMP_URL_SIGNAL, HEAT_SIGNAL, NO_SIGNAL, ZAQAR_SIGNAL) = (
        "CFN_SIGNAL",
        "TEMP_URL_SIGNAL",
        "HEAT_SIGNAL",
        "NO_SIGNAL",
        "ZAQAR_SIGNAL",
    )

    properties_schema = {
        CONFIG: properties.Schema(properties.Schema.STRING, _("Id of the software config."), update_allowed=True),
        SERVER: properties.Schema(
            properties.Schema.STRING, _("Id of the server, normally that of Nova."), required=True
        ),
        INPUT_VALUES: properties.Schema(
            properties.Schema.MAP, _("Values of the inputs of the config."), update_allowed=True
        ),
        DEPLOY_ACTIONS: properties.Schema(
            properties.Schema.LIST,
            _("Actions of this resource in which the config is applied."),
            update_allowed=True,
            default=["CREATE", "UPDATE"],
            constraints=[constraints.AllowedValues(ALLOWED_DEPLOY_ACTIONS)],
        ),
        NAME: properties.Schema(
            properties.Schema.STRING,
            _("Name of the derived config. A server gets its configs in the order of their names."),
            update_allowed=True,
        ),
        SIGNAL_TRANSPORT: properties.Schema(
            properties.Schema.STRING,
            _(
                "How the server reports back. CFN_SIGNAL: POST to a signed URL. TEMP_URL_SIGNAL: PUT to a temporary "
                "URL of Swift. HEAT_SIGNAL: the signal API, with the credentials of a user. ZAQAR_SIGNAL: a queue, "
                "with the credentials of a user. NO_SIGNAL: not at all; nothing is waited for."
            ),
            default=options.register_all(cfg.CONF).default_deployment_signal_transport,
            constraints=[constraints.AllowedValues(SIGNAL_TRANSPORTS)],
        ),
    }

    attributes_schema = {
        STDOUT: attributes.Schema(_("What the config printed."), type=attributes.Schema.STRING),
        STDERR: attributes.Schema(_("What the config printed as errors."), type=attributes.Schema.STRING),
        STATUS_CODE: attributes.Schema(_("The status with which the config ended."), type=attributes.Schema.STRING),
    }

    # deploying --------------------------------------------------------
    def _current(self) -> dict[str, Any] | None:
        """The deployment, None when there is none (any more)."""
        if self.resource_id is None:
            return None
        try:
            return self.stack.software.show_deployment(self, self.resource_id)
        except exception.NotFound:
            return None

    def _applies_in(self, action: str, source: Mapping[str, Any]) -> bool:
        if source.get("group") == COMPONENT_GROUP:
            return any(action in entry["actions"] for entry in source["config"]["configs"])
        return action in self.properties[self.DEPLOY_ACTIONS]

    def _build_properties(self, action: str) -> dict[str, Any]:
        waits = not self._signal_transport_none()
        return {
            "server_id": self.properties[self.SERVER],
            "action": action,
            "input_values": self.properties.get(self.INPUT_VALUES) or {},
            "stack_user_project_id": self.stack.stack_user_project_id,
            "status": self.IN_PROGRESS if waits else self.COMPLETE,
            "status_reason": _("Deploy data available") if waits else _("Not waiting for outputs signal"),
        }

    def _handle_action(self, action: str, source: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """Deploy, if the config is for this action. None: nothing to wait for."""
        if source is None:
            source = self._load_config()
        if not self._applies_in(action, source):
            return None
        derived = self._build_derived_config_params(action, source)
        deployed = self._deployed_before(action, derived)
        if deployed is None:
            if self.resource_id is None:
                self.resource_id_set(self.uuid)
            deployed = self.stack.software.deploy(self, self.resource_id, derived, self._build_properties(action))
        return None if self._signal_transport_none() else deployed

    def _deployed_before(self, action: str, derived: Mapping[str, Any]) -> dict[str, Any] | None:
        """The deployment, if an engine that died has made it in this very action."""
        found = self._current()
        if found is None or found["action"] != action:
            return None
        if found["status"] != self.IN_PROGRESS and not self._done_in_this_action(found):
            return None
        try:
            config = self.stack.software.show_config(self, found["config_id"])
        except exception.NotFound:
            return None
        return found if essence(config) == essence(derived) else None

    def _done_in_this_action(self, deployment: Mapping[str, Any]) -> bool:
        """Whether the server has answered since the action began, as far as can be told."""
        if deployment["status"] != self.COMPLETE:
            return False
        if deployment["action"] == self.UPDATE:
            began = clock.isotime(self.updated_time)
            return began is not None and (deployment.get("updated_time") or "") > began
        return deployment["action"] == self.DELETE

    def _check_complete(self) -> bool:
        found = self.stack.software.show_deployment(self, self.resource_id)
        if found["status"] == self.FAILED:
            text = _("Deployment to server failed: %s") % found["status_reason"]
            LOG.info("%s", text)
            raise exception.Error(text)
        return found["status"] == self.COMPLETE

    def wake_key(self) -> Any:
        return None if self.resource_id is None else ("deployment", self.resource_id)

    # handlers ---------------------------------------------------------
    def handle_create(self) -> Any:
        return self._handle_action(self.CREATE)

    def check_create_complete(self, sd: Any) -> bool:
        return not sd or self._check_complete()

    def can_resume_polling(self, action: str) -> bool:
        # The id is stored before the deployment is made.
        return self._current() is not None

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Any:
        current = self._current()
        before = {} if current is None else self._input_values_of(current["config_id"])
        self.properties = json_snippet.properties(self.properties_schema, self.context)
        source = self._load_config()
        values = dict(self.properties[self.INPUT_VALUES] or {})
        for entry in source["inputs"]:
            name = entry.name()
            if entry.replace_on_change() and name in before and values.get(name, entry.default()) != before[name]:
                LOG.debug("Replacing deployment %(name)s: input %(input)s changed", {"name": self, "input": name})
                raise UpdateReplace(self.name)
        return self._handle_action(self.UPDATE, source)

    def _input_values_of(self, config_id: str) -> dict[str, Any]:
        try:
            found = self.stack.software.show_config(self, config_id)
        except exception.NotFound:
            return {}
        return {entry["name"]: entry.get("value") for entry in found["inputs"]}

    def check_update_complete(self, sd: Any) -> bool:
        return not sd or self._check_complete()

    def handle_suspend(self) -> Any:
        return self._handle_action(self.SUSPEND)

    def check_suspend_complete(self, sd: Any) -> bool:
        return not sd or self._check_complete()

    def handle_resume(self) -> Any:
        return self._handle_action(self.RESUME)

    def check_resume_complete(self, sd: Any) -> bool:
        return not sd or self._check_complete()

    def handle_delete(self) -> Any:
        try:
            return self._handle_action(self.DELETE)
        except exception.NotFound:
            # Of the config: there is nothing to be applied.
            return None

    def check_delete_complete(self, sd: Any = None) -> bool:
        if sd and not self._is_over(sd):
            return False
        self._delete_resource()
        return True

    def _is_over(self, sd: Mapping[str, Any]) -> bool:
        """Whether nothing more is to be expected of the server."""
        current = self._current()
        if current is None or current["status"] == self.COMPLETE:
            return True
        return not self._server_exists(sd) or self._check_complete()

    def _server_exists(self, sd: Mapping[str, Any]) -> bool:
        """Whether the server is there: as Nova says; where there is no Nova, whether it is a resource of a stack."""
        try:
            nova = self.client_plugin("nova")
            if nova is None:
                raise exception.ClientNotAvailable(client_name="nova")
            nova.get_server(sd["server_id"])
        except exception.EntityNotFound:
            return False
        except exception.ClientNotAvailable:
            if not self.stack.software.knows_server(self, sd["server_id"]):
                raise
        return True

    def _delete_resource(self) -> None:
        if self.resource_id is not None:
            self.stack.software.delete_deployment(self, self.resource_id)
        self._delete_signals()
        self._delete_user()

    def _handle_cancel(self) -> None:
        if self.resource_id is not None:
            self.stack.software.cancel_deployment(self, self.resource_id, _("Deployment cancelled."))

    def handle_create_cancel(self, cookie: Any) -> None:
        self._handle_cancel()

    def handle_update_cancel(self, cookie: Any) -> None:
        self._handle_cancel()

    def handle_delete_cancel(self, cookie: Any) -> None:
        self._handle_cancel()

    def handle_suspend_cancel(self, cookie: Any) -> None:
        self._handle_cancel()

    def handle_resume_cancel(self, cookie: Any) -> None:
        self._handle_cancel()

    def handle_signal(self, details: Any = None) -> str | None:
        if self.resource_id is None:
            return None
        return self.stack.software.signal_deployment(self, self.resource_id, details)

    # attributes -------------------------------------------------------
    def get_attribute(self, key: str, *path: Any) -> Any:
        """Outputs are attributes; None until the server has told them."""
        current = self._current()
        outputs = None if current is None else current["output_values"]
        if isinstance(outputs, Mapping) and key in outputs:  # a client may have stored anything as outputs
            return attributes.select_from_attribute(outputs[key], path)
        if key not in self.ATTRIBUTES and key not in self._output_names():
            raise exception.InvalidTemplateAttribute(resource=self.name, key=key)
        return None

    def _output_names(self) -> set[str]:
        config_id = self.properties[self.CONFIG]
        if not config_id:
            return set()
        return {output["name"] for output in self.stack.software.show_config(self, config_id)["outputs"] or []}

    def _show_resource(self) -> Any:
        return self.stack.software.show_deployment(self, self.resource_id)

    def parse_live_resource_data(self, resource_properties: Any, resource_data: Any) -> dict[str, Any]:
        found = super().parse_live_resource_data(resource_properties, resource_data)
        if not found.get(self.INPUT_VALUES) and not resource_properties.get(self.INPUT_VALUES):
            # No values at all: an empty map in the record, nothing in a template.
            found.pop(self.INPUT_VALUES, None)
        return found

    # validation -------------------------------------------------------
    def validate(self) -> Any:
        super().validate()
        reference = self.properties[self.SERVER]
        server = self.stack.resource_by_refid(reference) if reference else None
        data_format = server.properties.get("user_data_format") if server else None
        if data_format and data_format != "SOFTWARE_CONFIG":
            raise exception.StackValidationFailed(
                message=_(
                    "Resource %s's property user_data_format should be set to SOFTWARE_CONFIG since there are software "
                    "deployments on it."
                )
                % reference
            )


_deployment_schema = SoftwareDeployment.properties_schema


class SoftwareDeploymentGroup(ResourceGroup):
    """Applies a software config to a number of servers.

    Each has a deployment, which is a member of the group and has the name given to the server. Attributes of
    deployments, outputs included, are read of the group as maps of these names.
    """

    support_status = support.SupportStatus(version="5.0.0")

    PROPERTIES: Any
    ATTRIBUTES: Any
    PROPERTIES = (SERVERS, CONFIG, INPUT_VALUES, DEPLOY_ACTIONS, NAME, SIGNAL_TRANSPORT) = (
        "servers",
        SoftwareDeployment.CONFIG,
        SoftwareDeployment.INPUT_VALUES,
        SoftwareDeployment.DEPLOY_ACTIONS,
        SoftwareDeployment.NAME,
        SoftwareDeployment.SIGNAL_TRANSPORT,
    )

    ATTRIBUTES = (STDOUTS, STDERRS, STATUS_CODES) = ("deploy_stdouts", "deploy_stderrs", "deploy_status_codes")

    _ROLLING_UPDATES_SCHEMA_KEYS: Any
    _ROLLING_UPDATES_SCHEMA_KEYS = (MAX_BATCH_SIZE, PAUSE_TIME) = (
        ResourceGroup.MAX_BATCH_SIZE,
        ResourceGroup.PAUSE_TIME,
    )

    MEMBER_TYPE = "OS::Heat::SoftwareDeployment"

    properties_schema = {
        SERVERS: properties.Schema(
            properties.Schema.MAP,
            _("Ids of the servers by names, which may be any."),
            update_allowed=True,
            required=True,
        ),
        CONFIG: _deployment_schema[CONFIG],
        INPUT_VALUES: _deployment_schema[INPUT_VALUES],
        DEPLOY_ACTIONS: _deployment_schema[DEPLOY_ACTIONS],
        NAME: _deployment_schema[NAME],
        SIGNAL_TRANSPORT: _deployment_schema[SIGNAL_TRANSPORT],
    }

    attributes_schema = {
        STDOUTS: attributes.Schema(_("What the config printed on each server."), type=attributes.Schema.MAP),
        STDERRS: attributes.Schema(_("What the config printed as errors on each server."), type=attributes.Schema.MAP),
        STATUS_CODES: attributes.Schema(
            _("The status with which the config ended on each server."), type=attributes.Schema.MAP
        ),
    }

    rolling_update_schema = batch_properties(_("Most deployments to change at a time."))

    update_policy_schema = {
        ResourceGroup.ROLLING_UPDATE: properties.Schema(
            properties.Schema.MAP, schema=rolling_update_schema, support_status=support.SupportStatus(version="7.0.0")
        ),
        ResourceGroup.BATCH_CREATE: properties.Schema(
            properties.Schema.MAP,
            schema=ResourceGroup.batch_create_schema,
            support_status=support.SupportStatus(version="7.0.0"),
        ),
    }

    # the members ------------------------------------------------------
    def get_size(self) -> int:
        return len(self.properties[self.SERVERS])

    def _resource_names(self, size: int | None = None) -> Iterator[str]:
        return itertools.islice(self.properties[self.SERVERS], size)

    def _update_name_skiplist(self, props: Any) -> None:
        """Names are given by the user."""

    def _name_skiplist(self) -> set[str]:
        """Members whose servers are not among those given: in a rolling update they go first."""
        if self.resource_id is None:
            return set()
        inspector = groups.GroupInspector.from_parent_resource(self)
        return set(inspector.member_names(include_failed=True)) - set(self.properties[self.SERVERS])

    def res_def_changed(self, prop_diff: Mapping[str, Any]) -> bool:
        return True

    def get_resource_def(self, include_all: bool = False) -> dict[str, Any]:
        return dict(self.properties)

    def build_resource_definition(self, res_name: str, res_defn: Mapping[str, Any]) -> dict[str, Any]:
        props = copy.deepcopy(dict(res_defn))
        props[SoftwareDeployment.SERVER] = props.pop(self.SERVERS).get(res_name)
        return {"type": self.MEMBER_TYPE, "properties": props}

    def _try_rolling_update(self) -> Steps | None:
        policy = self.update_policy[self.ROLLING_UPDATE]
        return self._replace(0, policy[self.MAX_BATCH_SIZE], policy[self.PAUSE_TIME]) if policy else None

    # attributes -------------------------------------------------------
    def _member_attribute_name(self, key: str) -> str:
        """The attribute of a member; any may be an output of it."""
        known = {
            self.STDOUTS: SoftwareDeployment.STDOUT,
            self.STDERRS: SoftwareDeployment.STDERR,
            self.STATUS_CODES: SoftwareDeployment.STATUS_CODE,
        }
        return known.get(key, key)

    def get_attribute(self, key: str, *path: Any) -> Any:
        values = super().get_attribute(self.ATTR_ATTRIBUTES, self._member_attribute_name(key))
        return attributes.select_from_attribute(values, path)

    def _nested_outputs(self, names: Sequence[str]) -> dict[str, Any]:
        outputs = {}
        for attr in self.referenced_attrs():
            wanted = self._member_attribute_name(attr if isinstance(attr, str) else attr[0])
            outputs[self._attribute_output_name(self.ATTR_ATTRIBUTES, wanted)] = {
                name: {"get_attr": [name, wanted]} for name in names
            }
        return outputs


class SoftwareDeployments(SoftwareDeploymentGroup):
    """The name that the group had in the beginning."""

    hidden_msg = _("Please use OS::Heat::SoftwareDeploymentGroup instead.")

    support_status = support.SupportStatus(
        status=support.HIDDEN,
        message=hidden_msg,
        version="7.0.0",
        previous_status=support.SupportStatus(status=support.DEPRECATED, version="2014.2"),
        substitute_class=SoftwareDeploymentGroup,
    )


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Heat::SoftwareDeployment": SoftwareDeployment,
        "OS::Heat::SoftwareDeploymentGroup": SoftwareDeploymentGroup,
        "OS::Heat::SoftwareDeployments": SoftwareDeployments,
    }
