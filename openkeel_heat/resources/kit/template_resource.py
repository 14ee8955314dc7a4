# SPDX-License-Identifier: Apache-2.0
"""Resources implemented by a template: ``type: file.yaml`` and types mapped to templates.

Properties are the parameters of the template, attributes its outputs. The template is looked for
in the files sent with the stack, then fetched, then taken from the child as stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, groups, properties
from openkeel_heat.resources.kit.stack_resource import StackResource

LOG = logging.getLogger(__name__)

REMOTE_SCHEMES = ("http", "https")
LOCAL_SCHEMES = ("file",)

# An output of this name is what get_resource gives.
STACK_ID_OUTPUT = "OS::stack_id"


def generate_class_from_template(name: str, data: Any, param_defaults: Mapping[str, Any]) -> type[TemplateResource]:
    """A class that stands for a template where only schemata are asked for."""
    from openkeel_heat.template import Template, text

    template = Template.load(text.parse(_as_text(data)), files={}, env=None)
    props, attrs = TemplateResource.get_schemas(template, param_defaults)
    return type(
        name,
        (TemplateResource,),
        {
            "properties_schema": props,
            "attributes_schema": attrs,
            "__doc__": template.t.get("description", template.t.get("Description")),
        },
    )


def _as_text(data: Any) -> str:
    return data.decode("utf-8") if isinstance(data, bytes) else data


def _raw_outputs(template: Any) -> dict[str, dict[str, Any]]:
    """Name -> {'Description': text or None} of a template of either kind; StackValidationFailed if they are none."""
    from openkeel_heat.template.sections import map_of_things

    found = map_of_things(template[template.OUTPUTS])
    return {
        name: {"Description": entry.get("description", entry.get("Description"))}
        for name, entry in found.items()
        if isinstance(entry, Mapping)
    }


class TemplateResource(StackResource):
    """A resource implemented by a nested stack of a template of the user's or the operator's.

    Its properties become the parameters of the nested stack, whose outputs are its attributes.
    """

    def __init__(self, name: str, json_snippet: Any, stack: Any) -> None:
        self._parsed_nested: Any = None
        self._fetched: dict[str, str] = {}
        self.validation_exception: Exception | None = None
        self.properties_schema = {}
        self.attributes_schema = {}
        self.stack = stack
        info = self._get_resource_info(json_snippet)
        super().__init__(name, json_snippet, stack)
        self.resource_info = info
        if self.validation_exception is None:
            self._generate_schema()
            self.reparse()

    def _get_resource_info(self, rsrc_defn: Any) -> Any:
        from openkeel_heat.template import environment

        try:
            info = self.stack.env.get_resource_info(
                rsrc_defn.resource_type, resource_name=rsrc_defn.name, registry_type=environment.TemplateResourceInfo
            )
        except exception.EntityNotFound:
            self.validation_exception = ValueError(
                _("Only Templates with an extension of .yaml or .template are supported")
            )
            return None
        self._template_name = info.template_name
        self.resource_type = info.name
        self.resource_path = info.path
        self.allowed_schemes = REMOTE_SCHEMES if info.user_resource else REMOTE_SCHEMES + LOCAL_SCHEMES
        return info

    @staticmethod
    def get_template_file(template_name: str, allowed_schemes: tuple[str, ...]) -> str:
        from openkeel_heat.common import urlfetch

        try:
            return _as_text(urlfetch.get(template_name, allowed_schemes=allowed_schemes))
        except OSError as ex:
            text = _('Could not fetch remote template "%(name)s": %(exc)s') % {"name": template_name, "exc": ex}
            raise exception.NotFound(msg_fmt=text) from ex

    # schemata ---------------------------------------------------------
    @staticmethod
    def get_schemas(
        tmpl: Any,
        param_defaults: Mapping[str, Any],
    ) -> tuple[dict[str, properties.Schema], dict[str, attributes.Schema]]:
        return (
            properties.Properties.schema_from_params(tmpl.parameter_schemata(param_defaults)),
            attributes.Attributes.schema_from_outputs(_raw_outputs(tmpl)),
        )

    def _generate_schema(self) -> None:
        from openkeel_heat.template import Template

        self._parsed_nested = None
        try:
            template = Template.load(self.child_template(), files={}, env=None)
            props, attrs = self.get_schemas(template, self.stack.env.param_defaults)
        except (exception.NotFound, exception.StackValidationFailed, ValueError) as ex:
            self.validation_exception = ex
            props, attrs = {}, {}
        self.properties_schema = props
        self.attributes_schema = {**attrs, **self.base_attributes_schema}
        self.attributes.set_schema(self.attributes_schema)

    def regenerate_info_schema(self, definition: Any) -> None:
        self._get_resource_info(definition)
        self._generate_schema()

    # the template -----------------------------------------------------
    @property
    def template_url(self) -> str:
        return self._template_name

    def child_template(self) -> Any:
        if not self._parsed_nested:
            from openkeel_heat.template import text

            self._parsed_nested = text.parse(self.template_data(), self.template_url)
        return self._parsed_nested

    def child_template_files(self, child_env: Any) -> Mapping[str, Any]:
        files = self.stack.t.files
        return {**files, **self._fetched} if self._fetched else files

    def template_data(self) -> str:
        """The text of the template, the newest to be had."""
        given = self.stack.t.files.get(self.template_url)
        data = given or self._fetched.get(self.template_url, given)
        problem: Exception | None = None
        if not data and self.template_url.endswith((".yaml", ".template")):
            try:
                data = self.get_template_file(self.template_url, self.allowed_schemes)
            except exception.NotFound as ex:
                if self.action == self.UPDATE:
                    raise
                problem = ex
            else:
                self._remember(data)
        if data is None:
            data = self._stored_template()
        if data is not None:
            return _as_text(data)
        raise problem or ValueError(_("Unknown error retrieving %s") % self.template_url)

    def _remember(self, data: str) -> None:
        """A fetched template is fetched once: it goes to the child's files, and to the stack's if it takes them."""
        self._fetched[self.template_url] = data
        add_file = getattr(self.stack, "add_template_file", None)
        if add_file is not None:
            add_file(self.template_url, data)

    def _stored_template(self) -> str | None:
        if self.resource_id is None:
            return None
        template = self.stack.nested_stacks.template(self.resource_id)
        if template is None:
            return None
        from oslo_serialization import jsonutils

        return jsonutils.dumps(template.t)

    def child_params(self) -> dict[str, Any]:
        """Properties that were given, in the form parameters take."""
        params: dict[str, Any] = {}
        for name, prop in self.properties.props.items():
            if not prop.implemented():
                continue
            try:
                value = self.properties.get_user_value(name)
            except ValueError:
                # Before anything exists a reference may have no value yet.
                if self.action != self.INIT:
                    raise
                value = prop.get_value(None)
            if value is None:
                continue
            params[name] = _comma_delimited(value) if prop.type() == properties.Schema.LIST else value
        return params

    # validation -------------------------------------------------------
    def validate_template(self) -> Any:
        if self.validation_exception is not None:
            raise exception.StackValidationFailed(message=str(self.validation_exception))
        return super().validate_template()

    def validate(self) -> Any:
        result = super().validate()
        try:
            self.template_data()
        except ValueError as ex:
            raise exception.StackValidationFailed(message=_("Failed to retrieve template data: %s") % ex) from ex
        try:
            facade = self.stack.env.get_resource_info(self.type(), resource_name=self.name, ignore=self.resource_info)
        except exception.EntityNotFound:
            return result
        self._validate_against_facade(facade.get_class(files=self.stack.t.files))
        return result

    def _validate_against_facade(self, facade_cls: Any) -> None:
        """A template in place of an existing type must take its properties and give its attributes."""
        facade = properties.schemata(facade_cls.properties_schema)
        text = None
        for name, wanted in facade.items():
            own = self.properties_schema.get(name)
            if own is None and wanted.required:
                text = _("Required property %(n)s for facade %(type)s missing in provider")
            elif own is not None and wanted.allowed_param_prop_type() != own.type:
                text = _(
                    "Property %(n)s type mismatch between facade %(type)s (%(fs_type)s) and provider (%(ps_type)s)"
                )
            if text:
                raise exception.StackValidationFailed(
                    message=text % {"n": name, "type": self.type(), "fs_type": wanted.type, "ps_type": own and own.type}
                )
        for name, own in self.properties_schema.items():
            if own.required and name not in facade:
                raise exception.StackValidationFailed(
                    message=_("Provider requires property %(n)s unknown in facade %(type)s")
                    % {"n": name, "type": self.type()}
                )
        for name in {**facade_cls.attributes_schema, **facade_cls.base_attributes_schema}:
            if name not in self.attributes_schema:
                raise exception.StackValidationFailed(
                    message=_("Attribute %(attr)s for facade %(type)s missing in provider")
                    % {"attr": name, "type": self.type()}
                )

    # handlers ---------------------------------------------------------
    def handle_create(self) -> Any:
        return self.create_with_template(self.child_template(), self.child_params())

    def handle_adopt(self, resource_data: Mapping[str, Any] | None = None) -> Any:
        return self.create_with_template(self.child_template(), self.child_params(), adopt_data=resource_data)

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: Any) -> Any:
        self.properties = json_snippet.properties(self.properties_schema, self.context)
        return self.update_with_template(self.child_template(), self.child_params())

    def metadata_update(self, new_metadata: dict[str, Any] | None = None) -> None:
        if new_metadata is None:
            self.metadata_set(self.t.metadata())

    # references -------------------------------------------------------
    def get_reference_id(self) -> Any:
        if self.resource_id is None:
            return str(self.name)
        cached = self.attributes.cached_attrs
        if STACK_ID_OUTPUT in cached:
            return cached[STACK_ID_OUTPUT]
        identity = self.nested_identifier()
        assert identity is not None
        reference: Any = identity.arn()
        if STACK_ID_OUTPUT in self.attributes:
            try:
                reference = self.get_output(STACK_ID_OUTPUT)
            except exception.TemplateOutputError as ex:
                LOG.info("%s", ex)
            except exception.NotFound:
                pass
        self.attributes.set_cached_attr(STACK_ID_OUTPUT, reference)
        return reference

    def get_attribute(self, key: str, *path: Any) -> Any:
        if self.resource_id is None:
            return None
        if key.startswith("resource."):
            return groups.get_nested_attrs(self, key, False, *path)
        try:
            return attributes.select_from_attribute(self.get_output(key), path)
        except exception.NotFound:
            raise exception.InvalidTemplateAttribute(resource=self.name, key=key) from None


def _comma_delimited(values: list[Any]) -> str:
    """A list as a CommaDelimitedList; maps in it are flattened to ``.member.N.key=value``."""
    if not values:
        return ""
    if isinstance(values[0], dict):
        return ",".join(
            ".member.%d.%s=%s" % (index, key, value)
            for index, entry in enumerate(values)
            for key, value in entry.items()
        )
    return ",".join("" if value is None else value for value in values)
