# SPDX-License-Identifier: Apache-2.0
"""The property ``networks`` of a server: its schema, its checks, and what of it an update keeps.

An entry names a port, or a network or subnet on which a port is made. Who makes the port:

* a **given** port (``port``) is somebody else's;
* an **internal** port is made by the server resource, where an entry has ``subnet`` or ``port_extra_properties``;
* an **external** port is made by Nova for all other entries, and goes away with the server.

One entry ``allocate_network`` stands for all: ``none`` for no network, ``auto`` for one that Nova chooses.

Nothing here asks a service. :func:`compare` is what an update begins with: it takes entries of before, of after and
the server's present interfaces, and says what stays.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties, support
from openkeel_heat.resources.neutron import port as neutron_port

NETWORKS, SECURITY_GROUPS = "networks", "security_groups"

KEYS = (UUID, NETWORK, ALLOCATE_NETWORK, FIXED_IP, PORT, PORT_EXTRA, SUBNET, FLOATING_IP, TAG) = (
    "uuid",
    "network",
    "allocate_network",
    "fixed_ip",
    "port",
    "port_extra_properties",
    "subnet",
    "floating_ip",
    "tag",
)

ALLOCATE_NONE, ALLOCATE_AUTO = "none", "auto"

#: Keys of an entry that the interface tells.
_TOLD_BY_INTERFACE = (PORT, NETWORK, FIXED_IP, SUBNET)

#: Of these an interface may have several; an entry names one of them. Kept beside the keys of an entry of before.
_ADDRESS, _ADDRESSES = (FIXED_IP, SUBNET), "addresses"

Schema = properties.Schema
Net = dict[str, Any]

schema = Schema(
    Schema.LIST,
    _("Network interfaces of the server, in their order."),
    update_allowed=True,
    schema=Schema(
        Schema.MAP,
        schema={
            UUID: Schema(
                Schema.STRING,
                _("ID of the network."),
                support_status=support.SupportStatus(
                    status=support.HIDDEN,
                    version="5.0.0",
                    previous_status=support.SupportStatus(
                        status=support.DEPRECATED, message=_("Use property network."), version="2014.1"
                    ),
                ),
                constraints=[constraints.CustomConstraint("neutron.network")],
            ),
            NETWORK: Schema(
                Schema.STRING,
                _("Name or ID of the network on which a port is made."),
                constraints=[constraints.CustomConstraint("neutron.network")],
            ),
            ALLOCATE_NETWORK: Schema(
                Schema.STRING,
                _(
                    "none: the server gets no network. auto: it gets one of those of the project, or one that is made "
                    "for it. Allowed only as the one key of the one entry; needs version 2.37 of the compute API."
                ),
                support_status=support.SupportStatus(version="9.0.0"),
                constraints=[constraints.AllowedValues([ALLOCATE_NONE, ALLOCATE_AUTO])],
                update_allowed=True,
            ),
            FIXED_IP: Schema(
                Schema.STRING,
                _("Address of the port that is made."),
                constraints=[constraints.CustomConstraint("ip_addr")],
            ),
            PORT: Schema(
                Schema.STRING,
                _("Name or ID of a port that is there."),
                constraints=[constraints.CustomConstraint("neutron.port")],
            ),
            PORT_EXTRA: Schema(
                Schema.MAP,
                _("More properties of the port that is made. Without effect if a port is given."),
                schema=neutron_port.Port.extra_properties_schema,
                support_status=support.SupportStatus(version="6.0.0"),
                update_allowed=True,
            ),
            SUBNET: Schema(
                Schema.STRING,
                _("Name or ID of the subnet from which the address of the port is taken; it tells the network, too."),
                support_status=support.SupportStatus(version="5.0.0"),
            ),
            FLOATING_IP: Schema(
                Schema.STRING,
                _("ID of a floating IP that leads to the port."),
                support_status=support.SupportStatus(version="6.0.0"),
            ),
            TAG: Schema(
                Schema.STRING,
                _("Tag that the server finds the interface by in its metadata."),
                support_status=support.SupportStatus(version="9.0.0"),
            ),
        },
    ),
)


def allocation(networks: Iterable[Mapping[str, Any]] | None) -> str | None:
    """``none`` or ``auto`` where it stands in place of networks."""
    return next((net[ALLOCATE_NETWORK] for net in networks or () if net.get(ALLOCATE_NETWORK)), None)


def any_tagged(networks: Iterable[Mapping[str, Any]] | None) -> bool:
    return any(net.get(TAG) for net in networks or ())


def wants_internal_port(net: Mapping[str, Any]) -> bool:
    return not net.get(PORT) and bool(net.get(SUBNET) or net.get(PORT_EXTRA))


# --- checks


def validate(networks: Sequence[Mapping[str, Any]], server: str) -> None:
    """Raise for entries that say too little or contradict themselves."""
    for net in networks:
        _validate(net, server)
    if allocation(networks) and len(networks) != 1:
        raise exception.StackValidationFailed(
            message=_('Property "%s" can not be specified if multiple network interfaces set for server.')
            % ALLOCATE_NETWORK
        )


def _validate(net: Mapping[str, Any], server: str) -> None:
    told = [key for key in (NETWORK, PORT, SUBNET) if net.get(key) is not None]
    allocated = net.get(ALLOCATE_NETWORK)
    if not told and not allocated:
        raise exception.StackValidationFailed(
            message=_(
                'One of the properties "%(id)s", "%(port_id)s", "%(str_network)s" or "%(subnet)s" should be set for '
                'the specified network of server "%(server)s".'
            )
            % {"id": NETWORK, "port_id": PORT, "subnet": SUBNET, "str_network": ALLOCATE_NETWORK, "server": server}
        )
    if allocated and sum(value is not None for value in net.values()) != 1:
        raise exception.StackValidationFailed(
            message=_('Can not specify "%s" with other keys of networks at the same time.') % ALLOCATE_NETWORK
        )
    if net.get(FIXED_IP) and net.get(PORT) is not None:
        raise exception.ResourcePropertyConflict(f"{NETWORKS}/{FIXED_IP}", f"{NETWORKS}/{PORT}")
    # Of a port that Nova makes nobody knows the id while the server is being created.
    if net.get(FLOATING_IP) is not None and told == [NETWORK] and not net.get(PORT_EXTRA):
        raise exception.StackValidationFailed(
            message=_(
                'Property "%(fip)s" is not supported if only "%(net)s" is specified, because the corresponding port '
                "can not be retrieved."
            )
            % {"fip": FLOATING_IP, "net": NETWORK}
        )


# --- what an update keeps


@dataclasses.dataclass
class Comparison:
    """What becomes of the entries of before (with what their interfaces tell) and of those of after."""

    kept: list[Net] = dataclasses.field(default_factory=list)
    removed: list[Net] = dataclasses.field(default_factory=list)
    added: list[Net] = dataclasses.field(default_factory=list)
    #: (of before, of after): the same interface with other properties of its port, or another floating IP.
    changed: list[tuple[Net, Net]] = dataclasses.field(default_factory=list)


def compare(
    before: Iterable[Mapping[str, Any]],
    after: Iterable[Mapping[str, Any]],
    interfaces: Iterable[Mapping[str, Any]],
    internal_ports: Iterable[str],
    network_of: Callable[[Mapping[str, Any]], str | None],
) -> Comparison:
    """Match entries of before and after. ``network_of``: the network id of an entry, by its subnet if need be.

    An interface whose port is internal stays when only properties of the port differ that can be changed.
    """
    internal = set(internal_ports)
    old = list(with_interfaces(before, interfaces, internal, network_of))
    found = Comparison()
    for net in map(_complete, after):
        wanted = {key: value for key, value in net.items() if key not in _TOLD_BY_INTERFACE or value is not None}
        match = _first_with(old, wanted)
        if match is not None:
            found.kept.append(match)
        else:
            loosely = {key: value for key, value in wanted.items() if key not in (PORT_EXTRA, FLOATING_IP)}
            match = _first_with(old, loosely)
            if match is None or not _changes_in_place(match, net, internal):
                found.added.append(net)
                continue
            found.changed.append((match, net))
        old.remove(match)
    found.removed = old
    return found


def _complete(net: Mapping[str, Any]) -> Net:
    """All keys, with None for what is empty."""
    return {key: net.get(key) or None for key in KEYS}


def _first_with(nets: Iterable[Net], wanted: Mapping[str, Any]) -> Net | None:
    if not any(value is not None for value in wanted.values()):
        return None
    return next((net for net in nets if _fits(net, wanted)), None)


def _fits(net: Net, wanted: Mapping[str, Any]) -> bool:
    """Whether an entry with what its interface tells is the one; any address of the interface may be named."""
    named = [key for key in _ADDRESS if key in wanted]
    return all(net.get(key) == value for key, value in wanted.items() if key not in named) and any(
        all(address[key] == wanted[key] for key in named) for address in net[_ADDRESSES]
    )


def with_interfaces(
    nets: Iterable[Mapping[str, Any]],
    interfaces: Iterable[Mapping[str, Any]],
    internal: set[str],
    network_of: Callable[[Mapping[str, Any]], str | None],
) -> Iterable[Net]:
    """The entries of before, each with what its interface tells. An interface is that of one entry only.

    Of several that an entry may mean, it is one whose port is made by whom the entry has it made; if the entry names an
    address or a subnet, one that has little else.
    """
    complete = [_complete(net) for net in nets]
    given = {net[PORT] for net in complete}
    free = [_told_by(interface) for interface in interfaces]
    for net in complete:
        candidates = free
        if net[PORT] is None:
            net[NETWORK] = network_of(net)
            own, named = wants_internal_port(net), any(net[key] for key in _ADDRESS)
            others = [told for told in free if told[PORT] not in given]
            candidates = sorted(
                others, key=lambda told: ((told[PORT] in internal) != own, len(told[_ADDRESSES]) if named else 0)
            )
        net[_ADDRESSES] = [{key: net[key] for key in _ADDRESS}]
        wanted = {key: net[key] for key in _TOLD_BY_INTERFACE if net[key] is not None}
        told = _first_with(candidates, wanted)
        if told is not None:
            free.remove(told)
            net.update(told)
        yield net


def _told_by(interface: Mapping[str, Any]) -> Net:
    fixed_ips = interface.get("fixed_ips") or [{}]
    addresses = [{FIXED_IP: ip.get("ip_address"), SUBNET: ip.get("subnet_id")} for ip in fixed_ips]
    return {PORT: interface["port_id"], NETWORK: interface["net_id"], **addresses[0], _ADDRESSES: addresses}


def live(
    before: Iterable[Mapping[str, Any]],
    interfaces: Sequence[Mapping[str, Any]],
    internal_ports: Iterable[str],
    network_of: Callable[[Mapping[str, Any]], str | None],
) -> list[Net]:
    """The entries whose interfaces are there, and entries for interfaces of which there is none."""
    internal = set(internal_ports)
    found: list[Net] = []
    seen = set()
    present = {interface["port_id"] for interface in interfaces}
    for net, told in zip(before, with_interfaces(before, interfaces, internal, network_of), strict=True):
        if told.get(PORT) in present:
            seen.add(told[PORT])
            found.append({key: value for key, value in net.items() if value is not None})
    for interface in interfaces:
        if interface["port_id"] not in seen:
            told = _told_by(interface)
            entry = {NETWORK: told[NETWORK], FIXED_IP: told[FIXED_IP], PORT: told[PORT]}
            del entry[PORT if told[PORT] in internal else FIXED_IP]
            found.append({key: value for key, value in entry.items() if value is not None})
    return found


def _changes_in_place(before: Net, after: Net, internal: set[str]) -> bool:
    """Whether an interface that differs in its port's properties or floating IP can stay."""
    if not before[PORT]:
        return False
    if before[PORT_EXTRA] == after[PORT_EXTRA]:
        return True
    if before[PORT] not in internal or after[PORT_EXTRA] is None:
        # Somebody else's port; or it is not to be the server's own any more.
        return False
    extra = neutron_port.Port.extra_properties_schema
    old, new = before[PORT_EXTRA] or {}, after[PORT_EXTRA]
    changed = [key for key in {*old, *new} if old.get(key) != new.get(key)]
    return all(key in extra and extra[key].update_allowed for key in changed)
