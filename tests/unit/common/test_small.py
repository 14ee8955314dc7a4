# SPDX-License-Identifier: Apache-2.0
"""Passwords, names, clocks, DNS names."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from openkeel_heat.common import clock, exceptions, names, netutils, params, passwords


def test_password_has_its_classes() -> None:
    for _ in range(50):
        text = passwords.generate_password(
            10, [passwords.named_char_class("digits", 3), passwords.special_char_class("!@", 2)]
        )
        assert len(text) == 10
        assert sum(char.isdigit() for char in text) >= 3
        assert sum(char in "!@" for char in text) >= 2
        assert set(text) <= set("0123456789!@")
    assert len(passwords.generate_openstack_password()) == 32
    with pytest.raises(ValueError, match="minimums"):
        passwords.generate_password(1, [passwords.named_char_class("digits", 3)])


def test_short_ids_are_unlike() -> None:
    assert len({names.new_short_id() for _ in range(200)}) == 200


@pytest.mark.parametrize("name", ["a", "Stack-1", "s_.x", "a" * 255])
def test_stack_names(name: str) -> None:
    names.check_stack_name(name)


@pytest.mark.parametrize("name", ["", "1a", "a b", "a/b", "é", "a" * 256, "a\n"])
def test_bad_stack_names(name: str) -> None:
    with pytest.raises(exceptions.StackValidationFailed, match="Invalid stack name") as error:
        names.check_stack_name(name)
    assert "must contain only alphanumeric" in str(error.value)


def test_stack_name_is_a_text() -> None:
    with pytest.raises(exceptions.StackValidationFailed, match="must be a string"):
        names.check_stack_name(5)


def test_clock() -> None:
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 6)
    clock.set_override(moment)
    try:
        assert clock.utcnow() == moment
        assert clock.seconds_since(moment - datetime.timedelta(seconds=5)) == 5
    finally:
        clock.set_override(None)
    assert clock.isotime(moment) == "2026-01-02T03:04:05Z"
    assert clock.parse_isotime("2026-01-02T04:04:05+01:00") == datetime.datetime(2026, 1, 2, 3, 4, 5)
    east = datetime.timezone(datetime.timedelta(hours=1))
    assert clock.isotime(moment.replace(tzinfo=east)) == "2026-01-02T02:04:05Z"
    assert clock.utcnow().tzinfo is None
    assert [clock.backoff(n) for n in range(3)] == [1, 2, 4]
    assert clock.Deadline(-1).expired()


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("", None),
        ("host.example.org", None),
        ("host.example.org.", None),
        ("a..b", "empty component"),
        ("-a", "hyphen"),
        ("a_b", "alphanumeric"),
        ("a" * 64, "1-63 characters"),
        ("a.123.", "must not be all numeric"),
        ("a." * 130, "FQDN limit"),
        (5, "'5' is not a string"),
    ],
)
def test_dns_names(name: Any, complaint: str | None) -> None:
    if complaint is None:
        netutils.validate_dns_format(name)
    else:
        with pytest.raises(ValueError, match=complaint):
            netutils.validate_dns_format(name)


def test_prefixes() -> None:
    assert netutils.is_prefix_subset(["10.0.0.0/24"], ["10.0.0.0/16"])
    assert not netutils.is_prefix_subset(["10.0.0.0/16"], ["10.0.0.0/24"])


def test_lists() -> None:
    assert params.split_list(None) is None
    assert params.split_list("") == []
    assert params.split_list("a,b") == ["a", "b"]
