# SPDX-License-Identifier: Apache-2.0
"""Calling an engine: ``EngineClient().show_stack(context, identity)``.

Each method of the table is a method here. It takes the context and the client's arguments, sends the message with its
version, and answers what the engine answers; an error of the engine is raised as a class named ``<Name>_Remote``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from openkeel_heat.common import exceptions
from openkeel_heat.rpc import messaging, methods


class Client:
    """What the clients of all topics share: a topic, perhaps one server of it, and messages with a version."""

    topic: str
    BASE_RPC_API_VERSION = methods.BASE_VERSION

    def __init__(self, server: str | None = None) -> None:
        self.server = server

    @staticmethod
    def make_msg(method: str, **kwargs: Any) -> tuple[str, dict[str, Any]]:
        return method, kwargs

    def call(
        self,
        ctxt: Any,
        msg: tuple[str, dict[str, Any]],
        version: str | None = None,
        timeout: float | None = None,
    ) -> Any:
        method, arguments = msg
        return messaging.send(
            messaging.Message("call", self.topic, method, arguments, version or self.BASE_RPC_API_VERSION, self.server),
            ctxt,
            timeout,
        )

    def cast(self, ctxt: Any, msg: tuple[str, dict[str, Any]], version: str | None = None) -> None:
        method, arguments = msg
        messaging.send(
            messaging.Message("cast", self.topic, method, arguments, version or self.BASE_RPC_API_VERSION, self.server),
            ctxt,
        )

    # errors

    def local_error_name(self, error: BaseException) -> str:
        return exceptions.local_error_name(error)

    @contextmanager
    def ignore_error_by_name(self, name: str) -> Iterator[None]:
        """Go on behind an error of that class, wherever it was raised."""
        try:
            yield
        except Exception as error:
            if exceptions.local_error_name(error) != name:
                raise


def client_method(method: methods.Method) -> Callable[..., Any]:
    """The client's side of a row of the table."""
    signature = method.client_signature or method.signature

    def send(self: Client, ctxt: Any, /, *args: Any, **kwargs: Any) -> Any:
        arguments = method.message(*args, **kwargs)
        message = (method.name, arguments)
        if method.kind == "cast":
            return self.cast(ctxt, message, version=method.version)
        timeout = arguments[method.timeout_argument] if method.timeout_argument else None
        return self.call(ctxt, message, version=method.version, timeout=timeout)

    send.__name__ = send.__qualname__ = method.name
    send.__doc__ = f"Send ``{method.name}`` {method.version}; answers: {method.reply or 'nothing'}."
    own = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("self", "ctxt")]
    send.__signature__ = inspect.Signature(own + list(signature.parameters.values()))  # type: ignore[attr-defined]
    return send


def _with_table(table: dict[str, methods.Method]) -> Callable[[type], type]:
    def decorate(cls: type) -> type:
        for name, method in table.items():
            if name not in cls.__dict__:
                setattr(cls, name, client_method(method))
        return cls

    return decorate


@_with_table(methods.ENGINE_METHODS)
class EngineClient(Client):
    """Any engine of the cloud."""

    topic = methods.ENGINE

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]: ...

    def delete_stack(self, ctxt: Any, stack_identity: Any, cast: bool = False) -> Any:
        """Delete a stack; with *cast* do not wait until an engine has begun."""
        method = methods.ENGINE_METHODS["delete_stack"]
        message = (method.name, method.message(stack_identity))
        if cast:
            return self.cast(ctxt, message, version=method.version)
        return self.call(ctxt, message, version=method.version)

    @functools.cached_property
    def _nested(self) -> dict[str, Callable[..., Any]]:
        import dataclasses

        return {
            name: client_method(dataclasses.replace(methods.ENGINE_METHODS[name], client_signature=None))
            for name in ("create_stack", "update_stack")
        }

    def _create_stack(self, ctxt: Any, *args: Any, **kwargs: Any) -> Any:
        """Create a nested stack: takes every argument of the server."""
        return self._nested["create_stack"](self, ctxt, *args, **kwargs)

    def _update_stack(self, ctxt: Any, *args: Any, **kwargs: Any) -> Any:
        """Update a nested stack: takes every argument of the server."""
        return self._nested["update_stack"](self, ctxt, *args, **kwargs)
