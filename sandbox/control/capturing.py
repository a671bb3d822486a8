"""The control endpoint that captures a world: all that can be seen of it, in one gzipped document.

A capture is for reading elsewhere: in the report of a test run, or in another sandbox. It holds no
API key and no secret of an endpoint, so it may be handed on.
"""

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, TypedDict

from pydantic_core import to_json

from sandbox.control import agenda, endpoints, lens, messages, observe, taps, verifying, worlds
from sandbox.control.batches import BatchDetail, detail_of
from sandbox.control.coverage import Coverage, view_of
from sandbox.control.directory import DirectoryEntry, entries_of
from sandbox.control.finding import found_in
from sandbox.control.long import alone
from sandbox.control.moves import Moves, moves_of
from sandbox.control.payment_lists import PaymentRow, row_of
from sandbox.control.payment_story import Story, story_of
from sandbox.control.rows import ControlFault, ControlRequest, Written
from sandbox.control.scenarios import RunningScenario
from sandbox.control.scenarios import read as read_scenario
from sandbox.domain.batches import Batch
from sandbox.domain.clock import Timer
from sandbox.domain.events import Message
from sandbox.domain.instants import to_wire
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.transactions import Transaction
from sandbox.platform.rows import Row
from sandbox.store.steps import Steps
from sandbox.store.tables import EVERYTHING
from sandbox.worlds.clock import ClockView
from sandbox.worlds.journal import Entry
from sandbox.worlds.world import World

PROGRAM: Final = "uat-sandbox"

FORMAT: Final = 1
"""The format of captures. One that adds fields only stays the same."""

PAYMENTS_MAX: Final = 200
"""The newest payments, with their stories."""

BATCHES_MAX: Final = 50
MESSAGES_MAX: Final = 1_000
AGENDA_MAX: Final = 500
KEYS_MAX: Final = 50
"""Keys with a table of all operations: those of the cast, and those that sent requests."""

LENS_MAX: Final = 40
"""Refused operations, the newest, that the lens answers for every one of these keys."""

_REFUSED_FROM: Final = 400
_TARGET: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
_ENDPOINT_SECRET: Final = re.compile(rb"whsec_[A-Za-z0-9+/=_-]+")
_MASKED_SECRET: Final = b"whsec_****"
_GZIP_BITS: Final = 16 + zlib.MAX_WBITS


class KeyOfCapture(TypedDict):
    """A key of the cast, without its plaintext."""

    id: str


class CapturedWorld(TypedDict):
    """The world of a capture, with its cast."""

    id: str
    name: str
    seed: int
    fixture: str
    scenario: str | None
    readings: dict[str, str]
    clock: ClockView
    accounts: dict[str, str]
    terminals: dict[str, str]
    locations: dict[str, str]
    keys: dict[str, KeyOfCapture]


class CapturedServer(TypedDict):
    """The server that was captured, as its clients saw it."""

    version: str
    platform_url: str
    api_key_header: str


class Totals(TypedDict):
    """How many there are in the world; a capture holds a part of very many."""

    payments: int
    messages: int
    agenda: int


class CapturedMoves(Moves):
    """What could be done with a payment, by a key: that of its account if the cast has one."""

    id: str
    key: str | None


class CapturedCheck(verifying.VerifyView):
    """What the receiver of the last attempt at a message found."""

    message_id: str
    endpoint_id: str


class CapturedLens(TypedDict):
    """What keys may: all operations of each key, and the refused ones with each decision."""

    tables: list[lens.LensTable]
    answers: list[lens.LensView]


