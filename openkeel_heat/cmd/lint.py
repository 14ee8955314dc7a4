# SPDX-License-Identifier: Apache-2.0
"""``openkeel-heat-lint template.yaml [-e env.yaml]…``: what is wrong with a template, without a cloud.

Exit status: 0 nothing to object to, 1 findings of severity error (with
``--strict``: any), 2 wrong usage or a file that cannot be read.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

CLEAN, FOUND, FAILED = 0, 1, 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="openkeel-heat-lint",
        description="Find what is wrong with templates, without a cloud.",
        epilog="Exit status: 0 if there is nothing to object to, 1 if there are errors (with --strict: findings of any "
        "kind), 2 for wrong usage and files that cannot be read.",
    )
    parser.add_argument("templates", nargs="*", metavar="TEMPLATE", help="file of a template; - is the standard input")
    parser.add_argument(
        "-e",
        "--environment",
        action="append",
        default=[],
        metavar="FILE",
        help="environment file to look at with the templates; may be given repeatedly, later ones win",
    )
    parser.add_argument("-f", "--format", choices=("text", "json", "sarif"), default="text", help="form of the output")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there and not to standard output")
    parser.add_argument("--strict", action="store_true", help="let warnings fail, too")
    parser.add_argument("--disable", action="append", default=[], metavar="RULE", help="rule to leave out")
    parser.add_argument(
        "--plugin-dir",
        action="append",
        default=[],
        metavar="DIR",
        help="directory of plug-ins with further resource types; their code is run",
    )
    parser.add_argument("--list-rules", action="store_true", help="show all rules")
    return parser


class _AboutPlugins(logging.Handler):
    """What the author of a plug-in has to know, a line each on the standard error."""

    def __init__(self, prog: str, directories: Sequence[str]) -> None:
        super().__init__(logging.WARNING)
        self._prog = prog
        self._directories = tuple(os.path.join(os.path.abspath(one), "") for one in directories)

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            text += ": %s%s: %s" % (self._place(error), type(error).__name__, error)
        print("%s: %s" % (self._prog, text), file=sys.stderr)

    def _place(self, error: BaseException) -> str:
        """The line of the plug-in that the error came from."""
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if os.path.abspath(frame.filename).startswith(self._directories)
        ]
        return "%s:%s: " % (frames[-1].filename, frames[-1].lineno) if frames else ""


def _plugin_types(prog: str, directories: Sequence[str]) -> Any:
    if not directories:
        return None
    from openkeel_heat.lint import catalogue, runner

    for directory in directories:
        if not os.path.isdir(directory):
            raise runner.CannotRead("%s: not a directory" % directory)
    kit = logging.getLogger("openkeel_heat.resources.kit")
    handler = _AboutPlugins(prog, directories)
    kit.addHandler(handler)
    try:
        return catalogue.of_plugins(directories)
    finally:
        kit.removeHandler(handler)


def _list_rules() -> None:
    from openkeel_heat.lint.rules import RULES

    for rule in RULES.values():
        print("%-31s %-8s %s" % (rule.id, rule.severity, rule.summary))


def main(argv: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(argv)
    # problems are findings, so the language need not log them as well
    logging.getLogger("openkeel_heat").addHandler(logging.NullHandler())
    if options.list_rules:
        _list_rules()
        return CLEAN
    if not options.templates:
        parser.error("a template is needed")
    from openkeel_heat.lint import reporters, runner
    from openkeel_heat.lint.rules import RULES

    for name in options.disable:
        if name not in RULES:
            parser.error("there is no rule %s" % name)
    if [*options.templates, *options.environment].count(runner.STDIN) > 1:
        parser.error("the standard input can be read once")
    findings = []
    try:
        plugin_types = _plugin_types(parser.prog, options.plugin_dir)
        for template in options.templates:
            findings += runner.lint(template, options.environment, options.disable, plugin_types)
    except runner.CannotRead as exc:
        print("%s: %s" % (parser.prog, exc), file=sys.stderr)
        return FAILED
    # an environment that is given with several templates is looked at with each of them
    findings = list(dict.fromkeys(findings))
    report = reporters.REPORTERS[options.format](findings)
    if options.output is None:
        sys.stdout.write(report)
    else:
        try:
            with open(options.output, "w", encoding="utf-8") as file:
                file.write(report)
        except OSError as exc:
            print("%s: %s: %s" % (parser.prog, options.output, exc.strerror), file=sys.stderr)
            return FAILED
    errors, warnings = reporters.counts(findings)
    return FOUND if errors or (options.strict and warnings) else CLEAN


if __name__ == "__main__":
    sys.exit(main())
