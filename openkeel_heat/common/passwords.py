# SPDX-License-Identifier: Apache-2.0
"""Random texts with a given mix of characters, from the system's source of randomness."""

from __future__ import annotations

import random
import string
from collections.abc import Iterable
from typing import NamedTuple

_random = random.SystemRandom()

CHARACTER_CLASSES = {
    "lettersdigits": string.ascii_letters + string.digits,
    "letters": string.ascii_letters,
    "lowercase": string.ascii_lowercase,
    "uppercase": string.ascii_uppercase,
    "digits": string.digits,
    "hexdigits": string.digits + "ABCDEF",
    "octdigits": string.octdigits,
}


class CharClass(NamedTuple):
    """Characters to draw from, and how many of them there have to be at least."""

    allowed_chars: frozenset[str]
    min_count: int = 0


def named_char_class(name: str, min_count: int = 0) -> CharClass:
    return CharClass(frozenset(CHARACTER_CLASSES[name]), min_count)


def special_char_class(allowed_chars: Iterable[str], min_count: int = 0) -> CharClass:
    return CharClass(frozenset(allowed_chars), min_count)


def generate_password(length: int, classes: Iterable[CharClass]) -> str:
    """*length* characters of the classes, with each class's minimum, in random order."""
    classes = list(classes)
    drawn = [_random.choice(sorted(chars)) for chars, count in classes for _ in range(count)]
    if len(drawn) > length:
        raise ValueError("the length is smaller than the minimums together")
    every = sorted(frozenset().union(*(chars for chars, _ in classes)))
    drawn += [_random.choice(every) for _ in range(length - len(drawn))]
    _random.shuffle(drawn)
    return "".join(drawn)


def generate_openstack_password() -> str:
    """A password that Keystone takes under its usual rules."""
    return generate_password(
        32,
        [
            named_char_class("lowercase", 1),
            named_char_class("uppercase", 1),
            named_char_class("digits", 1),
            special_char_class("!@#%^&*", 1),
        ],
    )
