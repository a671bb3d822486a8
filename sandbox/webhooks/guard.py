"""Where webhooks may go: a sandbox that others can reach must not reach what only it can.

Bound to loopback everything is allowed, this machine above all. Bound to anything else, loopback,
private and otherwise internal addresses are refused, unless they are listed.
"""

import ipaddress
from collections.abc import Iterable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


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
                if not one or "/" in one:
                    raise ValueError(f"{one!r} is neither a network nor a host name") from None
                self._hosts.add(one.lower())

    def why_not_to(self, host: str) -> str | None:
        """Why nothing may go to this host, as far as its name tells; None where it may."""
        try:
            ipaddress.ip_address(host)
        except ValueError:
            # What a name leads to is seen when it is looked up, each time anew.
            return None
        return self.why_not(host, host)

    def why_not(self, host: str, address: str) -> str | None:
        """Why a connection to this host at this address is refused; None when it is allowed."""
        if self._is_open or host.lower() in self._hosts:
            return None
        try:
            number: Address = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return f"{address} is no address"
        if isinstance(number, ipaddress.IPv6Address) and number.ipv4_mapped is not None:
            number = number.ipv4_mapped
        if number.is_global and not number.is_multicast:
            return None
        if any(number in network for network in self._networks):
            return None
        return (
            f"{address} is an internal address, which a server that is not bound to loopback does "
            "not send to; allow it with --webhooks-to"
        )
