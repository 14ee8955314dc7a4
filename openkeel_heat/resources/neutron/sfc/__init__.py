# SPDX-License-Identifier: Apache-2.0
"""Service chains: traffic led through service functions."""
