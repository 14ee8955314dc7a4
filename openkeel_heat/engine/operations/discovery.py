# SPDX-License-Identifier: Apache-2.0
"""What this engine offers: resource types and their schemata, generated templates, template versions and functions."""

from __future__ import annotations

import itertools
import pydoc
import re
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import exceptions, policy
from openkeel_heat.common.i18n import _

LOG = logging.getLogger(__name__)

_DATE = re.compile(r"\.\d{4}-\d{2}-\d{2}$")


def revision() -> str:
    return cfg.CONF.revision.heat_revision


# resource types -----------------------------------------------------------------------------------------------------
def _global_env() -> Any:
    from openkeel_heat.resources.kit import registry

    return registry.global_env()


def resource_types(
    context: Any,
    support_status: str | None = None,
    type_name: str | None = None,
    heat_version: str | None = None,
    with_description: bool = False,
) -> list[Any]:
    return _global_env().get_types(
        context,
        support_status=support_status,
        type_name=type_name,
        version=heat_version,
        with_description=with_description,
    )


def _resource_class(context: Any, type_name: str) -> Any:
    from openkeel_heat.resources.kit import support

    policy.get_resource_enforcer().enforce(context, type_name, is_registered_policy=True)
    try:
        cls = _global_env().get_class(type_name)
    except exceptions.NotFound:
        LOG.info("Error loading resource type %s from global environment.", type_name)
        raise exceptions.InvalidGlobalResource(type_name=type_name) from None
    if cls.support_status.status == support.HIDDEN:
        raise exceptions.NotSupported(feature=type_name)
    return cls


def resource_schema(context: Any, type_name: str, with_description: bool = False) -> dict[str, Any]:
    cls = _resource_class(context, type_name)
    _check_service(context, cls, type_name)
    schema = {
        "resource_type": type_name,
        "properties": dict(_properties(cls)),
        "attributes": dict(_attributes(cls)),
        "support_status": cls.support_status.to_dict(),
    }
    if with_description:
        schema["description"] = cls.getdoc()
    return schema


def _check_service(context: Any, cls: Any, type_name: str) -> None:
    try:
        available = cls.is_service_available(context)[0]
        reason = "Service endpoint not in service catalog."
    except Exception as error:
        available, reason = False, str(error)
    if not available:
        raise exceptions.ResourceTypeUnavailable(
            service_name=cls.default_client_name, resource_type=type_name, reason=reason
        )


def _properties(cls: Any) -> Any:
    from openkeel_heat.resources.kit import properties, support

    for name, legacy in cls.properties_schema.items():
        schema = properties.Schema.from_legacy(legacy)
        if schema.implemented and schema.support_status.status != support.HIDDEN:
            yield name, dict(schema)


def _attributes(cls: Any) -> Any:
    from openkeel_heat.resources.kit import attributes, support

    for name, data in itertools.chain(cls.attributes_schema.items(), cls.base_attributes_schema.items()):
        schema = attributes.Schema.from_attribute(data)
        if schema.support_status.status != support.HIDDEN:
            yield name, dict(schema)


def generate_template(context: Any, type_name: str, template_type: str = "cfn") -> dict[str, Any]:
    return _resource_class(context, type_name).resource_to_template(type_name, template_type)


# template formats ---------------------------------------------------------------------------------------------------
def template_versions() -> list[dict[str, Any]]:
    """Every version with its aliases; dates come first."""
    from openkeel_heat.template import template

    classes = {f"{key}.{value}": found for (key, value), found in template.template_classes().items()}
    versions: dict[Any, dict[str, Any]] = {}
    for name in sorted(classes):
        found = _place(classes[name])
        if _DATE.search(name):
            versions[name, found] = {"version": name, "type": "cfn" if _is_cfn(classes[name]) else "hot", "aliases": []}
            continue
        for (_version, place), entry in versions.items():
            if place == found:
                entry["aliases"].append(name)
                break
        else:
            raise exceptions.InvalidTemplateVersions(version=name)
    return list(versions.values())


def _place(found: Any) -> str:
    """``module:Class``, whether the class was imported or not."""
    return found if isinstance(found, str) else f"{found.__module__}:{found.__qualname__}"


def _is_cfn(found: Any) -> bool:
    if isinstance(found, str):
        return ".cfn." in found
    return any(".cfn" in base.__module__ for base in found.__mro__)


def template_functions(template_version: str, with_condition: bool = False) -> list[dict[str, Any]]:
    """Functions of a version with what they say of themselves."""
    from openkeel_heat.template import template
    from openkeel_heat.template.functions.references import Removed

    key, _dot, value = template_version.partition(".")
    if (key, value) not in template.template_classes():
        raise exceptions.NotFound(_("Template with version %s not found") % template_version)
    cls = template.get_template_class({key: value})
    functions = dict(cls.functions)
    if with_condition:
        functions.update(cls.condition_functions)
    return [
        {"functions": name, "description": pydoc.splitdoc(pydoc.getdoc(function))[0]}
        for name, function in functions.items()
        if function is not Removed
    ]


# services -----------------------------------------------------------------------------------------------------------
def services() -> list[dict[str, Any]]:
    from openkeel_heat.db import services as db

    return [
        {
            "id": row.id,
            "host": row.host,
            "hostname": row.hostname,
            "binary": row.binary,
            "engine_id": row.engine_id,
            "topic": row.topic,
            "report_interval": row.report_interval,
            "created_at": row.created_at,
            "updated_at": row.updated_at,
            "deleted_at": row.deleted_at,
            "status": "up" if row.deleted_at is None and db.is_up(row) else "down",
        }
        for row in db.list_services()
    ]
