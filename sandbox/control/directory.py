"""The directory of a world, and the search for anything by its id."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, Literal

from sandbox.control.context import ControlRequest, cast_names, unknown_among
from sandbox.control.models import PageQuery, Query, Time, View, Words, attribute
from sandbox.control.routing import PREFIX, WORLD, get
from sandbox.control.servers import ask_other_servers, list_stored_worlds, other_servers
from sandbox.domain.batches import Batch
from sandbox.domain.currencies import format_amount
from sandbox.domain.directory import Account
from sandbox.domain.events import Message
from sandbox.domain.keys import KeyUsage
from sandbox.domain.payments.transactions import Payment
from sandbox.platform.payments.points_of_sale import currency_at
from sandbox.store.store import UnitOfWork
from sandbox.store.tables import LAST_DIGITS, Where
from sandbox.worlds.world import KINDS, World

RecordKind = Literal["account", "terminal", "location", "key"]


class DirectoryQuery(PageQuery):
    """Which records: of a kind, with a text in their names, of an account.

    `parent` is an id or a name of the cast.
    """

    kind: RecordKind = "account"
    q: Words | None = None
    parent: Words | None = None


class FindQuery(Query):
    """An id, an event_id, a name of the cast, or the last four digits of a card; in which world."""

    q: Words
    world: Words | None = None


class Counts(View):
    """How many records belong to an account itself, without its descendants."""

    accounts: int
    terminals: int
    locations: int
    keys: int


class DirectoryEntry(View):
    """An account, a terminal, a location or a key.

    `parent_id` is the account that it belongs to, or null for a root; `cast` is its name in the
    cast. Only accounts have `counts`, only terminals have `currency`, and only keys have the last
    three fields.
    """

    kind: RecordKind
    id: str
    name: str
    cast: str | None
    parent_id: str | None
    status: str
    counts: Counts | None = None
    currency: str | None = None
    grants: list[str] | None = attribute("permissions", None)
    expires_at: Time | None = None
    last_used_at: Time | None = attribute("usage.last_used_at", None)


class DirectoryPage(View):
    """Entries, the newest first. `next` is the `before` of the next page, null on the last."""

    entries: list[DirectoryEntry]
    total: int
    next: int | None


@get(f"{WORLD}/directory", "directory.read")
def read_directory(request: ControlRequest, query: DirectoryQuery) -> DirectoryPage:
    """List the accounts, terminals, locations or keys of a world."""
    kind, world = KINDS[query.kind], request.world
    parent = request.find_id(Account, query.parent, "parent")
    belongs = "parent" if query.kind == "account" else "account"
    where: dict[str, Any] = {"search": query.q, belongs: parent}
    rows, total, after = request.find_page(kind, where, query)
    entries = directory_entries(world, query.kind, rows)
    return DirectoryPage(entries=list(entries), total=total, next=after)


def directory_entries(
    world: World, kind: RecordKind, records: Iterable[Any]
) -> Iterator[DirectoryEntry]:
    """Yield the records as the directory shows them."""
    names, unit = cast_names(world, kind), world.store.begin()
    for record in records:
        parents = record.parent_account_ids if kind == "account" else [record.account_id]
        yield DirectoryEntry.of(
            record,
            kind=kind,
            cast=names.get(record.id),
            parent_id=parents[-1] if parents else None,
            counts=_counts(unit, record.id) if kind == "account" else None,
            currency=currency_at(unit, record) if kind == "terminal" else None,
            usage=unit.get(KeyUsage, record.id),
        )


def _counts(unit: UnitOfWork, id: str) -> Counts:
    counts = {}
    for noun, kind in KINDS.items():
        where = {"parent" if kind is Account else "account": id}
        _, counts[f"{noun}s"] = unit.find(kind, where, limit=1)
    return Counts(**counts)


TAKEN_OVER_MAX: Final = 100
"""How many worlds that no server owns to take over for one search."""

FOUND_MAX: Final = 50
"""How many things an answer may have."""


class FoundThing(View):
    """Something with the id, and a description of it.

    `href` is its path in the control API, or null if only the directory lists it.
    """

    world: str
    kind: str
    id: str
    says: str
    href: str | None


class Findings(View):
    """Up to 50 things that were found; `more` says whether there are more."""

    found: list[FoundThing]
    more: bool


@get(f"{PREFIX}/find", "find", refuses=(404,))
async def find_anything(request: ControlRequest, query: FindQuery) -> Findings:
    """Find anything by its id, in all worlds."""
    who, here, others = request.who, request.services.worlds, other_servers(request)
    only = None if query.world is None else who.meant(query.world)
    ids = [world.id for world in here]
    if others is not None:
        # Take over worlds that no server owns, a limited number at a time, to search them.
        kept = await list_stored_worlds(request, others, ids)
        free = [one.id for one in kept if not one.is_held and only in (None, one.id)]
        for id in free[:TAKEN_OVER_MAX]:
            await others.have_world(id)
        ids += [one.id for one in kept]
    worlds = [world for world in who.worlds(here) if only in (None, world.id)]
    things = (thing for world in worlds for thing in _find_in(world, query.q))
    found = list(islice(things, FOUND_MAX + 1))
    is_all_here = only is not None and bool(worlds)
    answers = [] if is_all_here else await ask_other_servers(request, Findings)
    if query.world is not None and not (worlds or answers):
        raise unknown_among(ids, query.world, who)
    found += [thing for one in answers for thing in one.found]
    has_more = len(found) > FOUND_MAX or any(one.more for one in answers)
    return Findings(found=found[:FOUND_MAX], more=has_more)


def _find_payments(world: World, q: str) -> list[Payment]:
    """Return the payments with this id, event_id, or last four digits of the card."""
    where: Where = {"event_id": q}
    if len(q) == LAST_DIGITS and q.isascii() and q.isdecimal():
        where = {"card_number": q}
    rows, _ = world.store.begin().find(Payment, where, limit=FOUND_MAX + 1)
    known = world.store.get(Payment, q)
    return rows if known is None else [known]


def _find_in(world: World, q: str) -> Iterator[FoundThing]:
    """Yield everything in a world with this id, or with this name in the cast."""
    store = world.store

    def thing(kind: str, id: str, says: str, room: str | None = None) -> FoundThing:
        href = room and f"{PREFIX}/worlds/{world.id}/{room}/{id}"
        return FoundThing(world=world.id, kind=kind, id=id, says=says, href=href)

    for kind, shape in KINDS.items():
        id = world.cast.ids_of(kind).get(q, q)
        if (one := store.get(shape, id)) is not None:
            room = "lens" if kind == "key" else None
            yield thing(kind, id, f"{one.name}, {one.status}", room)
    if (batch := store.get(Batch, q)) is not None:
        says = f"batch {batch.processor_batch_id or ''} {batch.status}".replace("  ", " ")
        yield thing("batch", q, says)
    if (message := store.get(Message, q)) is not None:
        yield thing("message", q, message.event_type, "messages")
    if (entry := world.journal.entry(q)) is not None:
        says = f"{entry.method} {entry.path}: {entry.status or 'no answer'}"
        yield thing("request", q, says, "requests")
    for payment in _find_payments(world, q):
        tx = payment.transaction
        amount = format_amount(tx.total_amount, tx.currency)
        began = tx.history[0].transaction_type
        says = f"{began} of {amount}, {tx.status}, card {payment.card.masked}"
        yield thing("payment", payment.id, says, "payments")
