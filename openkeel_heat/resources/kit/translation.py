# SPDX-License-Identifier: Apache-2.0
"""Rules that turn what users write in properties into what a plugin works with.

A rule has a path to a property and one of four kinds:

* ``Add``     appends values to a list property,
* ``Replace`` takes the value from another property (or a constant),
* ``Resolve`` asks a finder of a client plugin (a name becomes an id),
* ``Delete``  makes the property look unset.

Rules of one path are applied in the order Add, Replace, Resolve, Delete. Nothing is
looked up before the property is read, and each look-up is made once.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oslo_log import log as logging

from openkeel_heat.clients import patience
from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.properties import Properties

LOG = logging.getLogger(__name__)


@functools.total_ordering
class TranslationRule:
    """One rule. ``value``, ``value_name`` and ``value_path`` exclude each other.

    ``value_name`` is a sibling of the property inside the same list element or map;
    ``value_path`` an absolute path; ``custom_value_path`` goes on below it into
    values that have no schema.
    """

    RULE_KEYS = (ADD, REPLACE, DELETE, RESOLVE) = ("Add", "Replace", "Delete", "Resolve")

    _ORDER = (ADD, REPLACE, RESOLVE, DELETE)

    def __init__(
        self,
        properties: Any,
        rule: str,
        translation_path: list[str],
        value: Any = None,
        value_name: str | None = None,
        value_path: list[str] | None = None,
        client_plugin: Any = None,
        finder: str | None = None,
        entity: str | None = None,
        custom_value_path: list[str] | None = None,
    ) -> None:
        self.properties = properties
        self.rule = rule
        self.translation_path = translation_path
        self.value = value or None
        self.value_name = value_name
        self.value_path = value_path
        self.client_plugin = client_plugin
        self.finder = finder
        self.entity = entity
        self.custom_value_path = custom_value_path
        self.validate()

    def __lt__(self, other: TranslationRule) -> bool:
        return self._ORDER.index(self.rule) < self._ORDER.index(other.rule)

    def validate(self) -> None:
        if self.rule not in self.RULE_KEYS:
            raise ValueError(
                _("There is no rule %(rule)s. List of allowed rules is: %(rules)s.")
                % {"rule": self.rule, "rules": ", ".join(self.RULE_KEYS)}
            )
        if not isinstance(self.translation_path, list) or not self.translation_path:
            raise ValueError(_('"translation_path" should be non-empty list with path to translate.'))
        if sum(given is not None for given in (self.value_path, self.value, self.value_name)) > 1:
            raise ValueError(
                _(
                    '"value_path", "value" and "value_name" are mutually exclusive and cannot be '
                    "specified at the same time."
                )
            )
        if self.rule == self.ADD and self.value is not None and not isinstance(self.value, list):
            raise ValueError(_('"value" must be list type when rule is Add.'))
        if self.rule == self.RESOLVE and not (self.client_plugin or self.finder):
            raise ValueError(_('"client_plugin" and "finder" should be specified for %s rule') % self.RESOLVE)

    def get_value_absolute_path(self, full_value_name: bool = False) -> list[str]:
        path: list[str] = []
        if self.value_name:
            if full_value_name:
                path += self.translation_path[:-1]
            path.append(self.value_name)
        elif self.value_path:
            path += self.value_path
        return path + (self.custom_value_path or [])


class Translation:
    """The rules of one Properties object, and what they have given so far.

    Keys are dotted paths; list indexes in them are numbers and match any element.
    ``store_translated_values`` is off while properties are only looked at and values
    cannot be final (validation without clients).
    """

    def __init__(self, properties: Properties | None = None) -> None:
        self.properties = properties
        self.resolved_translations: dict[str, Any] = {}
        self.is_active = True
        self.store_translated_values = True
        self._ignore_resolve_error = False
        self._rules: dict[str, list[TranslationRule]] = {}
        self._deleted_props: set[str] = set()
        self._replaced_props: set[str] = set()

    def set_rules(
        self, rules: Sequence[TranslationRule] | None, client_resolve: bool = True, ignore_resolve_error: bool = False
    ) -> None:
        if not rules:
            return
        self._rules = {}
        self.store_translated_values = client_resolve
        self._ignore_resolve_error = ignore_resolve_error
        for rule in rules:
            if rule.rule == TranslationRule.RESOLVE and not client_resolve:
                continue
            key = ".".join(rule.translation_path)
            self._rules.setdefault(key, []).append(rule)
            if rule.rule == TranslationRule.DELETE:
                self._deleted_props.add(key)
            elif rule.rule == TranslationRule.REPLACE:
                self._replaced_props.add(".".join(rule.get_value_absolute_path(True)))
        for same_path in self._rules.values():
            same_path.sort()

    def cast_key_to_rule(self, key: str) -> str:
        return ".".join(part for part in key.split(".") if not part.isdigit())

    def is_deleted(self, key: str) -> bool:
        return bool(self._deleted_props) and self.is_active and self.cast_key_to_rule(key) in self._deleted_props

    def is_replaced(self, key: str) -> bool:
        return bool(self._replaced_props) and self.is_active and self.cast_key_to_rule(key) in self._replaced_props

    def has_translation(self, key: str) -> bool:
        if not self.is_active or not (self._rules or self.resolved_translations):
            return False
        key = self.cast_key_to_rule(key)
        return key in self._rules or key in self.resolved_translations

    @contextlib.contextmanager
    def _inactive(self) -> Iterator[None]:
        """Reading another property meanwhile must not translate that one in turn."""
        self.is_active = False
        try:
            yield
        finally:
            self.is_active = True

    def _store(self, key: str, value: Any) -> None:
        if self.store_translated_values:
            self.resolved_translations[key] = value

    def forget(self, name: str) -> None:
        """The value of a property has changed: what it was translated to holds no longer."""
        self.resolved_translations = {
            key: value for key, value in self.resolved_translations.items() if key.partition(".")[0] != name
        }

    def translate(self, key: str, prop_value: Any = None, prop_data: Any = None, validate: bool = False) -> Any:
        if key in self.resolved_translations:
            return self.resolved_translations[key]
        try:
            return self._translate(key, prop_value, prop_data, validate)
        except BaseException:
            # The next who reads it must not find what the rules before the one that failed have left.
            self.resolved_translations.pop(key, None)
            raise

    def _translate(self, key: str, prop_value: Any, prop_data: Any, validate: bool) -> Any:
        result = prop_value
        for rule in self._rules.get(self.cast_key_to_rule(key), ()):
            if rule.rule == TranslationRule.ADD:
                result = self.add(key, rule, result, prop_data, validate)
            elif rule.rule == TranslationRule.REPLACE:
                result = self.replace(key, rule, result, prop_data, validate)
            else:
                if rule.rule == TranslationRule.RESOLVE:
                    result = resolve_and_find(
                        result, rule.client_plugin, rule.finder, rule.entity, self._ignore_resolve_error
                    )
                else:
                    result = None
                self._store(key, result)
        return result

    def add(
        self, key: str, add_rule: TranslationRule, prop_value: Any = None, prop_data: Any = None, validate: bool = False
    ) -> Any:
        values = [] if prop_value is None else prop_value
        if not isinstance(values, list):
            raise ValueError(
                _('Incorrect translation rule using - cannot resolve Add rule for non-list translation value "%s".')
                % key
            )
        values = list(values)
        path = add_rule.get_value_absolute_path()
        if add_rule.value:
            values.extend(add_rule.value)
        elif path:
            dotted = ".".join(path)
            if self.has_translation(dotted):
                self.translate(dotted, prop_data=prop_data)
            with self._inactive():
                found = get_value(path, prop_data if add_rule.value_name else self.properties, validate)
            if found is not None:
                values.extend(found if isinstance(found, list) else [found])
        self._store(key, values)
        return values

    def replace(
        self,
        key: str,
        replace_rule: TranslationRule,
        prop_value: Any = None,
        prop_data: Any = None,
        validate: bool = False,
    ) -> Any:
        full_path = replace_rule.get_value_absolute_path(full_value_name=True)
        short_path = replace_rule.get_value_absolute_path()
        sibling = replace_rule.value_name is not None
        value = None
        # Where the other value lives, with list indexes: beside the property, or at the path.
        source = key.split(".")[:-1] + short_path if sibling else full_path
        if full_path:
            with self._inactive():
                value = get_value(
                    short_path if sibling else full_path, prop_data if sibling else self.properties, validate
                )
            dotted = ".".join(source)
            if self.has_translation(dotted):
                self.translate(dotted, value, prop_data=prop_data)
            if value and prop_value:
                raise exception.StackValidationFailed(
                    message=_("Cannot define the following properties at the same time: %s")
                    % ", ".join([self.cast_key_to_rule(key), ".".join(full_path)])
                )
        elif replace_rule.value is not None:
            value = replace_rule.value
        result = prop_value if value is None else value
        self._store(key, result)
        if full_path:
            self._store(".".join(source), None)
        return result


def get_value(path: Sequence[str], props: Any, validate: bool = False) -> Any:
    """The value at a path below properties or plain data; a list gives a list of values."""
    if not props:
        return None
    key, rest = path[0], path[1:]
    found = props.get(key) if isinstance(props, dict) else props._get_property_value(key, validate)
    if not rest:
        return found
    if isinstance(found, list):
        return [get_value(rest, item) for item in found]
    if isinstance(found, Mapping):
        return get_value(rest, found)
    return None


def resolve_and_find(
    value: Any, cplugin: Any, finder: str | None, entity: str | None = None, ignore_resolve_error: bool = False
) -> Any:
    """What the finder of the client plugin says about a value (or each of a list)."""
    if callable(getattr(value, "result", None)):
        value = value.result()
    if not value:
        return None
    if isinstance(value, list):
        return [resolve_and_find(item, cplugin, finder, entity, ignore_resolve_error) for item in value]
    assert finder is not None
    find = getattr(cplugin, finder)
    try:
        return find(entity, value) if entity else find(value)
    except Exception as ex:
        # A service that says "later" may find it then: a name in place of an id would be taken for what is gone.
        if ignore_resolve_error and patience.asked_pause(ex) is None:
            LOG.info("Ignoring error in RESOLVE translation: %s", ex)
            return value
        raise
