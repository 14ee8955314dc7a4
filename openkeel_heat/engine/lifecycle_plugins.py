# SPDX-License-Identifier: Apache-2.0
"""What an operator's plugins do before and after each operation on a stack (``heat.stack_lifecycle_plugins``).

``do_pre_op`` runs before anything of the operation is written, ``do_post_op`` after its end has been written, each in
the order of ``get_ordinal``, once per operation on each stack, nested stacks too. A ``do_pre_op`` that raises stops
the operation, and the plugins before it hear of the end at once. Nobody hears what a ``do_post_op`` raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oslo_log import log as logging

from openkeel_heat.resources.kit import registry

LOG = logging.getLogger(__name__)

_ORDINAL = 100
_known: tuple[Any, list[Any]] | None = None


class Refused(Exception):
    """A plugin does not want the operation; the text is the stack's reason to be FAILED."""


def plugins() -> list[Any]:
    """One object of each plugin, in order; none of those that cannot be made."""
    global _known
    env = registry.global_env()
    known = _known
    if known is None or known[0] is not env:
        made = []
        for name, plugin_class in env.get_stack_lifecycle_plugins():
            try:
                plugin = plugin_class()
                ordinal = plugin.get_ordinal() if callable(getattr(plugin, "get_ordinal", None)) else _ORDINAL
                made.append((ordinal, plugin))
            except Exception:
                LOG.exception("Stack lifecycle plugin %s cannot be used", name)
        made.sort(key=lambda one: one[0])
        _known = known = env, [plugin for _ordinal, plugin in made]
    return known[1]


def before(context: Any, stack: Any, new_stack: Any, action: str) -> None:
    """Let all plugins do what they do before an operation; Refused when one of them objects."""
    done: list[Any] = []
    for plugin in plugins():
        try:
            if callable(getattr(plugin, "do_pre_op", None)):
                plugin.do_pre_op(context, stack, new_stack, action)
        except Exception as error:
            LOG.exception("%s stopped %s of stack %s", type(plugin).__name__, action, stack.name)
            _after(done, context, stack, new_stack, action, True)
            raise Refused(str(error.args[0] if error.args else error)) from error
        done.append(plugin)


def after(context: Any, stack: Any, new_stack: Any, action: str, failed: bool) -> None:
    """Let all plugins do what they do after an operation."""
    _after(plugins(), context, stack, new_stack, action, failed)


def _after(called: Sequence[Any], context: Any, stack: Any, new_stack: Any, action: str, failed: bool) -> None:
    for plugin in called:
        try:
            if callable(getattr(plugin, "do_post_op", None)):
                plugin.do_post_op(context, stack, new_stack, action, failed)
        except Exception:
            LOG.exception("%s failed after %s of stack %s", type(plugin).__name__, action, stack.name)
