# SPDX-License-Identifier: Apache-2.0
"""The error vocabulary.

A class here is known to three wires. On the bus it travels by name as ``heat.common.exception.<Name>`` with the keyword
arguments of its format, so names, formats and argument names are shared with every other process of the cloud;
``__module__`` of each class is therefore the shared module name. The native and the CloudFormation API map the name to
a status.

``message`` is the finished text. Make an error with keywords: ``StackExists(stack_name=name)``.
"""

from __future__ import annotations

import sys
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common.i18n import _

LOG = logging.getLogger(__name__)

#: The module that the bus names for these classes.
WIRE_MODULE = "heat.common.exception"

#: Formats of the errors that have a number.
ERROR_CODE_MAP = {
    "99001": _("Service %(service_name)s is not available for resource type %(resource_type)s, reason: %(reason)s"),
}

#: Set by tests: a format that lacks an argument then raises.
FATAL_FORMAT_ERRORS = False


class HeatException(Exception):
    """The base of all; a sub-class gives ``msg_fmt``."""

    message: str = _("An unknown exception occurred.")
    msg_fmt: str
    error_code: str | None = None
    #: The text may be shown to users.
    safe = True

    def __init__(self, **kwargs: Any) -> None:
        # What crosses the bus is args and kwargs; an argument must be in only one of them.
        self.args = ()
        self.kwargs = kwargs
        if self.error_code in ERROR_CODE_MAP:
            self.msg_fmt = ERROR_CODE_MAP[self.error_code]
        try:
            self.message = self._text(kwargs)
        except KeyError:
            if FATAL_FORMAT_ERRORS:
                raise
            LOG.exception("The format of %s lacks an argument; given: %s", type(self).__name__, kwargs)
        if self.error_code:
            self.message = f"HEAT-E{self.error_code} {self.message}"

    def _text(self, kwargs: dict[str, Any]) -> str:
        return self.msg_fmt % kwargs

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> HeatException:
        return self.__class__(**self.kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), dict(self.__dict__), self.args)


def _rebuild(cls: type[HeatException], state: dict[str, Any], args: tuple[Any, ...]) -> HeatException:
    error = cls.__new__(cls)
    error.__dict__.update(state)
    error.args = args
    return error


class _Listed(HeatException):
    """Positional arguments are the names of one comma-separated list."""

    _list_key: str

    def __init__(self, *names: str, **kwargs: Any) -> None:
        if names:
            kwargs[self._list_key] = ", ".join(names)
        super().__init__(**kwargs)


class Error(HeatException):
    msg_fmt = "%(message)s"

    def __init__(self, message: str) -> None:
        super().__init__(message=message)


class NotFound(HeatException):
    """Its text is the first argument, and travels as such: it is finished, whatever percent signs users put into it."""

    def __init__(self, msg_fmt: str = _("Not found")) -> None:
        self.msg_fmt = msg_fmt
        super().__init__()
        self.args = (msg_fmt,)

    def _text(self, kwargs: dict[str, Any]) -> str:
        return self.msg_fmt

    def __deepcopy__(self, memo: dict[int, Any]) -> NotFound:
        return self.__class__(self.msg_fmt)


class Invalid(HeatException):
    msg_fmt = _("Data supplied was not valid: %(reason)s")


class NotSupported(HeatException):
    msg_fmt = _("%(feature)s is not supported.")


# --- who may do what ------------------------------------------------------------------------------------------------


class MissingCredentialError(HeatException):
    msg_fmt = _("Missing required credential: %(required)s")


class AuthorizationFailure(HeatException):
    msg_fmt = _("Authorization failed.%(failure_reason)s")

    def __init__(self, failure_reason: str = "") -> None:
        if failure_reason:
            failure_reason = f" {failure_reason}"
        super().__init__(failure_reason=failure_reason)


class NotAuthenticated(HeatException):
    msg_fmt = _("You are not authenticated.")


class Forbidden(HeatException):
    msg_fmt = _("You are not authorized to use %(action)s.")

    def __init__(self, action: str = "this action") -> None:
        super().__init__(action=action)


class NotAuthorized(Forbidden):
    msg_fmt = _("You are not authorized to complete this action.")


class InvalidTenant(HeatException):
    msg_fmt = _("Searching Tenant %(target)s from Tenant %(actual)s forbidden.")


# --- things that are not there, or are there twice ------------------------------------------------------------------


