# SPDX-License-Identifier: Apache-2.0
"""AWS::ElasticLoadBalancing::LoadBalancer: a nested stack with an instance that runs HAProxy (see :mod:`.haproxy`)."""

from __future__ import annotations

import os
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.aws.lb import haproxy
from openkeel_heat.resources.aws.lb.loadbalancer_schema import LoadBalancerSchema
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.stack_resource import StackResource
from openkeel_heat.template import text

LOG = logging.getLogger(__name__)

#: Parameters of the nested stack that are those of the stack around it, if it has them.
PASSED_ON = ("KeyName", "LbFlavor", "LBTimeout", "LbImageId")

IN_NO_SERVICE = "0.0.0.0"


class LoadBalancer(LoadBalancerSchema, StackResource):
    """Spreads HTTP requests over instances, by an instance of its own with HAProxy.

    The image needs heat-cfntools. Its name, flavor and key are parameters of the stack: LbImageId,
    LbFlavor, KeyName. The operator may have chosen another template by ``loadbalancer_template``.
    """

    # validation -------------------------------------------------------
    def validate(self) -> Any:
        result = super().validate()
        if result:
            return result
        path = cfg.CONF.loadbalancer_template
        if path and not os.access(path, os.R_OK):
            raise exception.StackValidationFailed(message=_("Custom LoadBalancer template can not be found"))
        check = self.properties[self.HEALTH_CHECK]
        if check and float(check[self.HEALTH_CHECK_INTERVAL]) < float(check[self.HEALTH_CHECK_TIMEOUT]):
            return {"Error": "Interval must be larger than Timeout"}
        return None

    # the nested stack -------------------------------------------------
    def get_parsed_template(self) -> dict[str, Any]:
        path = cfg.CONF.loadbalancer_template
        if not path:
            return haproxy.template()
        LOG.info("Using custom loadbalancer template %s", path)
        with open(path, encoding="utf-8") as file:
            return text.parse(file.read())

    def child_template(self) -> dict[str, Any]:
        template = self.get_parsed_template()
        if "KeyName" not in self.stack.parameters:
            del template["Resources"][haproxy.INSTANCE]["Properties"]["KeyName"]
            del template["Parameters"]["KeyName"]
        return template

    def child_params(self) -> dict[str, Any]:
        given = self.stack.parameters
        return {
            "SecurityGroups": self.properties[self.SECURITY_GROUPS],
            **{name: given[name] for name in PASSED_ON if name in given},
        }

    def _template_with_config(self) -> dict[str, Any]:
        template = self.child_template()
        instances = self.properties[self.INSTANCES]
        if instances:
            haproxy.set_config(template["Resources"][haproxy.INSTANCE]["Metadata"], self._haproxy_config(instances))
        return template

    def _haproxy_config(self, instances: list[str] | None) -> str:
        nova = self.client_plugin("nova")
        addresses = [nova.server_to_ipaddress(instance) or IN_NO_SERVICE for instance in instances or []]
        return haproxy.config(self.properties[self.LISTENERS][0], self.properties[self.HEALTH_CHECK], addresses)

    # create, update ---------------------------------------------------
    def handle_create(self) -> Any:
        return self.create_with_template(self._template_with_config(), self.child_params())

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Any:
        """Members go into the metadata of the instance, which looks at them; the rest updates the nested stack."""
        before = self.properties[self.INSTANCES]
        self.properties = json_snippet.properties(self.properties_schema, self.context)
        after = self.properties[self.INSTANCES]
        if self.INSTANCES in prop_diff and (before is not None or after is not None):
            instance = self.nested()[haproxy.INSTANCE]
            metadata = instance.metadata_get()
            haproxy.set_config(metadata, self._haproxy_config(after))
            instance.metadata_set(metadata)
        if self.SECURITY_GROUPS in prop_diff:
            return {"update": self.update_with_template(self._template_with_config(), self.child_params())}
        return None

    def check_update_complete(self, cookie: Any = None) -> bool:
        return cookie is None or super().check_update_complete(cookie["update"])

    # references -------------------------------------------------------
    def get_reference_id(self) -> Any:
        return str(self.name)

    def _resolve_attribute(self, name: str) -> Any:
        if name == self.DNS_NAME:
            try:
                return self.get_output("PublicIp")
            except exception.NotFound:
                raise exception.InvalidTemplateAttribute(resource=self.name, key=name) from None
        # The others have no meaning here.
        return "" if name in self.attributes_schema else None


def resource_mapping() -> dict[str, type[Resource]]:
    return {"AWS::ElasticLoadBalancing::LoadBalancer": LoadBalancer}
