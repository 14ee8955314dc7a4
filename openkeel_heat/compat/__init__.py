# SPDX-License-Identifier: Apache-2.0
"""The names of ``heat.*`` that others rely on.

:mod:`~openkeel_heat.compat.table` maps them, :mod:`~openkeel_heat.compat.finder` imports by the map. Nothing of ours
imports ``heat.*`` but through the names that the bus and configuration files carry.
"""
