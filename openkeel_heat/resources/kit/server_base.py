# SPDX-License-Identifier: Apache-2.0
"""What servers of all kinds share: how the software on them gets its configuration.

The metadata of the server's resource has ``deployments`` (the configs deployed to it, written by the
deployments) and ``os-collect-config`` (how the agent on the server finds this very metadata):

``POLL_SERVER_CFN``   the CloudFormation API, with a key pair
``POLL_SERVER_HEAT``  the native API, with a user of the stack domain
``POLL_TEMP_URL``     an object in Swift; each deployment puts the metadata there
``ZAQAR_MESSAGE``     a queue in Zaqar; each deployment posts the metadata to it

A subclass declares the properties ``software_config_transport`` and ``deployment_swift_data`` and
says in ``user_data_software_config()`` whether the server takes part.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from oslo_config import cfg
from oslo_serialization import jsonutils

from openkeel_heat.common import config, exceptions as exception, passwords
from openkeel_heat.resources.kit.stack_user import StackUser

DEPLOYMENTS, COLLECT_CONFIG = "deployments", "os-collect-config"

# Sections of the agent's configuration that a transport fills.
_SECTIONS = ("heat", "zaqar", "cfn", "request")


class BaseServer(StackUser):
    """A server that can be told what software to run."""

    physical_resource_name_limit = config.register_all(cfg.CONF).max_server_name_length

    entity = "servers"

    # Names that subclasses have.
    NAME, SOFTWARE_CONFIG_TRANSPORT, DEPLOYMENT_SWIFT_DATA = (
        "name",
        "software_config_transport",
        "deployment_swift_data",
    )
    CONTAINER, OBJECT = "container", "object"
    POLL_SERVER_CFN, POLL_SERVER_HEAT, POLL_TEMP_URL, ZAQAR_MESSAGE = (
        "POLL_SERVER_CFN",
        "POLL_SERVER_HEAT",
        "POLL_TEMP_URL",
        "ZAQAR_MESSAGE",
    )
    NAME_ATTR, OS_COLLECT_CONFIG = "name", "os_collect_config"

    def __init__(self, name: str, json_snippet: Any, stack: Any) -> None:
        super().__init__(name, json_snippet, stack)
        # Collectors that the agent uses besides that of the transport.
        self.default_collectors: list[str] = []

    def user_data_software_config(self) -> bool:
        """Whether the server has the agent that looks for deployments."""
        raise NotImplementedError

    def _server_name(self) -> str | None:
        return self.properties[self.NAME] or self.physical_resource_name()

    # credentials ------------------------------------------------------
    @property
    def access_key(self) -> str | None:
        return self.data().get("access_key")

    @property
    def secret_key(self) -> str | None:
        return self.data().get("secret_key")

    @property
    def password(self) -> str | None:
        return self.data().get("password")

    @password.setter
    def password(self, password: str | None) -> None:
        if password is None:
            self.data_delete("password")
        else:
            self.data_set("password", password, True)

    def _create_transport_credentials(self, props: Mapping[str, Any]) -> None:
        if self.transport_poll_server_cfn(props):
            self._create_user()
            self._create_keypair()
        elif self.transport_poll_server_heat(props) or self.transport_zaqar_message(props):
            if self.password is None:
                self._choose_password()
            self._create_user()
        self._register_access_key()

    def _choose_password(self) -> None:
        """A user that the transport of before needed may be there; it has key pairs, but no password."""
        password = passwords.generate_openstack_password()
        if user_id := self._get_user_id():
            project_id = self.stack.stack_user_project_id
            self.keystone().set_stack_domain_user_password(user_id, project_id, password)
        self.password = password

    # which transport --------------------------------------------------
    def _transport_is(self, props: Mapping[str, Any], transport: str) -> bool:
        return props[self.SOFTWARE_CONFIG_TRANSPORT] == transport

    def transport_poll_server_cfn(self, props: Mapping[str, Any]) -> bool:
        return self._transport_is(props, self.POLL_SERVER_CFN)

    def transport_poll_server_heat(self, props: Mapping[str, Any]) -> bool:
        return self._transport_is(props, self.POLL_SERVER_HEAT)

    def transport_poll_temp_url(self, props: Mapping[str, Any]) -> bool:
        return self._transport_is(props, self.POLL_TEMP_URL)

    def transport_zaqar_message(self, props: Mapping[str, Any]) -> bool:
        return self._transport_is(props, self.ZAQAR_MESSAGE)

    # metadata ---------------------------------------------------------
    def _get_region_name(self) -> str | None:
        return self.client_plugin()._get_region_name()

    def _container_and_object_name(self, props: Mapping[str, Any]) -> tuple[str, str]:
        wanted = props.get(self.DEPLOYMENT_SWIFT_DATA, self.properties[self.DEPLOYMENT_SWIFT_DATA]) or {}
        container = wanted.get(self.CONTAINER) or self.physical_resource_name() or ""
        name = wanted.get(self.OBJECT) or self.data().get("metadata_object_name") or str(uuid.uuid4())
        return container, name

    def _user_section(self) -> dict[str, Any]:
        """How the user of the server signs in."""
        return {
            "user_id": self._get_user_id(),
            "password": self.password,
            "auth_url": self.keystone().server_keystone_endpoint_url(fallback_endpoint=self.context.auth_url),
            "project_id": self.stack.stack_user_project_id,
            "region_name": self._get_region_name(),
        }

    def _collector(self, props: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """Name and configuration of the collector for the transport."""
        if self.transport_poll_server_heat(props):
            return "heat", {
                **self._user_section(),
                "stack_id": self.stack.identifier().stack_path(),
                "resource_name": self.name,
            }
        if self.transport_zaqar_message(props):
            queue = self.data().get("metadata_queue_id") or self.physical_resource_name()
            return "zaqar", {**self._user_section(), "queue_id": queue}
        if self.transport_poll_server_cfn(props):
            return "cfn", {
                "metadata_url": self.stack.clients.client_plugin("heat").get_cfn_metadata_server_url(),
                "access_key_id": self.access_key,
                "secret_access_key": self.secret_key,
                "stack_name": self.stack.name,
                "path": "%s.Metadata" % self.name,
            }
        if self.transport_poll_temp_url(props):
            return "request", {"metadata_url": self._make_temp_urls(props)}
        return None

    def _make_temp_urls(self, props: Mapping[str, Any]) -> str:
        """The URL to get the metadata from; that to put them to is kept for the deployments."""
        container, name = self._container_and_object_name(props)
        swift = self.client_plugin("swift")
        swift.client().put_container(container)
        self.data_set("metadata_put_url", swift.get_temp_url(container, name))
        self.data_set("metadata_object_name", name)
        return swift.get_temp_url(container, name, method="GET")

    def _populate_deployments_metadata(self, meta: Mapping[str, Any], props: Mapping[str, Any]) -> None:
        """Write to the metadata how the agent finds them, and put them where it does."""
        collector = self._collector(props)

        def merge(new: Mapping[str, Any], current: Mapping[str, Any]) -> dict[str, Any]:
            agent: dict[str, Any] = {**(current.get(COLLECT_CONFIG) or new.get(COLLECT_CONFIG) or {})}
            # What was configured before has to be overridden to be forgotten.
            for section in _SECTIONS:
                if section in agent:
                    agent[section] = dict.fromkeys(agent[section])
            agent["collectors"] = list(self.default_collectors)
            if collector is not None:
                agent["collectors"].append(collector[0])
                agent[collector[0]] = collector[1]
            agent["collectors"].append("local")
            return {
                **new,
                **current,
                DEPLOYMENTS: current.get(DEPLOYMENTS) or new.get(DEPLOYMENTS) or [],
                COLLECT_CONFIG: agent,
            }

        self.metadata_set(dict(meta), merge_metadata=merge)
        self._push(self.metadata_get(), props, collector)

    def _push(
        self, meta: Mapping[str, Any], props: Mapping[str, Any], collector: tuple[str, dict[str, Any]] | None
    ) -> None:
        """Put the metadata to the places where agents do not ask us, those of before included."""
        queue_id = self.data().get("metadata_queue_id")
        if collector is not None and collector[0] == "zaqar":
            queue_id = collector[1]["queue_id"]
        if queue_id:
            self._queue(queue_id).post({"body": meta, "ttl": self.client_plugin("zaqar").DEFAULT_TTL})
            self.data_set("metadata_queue_id", queue_id)
        if self.data().get("metadata_object_name"):
            container, name = self._container_and_object_name(props)
            self.client("swift").put_object(container, name, jsonutils.dumps(meta))

    def _queue(self, queue_id: str) -> Any:
        zaqar = self.client_plugin("zaqar")
        return zaqar.create_for_tenant(self.stack.stack_user_project_id, self._user_token()).queue(queue_id)

    def metadata_update(self, new_metadata: dict[str, Any] | None = None) -> None:
        """Metadata of the template anew: attributes that they are made of may have changed."""
        if new_metadata is not None:
            return
        fresh = self.t.metadata()
        current = self.metadata_get(refresh=True)
        if {**current, **fresh} != current:
            self.metadata_set(fresh, merge_metadata=lambda new, stored: {**stored, **new})

    # handlers ---------------------------------------------------------
    def check_create_complete(self, server_id: Any) -> bool:
        return True

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Any:
        if tmpl_diff.metadata_changed():
            self._change_metadata(json_snippet.metadata())
        if self.SOFTWARE_CONFIG_TRANSPORT in prop_diff:
            self._update_software_config_transport(prop_diff)
        return []

    def _change_metadata(self, wanted: dict[str, Any]) -> None:
        """New metadata of the template; what deployments need stays."""

        def merge(new: Mapping[str, Any], current: Mapping[str, Any]) -> dict[str, Any]:
            if not self.user_data_software_config():
                return dict(new)
            agent = {**(current.get(COLLECT_CONFIG) or {}), **(new.get(COLLECT_CONFIG) or {})}
            return {**new, COLLECT_CONFIG: agent, DEPLOYMENTS: current.get(DEPLOYMENTS) or []}

        self.metadata_set(wanted, merge_metadata=merge)

    def _update_software_config_transport(self, prop_diff: Mapping[str, Any]) -> None:
        if not self.user_data_software_config():
            return
        self._delete_queue()
        self._delete_temp_url()
        self._create_transport_credentials(prop_diff)
        self._populate_deployments_metadata(self.metadata_get(True), prop_diff)

    def _delete(self) -> Any:
        """Delete what there is outside; what it returns goes to check_delete_complete."""
        raise NotImplementedError

    def handle_delete(self) -> Any:
        return self._delete()

    def handle_snapshot_delete(self, state: tuple[str, str]) -> Any:
        """Servers of which no image can be made are just deleted."""
        return self._delete()

    def check_delete_complete(self, progress: Any) -> bool:
        return not progress

    def _delete_temp_url(self) -> None:
        name = self.data().get("metadata_object_name")
        if not name:
            return
        if self.client_plugin().does_endpoint_exist("object-store", "swift"):
            with self.client_plugin("swift").ignore_not_found:
                container, _name = self._container_and_object_name(self.properties)
                swift = self.client("swift")
                swift.delete_object(container, name)
                if int(swift.head_container(container)["x-container-object-count"]) == 0:
                    swift.delete_container(container)
        self.data_delete("metadata_object_name")
        self.data_delete("metadata_put_url")

    def _delete_queue(self) -> None:
        queue_id = self.data().get("metadata_queue_id")
        if not queue_id:
            return
        if self.client_plugin().does_endpoint_exist("messaging", "zaqar"):
            with self.client_plugin("zaqar").ignore_not_found:
                self._queue(queue_id).delete()
        self.data_delete("metadata_queue_id")

    # attributes -------------------------------------------------------
    def _resolve_attribute(self, name: str) -> Any:
        if self.resource_id is None:
            return None
        if name == self.NAME_ATTR:
            return self._server_name()
        if name == self.OS_COLLECT_CONFIG:
            return self.metadata_get().get(COLLECT_CONFIG, {})
        return None

    def _show_resource(self) -> Any:
        found = super()._show_resource()
        if found is not None:
            found.setdefault(self.OS_COLLECT_CONFIG, self.metadata_get().get(COLLECT_CONFIG, {}))
        return found

    # limits -----------------------------------------------------------
    @staticmethod
    def _check_maximum(count: int, maximum: int, msg: str) -> None:
        """StackValidationFailed with that text for more than the maximum; -1 is no maximum."""
        if maximum != -1 and count > maximum:
            raise exception.StackValidationFailed(message=msg)
