"""Connections to receivers: opened where the guard allows it, kept for a while, used again."""

import asyncio
import ipaddress
import socket
import ssl
from functools import lru_cache
from typing import Any, Final

from sandbox.domain.values import Value
from sandbox.webhooks.address_guard import Guard
from sandbox.webhooks.connections import Came, Closed, Connection, ReceiverFault

IDLE_S: Final = 2.0
"""Connections are not reused after so long: receivers close theirs after five seconds or more."""

_NEXT_ADDRESS_S: Final = 0.25
"""A further address of a host is tried too if one does not answer within this time (RFC 8305)."""


class Unreachable(ReceiverFault):
    """There was no connection."""


class Destination(Value, frozen=True):
    """Where a URL leads. `head` is the beginning of every request there."""

    host: str
    port: int
    is_tls: bool
    head: bytes

    @property
    def origin(self) -> "Origin":
        """What a connection is for."""
        return self.host, self.port, self.is_tls


Origin = tuple[str, int, bool]


@lru_cache(maxsize=1024)
def destination_of(url: str) -> Destination:
    """The destination of a URL, written as HTTP has its characters. Raises ValueError."""
    from yarl import URL

    parsed = URL(url)
    host, port = parsed.raw_host, parsed.port
    if not host or port is None or parsed.scheme not in ("http", "https"):
        raise ValueError(f"{url[:80]!r} is no address of a receiver")
    head = f"POST {parsed.raw_path_qs} HTTP/1.1\r\nhost: {parsed.host_port_subcomponent}\r\n"
    return Destination(host, port, parsed.scheme == "https", head.encode())


class Receivers:
    """The connections to all receivers, on one event loop; no more than `connections_max`.

    One that was not used for `idle_s` is closed.
    """

    def __init__(self, guard: Guard, connections_max: int, *, idle_s: float = IDLE_S) -> None:
        self._guard = guard
        self._idle_s = idle_s
        self._free = asyncio.Semaphore(connections_max)
        self._room = connections_max
        self._open: dict[Connection, None] = {}
        self._opening = 0
        self._idle: dict[Origin, list[Connection]] = {}
        self._tls: ssl.SSLContext | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    async def ask(self, destination: Destination, request: bytes, came: Came, until: float) -> None:
        """Send a request, and fill `came` with the answer.

        A connection that was used before may have been closed by the receiver meanwhile. Then the
        next one is tried, and at last a new one. Raises what `Connection.ask` raises, or
        Unreachable.
        """
        if problem := self._guard.why_not_to(destination.host):
            raise OSError(problem)
        await self._wait_for_slot(until)
        try:
            while True:
                connection = self._take_idle(destination) or await self._opened(destination, until)
                try:
                    await connection.ask(request, came, until)
                except Closed:
                    if connection.had_one:
                        continue
                    raise
                finally:
                    self._put_back(destination, connection)
                return
        finally:
            self._free.release()

    def close(self) -> None:
        """Close all connections."""
        if self._sweep is not None:
            self._sweep.cancel()
        for connection in list(self._open):
            connection.close()
        self._open.clear()
        self._idle.clear()

    # --- those that are open

    async def _wait_for_slot(self, until: float) -> None:
        """Wait until one more attempt may be under way. Raises TimeoutError."""
        if self._free.locked():
            async with asyncio.timeout_at(until):
                await self._free.acquire()
        else:
            await self._free.acquire()

    def _take_idle(self, destination: Destination) -> Connection | None:
        """A connection that can carry another request; None without one."""
        idle = self._idle.get(destination.origin)
        while idle:
            connection = idle.pop()
            if connection.is_usable and self._loop.time() - connection.idle_since <= self._idle_s:
                return connection
            self._drop(connection)
        return None

    def _put_back(self, destination: Destination, connection: Connection) -> None:
        if not connection.is_usable:
            self._drop(connection)
            return
        self._idle.setdefault(destination.origin, []).append(connection)
        if self._sweep is None:
            self._sweep = self._loop.call_later(self._idle_s, self._close_old)

    def _close_old(self) -> None:
        """Close what was not used for a while, and look again while something is left."""
        self._sweep = None
        too_old = self._loop.time() - self._idle_s
        for origin, idle in list(self._idle.items()):
            kept = []
            for one in idle:
                if one.is_usable and one.idle_since > too_old:
                    kept.append(one)
                else:
                    self._drop(one)
            if kept:
                self._idle[origin] = kept
            else:
                del self._idle[origin]
        if self._idle:
            self._sweep = self._loop.call_later(self._idle_s, self._close_old)

    def _drop(self, connection: Connection) -> None:
        connection.close()
        self._open.pop(connection, None)

    def _make_room(self) -> None:
        """Close an idle connection if there are as many as allowed."""
        while len(self._open) + self._opening >= self._room:
            idle = next((one for one in self._idle.values() if one), None)
            if idle is None:
                return
            self._drop(idle.pop(0))

    # --- opening

    async def _opened(self, destination: Destination, until: float) -> Connection:
        """A new connection. Raises Unreachable or TimeoutError."""
        self._make_room()
        self._opening += 1
        try:
            async with asyncio.timeout_at(until):
                connection = await self._connect(destination)
        except TimeoutError:
            raise
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            host = f"[{destination.host}]" if ":" in destination.host else destination.host
            raise Unreachable(
                f"Cannot connect to host {host}:{destination.port} [{why}]"
            ) from error
        finally:
            self._opening -= 1
        self._open[connection] = None
        return connection

    async def _connect(self, destination: Destination) -> Connection:
        from aiohappyeyeballs import start_connection

        context = await self._context() if destination.is_tls else None
        addresses = await self._addresses(destination)
        connected = await start_connection(addresses, happy_eyeballs_delay=_NEXT_ADDRESS_S)
        # From here on the socket is the transport's, which closes it if this fails.
        _, connection = await self._loop.create_connection(
            Connection,
            sock=connected,
            ssl=context,
            server_hostname=destination.host if destination.is_tls else None,
        )
        return connection

    async def _addresses(self, destination: Destination) -> list[Any]:
        """The addresses of a host that may be connected to. Raises OSError."""
        host, port, found = destination.host, destination.port, list[Any]()
        if _is_address(host):
            # Reading an address needs no lookup, so this does not block.
            flags = socket.AI_NUMERICHOST
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
        else:
            found = await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        refused = [self._guard.why_not(destination.host, str(one[4][0])) for one in found]
        allowed = [one for one, why in zip(found, refused, strict=True) if why is None]
        if not allowed:
            raise OSError(refused[0] if refused else f"{destination.host} has no address")
        return allowed

    async def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            # Reading the certificates of all authorities takes a while.
            self._tls = await asyncio.to_thread(ssl.create_default_context)
            self._tls.set_alpn_protocols(("http/1.1",))
        return self._tls


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
