# SPDX-License-Identifier: Apache-2.0
"""Translation of texts that a user may read.

``_`` marks such a text. Log messages are not translated.
"""

from __future__ import annotations

import oslo_i18n

DOMAIN = "heat"

_translators = oslo_i18n.TranslatorFactory(domain=DOMAIN)

_ = _translators.primary
_C = _translators.contextual_form
_P = _translators.plural_form


def enable_lazy() -> None:
    """Translate at the moment of showing, in the language of the request."""
    oslo_i18n.enable_lazy()


def translate(text: object, locale: str | None) -> str:
    return str(oslo_i18n.translate(text, locale))


def available_languages() -> list[str]:
    return oslo_i18n.get_available_languages(DOMAIN)
