# SPDX-License-Identifier: Apache-2.0
"""The rule of translation for parts of a chain."""

from __future__ import annotations

from typing import Any

from openkeel_heat.resources.kit.translation import TranslationRule


def find_extension(resource: Any, props: Any, kind: str, *path: str) -> TranslationRule:
    """The property at ``path`` has names or ids of such parts: ids take their place."""
    return TranslationRule(
        props,
        TranslationRule.RESOLVE,
        list(path),
        client_plugin=resource.client_plugin(),
        finder="resolve_ext_resource",
        entity=kind,
    )
