# SPDX-License-Identifier: Apache-2.0
"""Orchestration for OpenStack clouds.

Libraries that we use ask oslo.service what threads are made of as soon as they are imported; where no command has
chosen (tests, WSGI containers, tools) the answer is native threads.
"""

from oslo_service import backend

backend.register_backend_default_hook(lambda: backend.BackendType.THREADING)
