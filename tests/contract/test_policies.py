# SPDX-License-Identifier: Apache-2.0
"""The default rules: names, checks, scopes, operations, and the twins of old."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import pytest
from oslo_config import cfg
from oslo_policy import policy as oslo_policy

from openkeel_heat.common import config, exceptions, policies, policy
from openkeel_heat.common.context import RequestContext

RULES = json.loads((pathlib.Path(__file__).parent / "data" / "policies.json").read_text())


def test_rules() -> None:
    ours = policies.list_rules()
    assert [rule.name for rule in ours] == [rule["name"] for rule in RULES["rules"]]
    for rule, wanted in zip(ours, RULES["rules"], strict=True):
        twin = rule.deprecated_rule
        assert {
            "check_str": rule.check_str,
            "class": type(rule).__name__,
            "scope_types": rule.scope_types,
            "operations": getattr(rule, "operations", None),
            "deprecated_for_removal": rule.deprecated_for_removal,
            "deprecated_rule": twin
            and {"name": twin.name, "check_str": twin.check_str, "deprecated_since": twin.deprecated_since},
        } == {
            "check_str": wanted["check_str"],
            "class": wanted["class"],
            "scope_types": wanted["scope_types"],
            "operations": wanted["operations"],
            "deprecated_for_removal": wanted["deprecated_for_removal"],
            "deprecated_rule": wanted.get("deprecated_rule"),
        }, rule.name
        assert rule.description
    print(f"{len(ours)} rules")


def test_constants() -> None:
    wanted = RULES["constants"]
    assert wanted["PROJECT_MEMBER"] == policies.MEMBER
    assert wanted["PROJECT_READER"] == policies.READER
    assert wanted["PROJECT_ADMIN"] == policies.PROJECT_ADMIN
    assert wanted["PROJECT_READER_OR_STACK_USER"] == policies.READER_OR_STACK_USER
    assert wanted["PROJECT_MEMBER_OR_STACK_USER"] == policies.MEMBER_OR_STACK_USER


@pytest.fixture(autouse=True)
def _global() -> None:
    config.register_all()
    cfg.CONF([], project="heat", default_config_files=[])
    policy.reset()


@pytest.fixture
def conf(tmp_path: pathlib.Path) -> cfg.ConfigOpts:
    made = cfg.ConfigOpts()
    config.register_all(made)
    made(["--config-dir", str(tmp_path)], project="heat", default_config_files=[])
    return made


def context(*roles: str, project: str = "p", **other: Any) -> RequestContext:
    return RequestContext(roles=list(roles), project_id=project, user_id="u", overwrite=False, **other)


@pytest.mark.parametrize(
    ("roles", "action", "allowed"),
    [
        (["reader"], "stacks:show", True),
        (["reader"], "stacks:create", False),
        (["member", "reader"], "stacks:create", True),
        (["heat_stack_user"], "stacks:show", False),
        (["heat_stack_user"], "resource:signal", True),
        (["admin"], "stacks:global_index", False),
        (["admin"], "service:index", True),
        (["member"], "service:index", False),
    ],
)
def test_new_defaults(conf: cfg.ConfigOpts, roles: list[str], action: str, allowed: bool) -> None:
    enforcer = policy.Enforcer(conf=conf)
    conf.set_override("enforce_new_defaults", True, group="oslo_policy")
    scope, _, name = action.partition(":")
    target = {"project_id": "p"}
    if allowed:
        assert enforcer.enforce(context(*roles), name, scope=scope, target=target, is_registered_policy=True)
    else:
        with pytest.raises(exceptions.Forbidden):
            enforcer.enforce(context(*roles), name, scope=scope, target=target, is_registered_policy=True)


def test_another_project_is_refused(conf: cfg.ConfigOpts) -> None:
    enforcer = policy.Enforcer(conf=conf)
    conf.set_override("enforce_new_defaults", True, group="oslo_policy")
    with pytest.raises(exceptions.Forbidden):
        enforcer.enforce(context("member", project="other"), "show", "stacks", {"project_id": "p"}, True)


def test_old_defaults_hold_unless_new_ones_are_enforced(conf: cfg.ConfigOpts) -> None:
    enforcer = policy.Enforcer(conf=conf)
    conf.set_override("enforce_new_defaults", False, group="oslo_policy")
    assert enforcer.enforce(context("whoever"), "create", "stacks", {"project_id": "p"}, True)
    with pytest.raises(exceptions.Forbidden):
        enforcer.enforce(context("heat_stack_user"), "create", "stacks", {"project_id": "p"}, True)


def test_policy_file(conf: cfg.ConfigOpts, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text('"stacks:create": "role:builder"\n"resource_types:OS::Heat::*": "role:builder"\n')
    enforcer = policy.Enforcer(conf=conf, policy_file=str(file))
    assert enforcer.enforce(context("builder"), "create", "stacks", {}, True)
    with pytest.raises(exceptions.Forbidden) as refusal:
        enforcer.enforce(context("member"), "create", "stacks", {"project_id": "p"}, True)
    assert str(refusal.value) == "You are not authorized to use stacks:create."
    types = policy.ResourceEnforcer(conf=conf, policy_file=str(file))
    for registered in (False, True):  # a rule of the operator holds for types without a default one, too
        assert types.enforce(context("builder"), "OS::Heat::Value", is_registered_policy=registered)
        with pytest.raises(exceptions.Forbidden) as refusal:
            types.enforce(context("member"), "OS::Heat::Value", is_registered_policy=registered)
        assert str(refusal.value) == "You are not authorized to use OS::Heat::Value."
    assert types.allows(context("builder"), "OS::Heat::Value")
    assert not types.allows(context("member"), "OS::Heat::Value")


def test_rules_are_made_once_and_follow_the_files(
    conf: cfg.ConfigOpts, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    original = oslo_policy.Enforcer.load_rules
    monkeypatch.setattr(
        oslo_policy.Enforcer, "load_rules", lambda self, *args: looks.append("look") or original(self, *args)
    )
    file = tmp_path / "policy.yaml"
    file.write_text("{}")
    enforcer = policy.Enforcer(conf=conf, policy_file=str(file))
    monkeypatch.setattr(enforcer.enforcer, "LOOK_AGAIN", 3600)
    member = context("member", is_admin=False)

    def allowed() -> bool:
        try:
            return enforcer.enforce(member, "create", "stacks", {"project_id": "p"}, True)
        except exceptions.Forbidden:
            return False

    assert [allowed() for _ in range(20)] == [True] * 20
    assert len(looks) == 1
    file.write_text('"stacks:create": "role:builder"')
    os.utime(file, (2**32, 2**32))  # a time that no file system takes for the one before
    assert [allowed() for _ in range(20)] == [False] * 20
    assert len(looks) == 2
    file.unlink()
    allowed()
    assert len(looks) == 3  # a file that is gone is noticed; what to do about it is oslo.policy's affair
    enforcer.set_rules({"stacks:create": oslo_policy.RuleDefault("stacks:create", "role:member").check})
    assert allowed()
    before = len(looks)
    monkeypatch.setattr(enforcer.enforcer, "_look_again", 0)
    assert [allowed() for _ in range(3)] == [True] * 3
    assert len(looks) == before + 1


def test_resource_types(conf: cfg.ConfigOpts) -> None:
    types = policy.ResourceEnforcer(conf=conf)
    assert types.enforce(context("member"), "OS::Nova::Server", is_registered_policy=True)
    assert types.enforce(context("member"), "No::Such::Type", is_registered_policy=True)
    assert types.enforce(context("admin"), "OS::Nova::Flavor", is_registered_policy=True)
    for name in ("OS::Nova::Flavor", "OS::Keystone::User"):
        with pytest.raises(exceptions.Forbidden) as refusal:
            types.enforce(context("member"), name, is_registered_policy=True)
        assert name in str(refusal.value)
        assert not types.allows(context("member"), name)
        assert types.allows(context("admin"), name)
    assert types.allows(context("member"), "OS::Nova::Server")


def test_is_admin_is_asked_when_needed() -> None:
    admin = context("admin")
    assert admin._is_admin is None
    assert admin.is_admin
    assert not context("admin", is_admin_project=False).is_admin
    assert not context("member").is_admin
    assert context("admin", is_admin=False).to_policy_values()["is_admin"] is False
