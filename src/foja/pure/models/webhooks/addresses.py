"""Which addresses a webhook may be at: public ones, and those of the networks that the settings name.

The lists are the special-purpose registries of IANA. `ipaddress.is_global` is not used alone: versions of
Python differ, and it lets some ranges pass that lead back into a private network (NAT64, 6to4).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final, TypeAlias

from foja.errors import SetupFailed

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

_PRIVATE_4: Final = [
    (IPv4Network(block), words)
    for block, words in {
        "0.0.0.0/8": "this host",
        "10.0.0.0/8": "private",
        "100.64.0.0/10": "shared by a carrier (CGNAT)",
        "127.0.0.0/8": "loopback",
        "169.254.0.0/16": "link-local",
        "172.16.0.0/12": "private",
        "192.0.0.0/24": "reserved",
        "192.0.2.0/24": "for documentation",
        "192.31.196.0/24": "reserved",
        "192.52.193.0/24": "reserved",
        "192.88.99.0/24": "a relay",
        "192.168.0.0/16": "private",
        "192.175.48.0/24": "reserved",
        "198.18.0.0/15": "for benchmarks",
        "198.51.100.0/24": "for documentation",
        "203.0.113.0/24": "for documentation",
        "224.0.0.0/4": "multicast",
        "240.0.0.0/4": "reserved",
    }.items()
]
_PUBLIC_6: Final = IPv6Network("2000::/3")  # everything else is loopback, local, multicast or not assigned
_PRIVATE_6: Final = [
    (IPv6Network(block), words)
    for block, words in {
        "2001::/23": "reserved",  # with Teredo, which contains an IPv4 address
        "2001:db8::/32": "for documentation",
        "2002::/16": "a relay (6to4)",
        "2620:4f:8000::/48": "reserved",
        "3fff::/20": "for documentation",
    }.items()
]


def parse_networks(text: str) -> Sequence[Network]:
    """Return the networks of a setting, separated by spaces or commas, as in `10.1.0.0/16`."""
    try:
        return [ip_network(each) for each in text.replace(",", " ").split()]
    except ValueError as error:
        raise SetupFailed(
            f"FOJA_WEBHOOK_NETWORKS is not valid: {error}; write networks like 10.1.0.0/16"
        ) from None


def is_listed(address: str, networks: Iterable[Network]) -> bool:
    """Return whether an address is in one of these networks."""
    try:
        found = _plain(ip_address(address))
    except ValueError:
        return False
    return any(found in each for each in networks if each.version == found.version)


def refusal_of(address: str, networks: Iterable[Network] = ()) -> str | None:
    """Return why nothing may be sent to an address, or None if it may."""
    if is_listed(address, networks):
        return None
    try:
        found = ip_address(address)
    except ValueError:
        return "not an address"
    if isinstance(found, IPv6Address) and found.scope_id:
        return "link-local"
    found = _plain(found)
    if isinstance(found, IPv4Address):
        return next((words for block, words in _PRIVATE_4 if found in block), None)
    if found not in _PUBLIC_6:
        return "not a public address"
    return next((words for block, words in _PRIVATE_6 if found in block), None)


def _plain(address: Address) -> Address:
    """Return the IPv4 address that a mapped IPv6 address means."""
    return (address.ipv4_mapped if isinstance(address, IPv6Address) else None) or address
