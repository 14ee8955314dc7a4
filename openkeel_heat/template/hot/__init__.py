# SPDX-License-Identifier: Apache-2.0
"""HOT: the versions with their sections, parameters and functions."""
