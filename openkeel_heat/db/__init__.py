# SPDX-License-Identifier: Apache-2.0
"""SQL at rest: tables, and named operations on them, each of which is one transaction (:mod:`.session`)."""
