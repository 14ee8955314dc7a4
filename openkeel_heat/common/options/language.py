# SPDX-License-Identifier: Apache-2.0
"""Options of our own: what a template, and what its functions make, may cost."""

from __future__ import annotations

from oslo_config import cfg

GROUP = "template_limits"

language: list[cfg.Opt] = [
    cfg.IntOpt(
        "max_nesting",
        default=100,
        min=10,
        max=200,
        help="How deep maps and lists may be nested in a template, an environment or the value of a JSON parameter, "
        "and how many conditions may hang on each other.",
    ),
    cfg.IntOpt(
        "max_expansion",
        default=8,
        min=1,
        help="How many times larger than max_template_size a YAML text may become when its aliases are expanded.",
    ),
    cfg.IntOpt(
        "max_value_size",
        default=8 * 1024 * 1024,
        min=1024,
        help="Characters, as JSON, that the functions of a template may make for one value: a property of a resource, "
        "or an output. What is made on the way to it counts too.",
    ),
    cfg.IntOpt(
        "max_total_size",
        default=256 * 1024 * 1024,
        min=1024,
        help="The same for all values together that one request makes (a validation, a preview, the start of an "
        "operation).",
    ),
    cfg.IntOpt(
        "max_collection_items",
        default=100_000,
        min=100,
        help="Items of one list or map that a function makes.",
    ),
    cfg.FloatOpt(
        "yaql_seconds",
        default=2.0,
        min=0.05,
        help="Seconds of CPU that one yaql expression may take. The match of an allowed_pattern whose cost cannot be "
        "told beforehand may take a quarter of it.",
    ),
    cfg.FloatOpt(
        "yaql_total_seconds",
        default=10.0,
        min=0.05,
        help="The same for all expressions and patterns together that one request evaluates.",
    ),
    cfg.IntOpt(
        "yaql_memory",
        default=512,
        min=128,
        help="Megabytes of address space that the process which evaluates expressions may have.",
    ),
    cfg.IntOpt(
        "yaql_processes",
        default=4,
        min=1,
        max=64,
        help="How many such processes an engine starts at most; none is started before it is needed.",
    ),
    cfg.BoolOpt(
        "refuse_duplicate_keys",
        default=False,
        help="Refuse a template or an environment in which a map has a key twice. If not, the last one counts.",
    ),
]

GROUPS: list[tuple[str | None, list[cfg.Opt]]] = [(GROUP, language)]
