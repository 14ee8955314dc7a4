# SPDX-License-Identifier: Apache-2.0
"""What the scripts ``heat-wsgi-api`` and ``heat-wsgi-api-cfn`` do.

A WSGI container loads the script and takes its ``application``; run by hand it serves the application itself, for a
test: ``heat-wsgi-api [--host HOST] [--port PORT] [-- --config-file FILE]``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any


def application(prog: str) -> Callable[..., Any]:
    """The application of program ``prog``, with the configuration of its container."""
    from openkeel_heat.cmd import backend

    backend.select([])
    from openkeel_heat.api import wsgi

    return wsgi.init_application(prog)


def main(argv: Sequence[str], prog: str) -> int:
    parser = argparse.ArgumentParser(prog=prog, description="Serve the API for a test")
    parser.add_argument("--host", "-b", default="")
    parser.add_argument("--port", "-p", type=int, default=8000)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="-- arguments of the service")
    options = parser.parse_args(argv)
    rest = [word for word in options.arguments if word != "--"]
    from openkeel_heat.cmd import process

    conf = process.setup(rest, prog)
    from openkeel_heat.api import paste, server

    api = server.ApiServer(paste.load_app(prog, conf), options.host or "0.0.0.0", options.port)
    print(f"serving {prog} on port {api.port}", file=sys.stderr)
    try:
        api.serve_forever()
    except KeyboardInterrupt:
        api.stop(5)
    return 0
