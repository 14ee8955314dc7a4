# SPDX-License-Identifier: Apache-2.0
"""Servers and what belongs to them, on ours and on Heat 27.0.1 over the same Nova (fake driver) and Neutron."""

from __future__ import annotations

import base64
import email
import json
import re
import urllib.parse
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.fixtures.api import Stack
from tests.fixtures.comparison import Both
from tests.fixtures.polling import until

pytestmark = [pytest.mark.cloud, pytest.mark.keystone, pytest.mark.services]

NETWORK = """
  net:
    type: OS::Neutron::Net
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.7.0.0/24, gateway_ip: null}
"""

OUTPUTS = """
outputs:
  addresses: {value: {get_attr: [server, addresses]}}
  networks: {value: {get_attr: [server, networks]}}
  first: {value: {get_attr: [server, first_address]}}
  name: {value: {get_attr: [server, name]}}
  console: {value: {get_attr: [server, console_urls, novnc]}}
  nonsense: {value: {get_attr: [server, console_urls, telepathy]}}
  reference: {value: {get_resource: server}}
"""

SERVER = (
    """
heat_template_version: 2018-08-31
parameters:
  flavor: {type: string, default: m1.tiny}
  image: {type: string, default: cirros}
  name: {type: string, default: web}
  metadata: {type: json, default: {role: web, count: 3}}
  tags: {type: comma_delimited_list, default: [a, b]}
resources:
  server:
    type: OS::Nova::Server
    properties:
      name: {get_param: name}
      flavor: {get_param: flavor}
      image: {get_param: image}
      metadata: {get_param: metadata}
      tags: {get_param: tags}
      networks: [{network: {get_resource: net}}]
      user_data_format: RAW
      user_data: |
        #!/bin/sh
        echo hello
"""
    + NETWORK
    + OUTPUTS
)


#: Each look at a console makes another one.
IGNORE = {"outputs.console", "server.console_urls"}


def test_a_server(both: Both) -> None:
    """Each property that can be changed in place, and each action."""
    pair = both.create(SERVER).compare(IGNORE)
    changed = {"name": "web2", "metadata": {"role": "db", "list": [1, 2]}, "tags": "b,c"}
    pair.update(SERVER, parameters=changed).compare(IGNORE)
    pair.update(SERVER, parameters={**changed, "flavor": "m1.small"}).compare(IGNORE)
    pair.action("check", "CHECK_COMPLETE").compare(IGNORE)
    pair.action("suspend", "SUSPEND_COMPLETE").compare(IGNORE)
    pair.action("resume", "RESUME_COMPLETE").compare(IGNORE)
    pair.delete()


# Addresses that tests ask for are none that the service gives by itself. Its range is not written as addresses: those
# that a template says are compared to the letter.
AROUND = """
  given: {type: OS::Neutron::Port, depends_on: subnet, properties: {network: {get_resource: net}}}
  given2: {type: OS::Neutron::Port, depends_on: subnet, properties: {network: {get_resource: net}}}
  group: {type: OS::Neutron::SecurityGroup}
  router: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  routed:
    type: OS::Neutron::RouterInterface
    properties: {router: {get_resource: router}, subnet: {get_resource: subnet}}
  outside: {type: OS::Neutron::FloatingIP, depends_on: routed, properties: {floating_network: public}}
  outside2: {type: OS::Neutron::FloatingIP, depends_on: routed, properties: {floating_network: public}}
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties:
      network: {get_resource: net}
      cidr: 10.7.0.0/24
      gateway_ip: 10.7.0.1
      allocation_pools:
        - start: {str_replace: {template: 10.7.0.N, params: {N: 100}}}
          end: {str_replace: {template: 10.7.0.N, params: {N: 250}}}
  net2: {type: OS::Neutron::Net}
  subnet2:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net2}, cidr: 10.8.0.0/24, gateway_ip: null}
"""

#: Whose types have tests of their own.
OTHERS = {"given", "given2", "group", "router", "routed", "outside", "outside2", "net", "subnet", "net2", "subnet2"}


