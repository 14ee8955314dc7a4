# SPDX-License-Identifier: Apache-2.0
"""``heat-status upgrade check``: is this installation ready for the next release?"""

from __future__ import annotations

import sys

from oslo_config import cfg
from oslo_upgradecheck import common_checks, upgradecheck

from openkeel_heat.common.i18n import _


class Checks(upgradecheck.UpgradeCommands):
    """The checks, by the names under which they are shown."""

    _upgrade_checks = (
        (_("Policy File JSON to YAML Migration"), (common_checks.check_policy_json, {"conf": cfg.CONF})),
    )


def main() -> int:
    return int(upgradecheck.main(cfg.CONF, project="heat", upgrade_command=Checks(), argv=sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
