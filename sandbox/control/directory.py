"""Control endpoint on the directory of a world: accounts, terminals, locations and keys."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

from sandbox.control.finding import account_of, cast_names, page_of
from sandbox.control.long import written_list
from sandbox.control.rows import ControlRequest, Written
from sandbox.domain.directory import Account, Location, Terminal
from sandbox.domain.instants import to_wire
from sandbox.domain.keys import ApiKey, KeyUsage
from sandbox.platform.payments.points_of_sale import currency_at
from sandbox.store.tables import EVERYTHING
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.control.look_shapes import DirectoryQuery

RecordKind = Literal["account", "terminal", "location", "key"]

_KINDS: Final[dict[str, Any]] = {
    "account": Account,
    "terminal": Terminal,
    "location": Location,
    "key": ApiKey,
}


class Counts(TypedDict):
    """How much an account has itself, without what its descendants have."""

    accounts: int
    terminals: int
    locations: int
    keys: int


class DirectoryEntry(TypedDict):
    """An account, a terminal, a location or a key.

    `parent_id` is the account that it belongs to, null for a root; `cast` its name in the cast.
    Only accounts have `counts`, only terminals `currency`, and only keys the last three fields.
    """

    kind: RecordKind
    id: str
    name: str
    cast: str | None
    parent_id: str | None
    status: str
    counts: Counts | None
    currency: str | None
    grants: list[str] | None
    expires_at: str | None
    last_used_at: str | None


class DirectoryPage(TypedDict):
    """Entries, the newest first. `next` is the `before` of the next page, null on the last."""

    entries: list[DirectoryEntry]
    total: int
    next: int | None


async def read(request: ControlRequest) -> Written[DirectoryPage]:
    """The records of one kind, without those that were deleted."""
    query: DirectoryQuery = request.query
    kind, world = _KINDS[query.kind], request.world
    where: dict[str, Any] = {"scope": EVERYTHING}
    if query.parent is not None:
        parent = account_of(world, query.parent, "parent")
        where = {"parent" if query.kind == "account" else "account": parent.id}
    if query.q is not None:
        where["search"] = query.q
    rows, total, following = await page_of(
        request, kind, where, limit=query.limit, before=query.before
    )
    answer = DirectoryPage(entries=[], total=total, next=following)
    views = entries_of(world, query.kind, rows)
    return await request.services.worlds.slices.run(written_list(answer, "entries", views))


def entries_of(world: World, kind: RecordKind, records: Iterable[Any]) -> Iterator[DirectoryEntry]:
    """The records as the directory shows them."""
    names = cast_names(_cast(world, kind))
    for record in records:
        id = record.terminal_id if kind == "terminal" else record.id
        entry: DirectoryEntry = {
            "kind": kind,
            "id": id,
            "name": record.name,
            "cast": names.get(id),
            "parent_id": _parent_of(record),
            "status": record.status,
            "counts": None,
            "currency": None,
            "grants": None,
            "expires_at": None,
            "last_used_at": None,
        }
        if kind == "account":
            entry["counts"] = _counts(world, id)
        elif kind == "terminal":
            entry["currency"] = currency_at(world.store.begin(), record)
        elif kind == "key":
            usage = world.store.get(KeyUsage, id)
            entry["grants"] = list(record.permissions)
            entry["expires_at"] = to_wire(record.expires_at)
            entry["last_used_at"] = None if usage is None else to_wire(usage.last_used_at)
        yield entry


def _cast(world: World, kind: str) -> Mapping[str, Any]:
    cast = world.cast
    casts: dict[str, Mapping[str, Any]] = {
        "account": cast.accounts,
        "terminal": cast.terminals,
        "location": cast.locations,
        "key": cast.keys,
    }
    return casts[kind]


def _parent_of(record: Any) -> str | None:
    if isinstance(record, Account):
        return record.parent_account_ids[-1] if record.parent_account_ids else None
    id: str = record.account_id
    return id


def _counts(world: World, id: str) -> Counts:
    unit = world.store.begin()

    def count(kind: Any, index: str) -> int:
        return unit.find(kind, {index: id}, limit=1)[1]

    return {
        "accounts": count(Account, "parent"),
        "terminals": count(Terminal, "account"),
        "locations": count(Location, "account"),
        "keys": count(ApiKey, "account"),
    }
