"""Where webhooks may go: a sandbox that others can reach must not reach what only it can.

Bound to loopback everything is allowed, this machine above all. Bound to anything else, loopback,
private and otherwise internal addresses are refused, unless they are listed.
"""

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_HOST_NAME: Final = re.compile(
    r"(?=.{1,253}\Z)([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)*(?=[a-z0-9_-]*[a-z])"
    r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.?",
    re.IGNORECASE | re.ASCII,
)
"""The last part has a letter: what has none is meant as an address, in whatever form."""

_HOLDS_IPV4: Final = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "::/96")))
"""Addresses that end with an IPv4 address, which is where they lead to."""


class Guard:
    """Tells which addresses may be connected to.

    `allowed` are networks and host names. Raises ValueError for what is neither.
    """

    def __init__(self, *, is_open: bool, allowed: Iterable[str] = ()) -> None:
        self._is_open = is_open
        self._networks: list[Network] = []
        self._hosts: set[str] = set()
        for one in allowed:
            try:
                self._networks.append(ipaddress.ip_network(one, strict=False))
            except ValueError:
                if not _HOST_NAME.fullmatch(one):
                    raise ValueError(f"{one!r} is neither a network nor a host name") from None
                self._hosts.add(one.lower())

    def why_not_to(self, host: str) -> str | None:
        """Why nothing may go to this host, as far as its name tells; None where it may."""
        if self._is_open:
            return None
        try:
            ipaddress.ip_address(host)
        except ValueError:
            # What a name leads to is seen when it is looked up, each time anew.
            if _HOST_NAME.fullmatch(host):
                return None
            return f"{host[:80]!r} is neither a host name nor an address in its usual form"
        return self.why_not(host, host)

    def why_not(self, host: str, address: str) -> str | None:
        """Why a connection to this host at this address is refused; None when it is allowed."""
        if self._is_open or host.lower() in self._hosts:
            return None
        try:
            number: Address = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return f"{address} is no address"
        meant = _meant(number)
        if all(map(_is_public, meant)):
            return None
        if any(one in network for one in meant for network in self._networks):
            return None
        return (
            f"{address} is an internal address, which a server that others can reach "
            "does not send to; allow it with --webhooks-to"
        )


def _is_public(number: Address) -> bool:
    if isinstance(number, ipaddress.IPv6Address):
        if number.is_site_local:
            return False
        # It leads where the address in it does, which is looked at as well. Versions of Python
        # differ on whether it is public by itself.
        if number.sixtofour is not None:
            return True
    return number.is_global and not number.is_multicast


def _meant(number: Address) -> tuple[Address, ...]:
    """The address, and the IPv4 address that it leads to where it holds one."""
    if isinstance(number, ipaddress.IPv4Address):
        return (number,)
    if number.ipv4_mapped is not None:
        return (number.ipv4_mapped,)
    if number.sixtofour is not None:
        return (number, number.sixtofour)
    if any(number in network for network in _HOLDS_IPV4):
        return (number, ipaddress.IPv4Address(int(number) & 0xFFFFFFFF))
    return (number,)
