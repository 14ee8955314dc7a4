# SPDX-License-Identifier: Apache-2.0
"""CloudFormation templates: sections, parameters, functions."""
