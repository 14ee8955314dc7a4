# SPDX-License-Identifier: Apache-2.0
"""What a resource that is deleted leaves to another one that stands for the same name.

Most resources have an object of their own. Some have not: an association, a grant, a quota, what goes by a name that
the template gives. One that was replaced, and the one that replaces it, may then have the very same; to delete the one
would undo what the other has done. While the replacement is made both are there, and a rollback may return to the
first: so whoever goes looks whether the other one stays.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from openkeel_heat.resources.kit.resource import Resource

_R = TypeVar("_R", bound=Resource)


@contextlib.contextmanager
def as_it_was_made(resource: _R) -> Iterator[_R]:
    """The resource with the properties that it was made with, whatever the template refers to by now."""
    with resource.frozen_properties() as properties:
        resource.translate_properties(properties, ignore_resolve_error=True)
        yield resource


def others_that_stay(resource: _R, half_made: bool = False) -> Iterator[_R]:
    """What replaces a resource, and what it replaces, each with the properties that it was made with.

    *half_made*: those too whose creation has failed before they had an id.
    """
    for other in resource.stack.others_of(resource):
        never_made = other.resource_id is None and other.state == (other.CREATE, other.FAILED) and not half_made
        if type(other) is not type(resource) or never_made or other.action in (other.INIT, other.DELETE):
            continue
        with as_it_was_made(other):
            yield other


def is_anothers(resource: _R, identity: Callable[[_R], Any]) -> bool:
    """Whether another one stays that has the same object, told by what *identity* makes of the two."""
    own = identity(resource)
    return any(identity(other) == own for other in others_that_stay(resource))
