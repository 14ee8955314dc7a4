# SPDX-License-Identifier: Apache-2.0
"""``heat-api-cfn``: the CloudFormation API as a daemon."""

from __future__ import annotations

import sys

from openkeel_heat.cmd import backend

PROG = "heat-api-cfn"
GROUP = "heat_api_cfn"


def main() -> int:
    backend.select()
    from openkeel_heat.cmd import process

    return process.serve_api(sys.argv[1:], PROG, GROUP)


if __name__ == "__main__":
    sys.exit(main())
