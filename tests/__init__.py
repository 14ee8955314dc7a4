# SPDX-License-Identifier: Apache-2.0
"""Tests of openkeel-heat: unit, contract, functional, conformance, interop, crash."""
