# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::HARestarter: a type that is no more, so that old stacks which have one still work."""

from __future__ import annotations

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.heat import none_resource
from openkeel_heat.resources.kit import support
from openkeel_heat.resources.kit.resource import Resource


class Restarter(none_resource.NoneResource):
    """Does nothing. It used to replace a resource, and all that depend on it, when it was signalled."""

    support_status = support.SupportStatus(
        status=support.HIDDEN,
        version="10.0.0",
        message=_("This type was removed. In stacks that have it, it stays and does nothing."),
        previous_status=support.SupportStatus(
            status=support.DEPRECATED,
            version="2015.1",
            message=_(
                "It did not restart servers but replaced them, together with all that depends on them. Mark "
                "the resource as unhealthy and update the stack."
            ),
        ),
    )


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::HARestarter": Restarter}
