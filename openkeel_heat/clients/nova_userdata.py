# SPDX-License-Identifier: Apache-2.0
"""What a server gets as user data: a MIME message of several parts for cloud-init, or a document for Ignition.

``RAW``              the user's text as it is
``HEAT_CFNTOOLS``    the user's text is run by a program of ours, with what heat-cfntools has to know beside it
``SOFTWARE_CONFIG``  the user's text (or each part of it, when it is a MIME message) is a part of its own; an Ignition
                     document stays one, and gets the metadata as files

Parts of the type ``x-cfninitdata`` are written to files by a part handler that comes with them. The texts are in
``cloudinit/``.
"""

from __future__ import annotations

import email
import email.message
import string
from collections.abc import Iterator, Mapping
from email.mime import multipart, text
from importlib import resources
from typing import Any
from urllib import parse

from oslo_config import cfg
from oslo_serialization import jsonutils

RAW, HEAT_CFNTOOLS, SOFTWARE_CONFIG = "RAW", "HEAT_CFNTOOLS", "SOFTWARE_CONFIG"

_FOR_CFNTOOLS = "x-cfninitdata"

#: Where agents look for the metadata that came with the user data.
_METADATA_FILES = ("/var/lib/heat-cfntools/cfn-init-data", "/var/lib/cloud/data/cfn-init-data")

#: (content, name, subtype); an empty subtype is plain text.
Part = tuple[Any, str | None, str]


def build(
    metadata: Mapping[str, Any] | None,
    userdata: str | None,
    user_data_format: str,
    metadata_url: str | None = None,
    instance_user: str | None = None,
) -> str | None:
    """The user data of a server. ``metadata_url``: the CloudFormation API as servers see it."""
    if user_data_format == RAW:
        return userdata
    if user_data_format == SOFTWARE_CONFIG and is_ignition(userdata):
        return ignition(metadata, userdata or "")
    parts = list(_preparing(instance_user))
    if user_data_format == HEAT_CFNTOOLS:
        parts.append((userdata, "cfn-userdata", _FOR_CFNTOOLS))
        parts.append((_shipped("loguserdata"), "loguserdata.py", "x-shellscript"))
    elif user_data_format == SOFTWARE_CONFIG:
        parts += _parts_of(userdata)
    if metadata:
        parts.append((jsonutils.dumps(metadata), "cfn-init-data", _FOR_CFNTOOLS))
    if user_data_format == HEAT_CFNTOOLS and metadata_url is not None:
        parts.append((metadata_url, "cfn-metadata-server", _FOR_CFNTOOLS))
        parts.append((_boto_config(metadata_url), "cfn-boto-cfg", _FOR_CFNTOOLS))
    return multipart.MIMEMultipart(_subparts=[_mime(*part) for part in parts]).as_string()


def _preparing(user: str | None) -> Iterator[Part]:
    """What makes the server ready for the rest."""
    config = hook = ""
    if user:
        config = f"user: {user}"
        hook = f"useradd -m {user}\necho -e '{user}\\tALL=(ALL)\\tNOPASSWD: ALL' >> /etc/sudoers\n"
    yield _shipped("cloud-config", config), "cloud-config", "cloud-config"
    yield _shipped("boothook.sh", hook), "boothook.sh", "cloud-boothook"
    yield _shipped("part-handler"), "part-handler.py", "part-handler"


def _shipped(name: str, user: str | None = None) -> str:
    found = resources.files(__package__).joinpath("cloudinit", name).read_text("utf-8")
    return found if user is None else string.Template(found).safe_substitute(add_custom_user=user)


def _parts_of(userdata: str | None) -> Iterator[Part]:
    """The user's text, or the parts of the MIME message that it is."""
    message = email.message_from_string(userdata or "")
    if not message.is_multipart():
        yield userdata, "", ""
        return
    for part in message.walk():
        if not part.is_multipart():
            yield _content(part), part.get_filename(), part.get_content_subtype()


def _content(part: email.message.Message) -> str:
    """The text of a part, as it was before it was encoded to be sent."""
    content = part.get_payload(decode=True) if "Content-Transfer-Encoding" in part else part.get_payload()
    if isinstance(content, bytes):
        return content.decode(part.get_content_charset() or "utf-8", "surrogateescape")
    return str(content)


def _mime(content: Any, name: str | None, subtype: str) -> text.MIMEText:
    content = "" if content is None else content
    charset = "us-ascii" if content.isascii() else "utf-8"
    made = text.MIMEText(content, _subtype=subtype or "plain", _charset=charset)
    made.add_header("Content-Disposition", "attachment", filename=name)  # type: ignore[arg-type]
    return made


def _boto_config(metadata_url: str) -> str:
    """With it the tools on the server find the CloudFormation API."""
    return "\n".join(
        (
            "[Boto]",
            "debug = 0",
            f"is_secure = {cfg.CONF.instance_connection_is_secure}",
            f"https_validate_certificates = {cfg.CONF.instance_connection_https_validate_certificates}",
            "cfn_region_name = heat",
            f"cfn_region_endpoint = {parse.urlparse(metadata_url).hostname}",
        )
    )


def is_ignition(userdata: Any) -> bool:
    """Whether a text is a configuration for Ignition."""
    try:
        return bool(jsonutils.loads(userdata)["ignition"]["version"])
    except (KeyError, TypeError, ValueError):
        return False


def ignition(metadata: Mapping[str, Any] | None, userdata: str) -> str:
    """An Ignition document with the metadata among the files that it writes."""
    if not metadata:
        return userdata
    document = jsonutils.loads(userdata)
    storage = document.setdefault("storage", {})
    if not isinstance(storage, dict):
        raise ValueError('Ignition "storage" section must be a map')
    files = storage.setdefault("files", [])
    if not isinstance(files, list):
        raise ValueError('Ignition "files" section must be a list')
    source = "data:," + parse.quote(jsonutils.dumps(metadata))
    for path in _METADATA_FILES:
        files.append(
            {
                "filesystem": "root",
                "path": path,
                "mode": 0o640,
                "user": {"name": "root"},
                "group": {"name": "root"},
                "contents": {"source": source, "verification": {}},
            }
        )
    return jsonutils.dumps(document)
