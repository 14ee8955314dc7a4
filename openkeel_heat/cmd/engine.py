# SPDX-License-Identifier: Apache-2.0
"""``heat-engine``: the processes that do the work."""

from __future__ import annotations

import sys

from openkeel_heat.cmd import backend

PROG = "heat-engine"


def worker_count(wanted: int | None) -> int:
    """``[DEFAULT] num_engine_workers``; unset means one per processor, but at least four."""
    if wanted:
        return wanted
    from oslo_concurrency import processutils

    return max(4, int(processutils.get_worker_count()))


def main() -> int:
    chosen = backend.select()
    from openkeel_heat.cmd import process, workers

    conf = process.setup(sys.argv[1:], PROG)
    process.config.startup_sanity_check(conf)
    process.preload_engine()
    return workers.run(conf, lambda: process.make_engine(conf), worker_count(conf.num_engine_workers), chosen)


if __name__ == "__main__":
    sys.exit(main())
