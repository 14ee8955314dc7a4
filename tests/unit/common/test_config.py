# SPDX-License-Identifier: Apache-2.0
"""Starting up, and questions asked of the configuration."""

from __future__ import annotations

import pathlib

import pytest
from oslo_config import cfg

from openkeel_heat.common import config, exceptions


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    made = cfg.ConfigOpts()
    config.register_all(made)
    made([], project="heat", default_config_files=[])
    return made


def test_setup_reads_files(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "heat.conf"
    file.write_text("[DEFAULT]\nmax_stacks_per_tenant = 3\n[clients]\ninsecure = true\n[unknown]\nx = y\n")
    conf = cfg.ConfigOpts()
    config.setup(["--config-file", str(file)], "heat-engine", conf, logs=False)
    assert (conf.max_stacks_per_tenant, conf.prog) == (3, "heat-engine")
    assert config.get_ssl_options("nova", conf) == {"verify": False, "cert": None}
    assert conf.heat_api.bind_port == 8004
    assert conf.heat_api_cfn.bind_port == 8000


@pytest.mark.parametrize("enabled", [True, False])
def test_tracing_is_prepared_when_it_is_on(tmp_path: pathlib.Path, enabled: bool) -> None:
    file = tmp_path / "heat.conf"
    file.write_text(f"[profiler]\nenabled = {enabled}\nhmac_keys = k\n")
    conf = cfg.ConfigOpts()
    config.setup(["--config-file", str(file)], "heat-engine", conf, logs=False)
    assert ("profiler" in conf) == enabled
    if enabled:
        assert (conf.profiler.enabled, conf.profiler.hmac_keys) == (True, "k")


def test_client_options(conf: cfg.ConfigOpts) -> None:
    assert config.get_client_option("nova", "endpoint_type", conf=conf) == "public"
    conf.set_override("endpoint_type", "internal", group="clients_nova")
    conf.set_override("endpoint_type", "admin", group="clients")
    assert config.get_client_option("nova", "endpoint_type", conf=conf) == "internal"
    assert config.get_client_option("swift", "endpoint_type", conf=conf) == "admin"
    assert config.get_client_option("another", "endpoint_type", conf=conf) == "admin"
    assert config.get_client_option("heat", "url", fallback=False, conf=conf) is None
    with pytest.raises(cfg.NoSuchGroupError):
        config.get_client_option("another", "url", fallback=False, conf=conf)
    with pytest.raises(cfg.NoSuchOptError):
        config.get_client_option("nova", "nonsense", conf=conf)


def test_ssl_options(conf: cfg.ConfigOpts) -> None:
    assert config.get_ssl_options("nova", conf) == {"verify": True, "cert": None}
    for name in ("ca_file", "cert_file", "key_file"):
        conf.set_override(name, name, group="clients")
    assert config.get_ssl_options("nova", conf) == {"verify": "ca_file", "cert": ("cert_file", "key_file")}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, None),
        ({"stack_user_domain_id": "d"}, "stack_domain_admin"),
        ({"stack_user_domain_name": "d", "stack_domain_admin": "a", "stack_domain_admin_password": "p"}, None),
        ({"auth_encryption_key": "x" * 16}, None),
        ({"auth_encryption_key": "x" * 20}, "must be 32 characters"),
    ],
)
def test_sanity(conf: cfg.ConfigOpts, options: dict[str, str], complaint: str | None) -> None:
    for name, value in options.items():
        conf.set_override(name, value)
    if complaint is None:
        config.startup_sanity_check(conf)
    else:
        with pytest.raises(exceptions.Error, match=complaint):
            config.startup_sanity_check(conf)


def test_has_keystone(conf: cfg.ConfigOpts) -> None:
    assert config.has_keystone(conf)
    conf.set_override("keystone_backend", config.LOCAL_KEYSTONE)
    assert not config.has_keystone(conf)


def test_a_thread_that_asks_during_a_reload_does_not_keep_the_old_value(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "heat.conf"
    file.write_text("[DEFAULT]\ndebug = false\n")
    conf = config.setup(["--config-file", str(file)], conf=cfg.ConfigOpts())
    file.write_text("[DEFAULT]\ndebug = true\n")
    read = conf._reload_config_files

    def read_while_somebody_asks() -> object:
        assert conf.debug is False
        return read()

    monkeypatch.setattr(conf, "_reload_config_files", read_while_somebody_asks)
    config.reload(conf)
    assert conf.debug is True


def test_a_broken_file_leaves_the_old_values(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "heat.conf"
    file.write_text("[DEFAULT]\ndebug = true\n")
    conf = config.setup(["--config-file", str(file)], conf=cfg.ConfigOpts())
    file.write_text("debug\n[")
    config.reload(conf)
    assert conf.debug is True
