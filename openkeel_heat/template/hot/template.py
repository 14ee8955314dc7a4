# SPDX-License-Identifier: Apache-2.0
"""The versions of HOT."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.template import nodes
from openkeel_heat.template.functions.references import Removed
from openkeel_heat.template.hot import functions as tables, parameters
from openkeel_heat.template.sections import CommonTemplate, map_of_things


class HOTemplate20130523(CommonTemplate):
    """The first version."""

    SECTIONS: ClassVar[tuple[str, ...]]
    SECTIONS = (
        VERSION,
        DESCRIPTION,
        PARAMETER_GROUPS,
        PARAMETERS,
        RESOURCES,
        OUTPUTS,
        MAPPINGS,
    ) = (
        "heat_template_version",
        "description",
        "parameter_groups",
        "parameters",
        "resources",
        "outputs",
        "__undefined__",
    )

    OUTPUT_KEYS: tuple[str, ...]
    OUTPUT_KEYS = (OUTPUT_DESCRIPTION, OUTPUT_VALUE) = ("description", "value")

    SECTIONS_NO_DIRECT_ACCESS = frozenset((PARAMETERS, VERSION))

    #: names that the rest of the engine uses, which are those of CFN
    _CFN_TO_HOT_SECTIONS: ClassVar[dict[str, str]] = {
        "AWSTemplateFormatVersion": VERSION,
        "Description": DESCRIPTION,
        "Parameters": PARAMETERS,
        "Mappings": MAPPINGS,
        "Resources": RESOURCES,
        "Outputs": OUTPUTS,
        "Conditions": "conditions",
    }

    RESOURCE_KEYS: tuple[str, ...]
    RESOURCE_KEYS = (
        RES_TYPE,
        RES_PROPERTIES,
        RES_METADATA,
        RES_DEPENDS_ON,
        RES_DELETION_POLICY,
        RES_UPDATE_POLICY,
        RES_DESCRIPTION,
    ) = (
        "type",
        "properties",
        "metadata",
        "depends_on",
        "deletion_policy",
        "update_policy",
        "description",
    )

    #: one table for all versions, so that a later key is a valid keyword in
    #: the resources section of an earlier version too
    _RESOURCE_HOT_TO_CFN_ATTRS: ClassVar[dict[str, str | None]] = {
        "type": "Type",
        "properties": "Properties",
        "metadata": "Metadata",
        "depends_on": "DependsOn",
        "deletion_policy": "DeletionPolicy",
        "update_policy": "UpdatePolicy",
        "description": "Description",
        "value": "Value",
        "external_id": None,
        "condition": "Condition",
    }
    _HOT_TO_CFN_ATTRS = _RESOURCE_HOT_TO_CFN_ATTRS

    CONDITION_TYPE_NAME = "string_or_boolean"
    PARAM_DEFAULT = "default"

    functions = tables.V2013_05_23
    deletion_policies = {"Delete": "Delete", "Retain": "Retain", "Snapshot": "Snapshot"}
    param_schema_class = parameters.HOTParamSchema
    parameters_class = parameters.HOTParameters
    allowed_resource_keys = frozenset(RESOURCE_KEYS)

    def __getitem__(self, section: str) -> Any:
        """A section, by its HOT or CFN name; resources in CFN terms."""
        if section not in self.SECTIONS:
            section = self._CFN_TO_HOT_SECTIONS.get(section, section)
        if section not in self.SECTIONS:
            raise KeyError(_('"%s" is not a valid template section') % section)
        if section in self.SECTIONS_NO_DIRECT_ACCESS:
            raise KeyError(_("Section %s can not be accessed directly.") % section)
        if section == self.MAPPINGS:
            return {}
        content = self.t.get(section) or ("No description" if section == self.DESCRIPTION else {})
        if section == self.RESOURCES:
            return self._translated_resources(content)
        if section == self.OUTPUTS:
            self._validate_section(self.OUTPUTS, self.OUTPUT_VALUE, content, self.OUTPUT_KEYS)
        return content

    def _validate_section(self, section: str, key: str, data: Any, allowed_keys: Any) -> None:
        kind = section[:-1]
        missing = _("Each %(object_name)s must contain a %(sub_section)s key.") % {
            "object_name": kind,
            "sub_section": key,
        }
        for _name, attrs in sorted(map_of_things(data).items(), key=lambda item: str(item[0])):
            if not attrs:
                raise exception.StackValidationFailed(message=missing)
            if not isinstance(attrs, Mapping):
                raise exception.StackValidationFailed(
                    message=_('"%(section)s" must contain a map of %(obj_name)s maps. Found a [%(_type)s] instead')
                    % {"section": section, "_type": type(attrs), "obj_name": kind}
                )
            for attr in attrs:
                if attr not in allowed_keys:
                    raise exception.StackValidationFailed(
                        message=_('"%%s" is not a valid keyword inside a %s definition') % kind % attr
                    )
            if key not in attrs:
                raise exception.StackValidationFailed(message=missing)

    def _translated_resources(self, resources: Any) -> dict[str, Any]:
        mapping = self._RESOURCE_HOT_TO_CFN_ATTRS
        self._validate_section(self.RESOURCES, self.RES_TYPE, resources, mapping)
        return {
            name: {mapping[key]: value for key, value in attrs.items() if mapping[key] is not None}
            for name, attrs in sorted(resources.items(), key=lambda item: str(item[0]))
        }

    def get_section_name(self, section: str) -> str:
        return {cfn: hot for hot, cfn in self._HOT_TO_CFN_ATTRS.items() if cfn is not None}.get(section, section)

    def add_resource(self, definition: Any, name: str | None = None) -> None:
        resources = dict(self.t.get(self.RESOURCES) or {})
        rendered = dict(definition.render_hot())
        depends = rendered.get(self.RES_DEPENDS_ON)
        if depends:
            rendered[self.RES_DEPENDS_ON] = [dep for dep in depends if dep in resources]
        resources[definition.name if name is None else name] = rendered
        self.t[self.RESOURCES] = resources
        self._changed()

    def add_output(self, definition: Any) -> None:
        outputs = dict(self.t.get(self.OUTPUTS) or {})
        outputs[definition.name] = definition.render_hot()
        self.t[self.OUTPUTS] = outputs
        self._changed()


class HOTemplate20141016(HOTemplate20130523):
    """Juno."""

    functions = tables.V2014_10_16


class HOTemplate20150430(HOTemplate20141016):
    """Kilo."""

    functions = tables.V2015_04_30


class HOTemplate20151015(HOTemplate20150430):
    """Liberty."""

    functions = tables.V2015_10_15


class HOTemplate20160408(HOTemplate20151015):
    """Mitaka."""

    functions = tables.V2016_04_08


class HOTemplate20161014(HOTemplate20160408):
    """Newton: conditions and external resources."""

    CONDITIONS = "conditions"
    RES_EXTERNAL_ID = "external_id"
    RES_CONDITION = "condition"
    OUTPUT_CONDITION = "condition"
    SECTIONS = (*HOTemplate20160408.SECTIONS, CONDITIONS)
    SECTIONS_NO_DIRECT_ACCESS = HOTemplate20160408.SECTIONS_NO_DIRECT_ACCESS | {CONDITIONS}
    RESOURCE_KEYS = (*HOTemplate20160408.RESOURCE_KEYS, RES_EXTERNAL_ID, RES_CONDITION)
    OUTPUT_KEYS = (*HOTemplate20160408.OUTPUT_KEYS, OUTPUT_CONDITION)
    allowed_resource_keys = frozenset(RESOURCE_KEYS)

    functions = tables.V2016_10_14
    condition_functions = tables.CONDITIONS_2016_10_14
    deletion_policies = {
        **HOTemplate20160408.deletion_policies,
        "delete": "Delete",
        "retain": "Retain",
        "snapshot": "Snapshot",
    }

    def __init__(self, template: dict[str, Any], template_id: Any = None, files: Any = None, env: Any = None) -> None:
        super().__init__(template, template_id, files, env)
        self.merge_sections = [self.PARAMETERS, self.CONDITIONS]

    def parser_condition_functions(self) -> Mapping[str, Any]:
        table: dict[str, Any] = {
            name: function if function is Removed else nodes.Invalid for name, function in self.functions.items()
        }
        table.update(self.condition_functions)
        return table


class HOTemplate20170224(HOTemplate20161014):
    """Ocata."""

    functions = tables.V2017_02_24
    param_schema_class = parameters.HOTParamSchema20170224


class HOTemplate20170901(HOTemplate20170224):
    """Pike."""

    functions = tables.V2017_09_01
    condition_functions = tables.CONDITIONS_2017_09_01


class HOTemplate20180302(HOTemplate20170901):
    """Queens: tags of parameters."""

    functions = tables.V2018_03_02
    param_schema_class = parameters.HOTParamSchema20180302


class HOTemplate20180831(HOTemplate20180302):
    """Rocky."""

    functions = tables.V2018_08_31


class HOTemplate20210416(HOTemplate20180831):
    """Wallaby: the last branch of ``if`` may be missing."""

    functions = tables.V2021_04_16
