# SPDX-License-Identifier: Apache-2.0
"""The part of a resource that decides between no change, an update in place and a replacement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.exceptions import UpdateReplace
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import rule_mistakes
from openkeel_heat.resources.kit.properties import Properties
from openkeel_heat.resources.kit.references import References

LOG = logging.getLogger(__name__)


def of_what_was_asked_for(asked: Properties, live: Mapping[str, Any]) -> dict[str, Any]:
    """Live state without what nobody gave: that is the service's choice, or somebody else's doing."""
    return {name: value for name, value in live.items() if asked.get(name) is not None}


class Updates(References):
    """Comparing the definition of before with that of after."""

    properties_schema: dict[str, Any] = {}
    update_policy_schema: dict[str, Any] = {}

    # Old plugins list here what handle_update takes, beside update_allowed in the schema.
    update_allowed_properties: tuple[str, ...] = ()

    # A resource found broken by a check is replaced whatever needs_replace_failed says.
    always_replace_on_check_failed = True

    # One that failed but is there is compared with what the service shows of it and changed in place, not replaced:
    # for objects that cannot be made twice, or are more than what the template says of them.
    repairable = False

    converge = False

    def type(self) -> str:
        raise NotImplementedError

    # for plugins to override ------------------------------------------
    def needs_replace(self, after_props: Properties) -> bool:
        return False

    def needs_replace_with_prop_diff(
        self, changed_properties_set: set[str], after_props: Properties, before_props: Properties
    ) -> bool:
        return False

    def needs_replace_with_tmpl_diff(self, tmpl_diff: Any) -> bool:
        return False

    def needs_replace_failed(self) -> bool:
        """Whether a resource whose last action failed must be replaced."""
        if not (self.repairable and self.resource_id):
            return True
        try:
            self.get_live_resource_data()
        except exception.EntityNotFound:
            return True
        return False

    def prepare_for_replace(self) -> Any:
        """Make room for a replacement (free an address, a name …).

        What takes longer goes on in ``check_prepare_for_replace_complete(data)``, polled with
        what this returned; the same for ``restore_prev_rsrc``.
        """

    def restore_prev_rsrc(self, convergence: bool = False) -> Any:
        """Undo prepare_for_replace when a rollback returns to this resource."""

    def handle_preempt(self) -> None:
        """A new update waits for the one in progress: end that by outer means if it is safe."""

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Any:
        if prop_diff:
            raise UpdateReplace(self.name)

    def regenerate_info_schema(self, definition: Any) -> None:
        """Refresh schemata that depend on the definition."""

    def update_template_diff(self, after: Any, before: Any) -> Any:
        return after - before

    def update_template_diff_properties(self, after_props: Properties, before_props: Properties) -> dict[str, Any]:
        """The changed properties with their new values (None: no longer given).

        ``NotSupported`` if an immutable one is among them, ``UpdateReplace`` if one cannot
        be changed in place.
        """
        changed = {key for key in after_props if self._property_differs(key, after_props, before_props)}
        fixed = sorted(key for key in changed if after_props.props[key].immutable())
        if fixed:
            raise exception.NotSupported(
                feature=_("Update to properties %(props)s of %(name)s (%(res)s)")
                % {"props": ", ".join(fixed), "res": self.type(), "name": self.name}
            )
        if changed and self.needs_replace_with_prop_diff(changed, after_props, before_props):
            raise UpdateReplace(self)  # type: ignore[arg-type]
        if not changed <= self.calc_update_allowed(after_props):
            raise UpdateReplace(self.name)
        return {key: after_props.get(key) for key in changed}

    @staticmethod
    def _property_differs(key: str, after_props: Properties, before_props: Properties) -> bool:
        try:
            before = before_props.get(key)
        except (TypeError, ValueError) as ex:
            LOG.warning("Ignoring error in old property value %(prop_name)s: %(msg)s", {"prop_name": key, "msg": ex})
            return True
        return before != after_props.get(key)

    def calc_update_allowed(self, props: Properties) -> set[str]:
        return set(self.update_allowed_properties).union(
            key for key, prop in props.props.items() if prop.update_allowed()
        )

    # the decision -----------------------------------------------------
    def _needs_update(
        self,
        after: Any,
        before: Any,
        after_props: Properties,
        before_props: Properties,
        prev_resource: Any,
        check_init_complete: bool = True,
    ) -> bool:
        replace = UpdateReplace(self)  # type: ignore[arg-type]
        if self.status == self.FAILED:
            if self.action == self.CHECK and self.always_replace_on_check_failed:
                raise replace
            if self.needs_replace_failed():
                raise replace
        if self.state == (self.DELETE, self.COMPLETE):
            raise replace
        if check_init_complete and self.state == (self.INIT, self.COMPLETE):
            raise replace
        if self.needs_replace(after_props):
            raise replace
        if before != after.freeze():
            return True
        try:
            return before_props != after_props
        except ValueError:
            return True

    def preview_update(
        self,
        after: Any,
        before: Any,
        after_props: Properties,
        before_props: Properties,
        prev_resource: Any,
        check_init_complete: bool = False,
    ) -> bool:
        """True: an update in place; False: nothing to do; ``UpdateReplace``: a replacement."""
        if not self._needs_update(after, before, after_props, before_props, prev_resource, check_init_complete):
            return False
        tmpl_diff = self.update_template_diff(after.freeze(), before)
        if tmpl_diff and self.needs_replace_with_tmpl_diff(tmpl_diff):
            raise UpdateReplace(self)  # type: ignore[arg-type]
        self.update_template_diff_properties(after_props, before_props)
        return True

    def _check_restricted_actions(
        self,
        actions: Iterable[str],
        after: Any,
        before: Any,
        after_props: Properties,
        before_props: Properties,
        prev_resource: Any,
    ) -> bool:
        """Like preview_update, refusing what the environment forbids for this resource."""
        try:
            needed = self.preview_update(
                after, before, after_props, before_props, prev_resource, check_init_complete=True
            )
        except UpdateReplace:
            if "replace" in actions:
                raise exception.ResourceActionRestricted(action="replace") from None
            raise
        if needed and "update" in actions:
            raise exception.ResourceActionRestricted(action="update")
        return needed

    def _prepare_update_props(self, after: Any, before: Any) -> tuple[Properties, Properties]:
        before_props = before.properties(self.properties_schema, self.context)
        self.regenerate_info_schema(after)
        set_rules = getattr(after, "set_translation_rules", None)
        if set_rules is not None:
            set_rules(self.translation_rules(self.properties))
        after_props = after.properties(self.properties_schema, self.context)
        self.translate_properties(after_props)
        self.translate_properties(before_props, ignore_resolve_error=True)
        repaired = self.repairable and self.status == self.FAILED and self.resource_id is not None
        if (cfg.CONF.observe_on_update or self.converge or repaired) and before_props:
            self._observe(before_props)
        elif self.state == (self.UPDATE, self.FAILED) and self.resource_id is not None:
            doubtful = self._perhaps_changed(before_props)
            if doubtful:
                self._observe(before_props, doubtful)
        return after_props, before_props

    def _perhaps_changed(self, before_props: Properties) -> set[str]:
        """What an update that failed was about: it may be as before, or as it was to be."""
        found = set()
        for key in before_props:
            try:
                if self._property_differs(key, self.properties, before_props):
                    found.add(key)
            except Exception as ex:
                LOG.debug("What %s of %s was to be cannot be told: %s", key, self.name, ex)
        return found

    def _observe(self, before_props: Properties, only: set[str] | None = None) -> None:
        """Take what the service says (of these properties) as the state of before."""
        if not self.resource_id:
            raise UpdateReplace(self)  # type: ignore[arg-type]
        try:
            reality = self.get_live_state(before_props)
            if only is not None:
                reality = {key: value for key, value in reality.items() if key in only}
            if reality:
                self._update_properties_with_live_state(before_props, reality)
        except exception.EntityNotFound:
            raise UpdateReplace(self) from None  # type: ignore[arg-type]
        except Exception as ex:
            LOG.warning("Resource cannot be updated with it's live state in case of next error: %s", ex)

    # translation ------------------------------------------------------
    def translation_rules(self, properties: Properties) -> list[Any] | None:
        return []

    def translate_properties(
        self, properties: Properties, client_resolve: bool = True, ignore_resolve_error: bool = False
    ) -> None:
        rules = self.translation_rules(properties) or []
        rule_mistakes.tell(type(self), rules, properties)
        properties.update_translation(
            rules,
            client_resolve=client_resolve,
            ignore_resolve_error=ignore_resolve_error,
        )

    # live state -------------------------------------------------------
    entity: str | None = None
    default_client_name: str | None = None

    def client(self, name: str | None = None, version: str | None = None) -> Any:
        raise NotImplementedError

    def _show_resource(self) -> Any:
        """What the service says about the physical object: the value of ``show``."""
        if not self.entity or self.default_client_name is None:
            return None
        try:
            found = getattr(self.client(), self.entity).get(self.resource_id)
            return found if isinstance(found, dict) else found.to_dict()
        except AttributeError as ex:
            LOG.warning("Resolving 'show' attribute has failed : %s", ex)
            return None

    def get_live_resource_data(self) -> Any:
        try:
            return self._show_resource()
        except Exception as ex:
            if self._default_client_plugin().is_not_found(ex):
                raise exception.EntityNotFound(entity="Resource", name=self.name) from ex
            raise

    def parse_live_resource_data(self, resource_properties: Properties, resource_data: Any) -> dict[str, Any]:
        """Properties by their names, of the data that the service gave."""
        found = {}
        for key in self._update_allowed_properties:
            if key not in resource_data:
                continue
            if key == "name" and resource_properties.get(key) is None:
                # The object has a made-up name: the user gave none.
                continue
            found[key] = resource_data.get(key)
        return found

    def get_live_state(self, resource_properties: Properties) -> dict[str, Any]:
        live = self.get_live_resource_data()
        return {} if live is None else self.parse_live_resource_data(resource_properties, live)

    def _update_properties_with_live_state(
        self, resource_properties: Properties, live_properties: dict[str, Any]
    ) -> None:
        for key in resource_properties:
            if key in live_properties and resource_properties.get(key) != live_properties[key]:
                resource_properties.data.update({key: live_properties[key]})
                resource_properties.translation.forget(key)

    @property
    def _update_allowed_properties(self) -> set[str]:
        return self.calc_update_allowed(self.properties)
