# SPDX-License-Identifier: Apache-2.0
"""WSGI filters in front of the APIs.  All are plain WSGI callables and work in any order that an api-paste file gives."""
