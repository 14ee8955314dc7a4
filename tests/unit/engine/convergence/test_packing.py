# SPDX-License-Identifier: Apache-2.0
"""Tuples as keys: what Python writes is read back, whatever is in it; what is no tuple stays text."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from openkeel_heat.engine.convergence import packing

ITEMS = st.one_of(
    st.text(max_size=8), st.booleans(), st.none(), st.integers(), st.floats(allow_nan=False, allow_infinity=False)
)


@given(st.lists(ITEMS, max_size=4).map(tuple))
@settings(max_examples=500, derandomize=True, deadline=None)
def test_what_python_writes_is_read_back(key: tuple[Any, ...]) -> None:
    read = packing.unpack_key(packing.PREFIX + repr(key))
    assert read == key
    assert [type(item) for item in read] == [type(item) for item in key]


@pytest.mark.parametrize(
    "key",
    [
        "tuple:(1)", "tuple:(1, 2", "tuple:(1 2)", "tuple:(a, 1)", "tuple:(1,, 2)", "tuple:(,)", "tuple:([1], 2)",
        "tuple:('a', 1) ", "tuple:('a", "tuple:", "tuple", "", 7, None, ("a", 1),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_tuple_stays(key: Any) -> None:
    assert packing.unpack_key(key) == key


class Cycle:
    """Garbage whose finalizer lets other threads run in the middle of anything."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        sum(range(1000))


def test_many_threads_read_at_once() -> None:
    keys = {f"tuple:({number}, True, 'resource')": {"tuple:('a', 0)": number} for number in range(200)}
    wanted = {(number, True, "resource"): {("a", 0): number} for number in range(200)}
    wrong: list[Any] = []

    def read() -> None:
        for _time in range(40):
            try:
                if packing.unpack(keys) != wanted:
                    wrong.append("something else")
                for _item in keys:
                    Cycle()
            except BaseException as error:
                wrong.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=read) for _number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []
