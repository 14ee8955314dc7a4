# SPDX-License-Identifier: Apache-2.0
"""Types of volumes and what belongs to them (OS::Cinder)."""