def servers(networks: dict[str, str], **properties: str) -> str:
    """A template with a server for each of the networks, all of what they may refer to, and their addresses."""
    text = "heat_template_version: 2018-08-31\nresources:\n"
    outputs = "outputs:\n"
    for name, value in networks.items():
        text += f"  {name}:\n    type: OS::Nova::Server\n    properties:\n      networks: {value}\n"
        for key, other in {"flavor": "m1.tiny", "image": "cirros", **properties}.items():
            text += f"      {key}: {other}\n"
        outputs += f"  {name}: {{value: {{get_attr: [{name}, addresses]}}}}\n"
        outputs += f"  {name}_networks: {{value: {{get_attr: [{name}, networks]}}}}\n"
    return text + AROUND + outputs


def ignore(networks: dict[str, str]) -> set[str]:
    """Of floating addresses, each the second of its network here, 27.0.1 tells no port."""
    return {*OTHERS, "*.addresses.*.1.port", "outputs.*.1.port", *(f"{name}.console_urls" for name in networks)}


def test_networks_in_every_form(both_apart: Both) -> None:
    forms = {
        "by_network": "[{network: {get_resource: net}}]",
        "address": "[{network: {get_resource: net}, fixed_ip: 10.7.0.77}]",
        "by_subnet": "[{subnet: {get_resource: subnet}}]",
        "subnet_address": "[{subnet: {get_resource: subnet}, fixed_ip: 10.7.0.78}]",
        "network_subnet": "[{network: {get_resource: net}, subnet: {get_resource: subnet}}]",
        "port": "[{port: {get_resource: given}}]",
        "extra": "[{network: {get_resource: net}, port_extra_properties:"
        " {allowed_address_pairs: [{ip_address: 10.7.0.99}]}}]",
        "floating": "[{subnet: {get_resource: subnet}, floating_ip: {get_resource: outside}}]",
        "tagged": "[{network: {get_resource: net}, tag: front}]",
        "several": "[{network: {get_resource: net}}, {subnet: {get_resource: subnet2}},"
        " {port: {get_resource: given2}}]",
        "none": "[{allocate_network: none}]",
    }
    both_apart.create(servers(forms)).compare(ignore(forms)).delete()


def test_security_groups(both: Both, service: Any) -> None:
    forms = {"external": "[{network: {get_resource: net}}]", "internal": "[{subnet: {get_resource: subnet}}]"}
    pair = both.create(servers(forms, security_groups="[{get_resource: group}]")).compare(ignore(forms))
    for stack in pair.stacks:
        group = stack.resource("group")["physical_resource_id"]
        for name in forms:
            server = stack.resource(name)["physical_resource_id"]
            ports = service.get("network", f"/v2.0/ports?device_id={server}")["ports"]
            assert [port["security_groups"] for port in ports] == [[group]], name
    pair.delete()


def test_changes_of_networks(both_apart: Both, service: Any, tenant: Any) -> None:
    """From each form to another, and on to a third."""
    before = {
        "one": "[{network: {get_resource: net}}]",
        "two": "[{subnet: {get_resource: subnet}}]",
        "three": "[{network: {get_resource: net}, port_extra_properties: {admin_state_up: true}}]",
        "four": "[{port: {get_resource: given}}]",
        "five": "[{network: {get_resource: net}}, {network: {get_resource: net2}}]",
        "six": "[{allocate_network: none}]",
    }
    after = {
        "one": "[{network: {get_resource: net}}, {subnet: {get_resource: subnet2}}, {port: {get_resource: given2}}]",
        "two": "[{port: {get_resource: given}}]",
        "three": "[{network: {get_resource: net}, port_extra_properties: {admin_state_up: false}}]",
        "four": "[{network: {get_resource: net}, fixed_ip: 10.7.0.88}]",
        "five": "[{network: {get_resource: net2}}]",
        "six": "[{subnet: {get_resource: subnet}, floating_ip: {get_resource: outside}}]",
    }
    last = {
        "one": "[{network: {get_resource: net}}]",
        "two": "[{subnet: {get_resource: subnet}, fixed_ip: 10.7.0.89}]",
        "three": "[{allocate_network: none}]",
        "four": "[{network: {get_resource: net}, subnet: {get_resource: subnet}}]",
        "five": "[{network: {get_resource: net}}, {network: {get_resource: net2}}]",
        "six": "[{subnet: {get_resource: subnet}, floating_ip: {get_resource: outside2}}]",
    }
    pair = both_apart.create(servers(before)).compare(ignore(before))
    pair.update(servers(after)).compare(ignore(after))
    pair.update(servers(last)).compare(ignore(last))
    pair.delete()
    for project in (tenant.project, tenant.other_project):
        left = service.get("network", f"/v2.0/ports?fields=name&project_id={project}")["ports"]
        assert [port for port in left if "-port-" in port["name"]] == []


