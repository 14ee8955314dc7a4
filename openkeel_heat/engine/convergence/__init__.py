# SPDX-License-Identifier: Apache-2.0
"""Convergence: the graph of a stack's change, processed node by node by any engine.

============ =====================================================================================================
packing      pure: tuples as keys of stored data
plan         pure: rows and template in; nodes, edges and decisions out
traversal    a traversal is started: one transaction, then its leaves run
node         one node: load, decide, run the life-cycle generator, hand the result on
sync         results are merged into sync points in batches; what is ready runs here or is cast
writer       group commit of state changes: nodes that are due together share a transaction
completion   the end of a traversal: complete, failed, rolled back, purged
cancel       traversals are stopped, running nodes are cancelled
locks        who holds a resource, and is that engine alive
recovery     work of dead engines is adopted, lost nodes are issued again, clocks are watched
worker       the ``engine_worker`` topic
============ =====================================================================================================
"""

from __future__ import annotations
