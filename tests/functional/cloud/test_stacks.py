# SPDX-License-Identifier: Apache-2.0
"""Stacks with objects of several services, on ours and on Heat 27.0.1."""

from __future__ import annotations

import pytest

from tests.fixtures.comparison import Both

pytestmark = [pytest.mark.cloud, pytest.mark.keystone, pytest.mark.services]

VOLUME = """
heat_template_version: 2018-08-31
parameters:
  size: {type: number, default: 1}
  text: {type: string, default: one}
resources:
  volume:
    type: OS::Cinder::Volume
    properties: {size: {get_param: size}, description: {get_param: text}}
outputs:
  size: {value: {get_attr: [volume, size]}}
  reference: {value: {get_resource: volume}}
"""


def test_a_volume(both: Both) -> None:
    pair = both.create(VOLUME).compare()
    pair.update(VOLUME, parameters={"text": "two", "size": 2}).compare()
    pair.action("check", "CHECK_COMPLETE").compare()
    pair.delete()
