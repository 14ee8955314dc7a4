# SPDX-License-Identifier: Apache-2.0
"""Which functions CFN templates have."""

from __future__ import annotations

from typing import Any

from openkeel_heat.template.functions import collections, conditions, references, strings
from openkeel_heat.template.functions.collections import MemberListToMap, Select
from openkeel_heat.template.functions.conditions import And, CfnNot as Not, Equals, If, Or
from openkeel_heat.template.functions.references import (
    CfnGetAtt as GetAtt,
    CfnResourceFacade as ResourceFacade,
    FindInMap,
    GetAZs,
    ParamRef,
    Ref,
)
from openkeel_heat.template.functions.strings import Base64, CfnReplace as Replace, CfnSplit as Split, Join

__all__ = [
    "And",
    "Base64",
    "Equals",
    "FindInMap",
    "GetAZs",
    "GetAtt",
    "If",
    "Join",
    "MemberListToMap",
    "Not",
    "Or",
    "ParamRef",
    "Ref",
    "Replace",
    "ResourceFacade",
    "Select",
    "Split",
]

HEAT: dict[str, Any] = {
    "Fn::FindInMap": references.FindInMap,
    "Fn::GetAZs": references.GetAZs,
    "Ref": references.Ref,
    "Fn::GetAtt": references.CfnGetAtt,
    "Fn::Select": collections.Select,
    "Fn::Join": strings.Join,
    "Fn::Split": strings.CfnSplit,
    "Fn::Replace": strings.CfnReplace,
    "Fn::Base64": strings.Base64,
    "Fn::MemberListToMap": collections.MemberListToMap,
    "Fn::ResourceFacade": references.CfnResourceFacade,
}

AWS: dict[str, Any] = {**HEAT, "Fn::If": conditions.If}

AWS_CONDITIONS: dict[str, Any] = {
    "Fn::Equals": conditions.Equals,
    "Ref": references.ParamRef,
    "Fn::FindInMap": references.FindInMap,
    "Fn::Not": conditions.CfnNot,
    "Fn::And": conditions.And,
    "Fn::Or": conditions.Or,
}
