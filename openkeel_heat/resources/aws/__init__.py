# SPDX-License-Identifier: Apache-2.0
"""The types ``AWS::*``, a package for each family."""
