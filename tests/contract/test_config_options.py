# SPDX-License-Identifier: Apache-2.0
"""The options of heat.conf: same groups, names, types, defaults and deprecated names."""

from __future__ import annotations

import json
import pathlib
import socket
from typing import Any

import pytest
from oslo_config import cfg

from openkeel_heat.common import config

DATA = json.loads((pathlib.Path(__file__).parent / "data" / "config-options.json").read_text())
OPTIONS = DATA["heat"]
NAMESPACES = {**config.NAMESPACES, **config.LAZY_NAMESPACES}
#: Options of libraries may be newer than the record; they are compared by name, ours by every field.
LIBRARY_GROUPS = {"database", "ec2authtoken", "trustee"}


def described(opt: cfg.Opt) -> dict[str, Any]:
    value_type = type(opt.type).__name__ if not callable(opt.type) or hasattr(opt.type, "type_name") else "type"
    default = opt.default
    if opt.name == "host" and default == socket.gethostname():
        default = "<hostname>"
    result = {
        "name": opt.name,
        "dest": opt.dest,
        "opt_class": type(opt).__name__,
        "value_type": value_type,
        "default": default,
        "secret": opt.secret,
        "required": opt.required,
        "mutable": opt.mutable,
        "advanced": opt.advanced,
        "positional": opt.positional,
        "sample_default": opt.sample_default,
        "deprecated_for_removal": opt.deprecated_for_removal,
        "deprecated_since": opt.deprecated_since,
        "deprecated_names": [{"group": one.group or "DEFAULT", "name": one.name} for one in opt.deprecated_opts],
    }
    for bound in ("min", "max", "regex"):
        value = getattr(opt.type, bound, None)
        if value is not None:
            result[bound] = getattr(value, "pattern", value)
    if getattr(opt.type, "choices", None):
        result["choices"] = list(opt.type.choices)
    item = getattr(opt.type, "item_type", None)
    if item is not None:
        result["item_type"] = type(item).__name__
    return result


@pytest.fixture(scope="module")
def listed() -> dict[tuple[str, str, str], cfg.Opt]:
    return {
        (namespace, group or "DEFAULT", opt.name): opt
        for namespace, options in NAMESPACES.items()
        for group, opts in options()
        for opt in opts
    }


def test_every_option_is_listed_in_its_namespace(listed: dict[tuple[str, str, str], cfg.Opt]) -> None:
    wanted = {(o["namespace"], o["group"], o["name"]) for o in OPTIONS}
    ours = {key for key in listed if key[0] != "openkeel_heat"}
    missing = wanted - ours
    extra = {key for key in ours - wanted if key[1] not in LIBRARY_GROUPS}
    assert not missing
    assert not extra
    print(f"{len(wanted)} options of {len({o['namespace'] for o in OPTIONS})} namespaces")


def test_fields_of_options(listed: dict[tuple[str, str, str], cfg.Opt]) -> None:
    compared = 0
    different = []
    for wanted in OPTIONS:
        ours = described(listed[wanted["namespace"], wanted["group"], wanted["name"]])
        if wanted["group"] in LIBRARY_GROUPS:
            continue
        for field, value in ours.items():
            if field in wanted and wanted[field] != value:
                different.append((wanted["group"], wanted["name"], field, wanted[field], value))
            compared += 1
    assert not different
    print(f"{compared} fields of options compared")


def test_every_option_has_a_help_text(listed: dict[tuple[str, str, str], cfg.Opt]) -> None:
    assert [key for key, opt in listed.items() if not opt.help and key[1] not in LIBRARY_GROUPS] == []


def test_registered_in_a_process() -> None:
    conf = cfg.ConfigOpts()
    config.register_all(conf)
    config.register_all(conf)
    config.register_keystone(conf)
    conf([], project="heat", default_config_files=[])
    plain = [o for o in OPTIONS if o["group"] not in LIBRARY_GROUPS]
    for option in plain:
        value = conf[option["dest"]] if option["group"] == "DEFAULT" else conf[option["group"]][option["dest"]]
        if option["default"] != "<hostname>":
            assert value == option["default"], option["name"]
    assert conf.ec2authtoken.service_type == "identity"
    print(f"{len(plain)} defaults read back")


def test_cors_defaults() -> None:
    wanted = DATA["set_config_defaults"]["cors"]
    assert {name: sorted(values) for name, values in config.CORS_DEFAULTS.items()} == {
        name: sorted(values) for name, values in wanted.items()
    }


def test_a_heat_conf_is_read(tmp_path: pathlib.Path) -> None:
    """One line per option of ours, with values that are not the defaults."""
    lines: dict[str, list[str]] = {}
    for option in OPTIONS:
        if option["group"] in LIBRARY_GROUPS:
            continue
        sample = {
            "Boolean": "true",
            "Integer": "7",
            "Float": "7.5",
            "URI": "http://host:1/x",
            "List": "http://a,http://b",
        }
        value = sample.get(option["value_type"], "text")
        if option.get("choices"):
            value = option["choices"][-1]
        elif option.get("regex"):
            value = option["regex"].strip("^$").replace("\\.", ".").replace("\\d+", "77")
        lines.setdefault(option["group"], []).append(f"{option['name']} = {value}")
    file = tmp_path / "heat.conf"
    file.write_text("\n".join(f"[{group}]\n" + "\n".join(rows) for group, rows in lines.items()))
    conf = cfg.ConfigOpts()
    config.register_all(conf)
    conf([], project="heat", default_config_files=[str(file)])
    assert conf.max_stacks_per_tenant == 7
    assert conf.clients_nova.endpoint_type == "admin"
    assert conf.max_nova_api_microversion == "2.77"
    assert conf.noauth.token_response == "text"
