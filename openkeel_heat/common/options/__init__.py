# SPDX-License-Identifier: Apache-2.0
"""The options of the service, one module per family.

Each module has ``GROUPS``: pairs of a group (``None`` for DEFAULT) and its options. The names, types and defaults are
those of heat.conf; :mod:`openkeel_heat.common.config` registers them and the sample generator lists them.
"""