DISKS = """
heat_template_version: 2018-08-31
resources:
  volume: {type: OS::Cinder::Volume, properties: {size: 1}}
  bootable: {type: OS::Cinder::Volume, properties: {size: 1, image: cirros}}
  net: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.7.0.0/24, gateway_ip: null}}
  from_volume:
    type: OS::Nova::Server
    properties:
      flavor: m1.tiny
      networks: [{network: {get_resource: net}}]
      block_device_mapping_v2: [{volume_id: {get_resource: bootable}}]
  from_image:
    type: OS::Nova::Server
    properties:
      flavor: m1.tiny
      networks: [{network: {get_resource: net}}]
      block_device_mapping_v2:
      - {image: cirros, volume_size: 1, delete_on_termination: true, boot_index: 0}
      - {volume_id: {get_resource: volume}, boot_index: -1, device_name: vdb}
  beside_image:
    type: OS::Nova::Server
    properties:
      flavor: m1.tiny
      image: cirros
      networks: [{network: {get_resource: net}}]
      block_device_mapping_v2: [{image: cirros, volume_size: 1, boot_index: 1, delete_on_termination: true}]
outputs:
  shown: {value: {get_attr: [from_image, show, "os-extended-volumes:volumes_attached"]}}
"""


def test_disks(both: Both) -> None:
    others = {"volume", "bootable", "net", "subnet"}
    consoles = {"from_volume.console_urls", "from_image.console_urls", "beside_image.console_urls"}
    both.create(DISKS).compare(others | consoles).delete()


USER_DATA = """
heat_template_version: 2018-08-31
parameters:
  script: {type: string, default: "#!/bin/sh\\necho hello\\n"}
resources:
  config: {type: OS::Heat::SoftwareConfig, properties: {config: {get_param: script}, group: ungrouped}}
  raw: {type: OS::Nova::Server, properties: {flavor: m1.tiny, image: cirros, networks: [{allocate_network: none}],
    user_data_format: RAW, user_data: {get_resource: config}}}
  tools: {type: OS::Nova::Server, metadata: {mine: [1, 2]}, properties: {flavor: m1.tiny, image: cirros,
    networks: [{allocate_network: none}], user_data_format: HEAT_CFNTOOLS, user_data: {get_param: script}}}
  agent: {type: OS::Nova::Server, metadata: {mine: 1}, properties: {flavor: m1.tiny, image: cirros,
    networks: [{allocate_network: none}], user_data_format: SOFTWARE_CONFIG, user_data: {get_param: script},
    software_config_transport: POLL_SERVER_HEAT}}
  mime: {type: OS::Heat::MultipartMime, properties: {parts: [{config: "a: 1", subtype: cloud-config},
    {config: {get_resource: config}, filename: run.sh, subtype: x-shellscript}]}}
  parts: {type: OS::Nova::Server, properties: {flavor: m1.tiny, image: cirros, networks: [{allocate_network: none}],
    user_data_format: SOFTWARE_CONFIG, user_data: {get_resource: mime}}}
  ignition: {type: OS::Nova::Server, metadata: {mine: 1}, properties: {flavor: m1.tiny, image: cirros,
    networks: [{allocate_network: none}], user_data_format: SOFTWARE_CONFIG, software_config_transport: POLL_TEMP_URL,
    user_data: '{"ignition": {"version": "2.2.0"}}'}}
"""

#: Programs of ours and of Heat's that do the same.
SHIPPED = {"cloud-config", "boothook.sh", "part-handler.py", "loguserdata.py"}


