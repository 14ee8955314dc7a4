# SPDX-License-Identifier: Apache-2.0
"""OS::Nova::*: servers and what belongs to them."""
