# SPDX-License-Identifier: Apache-2.0
"""Findings as text, JSON and SARIF 2.1.0."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any
from urllib import parse as urlparse

from openkeel_heat.lint.finding import ERROR, Finding
from openkeel_heat.lint.rules import RULES

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
TOOL = "openkeel-heat-lint"


def counts(findings: Sequence[Finding]) -> tuple[int, int]:
    """Number of errors and of warnings."""
    errors = sum(1 for finding in findings if finding.severity == ERROR)
    return errors, len(findings) - errors


def _number(count: int, noun: str) -> str:
    return "%d %s%s" % (count, noun, "" if count == 1 else "s")


def as_text(findings: Sequence[Finding]) -> str:
    """One line for each finding, and one that counts them."""
    lines = [
        "%s:%d:%d: %s: %s [%s]"
        % (finding.file, finding.line, finding.column, finding.severity, finding.message, finding.rule)
        for finding in findings
    ]
    errors, warnings = counts(findings)
    lines.append("%s, %s" % (_number(errors, "error"), _number(warnings, "warning")) if findings else "nothing found")
    return "\n".join(lines) + "\n"


def as_json(findings: Sequence[Finding]) -> str:
    """An object with all findings and their numbers."""
    errors, warnings = counts(findings)
    return (
        json.dumps(
            {
                "findings": [
                    {
                        "file": finding.file,
                        "line": finding.line,
                        "column": finding.column,
                        "severity": finding.severity,
                        "rule": finding.rule,
                        "message": finding.message,
                        "path": finding.path,
                    }
                    for finding in findings
                ],
                "errors": errors,
                "warnings": warnings,
            },
            indent=2,
        )
        + "\n"
    )


def _uri(file: str) -> str:
    if os.path.isabs(file):
        return "file://" + urlparse.quote(file)
    return urlparse.quote(file.replace(os.sep, "/"))


def _sarif_result(finding: Finding, index: dict[str, int]) -> dict[str, Any]:
    place: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(finding.file)},
            "region": {"startLine": finding.line, "startColumn": finding.column},
        }
    }
    if finding.path:
        place["logicalLocations"] = [{"fullyQualifiedName": finding.path}]
    return {
        "ruleId": finding.rule,
        "ruleIndex": index[finding.rule],
        "level": finding.severity,
        "message": {"text": finding.message},
        "locations": [place],
    }


def as_sarif(findings: Sequence[Finding]) -> str:
    """A log of one run, for services that show findings beside the code."""
    index = {id: number for number, id in enumerate(RULES)}
    driver = {
        "name": TOOL,
        "rules": [
            {
                "id": rule.id,
                "shortDescription": {"text": rule.summary},
                "defaultConfiguration": {"level": rule.severity},
            }
            for rule in RULES.values()
        ],
    }
    log = {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [_sarif_result(finding, index) for finding in findings],
            }
        ],
    }
    return json.dumps(log, indent=2) + "\n"


REPORTERS: dict[str, Callable[[Sequence[Finding]], str]] = {"text": as_text, "json": as_json, "sarif": as_sarif}
