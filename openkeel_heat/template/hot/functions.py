# SPDX-License-Identifier: Apache-2.0
"""Which functions each version of HOT has.

A version starts from the one before it and says what it changes.
"""

from __future__ import annotations

from typing import Any

from openkeel_heat.template.functions import collections, conditions, references, strings, yaql
from openkeel_heat.template.functions.collections import (
    Filter,
    ListConcat,
    ListConcatUnique,
    MapMerge,
    MapReplace,
    Repeat,
    RepeatWithMap,
    RepeatWithNestedLoop,
)
from openkeel_heat.template.functions.conditions import And, Contains, Equals, If, IfNullable, Not, Or
from openkeel_heat.template.functions.references import (
    GetAtt,
    GetAttAllAttributes,
    GetAttThenSelect,
    GetFile,
    GetParam,
    GetResource,
    Removed,
    ResourceFacade,
)
from openkeel_heat.template.functions.strings import (
    Digest,
    Join,
    JoinMultiple,
    MakeURL,
    Replace,
    ReplaceJson,
    ReplaceJsonStrict,
    ReplaceJsonVeryStrict,
    StrSplit,
)
from openkeel_heat.template.functions.yaql import Yaql

__all__ = [
    "And",
    "Contains",
    "Digest",
    "Equals",
    "Filter",
    "GetAtt",
    "GetAttAllAttributes",
    "GetAttThenSelect",
    "GetFile",
    "GetParam",
    "GetResource",
    "If",
    "IfNullable",
    "Join",
    "JoinMultiple",
    "ListConcat",
    "ListConcatUnique",
    "MakeURL",
    "MapMerge",
    "MapReplace",
    "Not",
    "Or",
    "Removed",
    "Repeat",
    "RepeatWithMap",
    "RepeatWithNestedLoop",
    "Replace",
    "ReplaceJson",
    "ReplaceJsonStrict",
    "ReplaceJsonVeryStrict",
    "ResourceFacade",
    "StrSplit",
    "Yaql",
]

_REMOVED_2014_10_16 = (
    "Fn::GetAZs",
    "Fn::Join",
    "Fn::Split",
    "Fn::Replace",
    "Fn::Base64",
    "Fn::MemberListToMap",
    "Fn::ResourceFacade",
    "Ref",
)

V2013_05_23: dict[str, Any] = {
    "Fn::GetAZs": references.GetAZs,
    "get_param": references.GetParam,
    "get_resource": references.GetResource,
    "Ref": references.Ref,
    "get_attr": references.GetAttThenSelect,
    "Fn::Select": collections.Select,
    "Fn::Join": strings.Join,
    "list_join": strings.Join,
    "Fn::Split": strings.CfnSplit,
    "str_replace": strings.Replace,
    "Fn::Replace": strings.CfnReplace,
    "Fn::Base64": strings.Base64,
    "Fn::MemberListToMap": collections.MemberListToMap,
    "resource_facade": references.ResourceFacade,
    "Fn::ResourceFacade": references.CfnResourceFacade,
    "get_file": references.GetFile,
}

V2014_10_16 = {**V2013_05_23, "get_attr": references.GetAtt, **dict.fromkeys(_REMOVED_2014_10_16, references.Removed)}

V2015_04_30 = {**V2014_10_16, "repeat": collections.Repeat, "digest": strings.Digest}

V2015_10_15 = {
    **V2015_04_30,
    "get_attr": references.GetAttAllAttributes,
    "list_join": strings.JoinMultiple,
    "str_replace": strings.ReplaceJson,
    "str_split": strings.StrSplit,
    "Fn::Select": references.Removed,
}

V2016_04_08 = {**V2015_10_15, "map_merge": collections.MapMerge}

V2016_10_14 = {
    **V2016_04_08,
    "yaql": yaql.Yaql,
    "map_replace": collections.MapReplace,
    "if": conditions.If,
    "repeat": collections.RepeatWithMap,
}

V2017_02_24 = {**V2016_10_14, "filter": collections.Filter, "str_replace_strict": strings.ReplaceJsonStrict}

V2017_09_01 = {
    **V2017_02_24,
    "make_url": strings.MakeURL,
    "list_concat": collections.ListConcat,
    "list_concat_unique": collections.ListConcatUnique,
    "contains": conditions.Contains,
    "str_replace_vstrict": strings.ReplaceJsonVeryStrict,
    "repeat": collections.RepeatWithNestedLoop,
}

V2018_03_02 = V2017_09_01

V2018_08_31 = V2018_03_02

V2021_04_16 = {**V2018_08_31, "if": conditions.IfNullable}

CONDITIONS_2016_10_14: dict[str, Any] = {
    "get_param": references.GetParam,
    "equals": conditions.Equals,
    "not": conditions.Not,
    "and": conditions.And,
    "or": conditions.Or,
}

CONDITIONS_2017_09_01 = {**CONDITIONS_2016_10_14, "yaql": yaql.Yaql, "contains": conditions.Contains}