class EntityNotFound(HeatException):
    msg_fmt = _("The %(entity)s (%(name)s) could not be found.")

    def __init__(self, entity: str | None = None, name: Any = None, **kwargs: Any) -> None:
        self.entity = entity
        self.name = name
        super().__init__(entity=entity, name=name, **kwargs)


class ResourceNotFound(EntityNotFound):
    msg_fmt = _("The Resource (%(resource_name)s) could not be found in Stack %(stack_name)s.")


class SnapshotNotFound(EntityNotFound):
    msg_fmt = _("The Snapshot (%(snapshot)s) for Stack (%(stack)s) could not be found.")


class PhysicalResourceExists(HeatException):
    msg_fmt = _("The physical resource for (%(name)s) exists.")


class PhysicalResourceNameAmbiguity(HeatException):
    msg_fmt = _("Multiple physical resources were found with name (%(name)s).")


class PhysicalResourceIDAmbiguity(HeatException):
    msg_fmt = _("Multiple resources were found with the physical ID (%(phys_id)s).")


class StackExists(HeatException):
    msg_fmt = _("The Stack (%(stack_name)s) already exists.")


class ResourceNotAvailable(HeatException):
    msg_fmt = _("The Resource (%(resource_name)s) is not available.")


class ClientNotAvailable(HeatException):
    msg_fmt = _("The client (%(client_name)s) is not available.")


class KeystoneServiceNameConflict(HeatException):
    msg_fmt = _("Keystone has more than one service with same name %(service)s. Please use service id instead of name")


# --- the template and its parameters --------------------------------------------------------------------------------


class UserParameterMissing(HeatException):
    msg_fmt = _("The Parameter (%(key)s) was not provided.")


class UnknownUserParameter(HeatException):
    msg_fmt = _("The Parameter (%(key)s) was not defined in template.")


class ImmutableParameterModified(_Listed):
    msg_fmt = _("The following parameters are immutable and may not be updated: %(keys)s")
    _list_key = "keys"


class InvalidMergeStrategyForParam(HeatException):
    msg_fmt = _("Invalid merge strategy '%(strategy)s' for parameter '%(param)s'.")


class ConflictingMergeStrategyForParam(HeatException):
    msg_fmt = _("Conflicting merge strategy '%(strategy)s' for parameter '%(param)s' in file '%(env_file)s'.")


class InvalidTemplateVersion(HeatException):
    msg_fmt = _("The template version is invalid: %(explanation)s")


class InvalidTemplateVersions(HeatException):
    msg_fmt = _(
        "A template version alias %(version)s was added for a template class that has no official YYYY-MM-DD version."
    )


class InvalidTemplateSection(HeatException):
    msg_fmt = _("The template section is invalid: %(section)s")


class InvalidTemplateAttribute(HeatException):
    msg_fmt = _("The Referenced Attribute (%(resource)s %(key)s) is incorrect.")


class InvalidTemplateReference(HeatException):
    msg_fmt = _('The specified reference "%(resource)s" (in %(key)s) is incorrect.')


class InvalidExternalResourceDependency(HeatException):
    msg_fmt = _("Invalid dependency with external %(resource_type)s resource: %(external_id)s")


class CircularDependencyException(HeatException):
    msg_fmt = _("Circular Dependency Found: %(cycle)s")


class TemplateOutputError(HeatException):
    msg_fmt = _("Error in %(resource)s output %(attribute)s: %(message)s")


class InvalidGlobalResource(HeatException):
    msg_fmt = _("There was an error loading the definition of the global resource type %(type_name)s.")


class InvalidSchemaError(HeatException):
    msg_fmt = _("%(message)s")


class InvalidBreakPointHook(HeatException):
    msg_fmt = _("%(message)s")


class InvalidRestrictedAction(HeatException):
    msg_fmt = _("%(message)s")


class HeatExceptionWithPath(HeatException):
    """An error with the place in the template where it happened: ``Error: resources.a.properties[0]: text``."""

    msg_fmt = _("%(error)s%(path)s%(message)s")

    def __init__(
        self, error: str | None = None, path: list[Any] | str | None = None, message: str | None = None
    ) -> None:
        self.error = error or ""
        if isinstance(path, str):
            path = [path]
        self.path: list[Any] = path if isinstance(path, list) else []
        self.error_message = message or ""
        where = _join_path(self.path)
        super().__init__(
            error=f"{self.error}: " if self.error else "",
            path=f"{where}: " if where else "",
            message=self.error_message,
        )


