# SPDX-License-Identifier: Apache-2.0
"""Configuration: what is registered, how a process starts with it, and questions that more than one module asks of it.

``cfg.CONF`` is the one configuration of a process, as in every service of the cloud. A command calls :func:`setup`
once; libraries and tests that need only the options call :func:`register_all`.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import exceptions, log_mask, version
from openkeel_heat.common.i18n import _
from openkeel_heat.common.options import api, cache, clients, engine, fetch, keystone, language, service

LOG = logging.getLogger(__name__)

PROJECT = "heat"

#: Value of keystone_backend in a cloud without Keystone: nothing is made, no call goes out.
LOCAL_KEYSTONE = "openkeel_heat.clients.local.LocalKeystone"

OptGroups = Iterator[tuple[str | None, Sequence[cfg.Opt]]]

CORS_DEFAULTS = {
    "allow_headers": [
        "X-Auth-Token",
        "X-Identity-Status",
        "X-Roles",
        "X-Service-Catalog",
        "X-User-Id",
        "X-Tenant-Id",
        "X-OpenStack-Request-ID",
    ],
    "expose_headers": ["X-Auth-Token", "X-Subject-Token", "X-Service-Token", "X-OpenStack-Request-ID"],
    "allow_methods": ["GET", "PUT", "POST", "DELETE", "PATCH"],
}


# --- lists of options, per namespace of the sample generator ----------------------------------------------------------


def list_opts() -> OptGroups:
    from oslo_db import options as db_options

    yield from service.GROUPS
    yield from engine.GROUPS
    yield from api.GROUPS
    yield from clients.GROUPS
    yield from db_options.list_opts()


def list_own_opts() -> OptGroups:
    yield None, service.threads
    yield from api.DAEMON_GROUPS
    yield from fetch.GROUPS
    yield from language.GROUPS


def list_crypt_opts() -> OptGroups:
    yield None, service.crypt


def list_wsgi_opts() -> OptGroups:
    yield None, api.body_size


def list_cache_opts() -> OptGroups:
    yield from cache.GROUPS


def list_clients_opts() -> OptGroups:
    yield None, clients.backend


def list_keystone_backend_opts() -> OptGroups:
    yield None, clients.keystone_backend


def list_functions_opts() -> OptGroups:
    yield "yaql", engine.yaql


def list_notification_opts() -> OptGroups:
    yield None, engine.notification


def list_resources_opts() -> OptGroups:
    yield None, engine.resources


def list_trustee_opts() -> OptGroups:
    yield from keystone.list_trustee()


def list_ec2_opts() -> OptGroups:
    yield from keystone.list_ec2()


#: Namespace of the generator → its list; what a process registers at start, and what it registers when it is needed.
NAMESPACES: dict[str, Callable[[], OptGroups]] = {
    "heat.common.config": list_opts,
    "heat.common.cache": list_cache_opts,
    "heat.common.crypt": list_crypt_opts,
    "heat.common.wsgi": list_wsgi_opts,
    "heat.engine.clients": list_clients_opts,
    "heat.engine.clients.os.keystone.heat_keystoneclient": list_keystone_backend_opts,
    "heat.engine.hot.functions": list_functions_opts,
    "heat.engine.notification": list_notification_opts,
    "heat.engine.resources": list_resources_opts,
    "openkeel_heat": list_own_opts,
}
LAZY_NAMESPACES: dict[str, Callable[[], OptGroups]] = {
    "heat.common.context": list_trustee_opts,
    "heat.api.aws.ec2token": list_ec2_opts,
}


# --- starting up ------------------------------------------------------------------------------------------------------


def register_all(conf: cfg.ConfigOpts | None = None) -> cfg.ConfigOpts:
    """Register every option of ours, and those of the libraries whose groups we read. Twice does no harm."""
    conf = cfg.CONF if conf is None else conf
    for options in NAMESPACES.values():
        for group, opts in options():
            conf.register_opts(opts, group=group)
    return conf


def register_keystone(conf: cfg.ConfigOpts | None = None) -> cfg.ConfigOpts:
    """Register the groups that keystoneauth defines (imports it)."""
    conf = cfg.CONF if conf is None else conf
    keystone.register_trustee(conf)
    keystone.register_ec2(conf)
    return conf


def _traces(conf: cfg.ConfigOpts) -> bool:
    """Whether the files switch OSProfiler on. Its own options are a costly import, so they are not asked."""
    probe = cfg.ConfigOpts()
    probe.register_opt(cfg.BoolOpt("enabled", default=False, deprecated_name="profiler_enabled"), group="profiler")
    probe([], project=PROJECT, default_config_files=conf.config_file or [], default_config_dirs=conf.config_dir or [])
    return bool(probe.profiler.enabled)


def _register_profiler(conf: cfg.ConfigOpts) -> None:
    from osprofiler import opts as profiler

    profiler.set_defaults(conf)


def set_config_defaults() -> None:
    """Our defaults of options that libraries own."""
    from oslo_middleware import cors

    cors.set_defaults(**CORS_DEFAULTS)
    _register_profiler(cfg.CONF)


def setup(
    argv: Sequence[str] | None = None,
    prog: str | None = None,
    conf: cfg.ConfigOpts | None = None,
    default_config_files: Sequence[str] | None = None,
    logs: bool = True,
) -> cfg.ConfigOpts:
    """Read the configuration as a command of the service does: project ``heat``, its files and directories, its logs.

    *argv* are the arguments without the command's name; ``None`` takes those of the process.
    """
    conf = cfg.CONF if conf is None else conf
    register_all(conf)
    if logs:
        logging.register_options(conf)
    conf(
        None if argv is None else list(argv),
        project=PROJECT,
        prog=prog,
        version=version.version_string(),
        default_config_files=None if default_config_files is None else list(default_config_files),
    )
    if _traces(conf):
        _register_profiler(conf)
    if logs:
        logging.setup(conf, prog or PROJECT)
        logging.set_defaults()
        log_mask.install()
    return conf


def reload(conf: cfg.ConfigOpts) -> None:
    """Read the files again and take over the options that may change while running; a broken file leaves the old ones.

    The library forgets the values it has found before it reads the files, so a thread that asks meanwhile leaves the
    old value in its memory for good. It forgets once more when an option is registered, and once more when those who
    had begun to look are done.
    """
    try:
        conf.mutate_config_files()
    except Exception:
        LOG.exception("The configuration could not be reloaded; the old one stays")
    conf.register_opts(service.threads)
    time.sleep(_LOOKED_UP)
    conf.register_opts(service.threads)


#: Seconds in which a thread that looks up an option has found it.
_LOOKED_UP = 0.1


def startup_sanity_check(conf: cfg.ConfigOpts | None = None) -> None:
    """Refuse to start an engine whose stack domain or encryption key is half configured."""
    conf = cfg.CONF if conf is None else conf
    if conf.stack_user_domain_id or conf.stack_user_domain_name:
        if not (conf.stack_domain_admin and conf.stack_domain_admin_password):
            raise exceptions.Error(
                _(
                    'heat.conf misconfigured, cannot specify "stack_user_domain_id" or "stack_user_domain_name" '
                    'without "stack_domain_admin" and "stack_domain_admin_password"'
                )
            )
    else:
        LOG.warning(
            "Neither stack_user_domain_id nor stack_user_domain_name is set: "
            "users of stacks are made in the user's own project"
        )
    length = len(conf.auth_encryption_key)
    if length in (16, 24):
        LOG.warning("auth_encryption_key should have 32 characters, it has %d", length)
    elif length != 32:
        raise exceptions.Error(_("heat.conf misconfigured, auth_encryption_key must be 32 characters"))


# --- questions --------------------------------------------------------------------------------------------------------


def has_keystone(conf: cfg.ConfigOpts | None = None) -> bool:
    """Whether there is an identity service; the embedded default runs without one."""
    conf = cfg.CONF if conf is None else conf
    return bool(conf.keystone_backend != LOCAL_KEYSTONE)


def get_client_option(client: str, option: str, fallback: bool = True, conf: cfg.ConfigOpts | None = None) -> Any:
    """An option of ``[clients_CLIENT]``, or of ``[clients]`` where the first says nothing or does not exist.

    Without *fallback* only the first is asked, and it has to exist.
    """
    conf = cfg.CONF if conf is None else conf
    name = f"clients_{client}"
    if name in conf:
        value = conf[name][option]
    elif fallback:
        value = None
    else:
        raise cfg.NoSuchGroupError(name)
    return conf.clients[option] if value is None and fallback else value


def get_ssl_options(client: str, conf: cfg.ConfigOpts | None = None) -> dict[str, Any]:
    """``verify`` and ``cert`` of an HTTP session to *client*."""
    option = functools.partial(get_client_option, client, conf=conf)
    verify: bool | str = False if option("insecure") else option("ca_file") or True
    cert, key = option("cert_file"), option("key_file")
    return {"verify": verify, "cert": (cert, key) if cert and key else cert}


def get_auth_uri(v3: bool = True, conf: cfg.ConfigOpts | None = None) -> str | None:
    """The identity endpoint from the configuration: ``[clients_keystone]``, else that of keystonemiddleware."""
    conf = cfg.CONF if conf is None else conf
    uri = conf.clients_keystone.auth_uri
    if uri:
        ssl = get_ssl_options("keystone", conf)
        return _discover_v3(uri, ssl["verify"], ssl["cert"])
    from keystonemiddleware import auth_token  # noqa: F401  (registers its group)

    uri = conf.keystone_authtoken.www_authenticate_uri
    return uri.replace("v2.0", "v3") if uri and v3 else uri


@functools.lru_cache(maxsize=8)
def _discover_v3(uri: str, verify: bool | str, cert: Any) -> str | None:
    from keystoneauth1 import discover, session

    found = discover.Discover(session=session.Session(verify=verify, cert=cert), url=uri)
    return found.url_for("3.0")
