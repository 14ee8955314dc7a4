# SPDX-License-Identifier: Apache-2.0
"""The plug-in of the network service: finders, what it remembers, and what its errors mean."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.clients import neutron as module, rest_errors
from openkeel_heat.common import exceptions
from tests.fixtures.fake_neutron import FakeNeutron
from tests.fixtures.rest_server import FakeCloud
from tests.unit.conftest import Option

UNKNOWN = "00000000-0000-4000-8000-0000000000ff"


@pytest.fixture
def neutron(option: Option) -> Iterator[FakeNeutron]:
    module.forget_recent()
    with FakeNeutron() as running:
        yield running


@pytest.fixture
def plugin(neutron: FakeNeutron) -> Iterator[Any]:
    cloud = FakeCloud(network=neutron)
    yield cloud.plugin("neutron")


@pytest.mark.parametrize(
    ("kind", "collection"),
    [
        ("network", "networks"),
        ("subnet", "subnets"),
        ("router", "routers"),
        ("port", "ports"),
        ("subnetpool", "pools"),
        ("address_scope", "scopes"),
        ("security_group", "groups"),
        ("policy", "policies"),
        ("segment", "segments"),
    ],
)
def test_a_name_or_an_id_is_found(neutron: FakeNeutron, plugin: Any, kind: str, collection: str) -> None:
    made = getattr(neutron, collection).add(name="a name")
    assert plugin.find_resourceid_by_name_or_id(kind, "a name") == made["id"]
    assert plugin.find_resourceid_by_name_or_id(kind, made["id"]) == made["id"]


def test_all_ports_of_a_subnet_look_for_it_at_the_same_time(neutron: FakeNeutron, plugin: Any) -> None:
    subnet = neutron.subnets.add(name="a name")["id"]
    begun = threading.Barrier(8)

    def look(_port: int) -> str:
        begun.wait(10)
        return str(plugin.find_resourceid_by_name_or_id("subnet", subnet))

    with concurrent.futures.ThreadPoolExecutor(8) as ports:
        assert set(ports.map(look, range(8))) == {subnet}
    assert neutron.count("GET", "/v2.0/subnets") == 1


def test_a_name_that_looks_like_an_id(neutron: FakeNeutron, plugin: Any) -> None:
    made = neutron.networks.add(name=UNKNOWN)
    assert plugin.find_resourceid_by_name_or_id("network", UNKNOWN) == made["id"]


def test_a_floating_ip_is_found_by_its_address(neutron: FakeNeutron, plugin: Any) -> None:
    made = neutron.floatingips.add(floating_ip_address="172.24.0.5")
    assert plugin.find_resourceid_by_name_or_id("floatingip", "172.24.0.5") == made["id"]


@pytest.mark.parametrize("value", ["nobody", UNKNOWN])
def test_nothing_is_found(plugin: Any, value: str) -> None:
    with pytest.raises(module.NotFound) as missing:
        plugin.find_resourceid_by_name_or_id("network", value)
    assert str(missing.value) == f"Unable to find network with name or id '{value}'"
    assert plugin.is_not_found(missing.value) and plugin.is_client_exception(missing.value)


def test_two_are_found(neutron: FakeNeutron, plugin: Any) -> None:
    for _number in range(2):
        neutron.networks.add(name="twice")
    with pytest.raises(module.NeutronClientNoUniqueMatch) as twice:
        plugin.find_resourceid_by_name_or_id("network", "twice")
    assert str(twice.value) == "Multiple network matches found for name 'twice', use an ID to be more specific."
    assert plugin.is_no_unique(twice.value) and not plugin.is_not_found(twice.value)


def test_an_id_that_was_found_is_not_asked_for_again(neutron: FakeNeutron, plugin: Any) -> None:
    """Not in another context of the project either; in another project it is."""
    made = neutron.networks.add(name="net")
    for _number in range(3):
        plugin.find_resourceid_by_name_or_id("network", made["id"])
    FakeCloud(network=neutron).plugin("neutron").find_resourceid_by_name_or_id("network", made["id"])
    assert neutron.count("GET", "/v2.0/networks") == 1
    other = FakeCloud(project="other", network=neutron)
    other.plugin("neutron").find_resourceid_by_name_or_id("network", made["id"])
    assert neutron.count("GET", "/v2.0/networks") == 2


def test_an_id_that_was_deleted_is_not_found_any_more(neutron: FakeNeutron, plugin: Any) -> None:
    made = neutron.networks.add(name="net")
    other = FakeCloud(network=neutron).context
    for context in (plugin.context, other):
        context.clients.client_plugin("neutron").find_resourceid_by_name_or_id("network", made["id"])
    plugin.api.delete(f"/v2.0/networks/{made['id']}")
    for context in (plugin.context, other):
        with pytest.raises(module.NotFound):
            context.clients.client_plugin("neutron").find_resourceid_by_name_or_id("network", made["id"])


def test_a_name_is_asked_for_each_time(neutron: FakeNeutron, plugin: Any) -> None:
    """What bears a name may be replaced within one update."""
    first = neutron.networks.add(name="net")
    assert plugin.find_resourceid_by_name_or_id("network", "net") == first["id"]
    del neutron.networks.objects[first["id"]]
    second = neutron.networks.add(name="net")
    assert plugin.find_resourceid_by_name_or_id("network", "net") == second["id"]


def test_what_was_found_is_forgotten_after_a_while(
    neutron: FakeNeutron, plugin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = neutron.networks.add(name="net")
    plugin.find_resourceid_by_name_or_id("network", made["id"])
    del neutron.networks.objects[made["id"]]
    now = module.time.monotonic()
    monkeypatch.setattr(module.time, "monotonic", lambda: now + 2 * module._Recent.SECONDS)
    with pytest.raises(module.NotFound):
        plugin.find_resourceid_by_name_or_id("network", made["id"])


def test_security_groups(neutron: FakeNeutron, plugin: Any) -> None:
    """Names are those of the project; ids are taken as they are."""
    one = neutron.groups.add(name="one")
    neutron.groups.add(name="foreign", tenant_id="other")
    for _number in range(2):
        neutron.groups.add(name="twice")
    assert plugin.get_secgroup_uuids(["one", UNKNOWN, "one"]) == [one["id"], UNKNOWN, one["id"]]
    assert neutron.count("GET", "/v2.0/security-groups") == 1
    assert neutron.requests[-1].query["fields"] == ["id", "name"], "rules are not asked for"
    assert plugin.get_secgroup_uuids([UNKNOWN]) == [UNKNOWN]
    assert neutron.count("GET", "/v2.0/security-groups") == 1
    with pytest.raises(exceptions.EntityNotFound):
        plugin.get_secgroup_uuids(["foreign"])
    with pytest.raises(exceptions.PhysicalResourceNameAmbiguity):
        plugin.get_secgroup_uuids(["twice"])


def test_the_network_of_a_subnet(neutron: FakeNeutron, plugin: Any) -> None:
    subnet = neutron.subnets.add(network_id="net")
    assert [plugin.network_id_from_subnet_id(subnet["id"]) for _number in range(2)] == ["net", "net"]
    assert neutron.count("GET", ".*/subnets/.*") == 1


def test_extensions(neutron: FakeNeutron, plugin: Any) -> None:
    neutron.extensions = {"qos"}
    assert plugin.has_extension("qos") and not plugin.has_extension("taas")
    assert FakeCloud(network=neutron).plugin("neutron").has_extension("qos")
    assert FakeCloud(network=neutron).plugin("openstack").has_extension("qos")
    assert neutron.count("GET", "/v2.0/extensions") == 1


def test_names_in_properties(neutron: FakeNeutron, plugin: Any) -> None:
    router = neutron.routers.add(name="r")
    props = {"router": "r", "router_id": None}
    assert plugin.resolve_router(props, "router", "router_id") == router["id"]
    assert props == {"router_id": router["id"]}
    assert plugin.resolve_router({"router_id": "given"}, "router", "router_id") == "given"


def test_objects_of_extensions(neutron: FakeNeutron, plugin: Any) -> None:
    pairs = neutron.objects("sfc/port_pairs", "port_pair", status="ACTIVE")
    made = plugin.create_ext_resource("port_pair", {"name": "pair"})
    plugin.update_ext_resource("port_pair", {"description": "d"}, made["id"])
    assert plugin.show_ext_resource("port_pair", made["id"])["description"] == "d"
    assert plugin.resolve_ext_resource("port_pair", "pair") == made["id"]
    assert plugin.resolve_ext_resource("port_pair", made["id"]) == made["id"]
    assert plugin.check_ext_resource_status("port_pair", made["id"])
    pairs.objects[made["id"]]["status"] = "PENDING_CREATE"
    assert not plugin.check_ext_resource_status("port_pair", made["id"])
    pairs.objects[made["id"]]["status"] = "ERROR"
    with pytest.raises(exceptions.ResourceInError):
        plugin.check_ext_resource_status("port_pair", made["id"])
    plugin.delete_ext_resource("port_pair", made["id"])
    with pytest.raises(module.NotFound, match="Unable to find port_pair with name or id 'pair'"):
        plugin.resolve_ext_resource("port_pair", "pair")


@pytest.mark.parametrize(
    ("status", "kind", "meaning"),
    [
        (404, "NetworkNotFound", "is_not_found"),
        (404, "", "is_not_found"),
        (409, "NetworkInUse", "is_conflict"),
        (409, "OverQuota", None),
        (413, "", "is_over_limit"),
        (400, "StateInvalid", "is_invalid"),
        (400, "", None),
    ],
)
def test_what_errors_mean(plugin: Any, status: int, kind: str, meaning: str | None) -> None:
    error = rest_errors.class_for("neutron", status, kind)("said", status=status)
    questions = ("is_not_found", "is_conflict", "is_over_limit", "is_invalid", "is_no_unique")
    assert [question for question in questions if getattr(plugin, question)(error)] == ([meaning] if meaning else [])


@pytest.mark.parametrize(
    ("name", "collection"),
    [
        ("network", "networks"),
        ("subnet", "subnets"),
        ("port", "ports"),
        ("router", "routers"),
        ("segment", "segments"),
        ("subnetpool", "pools"),
        ("address_scope", "scopes"),
        ("security_group", "groups"),
        ("qos_policy", "policies"),
    ],
)
def test_constraints(neutron: FakeNeutron, plugin: Any, name: str, collection: str) -> None:
    from openkeel_heat.resources.kit import registry

    getattr(neutron, collection).add(name="there")
    constraint = registry.constraint(f"neutron.{name}")()
    context = plugin.context
    assert constraint.validate("there", context)
    assert not constraint.validate("nobody", context)
    assert "with name or id 'nobody'" in constraint.error("nobody")


def test_a_constraint_of_an_extension_that_is_missing(neutron: FakeNeutron, plugin: Any) -> None:
    from openkeel_heat.resources.kit import registry

    neutron.extensions.discard("qos")
    constraint = registry.constraint("neutron.qos_policy")()
    assert not constraint.validate("p", plugin.context)
    assert constraint.error("p") == ("Error validating value 'p': The neutron extension (qos) could not be found.")


def test_a_provider(neutron: FakeNeutron, plugin: Any) -> None:
    from openkeel_heat.resources.kit import registry

    neutron.route(
        "GET",
        "/v2.0/service-providers",
        lambda request: (
            200,
            {"service_providers": [{"name": "tap"}]} if request.query == {"service_type": ["TAPASASERVICE"]} else {},
        ),
    )
    constraint = registry.load("openkeel_heat.resources.neutron.custom_constraints:TaaSProviderConstraint")()
    assert constraint.validate("tap", plugin.context)
    assert not constraint.validate("other", plugin.context)
    assert "available providers are ['tap']" in constraint.error("other")
