# SPDX-License-Identifier: Apache-2.0
"""Custom constraints that need no service: addresses, names, times, JSON."""

from __future__ import annotations

import json
import re
import time
from typing import Any

from openkeel_heat.common import netutils
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit.constraints import BaseCustomConstraint

FQDN_MAX_LEN = 255

# minute, hour, day, month, weekday and perhaps seconds
_CRON_FIELD = re.compile(r"[\w*?/,#-]+$")


class TestConstraintDelay(BaseCustomConstraint):
    """Takes as many seconds as the value says."""

    __test__ = False

    def validate_with_client(self, client: Any, value: Any) -> None:
        if value:
            time.sleep(value)

    def validate(self, value: Any, context: Any) -> bool:
        self.validate_with_client(None, value)
        return True


def _address_problem(value: Any) -> str | None:
    import netaddr

    try:
        netaddr.IPAddress(value, flags=netaddr.ZEROFILL)
        if ":" not in value and value.count(".") != 3:
            raise ValueError(value)
    except Exception:
        return "'%s' is not a valid IP address" % value
    return None


def _subnet_problem(value: Any) -> str | None:
    import netaddr

    try:
        if any(char.isspace() for char in value) or "/" not in value:
            raise ValueError(value)
        net = netaddr.IPNetwork(value)
        if net.version == 4 and str(net) != value:
            raise ValueError(value)
    except Exception:
        return "'%s' is not a valid IP subnet" % value
    return None


class IPConstraint(BaseCustomConstraint):
    def validate(self, value: Any, context: Any, template: Any = None) -> bool:
        self._error_message = "Invalid IP address"
        return isinstance(value, str) and _address_problem(value) is None


class MACConstraint(BaseCustomConstraint):
    def validate(self, value: Any, context: Any, template: Any = None) -> bool:
        import netaddr

        self._error_message = "Invalid MAC address."
        return netaddr.valid_mac(value)


class DNSNameConstraint(BaseCustomConstraint):
    def validate(self, value: Any, context: Any) -> bool:
        try:
            netutils.validate_dns_format(value)
        except ValueError as ex:
            self._error_message = "'%(value)s' not in valid format. Reason: %(reason)s" % {"value": value, "reason": ex}
            return False
        return True


class RelativeDNSNameConstraint(DNSNameConstraint):
    def validate(self, value: Any, context: Any) -> bool:
        if not value:
            return True
        if value.endswith("."):
            self._error_message = _("'%s' is a FQDN. It should be a relative domain name.") % value
            return False
        if len(value) > FQDN_MAX_LEN - 3:
            self._error_message = _(
                "'%(value)s' contains '%(length)s' characters. Adding a domain name will cause it to exceed the "
                "maximum length of a FQDN of '%(max_len)s'."
            ) % {"value": value, "length": len(value), "max_len": FQDN_MAX_LEN}
            return False
        return super().validate(value, context)


class DNSDomainConstraint(DNSNameConstraint):
    def validate(self, value: Any, context: Any) -> bool:
        if not value:
            return True
        if not super().validate(value, context):
            return False
        if not value.endswith("."):
            self._error_message = "'%s' must end with '.'." % value
            return False
        return True


class CIDRConstraint(BaseCustomConstraint):
    def validate(self, value: Any, context: Any, template: Any = None) -> bool:
        import netaddr

        try:
            netaddr.IPNetwork(netaddr.cidr_abbrev_to_verbose(value))
        except Exception as ex:
            self._error_message = "Invalid net cidr %s " % ex
            return False
        self._error_message = _subnet_problem(value)
        return self._error_message is None


class IPCIDRConstraint(BaseCustomConstraint):
    def validate(self, value: Any, context: Any, template: Any = None) -> bool:
        try:
            self._error_message = _subnet_problem(value) if "/" in value else _address_problem(value)
        except TypeError:
            self._error_message = f"{value} is not a valid IP or CIDR"
        return self._error_message is None


class ISO8601Constraint(BaseCustomConstraint):
    def validate(self, value: Any, context: Any, template: Any = None) -> bool:
        from oslo_utils import timeutils

        try:
            timeutils.parse_isotime(value)
        except Exception:
            return False
        return True


class CRONExpressionConstraint(BaseCustomConstraint):
    def validate(self, value: Any, context: Any, template: Any = None) -> bool:
        if not value:
            return True
        fields = value.split() if isinstance(value, str) else []
        if len(fields) in (5, 6) and all(_CRON_FIELD.match(field) for field in fields):
            return True
        self._error_message = _("Invalid CRON expression: %s") % (
            "Exactly 5 or 6 columns has to be specified for iterator expression."
        )
        return False


class TimezoneConstraint(BaseCustomConstraint):
    def validate(self, value: Any, context: Any, template: Any = None) -> bool:
        if not value:
            return True
        import zoneinfo

        try:
            zoneinfo.ZoneInfo(value)
        except Exception as ex:
            self._error_message = _("Invalid timezone: %s") % ex
            return False
        return True


class ExpirationConstraint(BaseCustomConstraint):
    def validate(self, value: Any, context: Any) -> bool:
        if not value:
            return True
        from oslo_utils import timeutils

        try:
            moment = timeutils.normalize_time(timeutils.parse_isotime(value.strip()))
            if moment <= timeutils.utcnow():
                raise ValueError(_("Expiration time is out of date."))
        except Exception as ex:
            self._error_message = _("Expiration {0} is invalid: {1}").format(value, ex)
            return False
        return True


class JsonStringConstraint(BaseCustomConstraint):
    def validate(self, value: Any, context: Any) -> bool:
        if not value:
            return True
        try:
            json.loads(value)
        except json.decoder.JSONDecodeError as ex:
            self._error_message = _("JSON string {0} is invalid: {1}").format(value, ex)
            return False
        return True
