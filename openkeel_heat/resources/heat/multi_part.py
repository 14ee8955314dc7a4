# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::MultipartMime: several configs as one multi-part message."""

from __future__ import annotations

import os
from email import message_from_string
from email.message import Message
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from typing import Any

from oslo_utils import uuidutils

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.heat.software_config import SoftwareConfig
from openkeel_heat.resources.kit import constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource


class MultipartMime(SoftwareConfig):
    """Puts configs together to one message, as cloud-init takes it in user data.

    A part is given by its text, or by the id of a config. A part that is such a message itself is taken
    apart, and its parts are added.
    """

    support_status = support.SupportStatus(version="2014.1")

    PROPERTIES = (PARTS, CONFIG, FILENAME, TYPE, SUBTYPE, GROUP) = (
        "parts",
        "config",
        "filename",
        "type",
        "subtype",
        "group",
    )

    TYPES = (TEXT, MULTIPART) = ("text", "multipart")

    properties_schema = {
        GROUP: properties.Schema(
            properties.Schema.STRING,
            _("Group of the config as servers see it; it may say which tool applies it."),
            support_status=support.SupportStatus(version="14.0.0"),
            default=SoftwareConfig.DEFAULT_GROUP,
        ),
        PARTS: properties.Schema(
            properties.Schema.LIST,
            _("The parts, in their order."),
            default=[],
            schema=properties.Schema(
                properties.Schema.MAP,
                schema={
                    CONFIG: properties.Schema(
                        properties.Schema.STRING, _("Text of the part, or the id of a software config."), required=True
                    ),
                    FILENAME: properties.Schema(properties.Schema.STRING, _("Name of a file that the part is.")),
                    TYPE: properties.Schema(
                        properties.Schema.STRING,
                        _('Whether it is one part ("text") or a message of parts ("multipart").'),
                        default=TEXT,
                        constraints=[constraints.AllowedValues(TYPES)],
                    ),
                    SUBTYPE: properties.Schema(
                        properties.Schema.STRING, _('Which kind of text it is, such as "cloud-config".')
                    ),
                },
            ),
        ),
    }

    # The message, once it was put together.
    message: str | None = None

    def config_values(self) -> dict[str, Any]:
        return {"config": self.get_message(), "group": self.properties[self.GROUP]}

    def get_message(self) -> str:
        if not self.message:
            parts: list[Message] = []
            for item in self.properties[self.PARTS]:
                text = self._text_of(item.get(self.CONFIG))
                if item.get(self.TYPE, self.TEXT) == self.MULTIPART:
                    parts += _parts_of(text)
                else:
                    parts.append(_part(text, item.get(self.SUBTYPE), item.get(self.FILENAME)))
            self.message = MIMEMultipart(_subparts=parts).as_string()
        return self.message

    def _text_of(self, config: str) -> str:
        """The text itself, or that of the config whose id it is."""
        if uuidutils.is_uuid_like(config):
            try:
                return self.stack.software.show_config(self, config)["config"]
            except exception.NotFound:
                pass
        return config


def _parts_of(text: str) -> list[Message]:
    """The parts of a message, and those of messages in it; none of a text that is no such message."""
    message = message_from_string(text)
    leaves = [part for part in message.walk() if not part.is_multipart()] if message.is_multipart() else []
    return [_part(_decoded(part), part.get_content_subtype(), part.get_filename()) for part in leaves]


def _decoded(part: Message) -> str:
    payload = part.get_payload(decode=True)
    assert isinstance(payload, bytes)
    return payload.decode(part.get_content_charset("utf-8"), "replace")


def _part(text: str, subtype: str | None, filename: str | None) -> Message:
    """A part; without a subtype the name of the file says it."""
    if not subtype and filename:
        subtype = os.path.splitext(filename)[0]
    part = MIMEText(text, subtype or "plain", "us-ascii" if text.isascii() else "utf-8")
    if filename:
        part.add_header("Content-Disposition", "attachment", filename=filename)
    return part


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::MultipartMime": MultipartMime}
