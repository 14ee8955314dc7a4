# SPDX-License-Identifier: Apache-2.0
"""The topic of the workers, as plug-ins know it (``heat.rpc.worker_api``)."""

from openkeel_heat.rpc.methods import WORKER as TOPIC

__all__ = ["TOPIC"]
