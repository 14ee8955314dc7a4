# SPDX-License-Identifier: Apache-2.0
"""Between the processes: methods, their client, their server, the bus. :mod:`.methods` is the table of the contract."""
