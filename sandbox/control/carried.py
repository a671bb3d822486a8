"""Control requests for worlds that other servers have."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.types import Receive, Scope, Send

from sandbox.control.rows import ControlFault, ControlRow, unknown_among
from sandbox.control.who import Who
from sandbox.domain.faults import MISDIRECTED, UNAVAILABLE
from sandbox.platform.forwarding import FORWARDED, was_forwarded
from sandbox.store.files.port import StoreError
from sandbox.worlds.elsewhere import Elsewhere, WorldLost
from sandbox.worlds.registry import Worlds
from sandbox.worlds.spec import DEFAULT_WORLD


def unavailable(error: StoreError | WorldLost) -> ControlFault:
    """The answer while nobody can tell, or once another server may have the world."""
    why = str(error)
    if isinstance(error, WorldLost):
        why = f"the world {why!r} has moved to another server; what was asked for may be done"
    return ControlFault(UNAVAILABLE.status, UNAVAILABLE.code, why, headers={"retry-after": "1"})


class Forwarder:
    """Has other servers answer the control requests whose worlds they have."""

    def __init__(self, worlds: Worlds, elsewhere: Elsewhere) -> None:
        self._worlds = worlds
        self._elsewhere = elsewhere

    async def answers(
        self,
        row: ControlRow,
        params: dict[str, str],
        who: Who,
        read: Callable[[], Awaitable[bytes | bytearray]],
        asgi: tuple[Scope, Receive, Send],
    ) -> bool:
        """Whether another server has answered; if not, the world is here now, or nowhere.

        `read` reads the body. Raises Unavailable, and ControlFault for a request that was sent on
        already.
        """
        id = _needed(row, params, who)
        if id is None or self._worlds.get(id) is not None:
            return False
        body: Any = None
        while (url := await self._elsewhere.have_world(id)) is not None:
            if was_forwarded(asgi[0]["headers"]):
                raise ControlFault(
                    MISDIRECTED.status,
                    MISDIRECTED.code,
                    "another server has the world",
                    headers={FORWARDED.decode(): "1"},
                )
            if body is None:
                body = bytes(await read())
            if await self._elsewhere.carry(url, *asgi, body):
                return True
        if self._worlds.get(id) is None and "w" in params:
            ids = [one.id for one in await self._elsewhere.kept_beside(())]
            raise unknown_among(ids, params["w"], who)
        return False


def _needed(row: ControlRow, params: dict[str, str], who: Who) -> str | None:
    """The id of the world without which the request cannot be answered."""
    if "w" in params:
        return who.meant(params["w"])
    return DEFAULT_WORLD if row.is_for_default else None