class Capture(TypedDict):
    """All that can be seen of a world, without keys and secrets. Lists are oldest first.

    `message_rows` and `request_rows` are the same messages and requests, as lists show them.
    `payments`, `stories` and `moves` are of the newest payments, and `batches` are the newest ones;
    of all four the newest is first.
    """

    program: str
    capture: int
    taken_at: str
    server: CapturedServer
    world: CapturedWorld
    scenario: RunningScenario | None
    switches: dict[str, Any]
    coverage: Coverage
    totals: Totals
    endpoints: list[endpoints.EndpointView]
    taps: list[taps.TapView]
    agenda: list[agenda.DueView]
    keys: list[DirectoryEntry]
    lens: CapturedLens
    payments: list[PaymentRow]
    stories: list[Story]
    batches: list[BatchDetail]
    moves: list[CapturedMoves]
    messages: list[messages.MessageView]
    message_rows: list[messages.MessageRow]
    checks: list[CapturedCheck]
    requests: list[observe.JournalEntry]
    request_rows: list[observe.RequestRow]


class _Document:
    """A JSON object that is written and compressed member by member, with secrets masked."""

    def __init__(self, request: ControlRequest) -> None:
        self._scrub = request.services.worlds.profile.key_format.scrub_bytes
        self._zip = zlib.compressobj(wbits=_GZIP_BITS)
        self._between = b"{"
        self.parts: list[bytes] = []

    def _write(self, text: bytes) -> None:
        if part := self._zip.compress(text):
            self.parts.append(part)

    def _shown(self, value: Any) -> bytes:
        return _ENDPOINT_SECRET.sub(_MASKED_SECRET, self._scrub(to_json(value)))

    def members(self, members: Mapping[str, Any]) -> Steps[None]:
        """Write these members, one in each step."""
        for name, value in members.items():
            self._write(b'%b"%b":%b' % (self._between, name.encode(), self._shown(value)))
            self._between = b","
            yield

    def members_of(self, name: str, items: Iterable[Any]) -> Steps[None]:
        """Write the member with this list, an item in each step."""
        self._write(b'%b"%b":[' % (self._between, name.encode()))
        between = b""
        for item in items:
            self._write(between + self._shown(item))
            between = b","
            yield
        self._write(b"]")
        self._between = b","

    def end(self) -> list[bytes]:
        """The whole document, in parts."""
        self._write(b"}")
        return [*self.parts, self._zip.flush()]


async def read(request: ControlRequest) -> Written[Capture]:
    """A world as it can be seen, to be read elsewhere. Source: assumed D25-captures."""
    slices = request.services.worlds.slices
    # The first time they are read from their files.
    await slices.aside(request.services.scenarios)
    async with alone(request) as world:
        payments, total = await found_in(
            request, Transaction, {"scope": EVERYTHING}, limit=PAYMENTS_MAX
        )
        newest, _ = await found_in(request, Batch, {"scope": EVERYTHING}, limit=BATCHES_MAX)
        batches = [await detail_of(request, batch) for batch in newest]
        steps = _written(request, payments, total, batches)
        parts = await slices.run(steps, is_large=True)
    name = f"{world.id}.capture.json.gz"
    request.answer_headers["content-disposition"] = f'attachment; filename="{name}"'
    return Written(parts)


def _written(
    request: ControlRequest,
    payments: list[Transaction],
    total: int,
    batches: list[BatchDetail],
) -> Steps[list[bytes]]:
    world, document = request.world, _Document(request)
    yield from world.coverage.count()
    yield from document.members(_head(request))
    yield from document.members({"totals": _totals(world, total)})
    yield from document.members_of("agenda", (agenda.view(world, one) for one in _due(world)))
    keys = _keys(world)
    yield from document.members_of("keys", entries_of(world, "key", keys))
    yield from document.members({"lens": (yield from _lens(world, keys))})
    yield from document.members_of("payments", map(row_of, payments))
    stories = []
    for tx in payments:
        stories.append((yield from story_of(world, tx)))
    yield from document.members_of("stories", stories)
    yield from document.members_of("batches", batches)
    yield from document.members_of("moves", (_moves(world, tx) for tx in payments))
    told = world.store.messages_now()[-MESSAGES_MAX:]
    yield from document.members_of("messages", (messages.view(world, one) for one in told))
    yield from document.members_of("message_rows", (messages.row_of(world, one) for one in told))
    yield from document.members_of("checks", (each for one in told for each in _checks(world, one)))
    entries = world.journal.entries()
    yield from document.members_of("requests", (observe.view_of(world, entry) for entry in entries))
    rows = (observe.row_of(world, entry) for entry in entries)
    yield from document.members_of("request_rows", rows)
    return document.end()


