# SPDX-License-Identifier: Apache-2.0
"""Rules of translation that many types of the network service share."""

from __future__ import annotations

from typing import Any

from openkeel_heat.resources.kit.translation import TranslationRule


def find(resource: Any, props: Any, kind: str, *path: str) -> TranslationRule:
    """The property at ``path`` names an object of a kind (one of the plug-in's RES_TYPES): its id takes its place."""
    return TranslationRule(
        props,
        TranslationRule.RESOLVE,
        list(path),
        client_plugin=resource.client_plugin(),
        finder="find_resourceid_by_name_or_id",
        entity=kind,
    )


def replace(props: Any, former: str, *path: str) -> TranslationRule:
    """A property takes over the value that was given to it by its former name, beside it."""
    if len(path) == 1:
        return TranslationRule(props, TranslationRule.REPLACE, list(path), value_path=[former])
    return TranslationRule(props, TranslationRule.REPLACE, list(path), value_name=former)
