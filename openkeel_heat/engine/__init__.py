# SPDX-License-Identifier: Apache-2.0
"""What heat-engine does: stacks, operations on them, convergence, and the scheduler that runs it all."""
