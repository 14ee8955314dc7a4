# SPDX-License-Identifier: Apache-2.0
"""The error vocabulary of the CloudFormation API, and how the errors of an engine are told in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oslo_messaging import RemoteError

from openkeel_heat.api.middleware import fault
from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _


class CfnError(Exception):
    """An answer with an error; a sub-class is one code of the vocabulary."""

    status = 400
    code = "HeatAPIException"
    kind = "Sender"
    explanation = _("Generic HeatAPIException, please use specific subclasses!")

    def __init__(self, detail: Any = None) -> None:
        super().__init__(detail)
        self.detail = None if detail is None else str(detail)

    @property
    def message(self) -> str:
        return f"{self.explanation}:{self.detail}" if self.detail else self.explanation

    def body(self) -> dict[str, Any]:
        return {"ErrorResponse": {"Error": {"Type": self.kind, "Code": self.code, "Message": self.message}}}


def _define(name: str, status: int, code: str, explanation: str, kind: str = "Sender") -> type[CfnError]:
    return type(name, (CfnError,), {"status": status, "code": code, "explanation": explanation, "kind": kind})


IncompleteSignature = _define(
    "IncompleteSignature", 400, "IncompleteSignature", _("The request signature does not conform to AWS standards")
)
InternalFailure = _define(
    "InternalFailure",
    500,
    "InternalFailure",
    _("The request processing has failed due to an internal error"),
    "Server",
)
InvalidAction = _define("InvalidAction", 400, "InvalidAction", _("The action or operation requested is invalid"))
InvalidClientTokenId = _define(
    "InvalidClientTokenId",
    403,
    "InvalidClientTokenId",
    _("The certificate or AWS Key ID provided does not exist"),
)
InvalidParameterCombination = _define(
    "InvalidParameterCombination",
    400,
    "InvalidParameterCombination",
    _("Incompatible parameters were used together"),
)
InvalidParameterValue = _define(
    "InvalidParameterValue", 400, "InvalidParameterValue", _("A bad or out-of-range value was supplied")
)
MissingAuthenticationToken = _define(
    "MissingAuthenticationToken",
    403,
    "MissingAuthenticationToken",
    _("Does not contain a valid AWS Access Key or certificate"),
)
MissingParameter = _define("MissingParameter", 400, "MissingParameter", _("A mandatory input parameter is missing"))
AlreadyExists = _define("AlreadyExists", 400, "AlreadyExists", _("Resource with the name requested already exists"))
AccessDenied = _define("AccessDenied", 403, "AccessDenied", _("User is not authorized to perform action"))
SignatureDoesNotMatch = _define(
    "SignatureDoesNotMatch",
    403,
    "SignatureDoesNotMatch",
    _("The request signature we calculated does not match the signature you provided"),
)
ActionInProgress = _define(
    "ActionInProgress",
    400,
    "InvalidAction",
    _("Cannot perform action on stack while other actions are in progress"),
)
ValidationError = _define("ValidationError", 400, "ValidationError", _("The template is not valid"))
#: Amazon's code for it, which waiters of botocore look for.
NoSuchStack = _define("NoSuchStack", 400, "ValidationError", _("The stack or a part of it does not exist"))
RequestLimitExceeded = _define(
    "RequestLimitExceeded", 400, "RequestLimitExceeded", _("Payload exceeds maximum allowed size")
)
ServiceUnavailable = _define(
    "ServiceUnavailable", 503, "ServiceUnavailable", _("Service temporarily unavailable"), "Server"
)


def _names(error: type[CfnError], names: Iterable[str]) -> dict[str, type[CfnError]]:
    return dict.fromkeys(names, error)


#: Class name of an engine's error -> what a client is told; for all others the native status decides.
ENGINE_ERRORS: dict[str, type[CfnError]] = {
    **_names(
        InvalidParameterValue,
        (
            "AttributeError",
            "InvalidBreakPointHook",
            "InvalidSchemaError",
            "InvalidTemplateReference",
            "InvalidTemplateSection",
            "InvalidTemplateVersion",
            "InvalidTenant",
            "MissingCredentialError",
            "NotSupported",
            "PhysicalResourceIDAmbiguity",
            "PropertyUnspecifiedError",
            "ResourceActionNotSupported",
            "ResourceNotAvailable",
            "ResourceNotFound",
            "ResourcePropertyConflict",
            "StackValidationFailed",
            "UnknownUserParameter",
            "UserParameterMissing",
            "ValueError",
        ),
    ),
    **_names(AccessDenied, ("AuthorizationFailure", "Forbidden", "NotAuthorized")),
    **_names(NoSuchStack, ("EntityNotFound",)),
    **_names(AlreadyExists, ("StackExists",)),
    **_names(ActionInProgress, ("ActionInProgress",)),
    **_names(RequestLimitExceeded, ("RequestLimitExceeded",)),
}


#: Status of the native API -> what a client of this one is told.
BY_STATUS: dict[int, type[CfnError]] = {
    400: InvalidParameterValue,
    403: AccessDenied,
    404: InvalidParameterValue,
    409: ActionInProgress,
}


def from_engine(error: Exception) -> CfnError:
    """The error of the vocabulary for what came from an engine (or from reading a request)."""
    if isinstance(error, CfnError):
        return error
    detail = None
    if getattr(error, "safe", False):
        detail = error.message if isinstance(error, exceptions.HeatException) else str(error)
    if isinstance(error, RemoteError):
        # Another service's error inside the engine: a refusal (of a trust, say) is one here too.
        return AccessDenied() if error.exc_type in ("Forbidden", "Unauthorized") else InternalFailure()
    found = ENGINE_ERRORS.get(type(error).__name__.removesuffix("_Remote"))
    if found is None:
        status = fault.http_error(type(error)).code
        found = BY_STATUS.get(status, InternalFailure)
    return found(detail)
