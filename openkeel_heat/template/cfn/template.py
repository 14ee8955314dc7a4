# SPDX-License-Identifier: Apache-2.0
"""CFN templates, in the forms of Heat and of AWS."""

from __future__ import annotations

from typing import Any, ClassVar

from openkeel_heat.common.i18n import _
from openkeel_heat.template import parameters as common_parameters
from openkeel_heat.template.cfn import functions as tables
from openkeel_heat.template.cfn.parameters import CfnParameters
from openkeel_heat.template.sections import CommonTemplate


class CfnTemplateBase(CommonTemplate):
    """What both forms share."""

    SECTIONS: ClassVar[tuple[str, ...]]
    SECTIONS = (
        VERSION,
        ALTERNATE_VERSION,
        DESCRIPTION,
        MAPPINGS,
        PARAMETERS,
        RESOURCES,
        OUTPUTS,
    ) = (
        "AWSTemplateFormatVersion",
        "HeatTemplateFormatVersion",
        "Description",
        "Mappings",
        "Parameters",
        "Resources",
        "Outputs",
    )

    OUTPUT_KEYS: tuple[str, ...]
    OUTPUT_KEYS = (OUTPUT_DESCRIPTION, OUTPUT_VALUE) = ("Description", "Value")

    SECTIONS_NO_DIRECT_ACCESS = frozenset((PARAMETERS, VERSION, ALTERNATE_VERSION))

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
        "Type",
        "Properties",
        "Metadata",
        "DependsOn",
        "DeletionPolicy",
        "UpdatePolicy",
        "Description",
    )

    HOT_TO_CFN_RES_ATTRS: ClassVar[dict[str, str]] = {
        "type": RES_TYPE,
        "properties": RES_PROPERTIES,
        "metadata": RES_METADATA,
        "depends_on": RES_DEPENDS_ON,
        "deletion_policy": RES_DELETION_POLICY,
        "update_policy": RES_UPDATE_POLICY,
        "condition": "Condition",
    }
    HOT_TO_CFN_OUTPUT_ATTRS: ClassVar[dict[str, str]] = {"description": OUTPUT_DESCRIPTION, "value": OUTPUT_VALUE}

    PARAM_DEFAULT = common_parameters.DEFAULT

    functions = tables.HEAT
    deletion_policies = {"Delete": "Delete", "Retain": "Retain", "Snapshot": "Snapshot"}
    param_schema_class = common_parameters.Schema
    parameters_class = CfnParameters

    def __getitem__(self, section: str) -> Any:
        if section not in self.SECTIONS:
            raise KeyError(_('"%s" is not a valid template section') % section)
        if section in self.SECTIONS_NO_DIRECT_ACCESS:
            raise KeyError(_("Section %s can not be accessed directly.") % section)
        return self.t.get(section) or ("No description" if section == self.DESCRIPTION else {})

    def get_section_name(self, section: str) -> str:
        return section

    def add_resource(self, definition: Any, name: str | None = None) -> None:
        resources = dict(self.t.get(self.RESOURCES) or {})
        rendered = {self.HOT_TO_CFN_RES_ATTRS[key]: value for key, value in definition.render_hot().items()}
        depends = [dep for dep in rendered.get(self.RES_DEPENDS_ON, ()) if dep in resources]
        if len(rendered.get(self.RES_DEPENDS_ON, ())) == 1:
            if depends:
                rendered[self.RES_DEPENDS_ON] = depends[0]
            else:
                del rendered[self.RES_DEPENDS_ON]
        elif self.RES_DEPENDS_ON in rendered:
            rendered[self.RES_DEPENDS_ON] = depends
        resources[definition.name if name is None else name] = rendered
        self.t[self.RESOURCES] = resources
        self._changed()

    def add_output(self, definition: Any) -> None:
        outputs = dict(self.t.get(self.OUTPUTS) or {})
        outputs[definition.name] = {
            self.HOT_TO_CFN_OUTPUT_ATTRS[key]: value for key, value in definition.render_hot().items()
        }
        self.t[self.OUTPUTS] = outputs
        self._changed()


class HeatTemplate(CfnTemplateBase):
    """HeatTemplateFormatVersion."""


class CfnTemplate(CfnTemplateBase):
    """AWSTemplateFormatVersion: has conditions."""

    CONDITIONS = "Conditions"
    RES_CONDITION = "Condition"
    OUTPUT_CONDITION = "Condition"
    SECTIONS = (*CfnTemplateBase.SECTIONS, CONDITIONS)
    SECTIONS_NO_DIRECT_ACCESS = CfnTemplateBase.SECTIONS_NO_DIRECT_ACCESS | {CONDITIONS}
    RESOURCE_KEYS = (*CfnTemplateBase.RESOURCE_KEYS, RES_CONDITION)
    OUTPUT_KEYS = (*CfnTemplateBase.OUTPUT_KEYS, OUTPUT_CONDITION)

    functions = tables.AWS
    condition_functions = tables.AWS_CONDITIONS

    def __init__(self, template: dict[str, Any], template_id: Any = None, files: Any = None, env: Any = None) -> None:
        super().__init__(template, template_id, files, env)
        self.merge_sections = [self.PARAMETERS, self.CONDITIONS]
