# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::Stack: a stack that is made through the API of a Heat service, here or elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging
from oslo_serialization import jsonutils

from openkeel_heat.clients.rest import RestClient, outcome_unknown
from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.exceptions import UpdateReplace
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.heat import remote_stack_credentials as credentials
from openkeel_heat.resources.kit import attributes, properties, snapshots, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import UNSURE

LOG = logging.getLogger(__name__)


class RemoteStack(Resource):
    """A stack of any region or cloud, managed as a resource.

    ``context`` says where: a region of this cloud, or another cloud by credentials that are
    kept as a secret.
    """

    support_status = support.SupportStatus()

    default_client_name = "heat"

    entity = "stacks"

    PROPERTIES = (CONTEXT, TEMPLATE, TIMEOUT, PARAMETERS) = ("context", "template", "timeout", "parameters")

    ATTRIBUTES = (NAME_ATTR, OUTPUTS) = ("stack_name", "outputs")

    _CONTEXT_KEYS = (REGION_NAME, CREDENTIAL_SECRET_ID, CA_CERT, SSL_INSECURE) = (
        "region_name",
        "credential_secret_id",
        "ca_cert",
        "insecure",
    )

    properties_schema = {
        CONTEXT: properties.Schema(
            properties.Schema.MAP,
            _("Where the stack is made."),
            update_allowed=True,
            schema={
                REGION_NAME: properties.Schema(properties.Schema.STRING, _("Region of the stack."), required=False),
                CREDENTIAL_SECRET_ID: properties.Schema(
                    properties.Schema.STRING,
                    _("Secret of Barbican with credentials of another cloud."),
                    required=False,
                    update_allowed=True,
                    support_status=support.SupportStatus(version="12.0.0"),
                ),
                CA_CERT: properties.Schema(
                    properties.Schema.STRING,
                    _("Certificate of the authority that vouches for the other cloud."),
                    required=False,
                    update_allowed=True,
                    support_status=support.SupportStatus(version="12.0.0"),
                ),
                SSL_INSECURE: properties.Schema(
                    properties.Schema.BOOLEAN,
                    _("Whether certificates are not verified."),
                    default=False,
                    required=False,
                    update_allowed=True,
                    support_status=support.SupportStatus(version="12.0.0"),
                ),
            },
        ),
        TEMPLATE: properties.Schema(
            properties.Schema.STRING, _("Text of the template."), required=True, update_allowed=True
        ),
        TIMEOUT: properties.Schema(
            properties.Schema.INTEGER, _("Minutes that creating the stack may take."), update_allowed=True
        ),
        PARAMETERS: properties.Schema(
            properties.Schema.MAP, _("Parameters of the stack."), default={}, update_allowed=True
        ),
    }

    attributes_schema = {
        NAME_ATTR: attributes.Schema(_("Name of the stack."), type=attributes.Schema.STRING),
        OUTPUTS: attributes.Schema(_("Outputs of the stack by name."), type=attributes.Schema.MAP),
    }

    def __init__(self, name: str, definition: Any, stack: Any) -> None:
        super().__init__(name, definition, stack)
        self._local_context: Any = None
        self._local_place: Any = None

    # where ------------------------------------------------------------
    def _where(self) -> Mapping[str, Any]:
        return self.properties[self.CONTEXT] or {}

    def _location(self) -> str:
        where = self._where()
        if where.get(self.CREDENTIAL_SECRET_ID):
            return "remote cloud"
        return 'region "%s"' % (where.get(self.REGION_NAME) or self.context.region_name)

    def _context(self) -> Any:
        """A request context for the other place; made anew when that is another one by now."""
        place = dict(self._where())
        if self._local_context is None or place != self._local_place:
            self._local_context, self._local_place = self._make_context(place), place
        return self._local_context

    def _make_context(self, where: Mapping[str, Any]) -> Any:
        from openkeel_heat.common import context

        values = self.context.to_dict()
        secret = where.get(self.CREDENTIAL_SECRET_ID)
        values["region_name"] = where.get(self.REGION_NAME) or (None if secret else self.context.region_name)
        made = context.RequestContext.from_dict(values, overwrite=False)
        if secret:
            # Before there is a session: it keeps what authenticates it.
            made._auth_plugin = credentials.of_secret(self.stack.clients, secret)
        if where:
            authority = credentials.file_of(where.get(self.CA_CERT), made)
            made.keystone_session.verify = not where.get(self.SSL_INSECURE) and (authority or True)
        if secret:
            credentials.check(made.auth_plugin, made.keystone_session)
            # Our configuration may know the URL of this service, where those credentials are worth nothing.
            made.clients.client_plugin(self.default_client_name).elsewhere = True
        return made

    def _api(self) -> Any:
        """The adapter of the other service's API."""
        return self._context().clients.client(self.default_client_name)

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        # Parameters may be secrets: they are in no log.
        client = RestClient(self._api(), self.default_client_name, retries=cfg.CONF.client_retry_limit)
        response = client.send(method, path, json=body, log=False)
        # Some answers have a word of text for a body.
        return response.json() if "json" in response.headers.get("Content-Type", "") else None

    def client_plugin(self, name: str | None = None) -> Any:
        if name is not None and name != self.default_client_name:
            return super().client_plugin(name)
        return self._context().clients.client_plugin(self.default_client_name)

    def _default_client_plugin(self) -> Any:
        """What is asked about errors, of the other place too: reaching it may be what failed."""
        return super().client_plugin(self.default_client_name)

    def _stack_path(self) -> str:
        return "/stacks/%s" % self.resource_id

    def _show(self) -> dict[str, Any]:
        # By id alone the API answers with a redirect, which the session follows.
        return self._call("GET", self._stack_path())["stack"]

    def _snapshots_path(self, stack_id: str | None = None) -> str:
        """Of snapshots the API wants to be told by name and id."""
        found = self._call("GET", "/stacks/%s" % (stack_id or self.resource_id))["stack"]
        return "/stacks/%s/%s/snapshots" % (found["stack_name"], found["id"])

    def _show_resource(self) -> Any:
        return self._show()

    # handlers ---------------------------------------------------------
    def validate(self) -> Any:
        result = super().validate()
        try:
            self._api()
        except Exception as ex:
            raise exception.StackValidationFailed(
                message=_('Cannot establish connection to Heat endpoint at %(location)s due to "%(exc)s"')
                % {"location": self._location(), "exc": ex}
            ) from ex
        try:
            body = self._arguments()
            self._call("POST", "/validate", {key: body[key] for key in ("template", "files", "environment")})
        except Exception as ex:
            LOG.info("Validating the template of %s failed", self, exc_info=True)
            raise exception.StackValidationFailed(
                message=_('Failed validating stack template using Heat endpoint at %(location)s due to "%(exc)s"')
                % {"location": self._location(), "exc": ex}
            ) from ex
        return result

    def _arguments(self) -> dict[str, Any]:
        from openkeel_heat.template import environment, text

        params = self.properties[self.PARAMETERS]
        env = environment.get_child_environment(self.stack.env, params)
        return {
            "parameters": params,
            "template": text.parse(self.properties[self.TEMPLATE]),
            "timeout_mins": self.properties[self.TIMEOUT],
            "files": dict(self.stack.t.files),
            "environment": env.user_env_as_dict(),
        }

    def handle_create(self) -> None:
        body = {
            **self._arguments(),
            "stack_name": self.physical_resource_name_or_FnGetRefId(),
            "disable_rollback": True,
        }
        try:
            made = self._call("POST", "/stacks", body)["stack"]["id"]
        except Exception as error:
            if not outcome_unknown(error):
                raise
            # Whoever deletes the resource looks, too.
            self.data_set(UNSURE, "1")
            made = self.find_physical()
            if made is None:
                raise
        self.resource_id_set(made)

    def find_physical(self) -> str | None:
        try:
            return self._call("GET", "/stacks/%s" % self.physical_resource_name())["stack"]["id"]
        except Exception as ex:
            LOG.debug("No stack of %(name)s found: %(why)s", {"name": self, "why": ex})
            return None

    def handle_delete(self) -> Any:
        if self.resource_id is None and self.data().get(UNSURE):
            self.resource_id_set(self.find_physical())
        if self.resource_id is None:
            return None
        with self._default_client_plugin().ignore_not_found:
            self._call("DELETE", self._stack_path())
            return self.resource_id
        return None

    def _action(self, name: str) -> None:
        self._call("POST", self._stack_path() + "/actions", {name: None})

    def handle_resume(self) -> None:
        if self.resource_id is None:
            raise exception.Error(_("Cannot resume %s, resource not found") % self.name)
        self._action("resume")

    def handle_suspend(self) -> None:
        if self.resource_id is None:
            raise exception.Error(_("Cannot suspend %s, resource not found") % self.name)
        self._action("suspend")

    def handle_check(self) -> None:
        self._action("check")

    def handle_snapshot(self) -> str:
        return snapshots.made_once(
            self, "snapshot_id", lambda: str(self._call("POST", self._snapshots_path(), {})["id"])
        )

    def handle_delete_snapshot(self, snapshot: Mapping[str, Any]) -> str | None:
        """Otherwise the other service counts it among the few that a stack may have."""
        snapshot_id = (snapshot["resource_data"] or {}).get("snapshot_id")
        # A stack that is deleted takes its snapshots along; asked for both at once, Python Heat ends neither.
        if snapshot_id and self.resource_id and self.stack.action != self.DELETE:
            with self._default_client_plugin().ignore_not_found:
                path = "%s/%s" % (self._snapshots_path(), snapshot_id)
                known: dict[str, Any] = self._call("GET", path)["snapshot"]
                self._call("DELETE", path)
                # One that failed before tells nothing of its deletion.
                return path if known["status"] != self.FAILED else None
        return None

    def check_delete_snapshot_complete(self, path: str | None) -> bool:
        """What is deleted next may be the stack, which fails over the deletion of its snapshot."""
        if path:
            with self._default_client_plugin().ignore_not_found:
                found = self._call("GET", path)["snapshot"]
                if found["status"] == self.FAILED:
                    raise exception.ResourceInError(
                        resource_status=found["status"], status_reason=found["status_reason"]
                    )
                return False
        return True

    def handle_restore(self, defn: Any, restore_data: Mapping[str, Any]) -> Any:
        """The definition that leads back to the stack as a snapshot has it."""
        snapshot_id = restore_data["resource_data"]["snapshot_id"]
        try:
            # The stack may be another one by now, and what it has is not known here.
            path = "%s/%s" % (self._snapshots_path(restore_data["resource_id"]), snapshot_id)
            stored = self._call("GET", path)["snapshot"]["data"]
        except Exception as ex:
            if not self._default_client_plugin().is_not_found(ex):
                raise
            raise exception.SnapshotNotFound(snapshot=snapshot_id, stack=restore_data["resource_id"]) from ex
        props = {key: value for key, value in self.properties.items() if key in self.properties.data}
        props[self.TEMPLATE] = jsonutils.dumps(stored["template"])
        props[self.PARAMETERS] = (stored.get("environment") or {}).get("parameters", {})
        return defn.freeze(properties=props)

    def _needs_update(
        self,
        after: Any,
        before: Any,
        after_props: Any,
        before_props: Any,
        prev_resource: Any,
        check_init_complete: bool = True,
    ) -> bool:
        broken = self.status == self.FAILED and (self.action == self.CHECK or self.needs_replace_failed())
        if broken:
            raise UpdateReplace(self)  # type: ignore[arg-type]
        # The resources in the stack decide what changes.
        return True

    def needs_replace_failed(self) -> bool:
        """Whether there is no stack that an update could mend."""
        if self.resource_id is None:
            return True
        with self._default_client_plugin().ignore_not_found:
            # For some time a deleted stack is found by its id.
            return bool(self._show()["stack_status"] == "DELETE_COMPLETE")
        return True

    def needs_replace_with_prop_diff(
        self, changed_properties_set: set[str], after_props: Any, before_props: Any
    ) -> bool:
        if self.CONTEXT not in changed_properties_set:
            return False
        after, before = after_props.get(self.CONTEXT) or {}, before_props.get(self.CONTEXT) or {}
        return after.get(self.REGION_NAME) != before.get(self.REGION_NAME)

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: Any) -> None:
        if not self.resource_id:
            return
        self.properties = json_snippet.properties(self.properties_schema, self.context)
        self._call("PUT", self._stack_path(), {**self._arguments(), "disable_rollback": self.stack.disable_rollback})

    # polls ------------------------------------------------------------
    def _check_action_complete(self, action: str) -> bool:
        found = self._show()
        done, _sep, status = found["stack_status"].partition("_")
        # What ends an update that failed there is its rollback: there is no more to wait for.
        undone = (action, done) == (self.UPDATE, self.ROLLBACK)
        if status == self.IN_PROGRESS or not (done == action or undone):
            return False
        if undone:
            raise exception.ResourceInError(
                resource_status=found["stack_status"], status_reason=found["stack_status_reason"]
            )
        if status == self.COMPLETE:
            return True
        error = exception.ResourceInError if status == self.FAILED else exception.ResourceUnknownStatus
        raise error(resource_status=found["stack_status"], status_reason=found["stack_status_reason"])

    def check_create_complete(self, *args: Any) -> bool:
        return self._check_action_complete(self.CREATE)

    def check_update_complete(self, *args: Any) -> bool:
        return self._check_action_complete(self.UPDATE)

    def check_delete_complete(self, deleting_resource_id: str | None = None) -> bool:
        if deleting_resource_id is not None:
            with self._default_client_plugin().ignore_not_found:
                return self._check_action_complete(self.DELETE)
        return True

    def check_resume_complete(self, *args: Any) -> bool:
        return self._check_action_complete(self.RESUME)

    def check_suspend_complete(self, *args: Any) -> bool:
        return self._check_action_complete(self.SUSPEND)

    def check_snapshot_complete(self, *args: Any) -> bool:
        return self._check_action_complete(self.SNAPSHOT)

    def check_check_complete(self, *args: Any) -> bool:
        return self._check_action_complete(self.CHECK)

    # references -------------------------------------------------------
    def _resolve_attribute(self, name: str) -> Any:
        if self.resource_id is None:
            return None
        found = self._show()
        if name == self.NAME_ATTR:
            return found.get("stack_name") or self.physical_resource_name_or_FnGetRefId()
        if name == self.OUTPUTS:
            # One that is deleted has none, not even no outputs.
            told = found.get("outputs")
            return None if told is None else {entry["output_key"]: entry["output_value"] for entry in told}
        return None

    def get_reference_id(self) -> Any:
        return self.resource_id


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::Stack": RemoteStack}
