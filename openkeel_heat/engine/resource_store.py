# SPDX-License-Identifier: Apache-2.0
"""The store of ``openkeel_heat.resources.kit.store``: what a plugin writes about its resource is committed at once."""
from __future__ import annotations


class DbResourceStore:
    """``ResourceStore`` of the plugin kit over ``openkeel_heat.db``; stateless, one for the process."""
