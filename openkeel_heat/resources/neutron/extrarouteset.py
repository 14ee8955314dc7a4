# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::ExtraRouteSet: static routes of a router that several stacks can share."""

from __future__ import annotations

from typing import Any

from openkeel_heat.clients import patience
from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron import declare, implicit
from openkeel_heat.resources.neutron.connection import Connection

#: resource_data: the traversal in which it was found that nobody else has the routes.
CHECKED = "routes_checked"


class ExtraRouteSet(Connection):
    """Static routes of a router.

    The service itself adds and removes them one by one, so that several stacks may have routes on one router.
    """

    required_service_extension = "extraroute-atomic"

    support_status = declare.since("14.0.0")

    PROPERTIES = (ROUTER, ROUTES) = ("router", "routes")

    _ROUTE_KEYS = (DESTINATION, NEXTHOP) = ("destination", "nexthop")

    properties_schema = {
        ROUTER: properties.Schema(
            properties.Schema.STRING,
            _("Router, by name or id."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.router")],
        ),
        ROUTES: properties.Schema(
            properties.Schema.LIST,
            _("The routes."),
            update_allowed=True,
            default=[],
            schema=properties.Schema(
                properties.Schema.MAP,
                schema={
                    DESTINATION: properties.Schema(
                        properties.Schema.STRING,
                        _("Destination of the route in CIDR notation."),
                        required=True,
                        constraints=[constraints.CustomConstraint("net_cidr")],
                    ),
                    NEXTHOP: properties.Schema(
                        properties.Schema.STRING,
                        _("Address that traffic for the destination goes to."),
                        required=True,
                        constraints=[constraints.CustomConstraint("ip_addr")],
                    ),
                },
            ),
        ),
    }

    def add_dependencies(self, deps: Any) -> None:
        super().add_dependencies(deps)
        implicit.need(deps, self, implicit.INTERFACE, implicit.read(self, self.ROUTER), "router", "router_id")

    # Adding a route that is there and removing one that is not are no errors to the service.
    repeatable_create = repeatable_update = True

    def handle_create(self) -> None:
        router, routes = self.properties[self.ROUTER], self.properties[self.ROUTES]
        if self.resource_id is None:
            self._refuse_duplicates(router, routes)
            # The set has no id of its own. Known from now on, the routes are removed whatever comes of this.
            self.resource_id_set(router)

    def check_create_complete(self, data: Any) -> bool:
        try:
            self._call_router(self.properties[self.ROUTER], "add", self.properties[self.ROUTES])
        except Exception as error:
            if patience.asked_pause(error) is None:
                # Refused, all of them: there is nothing to remove.
                self.resource_id_set(None)
            raise
        return True

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> None:
        """Change what differs: routes that stay are not interrupted."""
        if self.ROUTES not in prop_diff:
            return
        router = self.properties[self.ROUTER]
        old, new = self.properties[self.ROUTES] or [], prop_diff[self.ROUTES] or []
        add = [route for route in new if route not in old]
        if self.data().get(CHECKED) != self.stack.current_traversal:
            self._refuse_duplicates(router, add)
            # An engine that goes on with it would take our own routes for others'.
            self.data_set(CHECKED, self.stack.current_traversal)
        self._call_router(router, "remove", [route for route in old if route not in new])
        self._call_router(router, "add", add)

    def needs_replace_failed(self) -> bool:
        """An update puts right whatever routes there are, as long as there is the router."""
        if not self.resource_id:
            return True
        with self.client_plugin().ignore_not_found:
            self.look()
            return False
        return True

    def disconnect(self) -> None:
        self._call_router(self.properties[self.ROUTER], "remove", self.properties[self.ROUTES])

    def _call_router(self, router: str, verb: str, routes: list[dict[str, str]]) -> None:
        preposition = {"add": "add_extraroutes", "remove": "remove_extraroutes"}[verb]
        if routes:
            self.api.put(f"/v2.0/routers/{router}/{preposition}", json={"router": {"routes": routes}})

    def _existing(self, router: str) -> list[dict[str, str]]:
        return list(self.api.show(f"/v2.0/routers/{router}", "router").get("routes") or [])

    def _refuse_duplicates(self, router: str, routes: list[dict[str, str]]) -> None:
        existing = self._existing(router)
        for route in routes:
            if route in existing:
                raise exceptions.PhysicalResourceExists(
                    name="{router},{destination}={nexthop}".format(router=router, **route)
                )

    def look(self) -> Any:
        return self._existing(self.properties[self.ROUTER])


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Neutron::ExtraRouteSet": ExtraRouteSet}
