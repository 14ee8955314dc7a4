# SPDX-License-Identifier: Apache-2.0
"""AWS::S3 types, made of containers of Swift."""
