"""Loading a store from the documents of a saved world, and looking at what was loaded.

Documents that people can edit are checked as they are loaded. Others are read when they are needed.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, Final

from sandbox.domain.clock import Timer
from sandbox.store.documents import from_document
from sandbox.store.files.port import COUNTERS, MESSAGES, TAKEN_IDS, TIMERS, WORLD, fields_of
from sandbox.store.memory.store import MemoryStore
from sandbox.store.port import DuplicateValue, R
from sandbox.store.saved_world import NotRestored, SavedWorld
from sandbox.store.steps import OFTEN, Steps
from sandbox.store.world_state import Counters, WorldState

SAID_MAX: Final = 400
"""Length limit of an error message: a field may hold a whole book."""

Checks = Mapping[str, Callable[[Any], None]]
"""By table: what a record of it has to fulfil beyond its types. Raises ValueError."""


class Place:
    """Adds the table and the document to every error inside the block."""

    def __init__(self, table: str, id: str) -> None:
        self._place = f"{table}, {id[:80]}"

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # A field may be of any type until it was checked, and a number of any size.
        expected = (
            *(ValueError, DuplicateValue, LookupError, TypeError, AttributeError),
            ArithmeticError,
        )
        if isinstance(error, expected) and not isinstance(error, NotRestored):
            raise NotRestored(f"{self._place}: {_message_of(error)}") from None


def _message_of(error: BaseException) -> str:
    message = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
    return message if len(message) <= SAID_MAX else message[:SAID_MAX] + "…"


def state_of(saved: SavedWorld) -> WorldState:
    """The state of the world. Raises NotRestored."""
    state: WorldState = _only(saved, WORLD, WorldState)
    _must_be(saved.tables[WORLD][0].id, state.id, WORLD)
    return state


def counters_of(saved: SavedWorld) -> Counters:
    """What the world has counted. Raises NotRestored."""
    counters: Counters = _only(saved, COUNTERS, Counters)
    _must_be(saved.tables[COUNTERS][0].id, COUNTERS, COUNTERS)
    return counters


def _must_be(id: str, expected: str, table: str) -> None:
    """Refuse a document of another id: a file would get a second one."""
    if id != expected:
        raise NotRestored(f"{table}, {id[:80]}: its id must be {expected[:80]}")


def _only(saved: SavedWorld, table: str, kind: type) -> Any:
    documents = saved.tables.get(table) or ()
    if len(documents) != 1:
        raise NotRestored(f"{table}: must have one document, and has {len(documents)}")
    with Place(table, documents[0].id):
        return from_document(kind, fields_of(documents[0]))


def load(store: MemoryStore, saved: SavedWorld, checks: Checks) -> Steps[None]:
    """Fill the empty store, but for the state of the world. Raises NotRestored."""
    for table, rows in store.tables():
        check = None if saved.is_trusted else checks.get(table)
        # The state of the world is changed before it is stored.
        for document in saved.tables.get(table, ()) if table != WORLD else ():
            with Place(table, document.id):
                rows.keep(document, partial(saved.read, table))
                if check is not None:
                    check(rows.get(document.id))
            yield
    store.restore_messages(saved.tables.get(MESSAGES, ()), saved.read)
    for document in saved.tables.get(TIMERS, ()):
        with Place(TIMERS, document.id):
            timer: Timer = from_document(Timer, fields_of(document))
            if not saved.is_trusted and (check := checks.get(TIMERS)) is not None:
                check(timer)
            _must_be(document.id, timer.id, TIMERS)
            store.timers.restore(timer, document.number)
        yield
    store.ids_may_repeat = not saved.is_trusted or TAKEN_IDS in saved.tables


def ids_of(store: MemoryStore, saved: SavedWorld) -> Steps[Collection[str]]:
    """The ids of all records and messages."""
    found: set[str] = set()
    of_messages = (one.id for one in saved.tables.get(MESSAGES, ()))
    for id in chain(of_messages, *(rows.number_of for _, rows in store.tables())):
        found.add(id)
        if not len(found) % OFTEN:
            yield
    return found


def every(store: MemoryStore, kind: type[R]) -> Iterator[tuple[str, R]]:
    """All records of a kind with their ids. Raises NotRestored if one cannot be read."""
    rows = store.rows(kind)
    for id, number in rows.number_of.items():
        with Place(rows.table.name, id):
            record = rows.by_number[number]
        yield id, record


def those_read(store: MemoryStore, kind: type[R]) -> Iterator[R]:
    """The records of a kind that were read already."""
    yield from list(store.rows(kind).by_number.values())


def replace_all(store: MemoryStore, kind: type[R], records: Collection[R]) -> None:
    """Hold these records instead of all of their kind. Raises NotRestored."""
    rows = store.rows(kind)
    rows.forget()
    for record in records:
        id = rows.id_of(record)
        with Place(rows.table.name, id):
            rows.put(id, record, rows.unique_values(id, record))