def _head(request: ControlRequest) -> dict[str, Any]:
    world, services = request.world, request.services
    shown = worlds.view(world)
    keys = {name: KeyOfCapture(id=one["id"]) for name, one in shown["keys"].items()}
    return {
        "program": PROGRAM,
        "capture": FORMAT,
        "taken_at": to_wire(world.now()),
        "server": {
            "version": services.version,
            "platform_url": services.platform_url,
            "api_key_header": services.worlds.profile.api_key_header,
        },
        "world": {**shown, "keys": keys},
        "scenario": None if world.scenario is None else read_scenario(request),
        "switches": dict(world.switches),
        "coverage": view_of(request, world.coverage.look()),
        "endpoints": [
            {**endpoints.view(one, world.now()), "secret": "", "old_secrets": []}
            for one in world.outbox.endpoints.values()
        ],
        "taps": taps.list_all(request)["taps"],
    }


def _totals(world: World, payments: int) -> Totals:
    return {
        "payments": payments,
        "messages": len(world.store.messages_now()),
        "agenda": len(world.store.timers.numbered()),
    }


def _due(world: World) -> Iterator[Timer]:
    return (timer for _, timer in islice(world.store.timers.numbered(), AGENDA_MAX))


def _keys(world: World) -> list[ApiKey]:
    asked = (entry.key_id for entry in reversed(world.journal.entries()))
    ids = dict.fromkeys([*(id for id, _ in world.cast.keys.values()), *filter(None, asked)])
    found = (world.store.get(ApiKey, id) for id in ids)
    return [key for key in found if key is not None][:KEYS_MAX]


def _moves(world: World, tx: Transaction) -> CapturedMoves:
    owner = next((name for name, id in world.cast.accounts.items() if id == tx.account_id), None)
    name = owner if owner in world.cast.keys else "psp" if "psp" in world.cast.keys else None
    key = None if name is None else world.store.get(ApiKey, world.cast.keys[name][0])
    return {
        **moves_of(world, tx, key),
        "id": tx.transaction_id,
        "key": None if key is None else name,
    }


def _checks(world: World, message: Message) -> Iterator[CapturedCheck]:
    for delivery in world.outbox.deliveries_of(message.id):
        try:
            check = verifying.check_of(world, message, delivery)
        except ControlFault:
            # Nothing was sent, or its endpoint is gone.
            continue
        yield {**check, "message_id": message.id, "endpoint_id": delivery.endpoint_id}


def _lens(world: World, keys: list[ApiKey]) -> Steps[CapturedLens]:
    """What the keys may, and what each would have been answered where one was refused."""
    tables, answers = [], []
    for key in keys:
        tables.append(lens.table_of(world, key))
        yield
    for row, target in _refused(world.journal.entries()):
        could = yield from lens.who_could(world, row, target)
        for key in keys:
            answers.append(lens.answer(world, row, key, target, could))
            yield
    return {"tables": tables, "answers": answers}


def _refused(entries: list[Entry]) -> list[tuple[Row, str | None]]:
    """The operations that were refused, each with the record that it was about."""
    found: dict[tuple[str, str | None], Row] = {}
    for entry in reversed(entries):
        row = lens.ROWS.get(entry.route or "")
        if row is None or entry.status < _REFUSED_FROM or len(found) == LENS_MAX:
            continue
        named = _TARGET.search(entry.path) if row.target is not None else None
        if row.target is None or row.target.where != "path" or named is not None:
            found[row.name, named and named[0]] = row
    return [(row, target) for (_, target), row in found.items()]
