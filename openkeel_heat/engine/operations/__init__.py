# SPDX-License-Identifier: Apache-2.0
"""What an engine can be asked to do with stacks, one module per kind; ``engine/service`` hands calls over to here."""
