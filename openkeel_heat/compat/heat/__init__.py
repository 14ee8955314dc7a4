# SPDX-License-Identifier: Apache-2.0
"""The import name ``heat``, for what lives outside of this project: plug-ins, paste files, remote errors.

There is no code here. ``openkeel_heat.compat.table`` says which module of ours stands behind each ``heat.*`` name.
"""

from openkeel_heat.compat import finder

finder.install()
