# SPDX-License-Identifier: Apache-2.0
"""What the snapshot of a stack makes of a resource (an image, a backup, another snapshot) is made once.

An engine may die after it has begun it, and the next one does the action of the resource again. Its own object is told
from that of an earlier snapshot by the traversal, which is kept beside its id in the data of the resource.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource

#: resource_data: the traversal whose snapshot the kept id is of.
TRAVERSAL = "snapshot_traversal"


def made_once(resource: Resource, key: str, make: Callable[[], str]) -> str:
    """The id that this very snapshot has kept as *key* in the data of *resource*; else what *make* answers is kept."""
    traversal = str(resource.stack.current_traversal)
    data = resource.data()
    if data.get(TRAVERSAL) == traversal and data.get(key):
        return str(data[key])
    made = make()
    resource.data_set(key, made)
    resource.data_set(TRAVERSAL, traversal)
    return made
