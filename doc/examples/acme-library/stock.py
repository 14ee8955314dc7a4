# SPDX-License-Identifier: Apache-2.0
"""ACME::Library::Case and ACME::Library::Scan: what is peculiar to a type is a method of it."""

from openkeel_heat.common import exceptions
from openkeel_heat.resources.kit import attributes, constraints, properties
from openkeel_heat.resources.kit.rest import ApiObject, RestResource
from openkeel_heat.resources.kit.translation import TranslationRule

Schema = properties.Schema


class BranchConstraint(constraints.BaseCustomConstraint):
    """``acme.branch``: the name or the id of a branch."""

    resource_client_name = "library"
    resource_getter_name = "find_branch"


class Case(RestResource):
    """A bookcase: rows of books, in a branch of the library."""

    default_client_name = "library"
    api_object = ApiObject("/v1/cases", "case", update_method="PATCH")
    renamed = {"branch": "branch_id"}

    properties_schema = {
        "branch": Schema(
            Schema.STRING,
            "Branch that it stands in, by name or id.",
            required=True,
            constraints=[constraints.CustomConstraint("acme.branch")],
        ),
        "rows": Schema(
            Schema.LIST,
            "Its rows, from the top.",
            required=True,
            update_allowed=True,
            constraints=[constraints.Length(min=1)],
            schema=Schema(
                Schema.MAP,
                schema={
                    "height": Schema(Schema.INTEGER, "In cm.", default=30, constraints=[constraints.Range(10, 60)]),
                    "topic": Schema(Schema.STRING, "What its books are about."),
                },
            ),
        ),
    }
    attributes_schema = {
        "height": attributes.Schema("Height of all rows together, in cm.", type=attributes.Schema.INTEGER),
    }

    def translation_rules(self, props):
        """The service knows branches by id."""
        plugin = self.client_plugin()
        return [TranslationRule(props, TranslationRule.RESOLVE, ["branch"], client_plugin=plugin, finder="find_branch")]

    def fields(self, props):
        """The fields of a body: a row without a topic is sent without one, not with null."""
        found = super().fields(props)
        if found.get("rows"):
            found["rows"] = [{key: value for key, value in row.items() if value is not None} for row in found["rows"]]
        return found

    def _resolve_attribute(self, name):
        """An attribute that is no field is computed of what the service shows."""
        if name == "height" and self.resource_id is not None:
            return sum(row["height"] for row in self.shown_recently()["rows"])
        return super()._resolve_attribute(name)

    def handle_check(self):
        """Without it a check says whether the case is there, and that the type has no check."""
        self.check_object()


class Scan(RestResource):
    """A scan of a book: queued, then running, and in the end done or failed."""

    default_client_name = "library"
    api_object = ApiObject(
        "/v1/scans",
        "scan",
        status="phase",
        ready=("done",),
        busy=("queued", "running"),
        failed=("error",),
    )
    poll_interval = 5.0

    properties_schema = {
        "book": Schema(Schema.STRING, "Signature of the book.", required=True),
    }
    attributes_schema = {
        "pages": attributes.Schema("Pages that were found.", type=attributes.Schema.INTEGER),
    }

    def error_of(self, shown, status):
        """What the user reads of a scan that failed. It is not tried again: the book would not get better."""
        return exceptions.Error(f"The scan went to {status}: {shown['fault']['message']}")


def constraint_mapping():
    return {"acme.branch": BranchConstraint}


def resource_mapping():
    return {"ACME::Library::Case": Case, "ACME::Library::Scan": Scan}