def booted_with(service: Any, stack: Stack, name: str) -> Any:
    """The user data of a server: a list of parts with type, name and content, or a text."""
    server = stack.resource(name)["physical_resource_id"]
    shown = service.get("compute", f"/servers/{server}", **{"OpenStack-API-Version": "compute 2.96"})["server"]
    text = base64.b64decode(shown["OS-EXT-SRV-ATTR:user_data"]).decode()
    message = email.message_from_string(text)
    if name == "ignition":
        files = json.loads(text)["storage"]["files"]
        contents = [urllib.parse.unquote(one["contents"].pop("source").removeprefix("data:,")) for one in files]
        return [json.dumps(files, sort_keys=True), *contents]
    if not message.is_multipart():
        return text
    return [
        (part.get_content_type(), part.get_filename(), None if part.get_filename() in SHIPPED else part.get_payload())
        for part in message.walk()
        if not part.is_multipart()
    ]


def test_user_data(both: Both, service: Any) -> None:
    """Servers boot with the same parts: names, types, contents; programs are in own words."""
    pair = both.create(USER_DATA).compare({"*.console_urls", "config", "mime", "*.os_collect_config.*"})
    for name in ("raw", "tools", "agent", "parts", "ignition"):
        ours, theirs = (masked(booted_with(service, stack, name), stack) for stack in pair.stacks)
        assert ours == theirs, name
    pair.delete()


