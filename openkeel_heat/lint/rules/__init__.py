# SPDX-License-Identifier: Apache-2.0
"""The table of rules; one module per family."""

from __future__ import annotations

from openkeel_heat.lint.finding import ERROR
from openkeel_heat.lint.rules import (  # noqa: F401  (each enters its rules)
    attributes,
    conditions,
    environments,
    functions,
    parameters,
    properties,
    references,
    structure,
    types,
)
from openkeel_heat.lint.rules.table import ENVIRONMENT_RULES, TEMPLATE_RULES, Rule

#: found before there is a template to look at
READING_RULES = {
    "syntax": Rule("syntax", ERROR, "The text is neither YAML nor JSON, or exceeds a limit.", None),
    "template-version": Rule("template-version", ERROR, "The template names no version of the language.", None),
}

#: all rules by their ids, in the order in which they are documented
RULES: dict[str, Rule] = {**READING_RULES, **TEMPLATE_RULES, **ENVIRONMENT_RULES}