def _join_path(path: list[Any]) -> str:
    joined = ""
    for item in map(str, path):
        if item.isdigit():
            joined += f"[{item}]"
        else:
            joined = f"{joined}.{item}" if joined else item
    return joined


class StackValidationFailed(HeatExceptionWithPath):
    """Wrapping another one of its kind lengthens its path; wrapping any other error names that error's class."""

    def __init__(
        self,
        error: str | BaseException | None = None,
        path: list[Any] | str | None = None,
        message: str | None = None,
        resource: Any = None,
    ) -> None:
        place = [path] if isinstance(path, str) else list(path or [])
        if resource is not None and not place:
            place = _resource_path(resource, resource.stack.t.RESOURCES)
        if isinstance(error, StackValidationFailed):
            message = error.error_message
            place = place + error.path
            error = error.error
        elif isinstance(error, BaseException):
            message = str(error)
            error = type(error).__name__
        super().__init__(error=error, path=place, message=message)


def _resource_path(resource: Any, section: str) -> list[Any]:
    return [resource.stack.t.get_section_name(section), resource.name]


# --- resources ------------------------------------------------------------------------------------------------------


class ResourceFailure(HeatExceptionWithPath):
    """What stopped an action of a resource: an error, or the status reason of another resource.

    ``exc`` is the error at the bottom. The path leads to it through all nested stacks.
    """

    def __init__(self, exception_or_error: BaseException | str, resource: Any, action: str | None = None) -> None:
        self.resource = resource
        self.action: str | None = resource.action if action is None and resource is not None else action
        self.exc: BaseException | None = None
        error: str | None = None
        own_path = [] if resource is None else _resource_path(resource, "resources")
        if isinstance(exception_or_error, ResourceFailure):
            self.exc = exception_or_error.exc
            error, message, path = (
                exception_or_error.error,
                exception_or_error.error_message,
                exception_or_error.path,
            )
        elif isinstance(exception_or_error, BaseException):
            self.exc = exception_or_error
            error, message, path = type(self.exc).__name__, str(self.exc), own_path
        elif f"Resource {(self.action or '').upper()} failed: " in exception_or_error:
            error, message, inner_path = self._from_status_reason(exception_or_error)
            path = own_path + inner_path
        else:
            message, path = exception_or_error, own_path
        super().__init__(error=error, path=path, message=message)

    def _from_status_reason(self, status_reason: str) -> tuple[str, str, list[Any]]:
        """Take ``Resource DELETE failed: Error: resources.a: text`` apart into error, text and path."""
        parts = [part.strip() for part in status_reason.split(":")]
        if len(parts) < 4:
            return "", status_reason, []
        return parts[1], ": ".join(parts[3:]), parts[2].split(".")

    def __deepcopy__(self, memo: dict[int, Any]) -> ResourceFailure:
        return _rebuild(type(self), dict(self.__dict__), self.args)  # type: ignore[return-value]


class ResourceTypeUnavailable(HeatException):
    error_code = "99001"


class ResourceActionNotSupported(HeatException):
    msg_fmt = _("%(action)s is not supported for resource.")


class ResourceActionRestricted(HeatException):
    msg_fmt = _("%(action)s is restricted for resource.")


class ResourcePropertyConflict(_Listed):
    msg_fmt = _("Cannot define the following properties at the same time: %(props)s.")
    _list_key = "props"


class ResourcePropertyDependency(HeatException):
    msg_fmt = _("%(prop1)s cannot be specified without %(prop2)s.")


class ResourcePropertyValueDependency(HeatException):
    msg_fmt = _("%(prop1)s property should only be specified for %(prop2)s with value %(value)s.")


class PropertyUnspecifiedError(_Listed):
    msg_fmt = _("At least one of the following properties must be specified: %(props)s.")
    _list_key = "props"


class UpdateReplace(Exception):
    """The resource cannot be updated in place. Plug-ins know it as ``heat.engine.resource.UpdateReplace``."""

    def __init__(self, resource_name: str = "Unknown") -> None:
        super().__init__(_("The Resource %s requires replacement.") % resource_name)


class UpdateInProgress(Exception):
    def __init__(self, resource_name: str = "Unknown") -> None:
        super().__init__(_("The resource %s is already being updated.") % resource_name)


class ResourceUnknownStatus(HeatException):
    msg_fmt = _('%(result)s - Unknown status %(resource_status)s due to "%(status_reason)s"')

    def __init__(self, result: str = _("Resource failed"), status_reason: str = _("Unknown"), **kwargs: Any) -> None:
        super().__init__(result=result, status_reason=status_reason, **kwargs)


