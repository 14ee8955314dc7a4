# SPDX-License-Identifier: Apache-2.0
"""PasteDeploy factories and the loading of an application from an api-paste file.

An ``api-paste.ini`` written for Heat names factories under ``heat.*``.  `EXPORTS` says which object of ours stands
behind each of these names; the compatibility package resolves them through it, so that such a file works unedited.

===============================================  ==========================================================
name in an api-paste file                        object
===============================================  ==========================================================
heat.api:pipeline_factory                        openkeel_heat.api.paste:pipeline_factory
heat.api:root_app_factory                        openkeel_heat.api.paste:root_app_factory
heat.common.wsgi:app_factory                     openkeel_heat.api.paste:app_factory
heat.common.wsgi:filter_factory                  openkeel_heat.api.paste:filter_factory
heat.api.openstack.v1:API                        openkeel_heat.api.native.app:API
heat.api.openstack:faultwrap_filter              openkeel_heat.api.middleware.fault:faultwrap_filter
heat.api.openstack:version_negotiation_filter    openkeel_heat.api.middleware.versions:native_filter
heat.api.cfn.v1:API                              openkeel_heat.api.cfn.app:API
heat.api.cfn:version_negotiation_filter          openkeel_heat.api.middleware.versions:cfn_filter
heat.api.aws.ec2token:EC2Token_filter_factory    openkeel_heat.api.cfn.ec2token:filter_factory
heat.common.context:ContextMiddleware_...        openkeel_heat.api.middleware.context:filter_factory
heat.common.auth_url:filter_factory              openkeel_heat.api.middleware.auth_url:filter_factory
heat.common.auth_password:filter_factory         openkeel_heat.api.middleware.auth_password:filter_factory
heat.common.noauth:filter_factory                openkeel_heat.api.middleware.noauth:filter_factory
heat.common.custom_backend_auth:filter_factory   openkeel_heat.api.middleware.custom_backend:filter_factory
heat.wsgi.api:application                        openkeel_heat.api.wsgi:api_application
heat.wsgi.cfn:application                        openkeel_heat.api.wsgi:cfn_application
===============================================  ==========================================================
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from oslo_config import cfg

from openkeel_heat.api import bypass
from openkeel_heat.api.middleware import token_check
from openkeel_heat.common import config

LOG = logging.getLogger(__name__)

WSGIApp = Callable[..., Any]

PASTE_FILE = "api-paste.ini"

#: name in an api-paste file -> "module:object" of this package.
EXPORTS: Mapping[str, str] = {
    "heat.api:pipeline_factory": "openkeel_heat.api.paste:pipeline_factory",
    "heat.api:root_app_factory": "openkeel_heat.api.paste:root_app_factory",
    "heat.common.wsgi:app_factory": "openkeel_heat.api.paste:app_factory",
    "heat.common.wsgi:filter_factory": "openkeel_heat.api.paste:filter_factory",
    "heat.api.openstack.v1:API": "openkeel_heat.api.native.app:API",
    "heat.api.openstack:faultwrap_filter": "openkeel_heat.api.middleware.fault:faultwrap_filter",
    "heat.api.openstack:version_negotiation_filter": "openkeel_heat.api.middleware.versions:native_filter",
    "heat.api.cfn.v1:API": "openkeel_heat.api.cfn.app:API",
    "heat.api.cfn:version_negotiation_filter": "openkeel_heat.api.middleware.versions:cfn_filter",
    "heat.api.aws.ec2token:EC2Token_filter_factory": "openkeel_heat.api.cfn.ec2token:filter_factory",
    "heat.common.context:ContextMiddleware_filter_factory": "openkeel_heat.api.middleware.context:filter_factory",
    "heat.common.auth_url:filter_factory": "openkeel_heat.api.middleware.auth_url:filter_factory",
    "heat.common.auth_password:filter_factory": "openkeel_heat.api.middleware.auth_password:filter_factory",
    "heat.common.noauth:filter_factory": "openkeel_heat.api.middleware.noauth:filter_factory",
    "heat.common.custom_backend_auth:filter_factory": "openkeel_heat.api.middleware.custom_backend:filter_factory",
    "heat.wsgi.api:application": "openkeel_heat.api.wsgi:api_application",
    "heat.wsgi.cfn:application": "openkeel_heat.api.wsgi:cfn_application",
}


def resolve(name: str) -> Any:
    """The object behind ``module:attribute`` (or ``module.attribute``), through `EXPORTS` when it has the name."""
    name = name.strip()
    if ":" not in name:
        name = ":".join(name.rsplit(".", 1))
    module, _, attribute = EXPORTS.get(name, name).partition(":")
    found: Any = importlib.import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    return found


def app_factory(global_conf: Mapping[str, str], **local_conf: str) -> WSGIApp:
    """Make the application that ``heat.app_factory`` of the section names, with the configuration as argument."""
    return resolve(local_conf["heat.app_factory"])(cfg.CONF, **local_conf)


def filter_factory(global_conf: Mapping[str, str], **local_conf: str) -> Callable[[WSGIApp], WSGIApp]:
    """Make the filter that ``heat.filter_factory`` of the section names."""
    factory = resolve(local_conf["heat.filter_factory"])

    def make(app: WSGIApp) -> WSGIApp:
        return factory(app, cfg.CONF, **local_conf)

    return make


def pipeline_factory(loader: Any, global_conf: Mapping[str, str], **local_conf: str) -> WSGIApp:
    """The pipeline of the deployment flavour: ``[paste_deploy] flavor`` picks the key of the section.

    A section that lacks the flavour (the CloudFormation API has fewer than the native one) gives its default pipeline.
    """
    flavor = cfg.CONF.paste_deploy.flavor or "default"
    if flavor not in local_conf:
        LOG.warning("The paste file has no pipeline %r here; the default one is used", flavor)
        flavor = "default"
    names = local_conf[flavor].split()
    app = loader.get_app(names[-1])
    for name in reversed(names[:-1]):
        app = bypass.around(token_check.ask_once(loader.get_filter(name)(app)), app)
    return app


def cors_factory(global_conf: Mapping[str, str], **local_conf: str) -> Callable[[WSGIApp], WSGIApp]:
    """CORS with ``[cors]`` of this process's configuration.

    oslo.middleware's own factory reads the default files of a project again, and not those named on a command line.
    """
    from oslo_middleware import cors

    return lambda app: cors.CORS(app, cfg.CONF)


def root_app_factory(loader: Any, global_conf: Mapping[str, str], **local_conf: str) -> WSGIApp:
    """An old name of Paste's own urlmap, kept for files that still use it."""
    from paste import urlmap

    return urlmap.urlmap_factory(loader, global_conf, **local_conf)


