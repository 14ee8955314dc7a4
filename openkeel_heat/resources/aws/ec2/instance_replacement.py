# SPDX-License-Identifier: Apache-2.0
"""What an AWS::EC2::Instance lets go for the one that replaces it: interfaces and volumes that the template gives it.

An interface is that of one instance, and so is a volume. They are taken from the instance before it is replaced, and
given back when a rollback returns to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.resources.aws.ec2 import instance_schema as schema
from openkeel_heat.resources.aws.ec2.unshown import UnshownResource
from openkeel_heat.resources.cinder import any_volume
from openkeel_heat.resources.kit.succession import as_it_was_made
from openkeel_heat.resources.kit.work import Step, Work

Nics = list[dict[str, str]]


class InstanceReplacement(UnshownResource):
    # Those of the instance.
    def volumes(self) -> list[tuple[str, str]]:
        raise NotImplementedError

    def _build_nics(self, network_interfaces: Any) -> Nics | None:
        raise NotImplementedError

    def _detaching(self, port_ids: Iterable[str]) -> list[Step]:
        raise NotImplementedError

    def _attaching(self, nics: Nics) -> list[Step]:
        raise NotImplementedError

    def _given_nics(self) -> Nics:
        return self._build_nics(self.properties[schema.NETWORK_INTERFACES]) or []

    def _can_give_away(self) -> bool:
        """Whether there is an instance of which the compute service lets something be taken."""
        if self.resource_id is None:
            return False
        with self.client_plugin().ignore_not_found:
            return bool(self.client_plugin().show_server(self.resource_id).status != "ERROR")
        return False

    def _giving_away(self) -> list[Step]:
        steps: list[Step] = []
        with as_it_was_made(self):
            for volume_id, _device in self.volumes():
                steps += any_volume.detaching(self, str(self.resource_id), volume_id, volume_id)
            return [*steps, *self._detaching(nic["port-id"] for nic in self._given_nics())]

    def prepare_for_replace(self) -> Work:
        return Work(*self._giving_away()) if self._can_give_away() else Work()

    def check_prepare_for_replace_complete(self, work: Work) -> bool:
        return work.go_on()

    def restore_prev_rsrc(self, convergence: bool = False) -> Work:
        work = Work()
        other = self.stack.replacement_of(self)
        if isinstance(other, InstanceReplacement) and other.resource_id is not None:
            work = Work(other._is_built, lambda: work.then(*(other._giving_away() if other._can_give_away() else ())))
        work.last(lambda: work.then(*self._taking_back()))
        return work

    def check_restore_prev_rsrc_complete(self, work: Work) -> bool:
        return work.go_on()

    def _is_built(self) -> bool:
        """An instance can be made to give something away only after that."""
        try:
            with self.client_plugin().ignore_not_found:
                return bool(self.client_plugin()._check_active(self.resource_id, "Instance"))
        except exception.ResourceInError:
            return True
        return True

    def _taking_back(self) -> list[Step]:
        server_id = str(self.resource_id)
        there = {interface["port_id"] for interface in self.client_plugin().interfaces(server_id)}
        with as_it_was_made(self):
            steps = self._attaching([nic for nic in self._given_nics() if nic["port-id"] not in there])
            for volume_id, device in self.volumes():
                steps += any_volume.attaching(self, server_id, volume_id, device, again=True)
        return steps
