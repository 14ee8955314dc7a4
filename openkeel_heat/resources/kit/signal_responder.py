# SPDX-License-Identifier: Apache-2.0
"""Resources that are signalled from outside: the ways a signal can come and what is needed for each.

``CFN_SIGNAL``       an URL signed with the EC2 key pair of the resource's user
``HEAT_SIGNAL``      the native API with the user's password
``TOKEN_SIGNAL``     the native API with a token of the user
``TEMP_URL_SIGNAL``  an object in Swift, looked at in each poll
``ZAQAR_SIGNAL``     a queue in Zaqar, looked at in each poll
``NO_SIGNAL``        none: signalled by being asked
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import Any
from urllib import parse

from oslo_config import cfg
from oslo_log import log as logging
from oslo_serialization import jsonutils

from openkeel_heat.common import clock, exceptions as exception, passwords, signal_body
from openkeel_heat.resources.kit.stack_user import StackUser

LOG = logging.getLogger(__name__)

SIGNAL_TYPES = (WAITCONDITION, SIGNAL) = ("/waitcondition", "/signal")
SIGNAL_VERB = {WAITCONDITION: "PUT", SIGNAL: "POST"}

# What get_signal_url() of the Swift client puts into a new object.
_SWIFT_IN_PROGRESS = b"in progress"


def ec2_signature(secret: str, verb: str, host: str, path: str, params: Mapping[str, str]) -> str:
    """The signature of an EC2 query request, version 2 with SHA-256."""
    query = "&".join(
        "%s=%s" % (parse.quote(key, safe=""), parse.quote(params[key], safe="-_~")) for key in sorted(params)
    )
    text = "\n".join((verb, host, path, query))
    digest = hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


class SignalResponder(StackUser):
    """A resource that can be signalled. Subclasses have a property ``signal_transport``."""

    PROPERTIES = (SIGNAL_TRANSPORT,) = ("signal_transport",)

    ATTRIBUTES = (SIGNAL_ATTR,) = ("signal",)

    CFN_SIGNAL, TEMP_URL_SIGNAL, HEAT_SIGNAL = "CFN_SIGNAL", "TEMP_URL_SIGNAL", "HEAT_SIGNAL"
    NO_SIGNAL, ZAQAR_SIGNAL, TOKEN_SIGNAL = "NO_SIGNAL", "ZAQAR_SIGNAL", "TOKEN_SIGNAL"

    # A signal may make it call services.
    requires_deferred_auth = True

    def handle_delete(self) -> Any:
        self._delete_signals()
        return super().handle_delete()

    def _delete_signals(self) -> None:
        self._delete_ec2_signed_url()
        self._delete_heat_signal_url()
        self._delete_swift_signal_url()
        self._delete_zaqar_signal_queue()

    @property
    def password(self) -> str | None:
        """The password of the user, kept in the resource data."""
        return self.data().get("password")

    @password.setter
    def password(self, password: str | None) -> None:
        if password is None:
            self.data_delete("password")
        else:
            self.data_set("password", password, True)

    # which transport --------------------------------------------------
    def _transport_is(self, transport: str) -> bool:
        return self.properties.get(self.SIGNAL_TRANSPORT) == transport

    def _signal_transport_cfn(self) -> bool:
        return self._transport_is(self.CFN_SIGNAL)

    def _signal_transport_heat(self) -> bool:
        return self._transport_is(self.HEAT_SIGNAL)

    def _signal_transport_none(self) -> bool:
        return self._transport_is(self.NO_SIGNAL)

    def _signal_transport_temp_url(self) -> bool:
        return self._transport_is(self.TEMP_URL_SIGNAL)

    def _signal_transport_zaqar(self) -> bool:
        return self._transport_is(self.ZAQAR_SIGNAL)

    # Heat -------------------------------------------------------------
    def _get_region_name(self) -> str | None:
        return self.client_plugin("heat")._get_region_name()

    def _need_user(self) -> None:
        if self._get_user_id() is None:
            if self.password is None:
                self.password = passwords.generate_openstack_password()
            self._create_user()

    def _get_heat_signal_credentials(self) -> dict[str, Any]:
        """What somebody needs to sign in as the user of the resource."""
        self._need_user()
        keystone = self.keystone()
        return {
            "auth_url": keystone.server_keystone_endpoint_url(fallback_endpoint=keystone.v3_endpoint),
            "username": self.physical_resource_name(),
            "user_id": self._get_user_id(),
            "password": self.password,
            "project_id": self.stack.stack_user_project_id,
            "domain_id": keystone.stack_domain_id,
            "region_name": self._get_region_name(),
        }

    def _get_heat_signal_url(self, project_id: str | None = None) -> str | None:
        """The URL of the native API to signal the resource, in the given project's name."""
        stored = self.data().get("heat_signal_url")
        if stored is not None or self.id is None:
            return stored
        path = self.identifier().url_path()
        if project_id is not None:
            path = project_id + path[path.find("/") :]
        url = parse.urljoin(self.client_plugin("heat").get_heat_url(), "%s/signal" % path)
        self.data_set("heat_signal_url", url)
        return url

    def _delete_heat_signal_url(self) -> None:
        self.data_delete("heat_signal_url")

    # CFN --------------------------------------------------------------
    def _access_keys(self) -> tuple[str, str] | None:
        data = self.data()
        access_key, secret_key = data.get("access_key"), data.get("secret_key")
        return (access_key, secret_key) if access_key and secret_key else None

    def _get_ec2_signed_url(self, signal_type: str = SIGNAL, never_expire: bool = False) -> str | None:
        """An URL of the CFN API whose query string is the permission to signal the resource."""
        keys = self._access_keys()
        if keys is None:
            if self.id is None:
                return None
            if self._get_user_id() is None:
                self._create_user()
            self._create_keypair()
            keys = self._access_keys()
            if keys is None:
                LOG.warning("Cannot generate signed url, unable to create keypair")
                return None
        access_key, secret_key = keys
        configured = cfg.CONF.heat_waitcondition_server_url
        if configured:
            base = configured.replace("/waitcondition", signal_type)
        else:
            base = self.client_plugin("heat").get_heat_cfn_url() + signal_type
        place = parse.urlparse(base)
        path = self.identifier().arn_url_path()
        params = {"SignatureMethod": "HmacSHA256", "SignatureVersion": "2", "AWSAccessKeyId": access_key}
        if not never_expire:
            params["Timestamp"] = clock.utcnow().strftime("%Y-%m-%dT%H:%M:%SZ")
        # The server compares with the path as WSGI gives it: unquoted.
        params["Signature"] = ec2_signature(
            secret_key, SIGNAL_VERB[signal_type], place.netloc.lower(), parse.unquote(place.path + path), params
        )
        return "%s%s?%s" % (base.lower(), path, parse.urlencode(params))

    def _delete_ec2_signed_url(self) -> None:
        self.data_delete("ec2_signed_url")
        self._delete_keypair()

    # Swift ------------------------------------------------------------
    def _get_swift_signal_url(self, multiple_signals: bool = False) -> str | None:
        """A temporary URL to put signals to; ``multiple_signals``: objects are versioned."""
        stored = self.data().get("swift_signal_url")
        if stored or self.id is None:
            return stored
        container, object_name = self.stack.id, self.physical_resource_name()
        swift = self.client("swift")
        swift.put_container(container)
        if multiple_signals:
            url = self.client_plugin("swift").get_signal_url(container, object_name)
        else:
            url = self.client_plugin("swift").get_temp_url(container, object_name)
            swift.put_object(container, object_name, "")
        self.data_set("swift_signal_url", url)
        self.data_set("swift_signal_object_name", object_name)
        return url

    def _delete_swift_signal_url(self) -> None:
        object_name = self.data().get("swift_signal_object_name")
        if not object_name:
            return
        container = self.stack.id
        with self.client_plugin("swift").ignore_not_found:
            swift = self.client("swift")
            # Each deletion brings back the version before: once for each of them.
            for entry in swift.get_container(container)[1]:
                if object_name in entry["name"]:
                    swift.delete_object(container, object_name)
            if int(swift.head_container(container)["x-container-object-count"]) == 0:
                swift.delete_container(container)
        self.data_delete("swift_signal_taken")
        self.data_delete("swift_signal_object_name")
        self.data_delete("swift_signal_url")

    def _service_swift_signal(self) -> None:
        """Take the signals that have come as objects.

        The object itself is not deleted: another signal may have taken its place since it was read. Which moments'
        signals have been taken is kept, until these are versions, which stay as they are and are deleted.
        """
        swift, plugin = self.client("swift"), self.client_plugin("swift")
        container, object_name = self.stack.id, self.physical_resource_name()
        try:
            entries = swift.get_container(container)[1]
        except Exception as ex:
            if not plugin.is_not_found(ex):
                raise
            return
        taken = set(jsonutils.loads(self.data().get("swift_signal_taken") or "[]"))
        for entry in entries:
            # The resources of a stack share its container.
            if object_name not in entry["name"]:
                continue
            try:
                signal_body.check_size(entry.get("bytes"))
                headers, body = swift.get_object(container, entry["name"])
            except signal_body.Unreadable as ex:
                raise exception.Error(str(ex)) from ex
            except Exception as ex:
                if not plugin.is_not_found(ex):
                    raise
                continue
            if body == _SWIFT_IN_PROGRESS:
                continue
            is_version = entry["name"] != object_name
            moment = float(entry["name"].rpartition("/")[2] if is_version else headers["x-timestamp"])
            if moment not in taken:
                try:
                    self.signal(details=signal_body.read(body))
                except signal_body.Unreadable as ex:
                    raise exception.Error(str(ex)) from ex
                taken.add(moment)
                self.data_set("swift_signal_taken", jsonutils.dumps(sorted(taken)))
            if is_version:
                swift.delete_object(container, entry["name"])

    # Zaqar ------------------------------------------------------------
    def _zaqar(self) -> Any:
        return self.client_plugin("zaqar").create_for_tenant(self.stack.stack_user_project_id, self._user_token())

    def _get_zaqar_signal_queue_id(self) -> str | None:
        stored = self.data().get("zaqar_signal_queue_id")
        if stored or self.id is None:
            return stored
        self._need_user()
        queue_id = self.physical_resource_name()
        queue = self._zaqar().queue(queue_id)
        self.data_set(
            "zaqar_queue_signed_url_data", jsonutils.dumps(queue.signed_url(["messages"], methods=["GET", "DELETE"]))
        )
        self.data_set("zaqar_signal_queue_id", queue_id)
        return queue_id

    def _delete_zaqar_signal_queue(self) -> None:
        queue_id = self.data().get("zaqar_signal_queue_id")
        if not queue_id:
            return
        zaqar = self._zaqar()
        with self.client_plugin("zaqar").ignore_not_found:
            zaqar.queue(queue_id).delete()
        self.data_delete("zaqar_signal_queue_id")

    def _service_zaqar_signal(self) -> None:
        """Take the signals that have come as messages."""
        try:
            queue = self._zaqar().queue(self._get_zaqar_signal_queue_id())
        except Exception as ex:
            if not self.client_plugin("zaqar").is_not_found(ex):
                raise
            return
        for message in list(queue.pop()):
            self.signal(details=message.body)

    # all --------------------------------------------------------------
    def _get_signal(self, signal_type: str = SIGNAL, multiple_signals: bool = False) -> dict[str, Any] | None:
        """What the sender of a signal has to know."""
        if self._signal_transport_cfn():
            return {"alarm_url": self._get_ec2_signed_url(signal_type=signal_type)}
        if self._signal_transport_heat():
            found = self._get_heat_signal_credentials()
            found["alarm_url"] = self._get_heat_signal_url(project_id=self.stack.stack_user_project_id)
            return found
        if self._signal_transport_temp_url():
            return {"alarm_url": self._get_swift_signal_url(multiple_signals=multiple_signals)}
        if self._signal_transport_zaqar():
            found = self._get_heat_signal_credentials()
            found["queue_id"] = self._get_zaqar_signal_queue_id()
            return found
        return {} if self._signal_transport_none() else None

    def _service_signal(self) -> None:
        """Look whether signals have come, for the transports where nobody tells."""
        if self._signal_transport_temp_url():
            self._service_swift_signal()
        elif self._signal_transport_zaqar():
            self._service_zaqar_signal()
        elif self._signal_transport_none():
            self.signal(details={})
