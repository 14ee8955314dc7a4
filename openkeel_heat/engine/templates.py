# SPDX-License-Identifier: Apache-2.0
"""Templates at rest: a bounded cache of compiled templates keyed by ``raw_template.id``, and the rows of new ones.

A row of ``raw_template`` does not change its meaning once a convergent stack refers to it, so a compiled template is
shared by all who ask for the same id. The old engine (stacks without traversals) rewrites rows: those are read anew.
Hidden parameters are encrypted in the row and clear in the compiled form.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import exceptions
from openkeel_heat.engine.cache import Cache

if TYPE_CHECKING:
    from openkeel_heat.template import Template

LOG = logging.getLogger(__name__)

PARAMETERS, ENCRYPTED_NAMES = "parameters", "encrypted_param_names"

_templates = Cache(200)


def load(template_id: int, fresh: bool = False) -> Template:
    """The compiled template of a row; NotFound when the row is gone. ``fresh``: as the row is now."""
    template = None if fresh else _templates.get(template_id)
    if template is None:
        from openkeel_heat.db import templates as db

        row = db.get(template_id, files=True)
        if row is None:
            raise exceptions.NotFound(f"raw template with id {template_id} not found")
        template = compiled(row.template, row.files, clear_environment(row.environment), template_id)
        _templates.put(template_id, template)
    return template


def known(template_id: int) -> Template | None:
    """The compiled template of a row that does not change, if somebody asked for it of late."""
    return _templates.get(template_id)


def compiled(
    raw: Any, files: Mapping[str, str] | None = None, environment: Any = None, template_id: int | None = None
) -> Template:
    """A template made of its parts; ``environment`` as a mapping or an Environment."""
    from openkeel_heat.resources.kit import registry  # noqa: F401 - environments fall back on its types
    from openkeel_heat.template import Template
    from openkeel_heat.template.environment import Environment

    if environment is None or isinstance(environment, Mapping):
        environment = Environment(copy.deepcopy(dict(environment or {})))
    return Template(raw, template_id=template_id, files=files or {}, env=environment)


def empty(like: Template) -> Template:
    """A template without resources, otherwise like another one (what a stack is deleted with)."""
    return type(like).create_empty_template(from_template=like)


def remember(template_id: int, template: Template) -> None:
    """The template was stored under this id."""
    template.id = template_id
    _templates.put(template_id, template)


def insert(template: Template) -> int:
    """Write a row for a template; its id."""
    from openkeel_heat.db import templates as db

    values = row_values(template)
    files = values.pop("files")
    return db.insert({**values, "files_id": db.insert_files(files) if files else None})


def row_values(template: Template) -> dict[str, Any]:
    """``template``, ``files`` (they go to ``raw_template_files`` when there are any) and ``environment``, as stored."""
    return {"template": template.t, "files": dict(template.files), "environment": stored_environment(template)}


def forget(template_id: int) -> None:
    """The row was rewritten or removed."""
    _templates.drop(template_id)


def clear() -> None:
    _templates.clear()


# hidden parameters --------------------------------------------------------------------------------------------------
def stored_environment(template: Template) -> dict[str, Any]:
    """The environment as its row has it: hidden parameters encrypted if the configuration says so."""
    environment = template.env.env_as_dict()
    if cfg.CONF.encrypt_parameters_and_properties:
        from openkeel_heat.db import crypt

        schemata = template.param_schemata()
        parameters = dict(environment.get(PARAMETERS) or {})
        encrypted = []  # what a user says of it is not so: all is in clear here
        for name, value in parameters.items():
            if name in schemata and schemata[name].hidden:
                parameters[name] = list(crypt.encrypt(_as_text(value, schemata[name])))
                encrypted.append(name)
        environment = {**environment, PARAMETERS: parameters, ENCRYPTED_NAMES: encrypted}
    else:
        environment = {**environment, ENCRYPTED_NAMES: []}
    return environment


def _as_text(value: Any, schema: Any) -> str:
    """The text that a parameter of this type reads as this value."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and schema.type == schema.LIST:
        return ",".join(str(item) for item in value)
    return json.dumps(value) if isinstance(value, list | Mapping) else str(value)


def clear_environment(environment: Mapping[str, Any] | None) -> dict[str, Any]:
    """The environment of a row with encrypted parameters in clear."""
    names = (environment or {}).get(ENCRYPTED_NAMES)
    if not names:
        return dict(environment or {})
    from openkeel_heat.db import crypt

    environment = copy.deepcopy(dict(environment or {}))
    parameters = environment.get(PARAMETERS) or {}
    for name in names:
        value = parameters.get(name)
        if isinstance(value, list | tuple) and len(value) == 2:
            parameters[name] = crypt.decrypt(*value)
        elif name in parameters:
            LOG.warning("Parameter %s is said to be encrypted, but is not", name)
    return environment
