"""Limit the addresses that webhooks may go to, so that users cannot reach internal hosts.

A server on loopback may send anywhere. Any other server refuses loopback, private and other
internal addresses, unless they are allowed.
"""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_HOST_NAME: Final = re.compile(
    r"(?=.{1,253}\Z)([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)*(?=[a-z0-9_-]*[a-z])"
    r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.?",
    re.IGNORECASE | re.ASCII,
)
"""A host name has a letter in its last part; anything else is an address."""


_SPECIAL: Final = (
    ip_network("192.0.0.0/24"),  # RFC 6890: assignments of the IETF, gateways near the sender
    ip_network("192.88.99.0/24"),  # RFC 7526: relays of 6to4, given up
    ip_network("2001::/23"),  # RFC 2928: assignments of the IETF, Teredo, benchmarks
    ip_network("2001:db8::/32"),  # RFC 3849: documentation
    ip_network("3fff::/20"),  # RFC 9637: documentation
)
"""Internal networks that some version of Python calls global. It knows the private, loopback,
link-local, reserved and multicast ones."""

_IN_USE: Final = tuple(map(IPv6Network, ("2000::/3", "64:ff9b::/96")))
"""Global IPv6 addresses (RFC 4291, 2.5.4), and IPv4 behind the common translator."""

_ISATAP: Final = 0x5EFE
_UNIVERSAL: Final = 0x0200_0000
"""RFC 5214, 6.1: the interface part of an ISATAP address is 0000:5efe or 0200:5efe and IPv4."""

_ENDS_WITH_IPV4: Final = tuple(map(IPv6Network, ("64:ff9b::/96", "::ffff:0:0:0/96", "::/96")))
"""Addresses that end with the IPv4 address that they lead to (RFC 6052, 2765, 4291)."""


class Guard:
    """Decides which addresses may be connected to.

    `allowed` lists networks and host names. Raises ValueError for anything else.
    """

    def __init__(self, *, is_open: bool, allowed: Iterable[str] = ()) -> None:
        self._is_open = is_open
        self._networks: list[Network] = []
        self._hosts: set[str] = set()
        for one in allowed:
            try:
                self._networks.append(ip_network(one, strict=False))
            except ValueError:
                if not _HOST_NAME.fullmatch(one):
                    raise ValueError(f"{one!r} is neither a network nor a host name") from None
                self._hosts.add(one.lower())

    def why_not_to(self, host: str) -> str | None:
        """Return the reason to refuse this host by its name; None if the name is allowed."""
        if self._is_open:
            return None
        try:
            ip_address(host)
        except ValueError:
            # The address of a name is checked at each lookup.
            if _HOST_NAME.fullmatch(host):
                return None
            return f"{host[:80]!r} is neither a host name nor an address in its usual form"
        return self.why_not(host, host)

    def why_not(self, host: str, address: str) -> str | None:
        """Return why a connection to this host at this address is refused, or None."""
        if self._is_open or host.lower() in self._hosts:
            return None
        try:
            number: Address = ip_address(address.partition("%")[0])
        except ValueError:
            return f"{address} is not an address"
        meant = _meant(number)
        if all(map(_is_public, meant)):
            return None
        if any(one in network for one in meant for network in self._networks):
            return None
        # The address that a name leads to stays unknown to teams.
        what = address if address == host else f"the address of {host}"
        return (
            f"{what} is an internal address, which a server that others can reach "
            "does not send to; allow it with --webhooks-to"
        )


def _is_public(number: Address) -> bool:
    if any(number in network for network in _SPECIAL):
        return False
    if isinstance(number, IPv6Address):
        if _is_isatap(number) or not any(number in network for network in _IN_USE):
            return False
        # It leads to the address inside it, which is checked too. Versions of Python differ on
        # whether this one is public.
        if number.sixtofour is not None:
            return True
    return number.is_global and not number.is_multicast


def _is_isatap(number: IPv6Address) -> bool:
    return (int(number) >> 32) & 0xFFFF_FFFF & ~_UNIVERSAL == _ISATAP


def _meant(number: Address) -> tuple[Address, ...]:
    """Return the address, and the IPv4 address inside it, if there is one."""
    if isinstance(number, IPv4Address):
        return (number,)
    if number.ipv4_mapped is not None:
        return (number.ipv4_mapped,)
    inner = number.sixtofour
    if _is_isatap(number) or any(number in network for network in _ENDS_WITH_IPV4):
        inner = IPv4Address(int(number) & 0xFFFFFFFF)
    return (number,) if inner is None else (number, inner)
