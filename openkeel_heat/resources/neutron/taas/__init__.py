# SPDX-License-Identifier: Apache-2.0
"""Taps: copies of the traffic of ports."""
