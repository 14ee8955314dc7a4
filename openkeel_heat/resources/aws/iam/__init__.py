# SPDX-License-Identifier: Apache-2.0
"""AWS::IAM: users and their keys."""
