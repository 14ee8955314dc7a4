# SPDX-License-Identifier: Apache-2.0
"""The types ``OS::Heat::*``, a module for each."""
