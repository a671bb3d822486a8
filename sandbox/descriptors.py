"""Sharing the file descriptors of this process between its parts."""

from contextlib import suppress
from typing import Final

from sandbox.domain.values import Value
from sandbox.settings import SettingsError
from sandbox.webhooks.client import CONNECTIONS_MAX as WEBHOOKS_MAX

FILES: Final = 32
"""Reserved for the event loop, the listening sockets, the state file, and lazy imports. Fewer would
make requests fail with an internal error.
"""

CONNECTIONS_MAX: Final = 10_000
"""A server serves more connections only if `--connections-max` says so."""

RESERVED_MAX: Final = 16
"""Connections above the maximum that are reserved for the control API."""

_LEAST: Final = 8


class Shares(Value, frozen=True, kw_only=True):
    """How many connections clients may have, the operator beyond those, and webhooks.

    Source: assumed D25-places.
    """

    connections: int
    reserved: int
    webhooks: int


def shares(connections_max: int | None = None) -> Shares:
    """The shares of this process, with the given number of connections, if any.

    Raises SettingsError if the process may not open enough files.
    """
    limit = _limit()
    if limit is None:
        return Shares(
            connections=connections_max or CONNECTIONS_MAX,
            reserved=RESERVED_MAX,
            webhooks=WEBHOOKS_MAX,
        )
    free = limit - FILES
    if free < _LEAST:
        raise SettingsError(
            f"this process may open {limit} files and needs {FILES + _LEAST}; "
            "raise the limit (ulimit -n)"
        )
    reserved, webhooks = min(RESERVED_MAX, free // 4), min(WEBHOOKS_MAX, free // 4)
    most = free - reserved - webhooks
    if connections_max is not None and connections_max > most:
        raise SettingsError(
            f"--connections-max {connections_max}: this process may open {limit} files, which is "
            f"enough for {most} connections; raise the limit (ulimit -n), or lower the option"
        )
    return Shares(
        connections=connections_max or min(CONNECTIONS_MAX, most),
        reserved=reserved,
        webhooks=webhooks,
    )


def raise_limit() -> None:
    """Let this process open as many files as it may allow itself: it is a server's own."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES + CONNECTIONS_MAX + RESERVED_MAX + WEBHOOKS_MAX
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        # Some systems allow fewer than they report.
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def _limit() -> int | None:
    """The number of files that this process may open; None without a limit."""
    try:
        import resource
    except ImportError:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft
