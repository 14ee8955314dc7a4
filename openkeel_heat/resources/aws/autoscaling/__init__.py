# SPDX-License-Identifier: Apache-2.0
"""AWS::AutoScaling: groups, their launch configurations and policies."""
