# SPDX-License-Identifier: Apache-2.0
"""One module per command. Only here is it known what threads are made of."""
