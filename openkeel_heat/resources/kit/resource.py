# SPDX-License-Identifier: Apache-2.0
"""The base class of all resource types, with the interface that plugins written for Heat use.

A type declares schemata as class attributes and implements some of::

    handle_create()                 check_create_complete(handler_data)
    handle_update(definition, tmpl_diff, prop_diff)      check_update_complete(…)
    handle_delete()                 check_delete_complete(…)
    handle_suspend/resume/check/adopt/snapshot …         handle_<action>_cancel(handler_data)
    handle_signal(details)          _resolve_attribute(name)

``handle_*`` starts something and returns quickly; ``check_*_complete`` is polled with
what it returned until it is true. What runs them, and when, is :mod:`.lifecycle`.
Nothing here knows the database: see :mod:`.store` and :mod:`.record`.
"""

from __future__ import annotations

import contextlib
import pydoc
import re
from collections.abc import Iterator, Mapping
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.exceptions import UpdateReplace
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, generated, support
from openkeel_heat.resources.kit.nocloud import NoClientPlugin
from openkeel_heat.resources.kit.properties import Properties
from openkeel_heat.resources.kit.record import ResourceRecord
from openkeel_heat.resources.kit.signals import NoActionRequired, Signals

__all__ = ["NoActionRequired", "PollDelay", "Resource", "ResourceRecord", "UpdateReplace"]

LOG = logging.getLogger(__name__)

_LONGEST_ID = 255


class PollDelay(Exception):
    """Raised by a ``check_*_complete`` that need not be asked for the next ``period`` polls."""

    def __init__(self, period: int) -> None:
        assert period >= 1
        super().__init__(period)
        self.period = period


def _register_class(resource_type: str, resource_class: type[Resource]) -> None:
    from openkeel_heat.resources.kit import registry

    registry.types().register(resource_type, resource_class)


