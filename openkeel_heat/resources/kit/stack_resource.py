# SPDX-License-Identifier: Apache-2.0
"""Resources that are whole stacks: what groups, template resources and scaling types share.

A subclass says what the child is (``child_template``, ``child_params``) and calls
``create_with_template``/``update_with_template`` from its handlers. The child is run by the
engine through ``stack.nested_stacks``; here it is only started and watched. A watcher is
woken when the child's state changes (``wake_key``), so polling is a fallback.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import exceptions as exception, identifier
from openkeel_heat.common.exceptions import UpdateReplace
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes
from openkeel_heat.resources.kit.resource import PollDelay, Resource
from openkeel_heat.template import limits

LOG = logging.getLogger(__name__)

EMPTY_TEMPLATE = {"heat_template_version": "2013-05-23"}

Cookie = dict[str, Any]


class StackResource(Resource):
    """A nested stack managed as a resource."""

    # Nobody knows what is inside before the stack exists.
    requires_deferred_auth = True

    def __init__(self, name: str, json_snippet: Any, stack: Any) -> None:
        self._nested: Any = None
        self._outputs: dict[str, Any] | None = None
        self.resource_info: Any = None
        super().__init__(name, json_snippet, stack)

    def acts_for_owner(self) -> bool:
        """Those that scale do; of the others it is what is inside."""
        if callable(getattr(self, "handle_signal", None)) or callable(getattr(self, "adjust", None)):
            return True
        try:
            nested = self._parse_nested_stack(self._nested_preview_name(), self.child_template(), self.child_params())
        except Exception:
            LOG.debug("What is inside of %s cannot be told yet", self.name, exc_info=True)
            return self.requires_deferred_auth
        return bool(nested.acts_for_owner())

    # what the child is ------------------------------------------------
    @property
    def template_url(self) -> str:
        """Where the template comes from, as it is named in error paths."""
        return "nested_stack"

    def child_template(self) -> Any:
        """The child's template: a mapping or a Template."""
        raise NotImplementedError

    def child_params(self) -> Mapping[str, Any]:
        """The child's parameters (or a whole environment)."""
        raise NotImplementedError

    def child_template_files(self, child_env: Any) -> Mapping[str, Any]:
        return self.stack.t.files

    def child_environment(self, user_params: Any) -> Any:
        """The parent's environment with the child's parameters."""
        from openkeel_heat.template import environment

        return environment.get_child_environment(
            self.stack.env, user_params, item_to_remove=self.resource_info, child_resource_name=self.name
        )

    def _parse_child_template(self, child_template: Any, child_env: Any) -> Any:
        from openkeel_heat.template import Template

        raw = child_template.t if isinstance(child_template, Template) else child_template
        return Template.load(raw, files=self.child_template_files(child_env), env=child_env)

    def _child_parsed_template(self, child_template: Any, child_env: Any) -> Any:
        return self._parse_child_template(child_template, child_env)

    def _compiled_child(self, child_template: Any = None, user_params: Any = None) -> Any:
        if user_params is None:
            user_params = self.child_params()
        if child_template is None:
            child_template = self.child_template()
        return self._child_parsed_template(child_template, self.child_environment(user_params))

    def _child_nested_depth(self) -> int:
        deepest = cfg.CONF.max_nested_stack_depth
        if self.stack.nested_depth >= deepest:
            raise exception.RequestLimitExceeded(message=_("Recursion depth exceeds %d.") % deepest)
        return self.stack.nested_depth + 1

    def _parse_nested_stack(
        self,
        stack_name: str,
        child_template: Any,
        child_params: Any,
        timeout_mins: int | None = None,
        adopt_data: Any = None,
    ) -> Any:
        """The child in memory."""
        self._child_nested_depth()
        template = self._compiled_child(child_template, child_params)
        self._validate_nested_resources(template)
        limits.charge_tree(stack_name, len(template.resource_definitions), self._most_resources())
        return self.stack.nested_stacks.build(
            self,
            template,
            name=stack_name,
            timeout_mins=self.stack.timeout_mins if timeout_mins is None else timeout_mins,
        )

    @staticmethod
    def _most_resources() -> int | None:
        """How many resources a stack and all below it may have."""
        limit = cfg.CONF.max_resources_per_stack
        return None if limit == -1 else limit

    @staticmethod
    def check_size(count: int) -> None:
        """Refuse a child of so many members that it would be too much to make a template of them."""
        if count > limits.current().max_collection_items:
            raise exception.RequestLimitExceeded(message=exception.StackResourceLimitExceeded.msg_fmt)

    def _validate_nested_resources(self, template: Any) -> None:
        """The whole tree must keep within max_resources_per_stack."""
        limit = self._most_resources()
        if limit is None:
            return
        nested = self.stack.nested_stacks
        total = len(template.resource_definitions) + nested.total_resources(
            self.root_stack_id or self.stack.root_stack_id()
        )
        if self.resource_id is not None:
            # What the child has already is in both numbers.
            total -= len(nested.resources(self, self.resource_id))
        if total > limit:
            raise exception.RequestLimitExceeded(message=exception.StackResourceLimitExceeded.msg_fmt)

    # validation, preview ----------------------------------------------
    def validate(self) -> Any:
        result = super().validate()
        # A nested stack is validated with its root; not again when it is made.
        if self.stack.nested_depth == 0 or not self.stack.strict_validate:
            self.validate_nested_stack()
        return result

    def validate_nested_stack(self) -> None:
        self._validate_as_nested(self.child_template)

    def _validate_as_nested(self, child_template: Any) -> None:
        try:
            nested = self._parse_nested_stack(self._nested_preview_name(), child_template(), self.child_params())
            nested.strict_validate = False
            nested.validate()
        except AssertionError:
            raise
        except Exception as ex:
            place = "%s<%s>" % (self.name, self.template_url)
            raise exception.StackValidationFailed(error=ex, path=[self.stack.t.RESOURCES, place]) from ex

    def _nested_preview_name(self) -> str:
        return "%s-%s" % (self.stack.name, self.name)

    def preview(self) -> Any:
        try:
            template, params = self.child_template(), self.child_params()
        except NotImplementedError:
            LOG.warning("Preview of '%s' not yet implemented", type(self).__name__)
            return self
        self._nested = self._parse_nested_stack(self._nested_preview_name(), template, params)
        return self._nested.preview_resources()

    def get_nested_parameters_stack(self) -> Any:
        """A stack whose parameters validate_template shows."""
        try:
            template, params = self.child_template(), self.child_params()
        except NotImplementedError:
            LOG.warning("Nested parameters of '%s' not yet implemented", type(self).__name__)
            return None
        return self._parse_nested_stack(self._nested_preview_name(), template, params)

    # the child that exists --------------------------------------------
    def nested_identifier(self) -> identifier.HeatIdentifier | None:
        if self.resource_id is None:
            return None
        return identifier.HeatIdentifier(self.context.project_id, self.physical_resource_name() or "", self.resource_id)

    def has_nested(self) -> bool:
        return self.resource_id is not None or self._nested is not None

    def nested(self) -> Any:
        """The child as a stack, or None."""
        if self._nested is None and self.resource_id is not None:
            self._nested = self.stack.nested_stacks.load(self, self.resource_id)
        return self._nested

    def wake_key(self) -> Any:
        return None if self.resource_id is None else ("stack", self.resource_id)

    def find_physical(self) -> str | None:
        name = self.physical_resource_name()
        return None if name is None else self.stack.nested_stacks.find(self, name)

    # An update of a nested stack may be asked for twice.
    repeatable_update = True

    @property
    def repeatable_create(self) -> bool:  # type: ignore[override]
        # nested_stacks.create() finds the child that was made by a dead engine.
        return True

    def handler_data_on_resume(self, action: str) -> Any:
        return None

    def _needs_update(
        self,
        after: Any,
        before: Any,
        after_props: Any,
        before_props: Any,
        prev_resource: Any,
        check_init_complete: bool = True,
    ) -> bool:
        if self.resource_id is None:
            # Only for the replacements it asks for.
            super()._needs_update(after, before, after_props, before_props, prev_resource, check_init_complete)
        elif self.state == (self.CHECK, self.FAILED):
            found = self.stack.nested_stacks.status(self.resource_id)
            if found is None or (found.action, found.status) != (self.CHECK, self.FAILED):
                # Marked unhealthy as a whole; else the members that failed decide.
                raise UpdateReplace(self)  # type: ignore[arg-type]
        elif self.action == self.DELETE:
            # A deletion that failed or was cut off left a child that cannot be updated any more.
            raise UpdateReplace(self)  # type: ignore[arg-type]
        # The members of the child decide what changes.
        return True

    # create -----------------------------------------------------------
    def create_with_template(
        self, child_template: Any, user_params: Any = None, timeout_mins: int | None = None, adopt_data: Any = None
    ) -> None:
        """Start the child."""
        self._child_nested_depth()
        template = self._compiled_child(child_template, user_params)
        name = self.physical_resource_name()
        assert name is not None
        timeout_mins = self.stack.timeout_mins if timeout_mins is None else timeout_mins
        if self.action == self.ADOPT and not adopt_data:
            adopt_data = {"resources": {}}  # nothing is known of what is in the child; it is adopted all the same
        with self._refusals():
            child_id = self.stack.nested_stacks.create(
                self, template, name=name, timeout_mins=timeout_mins, adopt_data=adopt_data
            )
        self.resource_id_set(child_id)

    @contextlib.contextmanager
    def _refusals(self) -> Iterator[None]:
        """What is wrong with the child is told in its own words, as by an engine that was asked for it."""
        try:
            yield
        except exception.HeatException as error:
            text = str(error).partition("\n")[0]
            raise exception.ResourceFailure(text, self, action=self.action) from error

    def check_create_complete(self, cookie: Any = None) -> bool:
        return self._check_status_complete(self.CREATE)

    def check_adopt_complete(self, cookie: Any = None) -> bool:
        return self._check_status_complete(self.ADOPT)

    def _check_status_complete(self, expected_action: str, cookie: Cookie | None = None) -> bool:
        """Whether the child has come through that action; ResourceFailure if it failed in it."""
        assert self.resource_id is not None
        found = self.stack.nested_stacks.status(self.resource_id)
        if expected_action == self.DELETE:
            if found is None:
                return True
        elif found is None or found.action == self.DELETE:
            # Somebody has deleted it behind our back; nothing else will become of it.
            raise exception.EntityNotFound(entity="Stack", name=self.resource_id)
        if found.action != expected_action or found.status == self.IN_PROGRESS:
            return False
        if found.status == self.COMPLETE:
            self._nested = None
            self._outputs = None
            return True
        if found.status == self.FAILED:
            if cookie is not None and "fail_count" in cookie:
                cookie["fail_count"] -= 1
                if cookie["fail_count"] > 0:
                    raise PollDelay(10)
            raise exception.ResourceFailure(found.reason, self, action=found.action)
        raise exception.ResourceUnknownStatus(
            resource_status=found.status, status_reason=found.reason, result=_("Stack unknown status")
        )

    # update -----------------------------------------------------------
    def update_with_template(
        self, child_template: Any, user_params: Any = None, timeout_mins: int | None = None
    ) -> Cookie | None:
        """Start an update of the child; its result goes to check_update_complete."""
        if self._is_going_there(child_template, user_params):
            return None
        if self.stack.action == self.stack.ROLLBACK and self._try_rollback():
            LOG.info("Triggered nested stack %s rollback", self.physical_resource_name())
            return {"target_action": self.stack.ROLLBACK}
        if self.resource_id is None:
            # It was never made: make an empty one, update it when it is there.
            self.create_with_template(EMPTY_TEMPLATE, {})
            return {"then_update": (child_template, user_params, timeout_mins)}
        self._start_update(child_template, user_params, timeout_mins)
        return None

    def _start_update(self, child_template: Any, user_params: Any, timeout_mins: int | None) -> None:
        assert self.resource_id is not None
        nested = self.stack.nested_stacks
        if nested.status(self.resource_id) is None:
            raise UpdateReplace(self)  # type: ignore[arg-type]
        template = self._compiled_child(child_template, user_params)
        self._outputs = None
        with self._refusals():
            try:
                nested.update(
                    self,
                    self.resource_id,
                    template,
                    timeout_mins=self.stack.timeout_mins if timeout_mins is None else timeout_mins,
                    converge=self.converge,
                )
            except exception.ActionInProgress:
                # On the way back it is enough to wait for what is going on.
                if self.stack.action != self.stack.ROLLBACK:
                    raise

    def _is_going_there(self, child_template: Any, user_params: Any) -> bool:
        """Is the child being updated to that template already? (Started by an engine that died afterwards.)"""
        if self.resource_id is None:
            return False
        nested = self.stack.nested_stacks
        found = nested.status(self.resource_id)
        if found is None or (found.action, found.status) != (self.UPDATE, self.IN_PROGRESS):
            return False
        current = nested.template(self.resource_id)
        wanted = self._compiled_child(child_template, user_params)
        return (
            current is not None
            and current.t == wanted.t
            and dict(current.files) == dict(wanted.files)
            and current.env.user_env_as_dict() == wanted.env.user_env_as_dict()
        )

    def _try_rollback(self) -> bool:
        """Let a child that is being updated roll back by itself; False when it is not."""
        if self.resource_id is None:
            return False
        nested = self.stack.nested_stacks
        try:
            if not nested.cancel(self, self.resource_id, rollback=True):
                return False
        except exception.NotSupported:
            return False
        found = nested.status(self.resource_id)
        return found is not None and found.status == self.IN_PROGRESS

    def check_update_complete(self, cookie: Cookie | None = None) -> bool:
        cookie = cookie or {}
        pending = cookie.get("then_update")
        if pending is not None:
            if not self._check_status_complete(self.CREATE):
                return False
            self._start_update(*pending)
            del cookie["then_update"]
            return False
        target = cookie.get("target_action", self.UPDATE)
        return self._check_status_complete(target)

    def _handle_cancel(self) -> None:
        if self.resource_id is None:
            return
        try:
            self.stack.nested_stacks.cancel(self, self.resource_id, rollback=False)
        except exception.NotSupported:
            LOG.debug("Nested stack %s not in cancellable state", self.resource_id)

    def handle_preempt(self) -> None:
        self._handle_cancel()

    def handle_update_cancel(self, cookie: Any) -> None:
        self._handle_cancel()

    def handle_create_cancel(self, cookie: Any) -> None:
        self.handle_update_cancel(cookie)

    # delete -----------------------------------------------------------
    def delete_nested(self) -> None:
        if self.resource_id is None:
            # An engine may have died between making the child and storing its id.
            self.record.nova_instance = self.find_physical()
        if self.resource_id is None:
            return
        try:
            if self.abandon_in_progress:
                self.stack.nested_stacks.abandon(self, self.resource_id)
            else:
                self.stack.nested_stacks.delete(self, self.resource_id)
        except (exception.EntityNotFound, exception.NotFound):
            LOG.debug("Nested stack %s is gone", self.resource_id)

    def handle_delete(self) -> Any:
        return self.delete_nested()

    def check_delete_complete(self, cookie: Any = None) -> bool:
        if self.resource_id is None:
            return True
        return self._check_status_complete(self.DELETE, cookie)

    def handle_abandon(self) -> Any:
        return self.delete_nested()

    def check_abandon_complete(self, cookie: Any = None) -> bool:
        return self.resource_id is None or self._check_status_complete(self.DELETE)

    # suspend, resume, check -------------------------------------------
    def _existing(self, text: str) -> str:
        if self.resource_id is None:
            raise exception.Error(text % self.name)
        return self.resource_id

    def handle_suspend(self) -> Any:
        self.stack.nested_stacks.suspend(self, self._existing(_("Cannot suspend %s, stack not created")))

    def check_suspend_complete(self, cookie: Any = None) -> bool:
        return self._check_status_complete(self.SUSPEND)

    def handle_resume(self) -> Any:
        self.stack.nested_stacks.resume(self, self._existing(_("Cannot resume %s, stack not created")))

    def check_resume_complete(self, cookie: Any = None) -> bool:
        return self._check_status_complete(self.RESUME)

    def handle_check(self) -> Any:
        self.stack.nested_stacks.check(self, self._existing(_("Cannot check %s, stack not created")))

    def check_check_complete(self, cookie: Any = None) -> bool:
        return self._check_status_complete(self.CHECK)

    def prepare_abandon(self) -> dict[str, Any]:
        self.abandon_in_progress = True
        if self.resource_id is None:
            return {}
        return self.stack.nested_stacks.abandon_data(self, self.resource_id)

    # attributes -------------------------------------------------------
    def get_output(self, op: str) -> Any:
        """The value of an output of the child; NotFound when it has no such output."""
        if self._outputs is None or self._is_unset(op):
            if self.resource_id is None:
                return None
            outputs = self.stack.nested_stacks.outputs(self, self.resource_id)
            if outputs is None:
                return None
            self._outputs = outputs
        if op not in self._outputs:
            raise exception.NotFound(_("Specified output key %s not found.") % op)
        entry = self._outputs[op]
        if "output_error" in entry:
            raise exception.TemplateOutputError(resource=self.name, attribute=op, message=entry["output_error"])
        return entry["output_value"]

    def _is_unset(self, op: str) -> bool:
        """Whether the output was seen without a value, so that it is worth asking again."""
        entry = (self._outputs or {}).get(op)
        return entry is not None and "output_error" not in entry and entry.get("output_value") is None

    def _resolve_attribute(self, name: str) -> Any:
        try:
            return self.get_output(name)
        except exception.NotFound:
            raise exception.InvalidTemplateAttribute(resource=self.name, key=name) from None

    @staticmethod
    def attributes_from_outputs(outputs: Mapping[str, Any] | None) -> dict[str, attributes.Schema]:
        return attributes.Attributes.schema_from_outputs(outputs)
