"""Acme::Desk::Ticket: a ticket of the help desk. This file goes into one of the ``plugin_dirs``."""

from acme_heat import desk
from heat.common.i18n import _
from heat.engine import attributes, constraints, properties, resource, support


class Ticket(resource.Resource):
    """A ticket that somebody of the help desk takes before the stack goes on.

    The resource is complete when the ticket has been taken, and its deletion closes it.
    """

    support_status = support.SupportStatus(version="1.0")

    PROPERTIES = (QUEUE, TITLE) = ("queue", "title")
    ATTRIBUTES = (STATE, OWNER) = ("state", "owner")

    properties_schema = {
        QUEUE: properties.Schema(
            properties.Schema.STRING,
            _("Queue that the ticket goes to."),
            required=True,
            constraints=[constraints.CustomConstraint("acme.queue")],
        ),
        TITLE: properties.Schema(
            properties.Schema.STRING,
            _("What it is about."),
            default="",
            update_allowed=True,
        ),
    }
    attributes_schema = {
        STATE: attributes.Schema(
            _("New or taken."), type=attributes.Schema.STRING, cache_mode=attributes.Schema.CACHE_NONE
        ),
        OWNER: attributes.Schema(_("Who took it."), type=attributes.Schema.STRING),
    }

    def handle_create(self):
        # The physical name is the same each time: a ticket that was opened already is found again.
        reference = self.physical_resource_name()
        queue = self.properties[self.QUEUE]
        found = desk.find(queue, reference) or desk.open_ticket(queue, reference, self.properties[self.TITLE])
        self.resource_id_set(found)

    def check_create_complete(self, _data):
        return desk.read(self.resource_id)["state"] == "taken"

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        if self.TITLE in prop_diff:
            ticket = desk.read(self.resource_id)
            desk.write(self.resource_id, {**ticket, "title": prop_diff[self.TITLE]})

    def handle_delete(self):
        if self.resource_id is None:
            return
        try:
            desk.close(self.resource_id)
        except desk.Gone:
            pass  # what is not there any more is deleted

    def handle_check(self):
        desk.read(self.resource_id)

    def _resolve_attribute(self, name):
        if self.resource_id is None:
            return None
        return desk.read(self.resource_id).get(name)

    # Another engine may go on where one died: handle_create and handle_update can be called again. (Heat has no such
    # engine, and takes no notice of these.)
    repeatable_create = True
    repeatable_update = True


def resource_mapping():
    return {"Acme::Desk::Ticket": Ticket}
