# SPDX-License-Identifier: Apache-2.0
"""ACME::Library::Shelf, an object of Acme's library service, as a page of declarations."""

from openkeel_heat.clients.service import RestClientPlugin
from openkeel_heat.resources.kit import attributes, constraints, properties
from openkeel_heat.resources.kit.rest import ApiObject, RestResource

Schema = properties.Schema


class LibraryClientPlugin(RestClientPlugin):
    """Where the service is: entry point ``library`` in the group ``heat.clients``."""

    NAME = "library"
    service_types = ["library"]
    LISTS_ALL = True

    def _create(self, version=None):
        """What plugins of others get of ``client("library")``."""
        return self.api

    def find_branch(self, value):
        """The id of the branch that has *value* for its id or its name."""
        return self.find("/v1/branches", "branch", value, keys="branches")


class Shelf(RestResource):
    """A shelf of the library."""

    default_client_name = "library"
    api_object = ApiObject(
        "/v1/shelves",
        "shelf",
        "shelves",
        update_method="PATCH",
        status="state",
        ready=("STANDING",),
        busy=("BUILDING",),
        failed=("BROKEN",),
    )
    renamed = {"boards": "board_count"}
    attribute_fields = {"free": "free_places"}

    properties_schema = {
        "name": Schema(Schema.STRING, "Name of the shelf.", update_allowed=True),
        "boards": Schema(
            Schema.INTEGER,
            "How many boards it has.",
            default=5,
            update_allowed=True,
            constraints=[constraints.Range(1, 12)],
        ),
        "room": Schema(Schema.STRING, "Room that it stands in; in another room it is another shelf.", required=True),
    }
    attributes_schema = {
        "free": attributes.Schema("Places that are free.", type=attributes.Schema.INTEGER),
    }


def resource_mapping():
    return {"ACME::Library::Shelf": Shelf}
