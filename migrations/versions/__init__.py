# SPDX-License-Identifier: Apache-2.0
"""One module per revision; each says what it changes."""
