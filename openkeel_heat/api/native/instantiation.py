# SPDX-License-Identifier: Apache-2.0
"""The body of a request that makes, changes, previews or validates a stack.

Texts are parsed here, so that a user hears of a slip before an engine is asked; a value of a wrong type is named.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from oslo_config import cfg
from webob import exc

from openkeel_heat.api.native import arguments as checks
from openkeel_heat.common import params
from openkeel_heat.common.i18n import _
from openkeel_heat.template import limits, text

#: Keys that are arguments of their own; all others go to the engine as they are.
OWN_KEYS = frozenset(
    (
        "stack_name",
        "template",
        "template_url",
        "parameters",
        "environment",
        "files",
        "environment_files",
        "files_container",
    )
)
#: Sections of an environment that are mappings.
_MAPPINGS = ("parameters", "resource_registry", "parameter_defaults", "parameter_merge_strategies")


def _wrong_type(name: str, wanted: str) -> exc.HTTPBadRequest:
    return exc.HTTPBadRequest(_('"%(name)s" must be a %(wanted)s') % {"name": name, "wanted": wanted})


@contextlib.contextmanager
def _valid_format(kind: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise exc.HTTPBadRequest(
            _("%(type)s not in valid format: %(error)s") % {"type": kind, "error": error}
        ) from error


def _limits() -> limits.Limits:
    return limits.from_options(cfg.CONF)


def _minutes(value: Any) -> int | None:
    minutes = checks.integer("timeout_mins", value)
    if minutes is not None and minutes > params.MOST_MINUTES:
        raise exc.HTTPBadRequest(_("timeout_mins may not be more than %d") % params.MOST_MINUTES)
    return minutes


class InstantiationData:
    """One such body.  With `patch` what it lacks stays as the stack has it."""

    def __init__(self, body: dict[str, Any], patch: bool = False) -> None:
        self.body = body
        self.patch = patch
        if patch:
            body["existing"] = True
        self._template: dict[str, Any] | None = None

    def stack_name(self) -> str:
        if "stack_name" not in self.body:
            raise exc.HTTPBadRequest(_("No stack name specified"))
        return self.body["stack_name"]

    def template(self) -> dict[str, Any] | None:
        """The template as data: given in the body, part of adopt data, or fetched from a URL (once)."""
        if self._template is None:
            self._template = self._load_template()
        return self._template

    def _load_template(self) -> dict[str, Any] | None:
        body = self.body
        if "adopt_stack_data" in body:
            return self._adopted(body["adopt_stack_data"])
        given = body.get("template")
        if "template" not in body and "template_url" in body:
            given = self._fetch(body["template_url"])
        if isinstance(given, dict):
            bounds = _limits()
            text.check_size(str(given), bounds.max_template_size)
            text.check_nesting(given, bounds.max_nesting)
            return given
        if given is None:
            if self.patch:
                return None
            raise exc.HTTPBadRequest(_("No template specified"))
        if not isinstance(given, (str, bytes)):
            raise exc.HTTPBadRequest(
                _("%(type)s not in valid format: %(error)s")
                % {"type": "Template", "error": _("The template is not a JSON object or YAML mapping.")}
            )
        with _valid_format("Template"):
            if isinstance(given, bytes):
                given = given.decode("utf-8")
            return text.parse(given, limits=_limits())

    @staticmethod
    def _adopted(data: Any) -> dict[str, Any] | None:
        if not isinstance(data, str):
            raise _wrong_type("adopt_stack_data", "string")
        bounds = _limits()
        try:
            template: Any = text.simple_parse(data, limits=bounds)["template"]
        except (ValueError, KeyError) as error:
            raise exc.HTTPBadRequest(_("Invalid adopt data: %s") % error) from error
        if template is not None and not isinstance(template, dict):
            raise exc.HTTPBadRequest(
                _("Invalid adopt data: %s") % _("The template is not a JSON object or YAML mapping.")
            )
        text.check_size(str(template), bounds.max_template_size)
        return template

    @staticmethod
    def _fetch(url: Any) -> Any:
        from openkeel_heat.common import urlfetch

        if not isinstance(url, str):
            raise _wrong_type("template_url", "string")
        try:
            return urlfetch.get(url)
        except (OSError, ValueError) as error:
            raise exc.HTTPBadRequest(_("Could not retrieve template: %s") % error) from error

    def environment(self) -> dict[str, Any]:
        """The environment with all its sections; parameters of the body win over those in it.

        Beside environment files the given environment does not count: it is those files, merged by the client.
        """
        env: dict[str, Any] = {}
        given = self.body.get("environment")
        if "environment" in self.body and not self.body.get("environment_files"):
            with _valid_format("Environment"):
                if isinstance(given, dict):
                    env = text.validate_environment(dict(given))
                elif given is None or isinstance(given, str):
                    env = text.parse_environment(given, limits=_limits())
                else:
                    raise ValueError(_("The environment is not a valid YAML mapping data type."))
                for section in _MAPPINGS:
                    if section in env and not isinstance(env[section], dict):
                        raise ValueError(_('environment section "%s" is not a mapping') % section)
        text.default_for_missing(env)
        parameters = self.body.get("parameters", {})
        if parameters in ([], ""):
            parameters = {}  # how some languages write an empty mapping
        if not isinstance(parameters, dict):
            raise _wrong_type("parameters", "mapping")
        env["parameters"] = {**env["parameters"], **parameters}
        return env

    def files(self) -> dict[str, Any]:
        files = self.body.get("files")
        if files is None:
            return {}
        if not isinstance(files, dict):
            raise _wrong_type("files", "mapping")
        if not all(isinstance(content, str) for content in files.values()):
            raise _wrong_type("files", "mapping of strings")
        return files

    def environment_files(self) -> list[str] | None:
        names = self.body.get("environment_files")
        if not names:
            return None
        if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise _wrong_type("environment_files", "list of strings")
        return names

    def files_container(self) -> str | None:
        name = self.body.get("files_container")
        if not name:
            return None
        if not isinstance(name, str):
            raise _wrong_type("files_container", "string")
        return name

    def sources(self) -> dict[str, Any]:
        """What the engine makes the stack of, by the names of its arguments."""
        return {
            "template": self.template(),
            "params": self.environment(),
            "files": self.files(),
            "environment_files": self.environment_files(),
            "files_container": self.files_container(),
        }

    def _rest(self) -> dict[str, Any]:
        return {key: value for key, value in self.body.items() if key not in OWN_KEYS}

    def arguments(self, update: bool = False) -> dict[str, Any]:
        """What goes to the engine beside template, environment and files."""
        args = self._rest()
        if "timeout_mins" in args:
            args["timeout_mins"] = _minutes(args["timeout_mins"])
        if args.get("tags") is not None:
            args["tags"] = checks.tags(args["tags"])
        cleared = args.get("clear_parameters", [])
        if not (isinstance(cleared, (list, str)) and all(isinstance(name, str) for name in cleared)):
            raise _wrong_type("clear_parameters", "list of strings")
        if "converge" in args and not update:
            raise exc.HTTPBadRequest(
                _("%s flag only supported in stack update (or update preview) request.") % "converge"
            )
        return args

    def no_change(self) -> bool:
        """Whether a patch gives nothing at all."""
        unchanged: dict[str, Any] = {}
        text.default_for_missing(unchanged)
        return (
            self.template() is None
            and self.environment() == unchanged
            and not self.files()
            and not self.environment_files()
            and self.files_container() is None
            and all(key == "existing" for key in self._rest())
        )
