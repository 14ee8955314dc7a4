# SPDX-License-Identifier: Apache-2.0
"""AWS::ElasticLoadBalancing: load balancers that are instances."""
