# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::ExtraRoute: one static route of a router."""

from __future__ import annotations

from typing import Any

from openkeel_heat.clients.neutron import NotFound
from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron import implicit
from openkeel_heat.resources.neutron.connection import Connection


class ExtraRoute(Connection):
    """One static route of a router.

    Several that change one router at once can lose routes: OS::Neutron::ExtraRouteSet cannot.
    """

    required_service_extension = "extraroute"

    support_status = support.SupportStatus(support.UNSUPPORTED, message=_("At your own risk: routes can get lost."))

    PROPERTIES = (ROUTER_ID, DESTINATION, NEXTHOP) = ("router_id", "destination", "nexthop")

    properties_schema = {
        ROUTER_ID: properties.Schema(
            properties.Schema.STRING,
            _("Router by name or id."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.router")],
        ),
        DESTINATION: properties.Schema(
            properties.Schema.STRING, _("Destination of the route in CIDR notation."), required=True
        ),
        NEXTHOP: properties.Schema(
            properties.Schema.STRING, _("Address that traffic for the destination goes to."), required=True
        ),
    }

    def add_dependencies(self, deps: Any) -> None:
        super().add_dependencies(deps)
        router = implicit.read(self, self.ROUTER_ID)
        implicit.need(deps, self, implicit.INTERFACE, router, "router", "router_id")
        implicit.need(deps, self, implicit.GATEWAY, router, "router_id")

    def _route(self) -> dict[str, str]:
        return {"destination": self.properties[self.DESTINATION], "nexthop": self.properties[self.NEXTHOP]}

    def _routes(self, router: str) -> list[dict[str, str]]:
        return list(self.api.show(f"/v2.0/routers/{router}", "router").get("routes") or [])

    def _set_routes(self, router: str, routes: list[dict[str, str]]) -> None:
        self.api.put(f"/v2.0/routers/{router}", json={"router": {"routes": routes}})

    def handle_create(self) -> None:
        router, route = self.properties[self.ROUTER_ID], self._route()
        routes = self._routes(router)
        if route in routes:
            raise exceptions.Error(_("Route duplicates an existing route."))
        try:
            self._set_routes(router, [*routes, route])
        except Exception as error:
            self.note_doubt(error)
            raise
        self.resource_id_set(self._id())

    def _id(self) -> str:
        return "{router}:{destination}:{nexthop}".format(router=self.properties[self.ROUTER_ID], **self._route())

    def find_physical(self) -> str | None:
        """The route is there. It was not when this resource was about to be made: else that is refused."""
        return self._id() if self._route() in self._routes(self.properties[self.ROUTER_ID]) else None

    def disconnect(self) -> None:
        router, route = self.properties[self.ROUTER_ID], self._route()
        routes = self._routes(router)
        if route in routes:
            routes.remove(route)
            self._set_routes(router, routes)

    def look(self) -> Any:
        route = self._route()
        if route not in self._routes(self.properties[self.ROUTER_ID]):
            raise NotFound(_("The router has no route to %(destination)s by %(nexthop)s") % route, status=404)
        return route


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Neutron::ExtraRoute": ExtraRoute}
