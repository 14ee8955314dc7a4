# SPDX-License-Identifier: Apache-2.0
"""WSGI filters in front of the APIs: plain WSGI callables, in the order that an api-paste file gives."""