def masked(value: Any, stack: Stack) -> Any:
    """Without what is each stack's own: ids, passwords, the ports of our daemons."""
    if isinstance(value, list | tuple):
        return [masked(one, stack) for one in value]
    if not isinstance(value, str):
        return value
    text = re.sub(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", "<id>", value.replace(stack.id, "<stack>"))
    text = re.sub(r'("(?:password|secret_access_key)": )"[^"]*(\\.[^"]*)*"', r'\1"<secret>"', text)
    text = re.sub(r"temp_url_(sig|expires)=\w+", "<signed>", text).replace(stack.name, "<name>")
    text = re.sub(r"<name>-(\w+)-[a-z0-9]{12}", r"<name of \1>", text)
    text = re.sub(r"127.0.0.1:\d+", "<here>", text)
    try:
        return json.loads(text)
    except ValueError:
        return text


REPLACED = """
heat_template_version: 2018-08-31
parameters:
  image: {type: string, default: cirros}
  policy: {type: string, default: REBUILD}
  user_data: {type: string, default: a}
  fail: {type: boolean, default: false}
resources:
  net: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.7.0.0/24, gateway_ip: null}}
  given: {type: OS::Neutron::Port, depends_on: subnet, properties: {network: {get_resource: net}}}
  server:
    type: OS::Nova::Server
    properties:
      flavor: m1.tiny
      image: {get_param: image}
      image_update_policy: {get_param: policy}
      networks: [{port: {get_resource: given}}, {subnet: {get_resource: subnet}}]
      user_data_format: RAW
      user_data: {get_param: user_data}
  last: {type: OS::Heat::TestResource, depends_on: server, properties: {fail: {get_param: fail}}}
outputs:
  addresses: {value: {get_attr: [server, addresses]}}
  given: {value: {get_resource: given}}
"""


def physical(stack: Stack) -> str:
    return str(stack.resource("server")["physical_resource_id"])


def ports(stack: Stack) -> set[str]:
    found = {one["output_key"]: one["output_value"] for one in stack.show()["outputs"]}
    return {one["port"] for net in found["addresses"].values() for one in net}


def test_a_replacement_and_a_rollback(deploy: Any) -> None:
    """The given port goes to the replacement, and with a rollback comes back, as does the server's own."""
    stack = deploy(REPLACED)
    first, before = physical(stack), ports(stack)
    stack.update(REPLACED, wait=None, parameters={"user_data": "b", "fail": True}, disable_rollback=False)
    stack.wait("ROLLBACK_COMPLETE", limit=240)
    assert physical(stack) == first and ports(stack) == before
    stack.update(REPLACED, parameters={"user_data": "b"})
    outputs = {one["output_key"]: one["output_value"] for one in stack.show()["outputs"]}
    assert physical(stack) != first and before & ports(stack) == {outputs["given"]}


def test_a_snapshot(both: Both) -> None:
    """A server goes back to its image by a rebuild."""
    ignored = {*OTHERS, "server.console_urls"}
    pair = both.create(REPLACED)
    for stack in pair.stacks:
        snapshot = stack.api.post(f"{stack.path}/snapshots", {"name": "s"})
        where = f"{stack.path}/snapshots/{snapshot['id']}"
        until(lambda where=where, api=stack.api: api.get(where)["snapshot"]["status"] == "COMPLETE", "snapshot", 120)
        image = stack.api.get(where)["snapshot"]["data"]["resources"]["server"]["resource_data"]["snapshot_image_id"]
        before = physical(stack)
        stack.api.send("POST", f"{where}/restore")
        stack.wait("RESTORE_COMPLETE", limit=240)
        shown = stack.resource("server")["attributes"]
        assert physical(stack) == before and shown["image"]["id"] == image
        assert stack.api.send("DELETE", where).status_code == 204
    pair.compare(ignored).delete()


ADMIN = """
heat_template_version: 2018-08-31
parameters:
  specs: {type: json, default: {"hw:cpu_policy": shared}}
  zone: {type: string, default: one}
  cores: {type: number, default: 11}
  project: {type: string}
  public_key: {type: string}
resources:
  flavor: {type: OS::Nova::Flavor, properties: {ram: 64, vcpus: 1, disk: 1, extra_specs: {get_param: specs}}}
  private: {type: OS::Nova::Flavor, properties: {ram: 64, vcpus: 1, is_public: false,
    tenants: [{get_param: project}]}}
  aggregate: {type: OS::Nova::HostAggregate, properties: {name: {get_param: OS::stack_id},
    metadata: {zone: {get_param: zone}}}}
  key: {type: OS::Nova::KeyPair, properties: {name: {get_param: OS::stack_id}, public_key: {get_param: public_key}}}
  group: {type: OS::Nova::ServerGroup, properties: {policies: [soft-anti-affinity]}}
  quota: {type: OS::Nova::Quota, properties: {project: {get_param: project}, cores: {get_param: cores}}}
outputs:
  specs: {value: {get_attr: [flavor, extra_specs]}}
  public: {value: {get_attr: [private, is_public]}}
  key: {value: {get_attr: [key, public_key]}}
  name: {value: {get_resource: key}}
"""


def test_what_administrators_make(both_as_admin: Both, tenant: Any) -> None:
    key = rsa.generate_private_key(65537, 2048).public_key()
    text = key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    given = {"project": tenant.realm.project("limited"), "public_key": text}
    # Of theirs, `show` of the quota is that of a project which has the name of the resource.
    ignored = {"aggregate.id", "key.id", "quota.*"}
    pair = both_as_admin.create(ADMIN, parameters=given).compare(ignored)
    changed = {**given, "specs": {"hw:cpu_policy": "dedicated"}, "zone": "two", "cores": 12}
    pair.update(ADMIN, parameters=changed).compare(ignored)
    pair.action("check", "CHECK_COMPLETE").compare(ignored)
    pair.delete()


REFUSED = {
    "an unknown flavor": "{flavor: nonsense, image: cirros}",
    "an unknown image": "{flavor: m1.tiny, image: nonsense}",
    "an unknown key": "{flavor: m1.tiny, image: cirros, key_name: nonsense}",
    "no image": "{flavor: m1.tiny}",
    "an unknown network": "{flavor: m1.tiny, image: cirros, networks: [{network: nonsense}]}",
    "an unknown port": "{flavor: m1.tiny, image: cirros, networks: [{port: nonsense}]}",
    "two sources": "{flavor: m1.tiny, block_device_mapping_v2: [{image: cirros, swap_size: 1}]}",
    "files": "{flavor: m1.tiny, image: cirros, personality: {/a: b}}",
    "a network and none": "{flavor: m1.tiny, image: cirros, networks: [{allocate_network: none}, {network: public}]}",
}


def test_refused(both: Both) -> None:
    """In the same words."""
    for properties in REFUSED.values():
        both.refused(
            "heat_template_version: 2018-08-31\n"
            "resources: {server: {type: OS::Nova::Server, properties: %s}}" % properties
        )
