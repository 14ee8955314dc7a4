# SPDX-License-Identifier: Apache-2.0
"""Is a stack sound? Template, parameters, conditions, each resource's properties, outputs; with Heat's messages."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.template import limits
from openkeel_heat.template.parameter_groups import ParameterGroups
from openkeel_heat.template.sandbox import SandboxError

if TYPE_CHECKING:
    from openkeel_heat.engine.stack import Stack

LOG = logging.getLogger(__name__)

#: Whether the validation of a stack around this one tells errors.
_telling: contextvars.ContextVar[bool] = contextvars.ContextVar("telling", default=False)


def validate(stack: Stack, ignorable_errors: Collection[str] | None = None, templates_only: bool = False) -> None:
    """Raise what is wrong. ``templates_only``: resources as templates, with values that may be missing."""
    with limits.request(), told():
        _validate(stack, ignorable_errors, templates_only)


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Errors of functions and plug-ins whose text a client would not see become errors whose text it sees.

    Those in a nested stack go up as they are: the resource that has the stack adds what they are, and where.
    """
    if _telling.get():
        yield
        return
    token = _telling.set(True)
    try:
        yield
    except exceptions.HeatException:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, SandboxError) as error:
        LOG.info("Exception in stack validation", exc_info=True)
        raise exceptions.StackValidationFailed(message=str(error)) from error
    finally:
        _telling.reset(token)


def _validate(stack: Stack, ignorable_errors: Collection[str] | None, templates_only: bool) -> None:
    template = stack.t
    template.validate()
    stack.parameters.validate(context=stack.context, validate_value=stack.strict_validate)
    ParameterGroups(template).validate()
    stack.defn.conditions.validate()
    resources = stack.resources

    duplicates = set(stack.parameters) & set(resources)
    if duplicates:
        raise exceptions.StackValidationFailed(message=_("Duplicate names %s") % duplicates)

    stack.load_resource_data(for_resources=True, for_outputs=True)
    for name in _order(stack):
        _validate_resource(resources[name], ignorable_errors, templates_only)
    _validate_outputs(stack)


def _order(stack: Stack) -> list[str]:
    """Names with what they require before them; raises when there is a cycle."""
    from openkeel_heat.engine import edges

    graph = stack.dependencies if stack.strict_validate else edges.dependencies(stack, explicit_only=True)
    try:
        return list(graph)
    except exceptions.CircularDependencyException:
        list(graph.translate(stack.resources.__getitem__))  # raises the same with resources instead of names
        raise


def _validate_resource(resource: Any, ignorable_errors: Collection[str] | None, templates_only: bool) -> None:
    result = None
    try:
        if not templates_only:
            if resource.external_id is not None:
                resource.validate_external()
                return
            result = resource.validate()
        elif resource.external_id is None:
            result = resource.validate_template()
    except (exceptions.ResourcePropertyDependency, exceptions.ResourcePropertyValueDependency) as error:
        # a fault of the template, though their names are not among those that the API knows as such
        raise exceptions.StackValidationFailed(message=str(error)) from error
    except exceptions.HeatException as error:
        if not (ignorable_errors and error.error_code in ignorable_errors):
            raise
    except AssertionError:
        raise
    except Exception as error:
        LOG.info("Exception in stack validation", exc_info=True)
        raise exceptions.StackValidationFailed(error=error, resource=resource) from error
    if result:
        raise exceptions.StackValidationFailed(message=result)


def _validate_outputs(stack: Stack) -> None:
    template = stack.t
    for name, output in stack.outputs.items():
        try:
            output.validate()
        except exceptions.StackValidationFailed as error:
            path = [template.OUTPUTS, name, template.get_section_name(error.path[0]), *error.path[1:]]
            raise exceptions.StackValidationFailed(error=error.error, path=path, message=error.error_message) from error
