# SPDX-License-Identifier: Apache-2.0
"""``heat.common.password_gen``: the generator of passwords under its plug-in facing names."""

from openkeel_heat.common.passwords import (
    CHARACTER_CLASSES as _CLASSES,
    CharClass,
    generate_openstack_password,
    generate_password,
    named_char_class,
    special_char_class,
)

CHARACTER_CLASSES = (
    LETTERS_DIGITS,
    LETTERS,
    LOWERCASE,
    UPPERCASE,
    DIGITS,
    HEXDIGITS,
    OCTDIGITS,
) = tuple(_CLASSES)

__all__ = [
    "CHARACTER_CLASSES",
    "DIGITS",
    "HEXDIGITS",
    "LETTERS",
    "LETTERS_DIGITS",
    "LOWERCASE",
    "OCTDIGITS",
    "UPPERCASE",
    "CharClass",
    "generate_openstack_password",
    "generate_password",
    "named_char_class",
    "special_char_class",
]
