# SPDX-License-Identifier: Apache-2.0
"""AWS::EC2 types, made of servers, volumes and networks of OpenStack."""