class Resource(Signals):
    """A resource of a stack. ``record`` is its row, ``t`` its definition."""

    BASE_ATTRIBUTES = (SHOW,) = (attributes.SHOW_ATTR,)

    # Must exist before anything refers to it.
    strict_dependency = True

    attributes_schema: dict[str, attributes.Schema] = {}

    base_attributes_schema = {
        SHOW: attributes.Schema(
            _("All that the service tells about the resource."),
            cache_mode=attributes.Schema.CACHE_NONE,
            type=attributes.Schema.MAP,
        ),
    }

    # Calls services on the user's behalf after the request has ended.
    requires_deferred_auth = False

    support_status = support.SupportStatus()

    # Extension(s) of the service that the type needs, separated by blanks or commas.
    required_service_extension: str | list[str] | None = None

    # Longest time between two polls, in seconds.
    poll_interval: float = 1.0

    # handle_create (handle_update) may run a second time after an engine died in it.
    repeatable_create = False
    repeatable_update = False

    # It goes on with the action of an engine that died: a handler may find done what it is to do.
    resumed = False

    # Properties are what was stored when it was made: somebody only looks at it, and what the
    # template refers to is not known.
    reads_stored = False

    # A check_*_complete may set it: seconds until polling makes sense again.
    poll_after: float | None = None

    def __new__(cls, name: str, definition: Any, stack: Any) -> Resource:
        actual = cls
        if cls is Resource:
            actual = stack.env.registry.get_class_to_instantiate(definition.resource_type, resource_name=name)
            assert issubclass(actual, Resource)
        return super().__new__(actual)

    def __init__(self, name: str, definition: Any, stack: Any) -> None:
        if "/" in name:
            raise exception.StackValidationFailed(message=_('Resource name may not contain "/"'))
        self.stack = stack
        self.context = stack.context
        self.name = name
        self.t = definition
        self.abandon_in_progress = False
        self.converge = bool(getattr(stack, "converge", False))
        self.old_template_id: int | None = None
        # A resource without a row in a stack that goes away counts as gone.
        gone = stack.action if stack.action in (self.DELETE, self.ROLLBACK) else self.INIT
        self.record = ResourceRecord(
            name=name,
            action=gone,
            created_at=getattr(stack, "created_time", None),
            updated_at=getattr(stack, "updated_time", None),
        )
        if getattr(stack, "in_convergence_check", False):
            self._load_node_data()
        self.reparse(client_resolve=False)
        self._init_attributes()

    def _init_attributes(self) -> None:
        self.attributes = attributes.Attributes(
            self.name, {**self.attributes_schema, **self.base_attributes_schema}, self._resolve_any_attribute
        )

    def _load_node_data(self) -> None:
        """While one node is processed, all that is known of other resources is what arrived with it."""
        try:
            data = self.stack.defn.resource(self.name)._resource_data
        except KeyError:
            return
        if data is not None:
            record = self.record
            record.id, record.uuid, record.action, record.status = (
                data.primary_key,
                data.uuid,
                data.action,
                data.status,
            )

    def load_record(self, record: ResourceRecord) -> None:
        """Take a row over (the engine calls this after making the object)."""
        self.record = record
        self.attributes.cached_attrs = record.attributes or None

    # properties -------------------------------------------------------
    def reparse(self, client_resolve: bool = True) -> None:
        """Look at the definition anew; done when the properties are used next."""
        self._properties: Properties | None = None
        self._update_policy: Properties | None = None
        self._client_resolve = client_resolve

    @property
    def properties(self) -> Properties:  # type: ignore[override]
        if self._properties is None:
            stored = self.reads_stored and self._stored_properties_data is not None
            definition = self.frozen_definition() if stored else self.t
            self._properties = definition.properties(self.properties_schema, self.context)
            self.translate_properties(self._properties, self._client_resolve)
        return self._properties

    @properties.setter
    def properties(self, value: Properties) -> None:
        self._properties = value

    @property
    def update_policy(self) -> Properties:
        if self._update_policy is None:
            self._update_policy = self.t.update_policy(self.update_policy_schema, self.context)
        return self._update_policy

    @update_policy.setter
    def update_policy(self, value: Properties) -> None:
        self._update_policy = value

    def _update_stored_properties(self) -> None:
        """Note the resolved properties to be stored with the next transition."""
        before = self._stored_properties_data
        props = self.properties
        self._stored_properties_data = dict(props.resolve(props.data) or {})
        if self._stored_properties_data != before:
            self._rsrc_prop_data_id = None
            self.attributes.reset_resolved_values()

    def frozen_definition(self) -> Any:
        """The definition with the stored properties and every function resolved."""
        stored = self._stored_properties_data
        return self.t.freeze() if stored is None else self.t.freeze(properties=stored)

    @contextlib.contextmanager
    def frozen_properties(self) -> Iterator[Properties]:
        """While in the context, ``properties`` are those stored."""
        live = self._properties
        props = self.frozen_definition().properties(self.properties_schema, self.context)
        try:
            self._properties = props
            yield props
        finally:
            self._properties = live

    # identity ---------------------------------------------------------
    @property
    def external_id(self) -> str | None:
        return self.t.external_id()

    @classmethod
    def getdoc(cls) -> str:
        return _("No description available") if cls.__doc__ is None else pydoc.getdoc(cls)

    def type(self) -> str:
        return self.t.resource_type

    def has_interface(self, resource_type: str) -> bool:
        """Whether it is of that type, directly or by the environment."""
        if self.type() == resource_type:
            return True
        try:
            info = self.stack.env.get_resource_info(self.type(), self.name)
        except exception.EntityNotFound:
            return False
        return info.name == resource_type

    def __str__(self) -> str:
        text = '%s "%s"' % (type(self).__name__, self.name)
        if self.stack.id is None:
            return text
        if self.resource_id is not None:
            text += " [%s]" % self.resource_id
        return "%s %s" % (text, self.stack)

    def __eq__(self, other: object) -> bool:
        """Equal: same name and same resolved definition."""
        if isinstance(other, Resource):
            return self is other or (self.name == other.name and self.t.freeze() == other.t.freeze())
        return NotImplemented

    def __hash__(self) -> int:
        return id(self)

    # nested stacks ----------------------------------------------------
    def acts_for_owner(self) -> bool:
        """Whether it calls services as the stack's owner when no request is at hand: after a signal, say."""
        return self.requires_deferred_auth

    def has_nested(self) -> bool:
        return False

    def nested(self) -> Any:
        return None

    def get_nested_parameters_stack(self) -> Any:
        return None

    def preview(self) -> Any:
        """What a stack preview shows for it."""
        return self

    def wake_key(self) -> Any:
        """What wakes a poller of this resource before its pause is over."""
        return None

    # dependencies -----------------------------------------------------
    def add_explicit_dependencies(self, deps: Any) -> None:
        """Add what the template says, as pairs to a Dependencies object."""
        for required in self.t.dependencies(self.stack):
            deps += (self, required)
        deps += (self, None)

    def add_dependencies(self, deps: Any) -> None:
        """Add what the service needs though the template does not say so."""

    def required_by(self) -> list[str]:
        """Names of the resources that depend on it directly."""
        return list(self.stack.required_by(self.name))

    # services ---------------------------------------------------------
    def client(self, name: str | None = None, version: str | None = None) -> Any:
        client_name = name or self.default_client_name
        assert client_name, "Must specify client name"
        return self.stack.clients.client(client_name, version)

    def client_plugin(self, name: str | None = None) -> Any:
        client_name = name or self.default_client_name
        assert client_name, "Must specify client name"
        return self.stack.clients.client_plugin(client_name)

    def _default_client_plugin(self) -> Any:
        """A client plugin in any case: one that knows no errors if the type has no service."""
        plugin = self.client_plugin() if self.default_client_name else None
        return NoClientPlugin(self.context) if plugin is None else plugin

    def keystone(self) -> Any:
        return self.client("keystone")

    def nova(self) -> Any:
        return self.client("nova")

    def swift(self) -> Any:
        return self.client("swift")

    def neutron(self) -> Any:
        return self.client("neutron")

    def cinder(self) -> Any:
        return self.client("cinder")

    def trove(self) -> Any:
        return self.client("trove")

    def heat(self) -> Any:
        return self.client("heat")

    def glance(self) -> Any:
        return self.client("glance")

    @classmethod
    def is_service_available(cls, context: Any) -> tuple[bool, str | None]:
        """Whether the catalogue has the service (and it the extensions) of the type, and if not why."""
        name = cls.default_client_name
        if name is None:
            return True, None
        plugin = context.clients.client_plugin(name)
        if not plugin:
            raise exception.ClientNotAvailable(client_name=name)
        if not plugin.service_types:
            return True, None
        reason: str | None = None
        for service_type in plugin.service_types:
            if not plugin.does_endpoint_exist(service_type=service_type, service_name=name):
                reason = _("{0} {1} endpoint is not in service catalog.").format(name, service_type)
                continue
            missing = next((ext for ext in cls._required_extensions() if not plugin.has_extension(ext)), None)
            if missing is None:
                return True, None
            reason = _("Required extension {0} in {1} service is not available.").format(missing, name)
        return False, reason

    @classmethod
    def _required_extensions(cls) -> list[str]:
        wanted = cls.required_service_extension or []
        return re.split(" |,", wanted) if isinstance(wanted, str) else list(wanted)

    @classmethod
    def _validate_service_availability(cls, context: Any, resource_type: str) -> None:
        try:
            available, reason = cls.is_service_available(context)
        except Exception as ex:
            LOG.exception("Resource type %s unavailable", resource_type)
            available, reason = False, str(ex)
        if not available:
            unavailable = exception.ResourceTypeUnavailable(
                resource_type=resource_type, service_name=cls.default_client_name, reason=reason
            )
            LOG.info("%s", unavailable)
            raise unavailable

    @classmethod
    def check_is_substituted(cls, new_res_type: Any) -> bool:
        """Whether a resource may become one of that class in place."""
        status = getattr(cls, "support_status", None)
        return status is not None and status.is_substituted(new_res_type)

    # validation -------------------------------------------------------
    def validate(self) -> Any:
        """Types override it to check more than schemata can say."""
        return self.validate_template()

    def validate_template(self) -> Any:
        """Check the definition itself."""
        self._validate_service_availability(self.stack.context, self.t.resource_type)
        try:
            self.t.validate()
            self.validate_deletion_policy(self.t.deletion_policy())
            self.t.update_policy(self.update_policy_schema, self.context).validate()
            return self.properties.validate(with_value=self.stack.strict_validate)
        except exception.StackValidationFailed as ex:
            template = self.stack.t
            path = [template.RESOURCES, self.t.name]
            if ex.path:
                path += [template.get_section_name(ex.path[0]), *ex.path[1:]]
            raise exception.StackValidationFailed(error=ex.error, path=path, message=ex.error_message) from ex

    @classmethod
    def validate_deletion_policy(cls, policy: str) -> None:
        text = None
        if policy not in ("Delete", "Retain", "Snapshot"):
            text = _('Invalid deletion policy "%s"') % policy
        elif policy == "Snapshot" and not callable(getattr(cls, "handle_snapshot_delete", None)):
            text = _('"%s" deletion policy not supported') % policy
        if text:
            raise exception.StackValidationFailed(message=text, path=["DeletionPolicy"])

    def validate_external(self) -> None:
        """The object named by ``external_id`` must exist."""
        if self.external_id is None:
            return
        try:
            self.record.nova_instance = self.external_id
            self._show_resource()
        except Exception as ex:
            if not self._default_client_plugin().is_not_found(ex):
                raise
            raise exception.StackValidationFailed(
                message=_("Invalid external resource: Resource %(external_id)s (%(type)s) can not be found.")
                % {"external_id": self.external_id, "type": self.type()}
            ) from ex

    def _verify_check_conditions(self, checks: list[dict[str, Any]]) -> None:
        """Raise with all the conditions ({attr, expected, current}) that do not hold."""

        def holds(check: dict[str, Any]) -> bool:
            expected, current = check["expected"], check["current"]
            return current in expected if isinstance(expected, list) else current == expected

        text = _("'%(attr)s': expected '%(expected)s', got '%(current)s'")
        wrong = [text % check for check in checks if not holds(check)]
        if wrong:
            raise exception.Error("; ".join(wrong))

    def verify_presence(self) -> None:
        """Raise if the object is known to be gone: all that a check can say of a type without ``handle_check``."""

    # defaults of handlers ---------------------------------------------
    def handle_delete(self) -> Any:
        if self.entity and self.resource_id is not None:
            with self._default_client_plugin().ignore_not_found:
                getattr(self.client(), self.entity).delete(self.resource_id)
                return self.resource_id
        return None

    def handle_adopt(self, resource_data: Mapping[str, Any] | None = None) -> Any:
        resource_id, data, metadata = self._get_resource_info(resource_data)
        if not resource_id:
            raise exception.ResourceFailure(Exception(_("Resource ID was not provided.")), self)
        if not isinstance(resource_id, (str, int, float)) or len(str(resource_id)) > _LONGEST_ID:
            raise exception.ResourceFailure(
                Exception(_('"resource_id" must be a string of no more than %d characters') % _LONGEST_ID), self
            )
        self.resource_id_set(str(resource_id))
        if isinstance(data, dict):
            for key, value in data.items():
                self.data_set(key, value)
        self.metadata_set(metadata)

    def _get_resource_info(self, resource_data: Mapping[str, Any] | None) -> tuple[Any, Any, Any]:
        data = resource_data or {}
        return data.get("resource_id"), data.get("resource_data"), data.get("metadata")

    def prepare_abandon(self) -> dict[str, Any]:
        """What an abandoned stack's export says about it."""
        self.abandon_in_progress = True
        return self.snapshot_data()

    def snapshot_data(self) -> dict[str, Any]:
        """What a snapshot or an export keeps of it."""
        return {
            "name": self.name,
            "resource_id": self.resource_id,
            "type": self.type(),
            "action": self.action,
            "status": self.status,
            "metadata": self.metadata_get(),
            "resource_data": self.data(),
        }

    def cancel_grace_period(self) -> float | None:
        """Seconds an action in progress may go on after a cancellation; None: cancel at once."""
        from oslo_config import cfg

        if callable(getattr(self, "handle_%s_cancel" % self.action.lower(), None)):
            return None
        return cfg.CONF.error_wait_time

    # after the death of an engine -------------------------------------
    def find_physical(self) -> str | None:
        """The id of an object made by an engine that could not store it any more, if the type can tell."""
        return None

    def handler_data_on_resume(self, action: str) -> Any:
        """What ``handle_<action>`` had returned, told from what is stored."""
        return self.resource_id

    def can_resume_polling(self, action: str) -> bool:
        """Whether check_<action>_complete can go on with handler_data_on_resume."""
        return callable(getattr(self, "check_%s_complete" % action.lower(), None))

    # generated templates ----------------------------------------------
    @classmethod
    def resource_to_template(cls, resource_type: str, template_type: str = "cfn") -> dict[str, Any]:
        return generated.resource_to_template(cls, resource_type, template_type)

    build_template_dict = staticmethod(generated.build_template_dict)

    @classmethod
    def is_hidden(cls) -> bool:
        return cls.support_status.status == support.HIDDEN
