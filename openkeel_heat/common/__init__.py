# SPDX-License-Identifier: Apache-2.0
"""What every package may use: options, contexts, errors, policy, identifiers. Imports nothing of the other packages."""
