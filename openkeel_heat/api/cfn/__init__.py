# SPDX-License-Identifier: Apache-2.0
"""The CloudFormation query API, and the signal and wait-condition URLs that instances call."""
