# SPDX-License-Identifier: Apache-2.0
"""Which functions CFN templates have."""

from __future__ import annotations

from typing import Any

from openkeel_heat.template.functions import collections, conditions, references, strings

HEAT: dict[str, Any] = {
    'Fn::FindInMap': references.FindInMap,
    'Fn::GetAZs': references.GetAZs,
    'Ref': references.Ref,
    'Fn::GetAtt': references.CfnGetAtt,
    'Fn::Select': collections.Select,
    'Fn::Join': strings.Join,
    'Fn::Split': strings.CfnSplit,
    'Fn::Replace': strings.CfnReplace,
    'Fn::Base64': strings.Base64,
    'Fn::MemberListToMap': collections.MemberListToMap,
    'Fn::ResourceFacade': references.CfnResourceFacade,
}

AWS: dict[str, Any] = {**HEAT, 'Fn::If': conditions.If}

AWS_CONDITIONS: dict[str, Any] = {
    'Fn::Equals': conditions.Equals,
    'Ref': references.ParamRef,
    'Fn::FindInMap': references.FindInMap,
    'Fn::Not': conditions.CfnNot,
    'Fn::And': conditions.And,
    'Fn::Or': conditions.Or,
}
