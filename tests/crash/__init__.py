# SPDX-License-Identifier: Apache-2.0
"""Crash tests: an engine killed before and after each commit and each message. See tests/crash/driver.py."""