def find_paste_file(conf: cfg.ConfigOpts) -> str:
    """The api-paste file: as configured, beside a configuration file, or the one shipped with the package."""
    wanted = conf.paste_deploy.api_paste_config
    found = conf.find_file(wanted)
    if found:
        return os.path.abspath(found)
    if wanted == PASTE_FILE:
        source_tree = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
        for root in (sys.prefix, source_tree):
            shipped = os.path.join(root, "etc", "heat", PASTE_FILE)
            if os.path.exists(shipped):
                return shipped
    raise RuntimeError(f"Unable to locate config file [{wanted}]")


def load_app(name: str | None = None, conf: cfg.ConfigOpts | None = None, paste_file: str | None = None) -> WSGIApp:
    """Load the application `name` ("heat-api", "heat-api-cfn"; default: the program's) with the flavour's pipeline.

    :raises RuntimeError: the file cannot be found, or nothing can be loaded from it
    """
    from paste.deploy import loadwsgi

    conf = conf or cfg.CONF
    config.set_config_defaults()
    if conf.debug:
        conf.log_opt_values(LOG, logging.DEBUG)
    name = name or conf.prog
    paste_file = paste_file or find_paste_file(conf)
    flavored = f"{name}-{conf.paste_deploy.flavor}" if conf.paste_deploy.flavor else name
    try:
        try:
            return loadwsgi.loadapp(f"config:{paste_file}", name=flavored)
        except LookupError:
            return loadwsgi.loadapp(f"config:{paste_file}", name=name)
    except (LookupError, ImportError) as exc:
        raise RuntimeError(f"Unable to load {flavored} from configuration file {paste_file}.\nGot: {exc!r}") from exc
