# SPDX-License-Identifier: Apache-2.0
"""Enforcing the rules of :mod:`openkeel_heat.common.policies`, as the operator's policy file changes them.

:class:`Enforcer` says whether a request may do something, :class:`ResourceEnforcer` whether a stack may use a type.
"""

from __future__ import annotations

import functools
import inspect
import os
import threading
import time
import types
from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from oslo_log import log as logging
from oslo_policy import _checks, policy

from openkeel_heat.common import exceptions, policies

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from openkeel_heat.common.context import RequestContext

LOG = logging.getLogger(__name__)

DEFAULT_RULES = policy.Rules.from_dict({"default": "!"})
DEFAULT_RESOURCE_RULES = policy.Rules.from_dict({"default": "@"})


class _Rules(policy.Enforcer):
    """oslo.policy's enforcer, which goes through all rules and all directories of configuration at each question.

    This one does so when the policy file has changed, and at least every `LOOK_AGAIN` seconds for what else may have: a
    policy file that was not there, policy_dirs.
    """

    LOOK_AGAIN = 1.0

    #: What the rules were made from: the rules themselves, how many are registered, and the time of the policy file.
    _made: tuple[Any, int, int | None] | None = None
    _look_again = 0.0

    def load_rules(self, force_reload: bool = False) -> None:
        now = time.monotonic()
        if force_reload or now >= self._look_again or not self._unchanged():
            super().load_rules(force_reload)
            self._made = (self.rules, len(self.registered_rules), _changed_at(self.policy_path))
            self._look_again = now + self.LOOK_AGAIN

    def _unchanged(self) -> bool:
        if self._made is None:
            return False
        rules, registered, changed_at = self._made
        return (
            rules is self.rules
            and registered == len(self.registered_rules)
            and changed_at == _changed_at(self.policy_path)
        )


@functools.cache
def _signature(function: Any) -> inspect.FullArgSpec:
    return inspect.getfullargspec(function)


if getattr(_checks, "inspect", None) is inspect:
    # The library takes the signature of each check apart at each use, which costs more than the check.
    _checks.inspect = types.SimpleNamespace(  # type: ignore[assignment]
        getfullargspec=lambda check: _signature(getattr(check, "__func__", check))
    )


def _changed_at(path: str | None) -> int | None:
    try:
        return os.stat(path).st_mtime_ns if path else None
    except OSError:
        return None


class Enforcer:
    """Rules are named ``<scope>:<action>``; *exc* is what a refusal raises (``None``: a refusal answers False)."""

    def __init__(
        self,
        scope: str = "heat",
        exc: type[Exception] | None = exceptions.Forbidden,
        default_rule: Any = DEFAULT_RULES["default"],
        policy_file: str | None = None,
        conf: cfg.ConfigOpts | None = None,
    ) -> None:
        self.scope = scope
        self.exc = exc
        self.default_rule = default_rule
        self.enforcer = _Rules(cfg.CONF if conf is None else conf, default_rule=default_rule, policy_file=policy_file)
        self.enforcer.suppress_deprecation_warnings = True
        self.enforcer.register_defaults(policies.list_rules())

    @property
    def file_rules(self) -> Any:
        return self.enforcer.file_rules

    @property
    def registered_rules(self) -> Any:
        return self.enforcer.registered_rules

    def set_rules(self, rules: Mapping[str, Any], overwrite: bool = True) -> None:
        self.enforcer.set_rules(policy.Rules(dict(rules), self.default_rule), overwrite)

    def load_rules(self, force_reload: bool = False) -> None:
        self.enforcer.load_rules(force_reload)

    def enforce(
        self,
        context: RequestContext,
        action: str,
        scope: str | None = None,
        target: Mapping[str, Any] | None = None,
        is_registered_policy: bool = False,
    ) -> bool:
        """Whether *context* may do *action* to *target*; a refusal raises.

        With *is_registered_policy* an unknown rule raises ``PolicyNotRegistered`` instead of taking the default.
        """
        return self._check(
            context.to_policy_values(),
            f"{scope or self.scope}:{action}",
            dict(target or {}),
            self.exc,
            is_registered_policy,
        )

    def check_is_admin(self, context: RequestContext) -> bool:
        return self.check_values_is_admin(context.to_policy_values())

    def check_values_is_admin(self, values: Mapping[str, Any]) -> bool:
        return bool(self._check(values, "context_is_admin", {}, None, True))

    def _check(
        self,
        credentials: Mapping[str, Any],
        rule: str,
        target: dict[str, Any],
        exc: type[Exception] | None,
        registered: bool,
    ) -> bool:
        check = self.enforcer.authorize if registered else self.enforcer.enforce
        arguments = {"action": rule} if exc is not None else {}
        try:
            return bool(check(rule, target, dict(credentials), do_raise=exc is not None, exc=exc, **arguments))
        except policy.InvalidScope:
            LOG.debug("%s is not for tokens of this scope", rule)
            raise (exc or exceptions.Forbidden)(action=rule) from None  # type: ignore[call-arg]


