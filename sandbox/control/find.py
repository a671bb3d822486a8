"""Control endpoint that finds whatever has an id, in all worlds; and payments by their card."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TypedDict

from sandbox.control.finding import found_in
from sandbox.control.gathering import kept_elsewhere, others_of, said_elsewhere
from sandbox.control.rows import PREFIX, ControlRequest, unknown_world
from sandbox.domain.batches import Batch
from sandbox.domain.currencies import written
from sandbox.domain.directory import Account, Location, Terminal
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.transactions import Transaction
from sandbox.store.port import Where
from sandbox.store.tables import LAST_DIGITS
from sandbox.worlds.elsewhere import Elsewhere
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.control.look_shapes import FindQuery

TAKEN_OVER_MAX: Final = 100
"""The most worlds without a server to take over for one search."""

FOUND_MAX: Final = 50
"""The most things of one answer."""


class FoundThing(TypedDict):
    """Something with the id, and what it is in words.

    `href` is the path of the control API that reads it, null where only the directory lists it.
    """

    world: str
    kind: str
    id: str
    says: str
    href: str | None


class Findings(TypedDict):
    """What was found, at most 50; `more` says whether there is more."""

    found: list[FoundThing]
    more: bool


async def find(request: ControlRequest) -> Findings:
    """Whatever has this id, name of the cast, event_id, or last four digits of a card."""
    query: FindQuery = request.query
    who, all_worlds, others = request.who, request.services.worlds, others_of(request)
    if others is not None:
        await _have_those_of_nobody(request, others)
    worlds = who.worlds(all_worlds)
    if query.world is not None:
        world = who.world(all_worlds, query.world)
        if world is None and others is not None:
            for said in await said_elsewhere(request, others):
                return Findings(found=said["found"], more=said["more"])
        if world is None:
            raise unknown_world(all_worlds, query.world, who)
        worlds, others = [world], None
    found: list[FoundThing] = []
    for world in worlds:
        found += _by_id(world, query.q)
        found += [_payment(world, tx) for tx in await _payments(request, world, query.q)]
        if len(found) > FOUND_MAX:
            break
    if others is not None:
        for said in await said_elsewhere(request, others):
            found += said["found"]
    return {"found": found[:FOUND_MAX], "more": len(found) > FOUND_MAX}


async def _have_those_of_nobody(request: ControlRequest, others: Elsewhere) -> None:
    """Take over worlds that no server has, so that they are looked into: so many at a time."""
    own = [world.id for world in request.services.worlds]
    kept = await kept_elsewhere(request, others, own)
    for one in [one for one in kept if not one.is_held][:TAKEN_OVER_MAX]:
        await others.have_world(one.id)


async def _payments(request: ControlRequest, world: World, q: str) -> list[Transaction]:
    """The payments with this id, with an attempt of this event_id, or with such a card."""
    where: Where = {"event_id": q}
    if len(q) == LAST_DIGITS and q.isascii() and q.isdecimal():
        where = {"card_number": q}
    rows, _ = await found_in(request, Transaction, where, limit=FOUND_MAX + 1, world=world)
    known = world.store.get(Transaction, q)
    return rows if known is None else [known]


def _payment(world: World, tx: Transaction) -> FoundThing:
    amount = written(tx.amounts.total, tx.origin.site.currency)
    return {
        "world": world.id,
        "kind": "payment",
        "id": tx.transaction_id,
        "says": f"{tx.transaction_type} of {amount}, {tx.status}, card {tx.origin.card.masked}",
        "href": f"{PREFIX}/worlds/{world.id}/payments/{tx.transaction_id}",
    }


def _by_id(world: World, q: str) -> Iterator[FoundThing]:
    """Everything else that has this id, or this name in the cast."""
    cast, store, path = world.cast, world.store, f"{PREFIX}/worlds/{world.id}"
    key_id = cast.keys[q][0] if q in cast.keys else q
    if (account := store.get(Account, cast.accounts.get(q, q))) is not None:
        yield _thing(world, "account", account.id, f"{account.name}, {account.status}")
    if (terminal := store.get(Terminal, cast.terminals.get(q, q))) is not None:
        says = f"{terminal.name}, {terminal.status}"
        yield _thing(world, "terminal", terminal.terminal_id, says)
    if (location := store.get(Location, cast.locations.get(q, q))) is not None:
        yield _thing(world, "location", location.id, f"{location.name}, {location.status}")
    if (key := store.get(ApiKey, key_id)) is not None:
        yield _thing(world, "key", key.id, f"{key.name}, {key.status}", f"{path}/lens/{key.id}")
    if (batch := store.get(Batch, q)) is not None:
        says = f"batch {batch.processor_batch_id or ''} {batch.status}".replace("  ", " ")
        yield _thing(world, "batch", batch.id, says)
    if (message := store.message(q)) is not None:
        yield _thing(world, "message", q, message.event_type, f"{path}/messages/{q}")
    if (entry := world.journal.entry(q)) is not None:
        says = f"{entry.method} {entry.path}: {entry.status or 'no answer'}"
        yield _thing(world, "request", q, says, f"{path}/requests/{q}")


def _thing(world: World, kind: str, id: str, says: str, href: str | None = None) -> FoundThing:
    return {"world": world.id, "kind": kind, "id": id, "says": says, "href": href}
