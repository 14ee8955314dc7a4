# SPDX-License-Identifier: Apache-2.0
"""Types of objects and their containers (OS::Swift)."""