class ResourceEnforcer(Enforcer):
    """Rules ``resource_types:OS::Service::Type`` and ``resource_types:OS::Service::*``; without a rule, allowed."""

    def __init__(self, default_rule: Any = DEFAULT_RESOURCE_RULES["default"], **kwargs: Any) -> None:
        super().__init__(default_rule=default_rule, **kwargs)

    def enforce(
        self,
        context: RequestContext,
        action: str,
        scope: str | None = None,
        target: Mapping[str, Any] | None = None,
        is_registered_policy: bool = False,
    ) -> bool:
        """Both the rule of the type and that of its family have to allow it; the refusal names the type."""
        scope = scope or "resource_types"
        for name in self._rules_of(action, scope, is_registered_policy):
            try:
                allowed = super().enforce(context, name, scope, target)
            except exceptions.Forbidden as refusal:
                LOG.info("%s", refusal)
                if name == action:
                    raise
                raise exceptions.Forbidden(action=action) from None
            if not allowed:
                if self.exc is not None:
                    raise self.exc(action=action)  # type: ignore[call-arg]
                return False
        return True

    def _rules_of(self, action: str, scope: str, registered: bool) -> list[str]:
        """The type and its family; with *registered* those with a rule, by default or in the operator's files."""
        names = [action, "::".join([*action.split("::")[:-1], "*"])]
        if not registered:
            return names
        self.enforcer.load_rules()
        return [name for name in names if f"{scope}:{name}" in self.enforcer.rules]

    def allows(self, context: RequestContext, action: str) -> bool:
        """Whether *context* may use a type, for those who only want to know: nothing is raised or logged."""
        values, scope = context.to_policy_values(), "resource_types"
        return all(
            self._check(values, f"{scope}:{name}", {}, None, False) for name in self._rules_of(action, scope, True)
        )

    def enforce_types(
        self,
        context: RequestContext,
        types: Iterable[str],
        target: Mapping[str, Any] | None = None,
        is_registered_policy: bool = False,
    ) -> None:
        for name in types:
            self.enforce(context, name, target=target, is_registered_policy=is_registered_policy)

    def enforce_stack(
        self,
        stack: Any,
        scope: str | None = None,
        target: Mapping[str, Any] | None = None,
        is_registered_policy: bool = False,
    ) -> None:
        """Every type in *stack* (what plug-ins know as a stack)."""
        for name in stack.defn.all_resource_types():
            self.enforce(stack.context, name, scope, target, is_registered_policy)


_enforcers: dict[str, Enforcer] = {}
_lock = threading.Lock()


def get_enforcer() -> Enforcer:
    """The enforcer of this process."""
    return _shared("service", Enforcer)


def get_resource_enforcer() -> ResourceEnforcer:
    """The enforcer of resource types of this process."""
    enforcer = _shared("types", ResourceEnforcer)
    assert isinstance(enforcer, ResourceEnforcer)
    return enforcer


def _shared(name: str, make: type[Enforcer]) -> Enforcer:
    found = _enforcers.get(name)
    if found is None:
        with _lock:
            found = _enforcers.setdefault(name, make())
    return found


def reset() -> None:
    """Forget the enforcers; the next question reads the policy file anew."""
    _enforcers.clear()


def get_policy_enforcer() -> Any:
    """Entry point of the policy generators: the enforcer with the operator's file over the defaults."""
    cfg.CONF([], project="heat")
    enforcer = get_enforcer()
    enforcer.load_rules()
    return enforcer


def list_rules() -> list[policy.RuleDefault]:
    return policies.list_rules()