class ResourceInError(HeatException):
    msg_fmt = _('Went to status %(resource_status)s due to "%(status_reason)s"')

    def __init__(self, status_reason: str = _("Unknown"), **kwargs: Any) -> None:
        super().__init__(status_reason=status_reason, **kwargs)


class EgressRuleNotAllowed(HeatException):
    msg_fmt = _("Egress rules are only allowed when Neutron is used and the 'VpcId' property is set.")


class InterfaceAttachFailed(HeatException):
    msg_fmt = _("Failed to attach interface (%(port)s) to server (%(server)s)")


class InterfaceDetachFailed(HeatException):
    msg_fmt = _("Failed to detach interface (%(port)s) from server (%(server)s)")


class UnableToAutoAllocateNetwork(HeatException):
    msg_fmt = _("Unable to automatically allocate a network: %(message)s")


# --- limits, running actions, services ------------------------------------------------------------------------------


class RequestLimitExceeded(HeatException):
    msg_fmt = _("Request limit exceeded: %(message)s")


class DownloadLimitExceeded(HeatException):
    msg_fmt = _("Permissible download limit exceeded: %(message)s")


class StackResourceLimitExceeded(HeatException):
    msg_fmt = _("Maximum resources per stack exceeded.")


class ActionInProgress(HeatException):
    msg_fmt = _("Stack %(stack_name)s already has an action (%(action)s) in progress.")


class ActionNotComplete(HeatException):
    msg_fmt = _("Stack %(stack_name)s has an action (%(action)s) in progress or failed state.")


class StopActionFailed(HeatException):
    msg_fmt = _("Failed to stop stack (%(stack_name)s) on other engine (%(engine_id)s)")


class EventSendFailed(HeatException):
    msg_fmt = _("Failed to send message to stack (%(stack_name)s) on other engine (%(engine_id)s)")


class ConcurrentTransaction(HeatException):
    msg_fmt = _("Concurrent transaction for %(action)s")


class InvalidEncryptionKey(HeatException):
    msg_fmt = _("Can not decrypt data with the auth_encryption_key in heat config.")


class InvalidContentType(HeatException):
    msg_fmt = _("Invalid content type %(content_type)s")


class InvalidServiceVersion(HeatException):
    msg_fmt = _("Invalid service %(service)s version %(version)s")


class SIGHUPInterrupt(HeatException):
    msg_fmt = _("System SIGHUP signal received.")


class HTTPExceptionDisguise(Exception):
    """Carries an HTTP error past code that catches ordinary ones; the fault middleware answers with what is in it."""

    safe = True

    def __init__(self, exception: Any) -> None:
        super().__init__(exception)
        self.exc = exception
        self.tb = sys.exc_info()[2]


# --- versioned objects: other processes may send them, nothing here raises them -------------------------------------


class UnsupportedObjectError(HeatException):
    msg_fmt = _("Unsupported object type %(objtype)s")


class OrphanedObjectError(HeatException):
    msg_fmt = _("Cannot call %(method)s on orphaned %(objtype)s object")


class IncompatibleObjectVersion(HeatException):
    msg_fmt = _("Version %(objver)s of %(objname)s is not supported")


class ObjectActionError(HeatException):
    msg_fmt = _("Object action %(action)s failed because: %(reason)s")


class ReadOnlyFieldError(HeatException):
    msg_fmt = _("Cannot modify readonly field %(field)s")


class ObjectFieldInvalid(HeatException):
    msg_fmt = _("Field %(field)s of %(objname)s is not an instance of Field")


# --- crossing the bus -----------------------------------------------------------------------------------------------

for _class in list(globals().values()):
    if isinstance(_class, type) and issubclass(_class, Exception) and _class.__module__ == __name__:
        _class.__module__ = WIRE_MODULE
del _class

_REMOTE_SUFFIX = "_Remote"


def is_remote(error: BaseException) -> bool:
    """Whether *error* was raised by another process and came over the bus."""
    return type(error).__name__.endswith(_REMOTE_SUFFIX)


def local_error_name(error: BaseException) -> str:
    """The class name of *error*, wherever it was raised."""
    return type(error).__name__.removesuffix(_REMOTE_SUFFIX)


def local_message(error: BaseException) -> str:
    """The text of *error* without the traceback that the bus appends to it."""
    if isinstance(error, HeatException):
        return error.message
    text = str(error)
    return text.split("\nTraceback (most recent call last):", 1)[0] if is_remote(error) else text
