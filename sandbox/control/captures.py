"""Captures: everything visible in a world as one gzipped document, and the page that shows them.

A capture is for reading elsewhere: in the report of a test run, or in another sandbox. It holds no
API key and no secret of an endpoint, so it can be shared. The page's policy has the hashes of its
script and its style sheet; nothing else runs, and nothing is loaded.
"""

import gzip
import hashlib
import re
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from html import escape
from itertools import chain, count
from typing import Any, Final, NamedTuple, get_args, get_origin

from pydantic_core import from_json, to_json

from sandbox.control import permissions
from sandbox.control.batches import BatchDetail, view_batch
from sandbox.control.clock import DueView, view_timer
from sandbox.control.console_files import fill_page, join_scripts, join_styles
from sandbox.control.context import ControlFault, ControlRequest, cast_names, exclusive_world
from sandbox.control.coverage import Coverage, view_coverage
from sandbox.control.directory import DirectoryEntry, directory_entries
from sandbox.control.endpoints import EndpointView, view_endpoint
from sandbox.control.journal import JournalEntry, RequestRow, request_row, view_entry
from sandbox.control.ledger import read_ledger
from sandbox.control.messages import MessageRow, MessageView, message_row, view_message
from sandbox.control.models import Time, View, attribute
from sandbox.control.outcomes import TapView, list_taps
from sandbox.control.payments import PaymentRow, Story, list_records, payment_row, view_story
from sandbox.control.receivers import VerifyView, check_attempt
from sandbox.control.routing import GZIP, HTML, PREFIX, WORLD, Written, get
from sandbox.control.scenarios import RunningScenario, view_running
from sandbox.control.worlds import WorldBase, view_world
from sandbox.domain.batches import Batch
from sandbox.domain.events import Message
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.transactions import Payment
from sandbox.platform.operation import Row
from sandbox.worlds.background import collect, run_in_thread, select
from sandbox.worlds.journal import REFUSED_FROM, Entry
from sandbox.worlds.world import World

PROGRAM: Final = "uat-sandbox"

CAPTURE_FORMAT: Final = 1
"""The format of captures. Adding fields does not change it."""

PAYMENTS_MAX: Final = 200
"""How many payments a capture has, the newest ones, with their stories."""

BATCHES_MAX: Final = 50
MESSAGES_MAX: Final = 1_000
AGENDA_MAX: Final = 500

KEYS_MAX: Final = 50
"""How many keys have a table of all operations: the cast's, and those that sent requests."""

LENS_MAX: Final = 40
"""How many refused operations, the newest ones, the lens answers for each of these keys."""

_TARGET: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
_ENDPOINT_SECRET: Final = re.compile(rb"whsec_[A-Za-z0-9+/=_-]+")
_IN_A_ROW: Final = 20


class KeyOfCapture(View):
    """A key of the cast, without its plaintext."""

    id: str


class CapturedWorld(WorldBase):
    """The world of a capture, with its cast."""

    keys: dict[str, KeyOfCapture]


class CapturedServer(View):
    """The server that was captured, as its clients saw it."""

    version: str
    platform_url: str
    api_key_header: str = attribute("worlds.profile.api_key_header")


class Totals(View):
    """How many there are in the world; a capture may hold fewer."""

    payments: int
    messages: int
    agenda: int


class CapturedMoves(permissions.Moves):
    """What could be done with a payment by a key: its account's, if the cast has one."""

    id: str
    key: str | None


class CapturedCheck(VerifyView):
    """The receiver's check of the last attempt at a message."""

    message_id: str
    endpoint_id: str


class CapturedLens(View):
    """What keys may do: all operations of each key, and refused ones with each decision."""

    tables: list[permissions.LensTable]
    answers: list[permissions.LensView]


class Capture(View):
    """Everything visible in a world, without keys and secrets. Lists are oldest first.

    `message_rows` and `request_rows` are the same messages and requests, as lists show them.
    `payments`, `stories` and `moves` concern the newest payments, and `batches` are the newest
    ones; these four are newest first.
    """

    program: str
    capture: int
    taken_at: Time
    server: CapturedServer
    world: CapturedWorld
    scenario: RunningScenario | None
    switches: dict[str, Any]
    coverage: Coverage
    totals: Totals
    endpoints: list[EndpointView]
    taps: list[TapView]
    agenda: list[DueView]
    keys: list[DirectoryEntry]
    lens: CapturedLens
    payments: list[PaymentRow]
    stories: list[Story]
    batches: list[BatchDetail]
    moves: list[CapturedMoves]
    messages: list[MessageView]
    message_rows: list[MessageRow]
    checks: list[CapturedCheck]
    requests: list[JournalEntry]
    request_rows: list[RequestRow]


@get(f"{WORLD}/capture", "capture.read", media_type=GZIP)
async def read_capture_file(request: ControlRequest) -> Written[Capture]:
    """Capture a world: everything visible in it, without keys, as gzipped JSON.

    Source: assumed D25-captures.
    """
    async with exclusive_world(request) as world:
        capture = await _take_capture(request)
    name = f"{world.id}.capture.json.gz"
    request.answer_headers["content-disposition"] = f'attachment; filename="{name}"'
    scrub = request.services.worlds.profile.key_format.scrub_bytes
    return Written(await run_in_thread(_pack, capture, scrub))


def _pack(capture: Capture, scrub: Callable[[bytes], bytes]) -> bytes:
    """Compress a capture, with secrets masked."""
    return gzip.compress(_ENDPOINT_SECRET.sub(b"whsec_****", scrub(to_json(capture))), mtime=0)


async def _take_capture(request: ControlRequest) -> Capture:
    world = request.world
    unit, everything = world.store.begin(), {"scope": None}
    payments, total = unit.find(Payment, everything, limit=PAYMENTS_MAX)
    batches, _ = unit.find(Batch, everything, limit=BATCHES_MAX)
    all_messages = world.store.messages()
    about: dict[str, list[Message]] = {id: [] for one in payments for id in list_records(one)}
    for one in await select(all_messages, lambda one: one.subject in about):
        about[one.subject].append(one)

    def view(payment: Payment) -> Story:
        messages = [one for id in list_records(payment) for one in about[id]]
        return view_story(world, payment, messages)

    timers = world.store.timers.by_due()
    told, entries, keys = all_messages[-MESSAGES_MAX:], world.journal.entries(), _keys(world)

    show = partial(collect, every=_IN_A_ROW)
    return Capture(
        program=PROGRAM,
        capture=CAPTURE_FORMAT,
        taken_at=world.now(),
        server=CapturedServer.of(request.services, platform_url=request.platform_url),
        world=CapturedWorld.of(view_world(world)),
        scenario=view_running(world),
        switches=world.switches,
        coverage=view_coverage(request, world.coverage),
        totals=Totals(payments=total, messages=len(all_messages), agenda=len(timers)),
        endpoints=[view_endpoint(world, one) for one in world.outbox.endpoints.values()],
        taps=list_taps(request).taps,
        agenda=await show(view_timer(world, timer) for timer in timers[:AGENDA_MAX]),
        keys=await show(directory_entries(world, "key", keys)),
        lens=await _lens(world, keys),
        payments=await show(map(payment_row, payments)),
        stories=await show(map(view, payments)),
        batches=[await view_batch(world, batch) for batch in batches],
        moves=await show(_moves(world, payment) for payment in payments),
        messages=await show(view_message(world, one) for one in told),
        message_rows=await show(message_row(world, one) for one in told),
        checks=await show(each for one in told for each in _checks(world, one)),
        requests=await show(view_entry(world, entry) for entry in entries),
        request_rows=await show(request_row(world, entry) for entry in entries),
    )


def _keys(world: World) -> list[ApiKey]:
    asked = [entry.key_id for entry in reversed(world.journal.entries()) if entry.key_id]
    ids = dict.fromkeys([*cast_names(world, "key"), *asked])
    return [key for id in ids if (key := world.store.get(ApiKey, id))][:KEYS_MAX]


def _moves(world: World, payment: Payment) -> CapturedMoves:
    owner = cast_names(world, "account").get(payment.account_id)
    ids = world.cast.ids_of("key")
    name = next((one for one in (owner, "psp") if one and one in ids), "")
    key = world.store.get(ApiKey, ids.get(name, ""))
    moves = permissions.view_actions(world, payment, key)
    return CapturedMoves.of(moves, id=payment.id, key=key and name)


def _checks(world: World, message: Message) -> Iterator[CapturedCheck]:
    for delivery in world.outbox.deliveries_of(message.id):
        # Nothing was sent, or its endpoint is gone.
        with suppress(ControlFault):
            check, id = check_attempt(world, message, delivery), delivery.endpoint_id
            yield CapturedCheck.of(check, message_id=message.id, endpoint_id=id)


async def _lens(world: World, keys: list[ApiKey]) -> CapturedLens:
    """List what the keys may do, and what each would have been answered where one was refused."""
    tables = (permissions.view_permissions(world, key) for key in keys)
    answers: list[permissions.LensView] = []
    for row, target in _list_refused(world.journal.entries()):
        could = await permissions.find_permitted_keys(world, row, target)
        each = (permissions.view_permission(world, row, key, target, could) for key in keys)
        answers += await collect(each, every=_IN_A_ROW)
    return CapturedLens(tables=await collect(tables, every=_IN_A_ROW), answers=answers)


def _list_refused(entries: list[Entry]) -> list[tuple[Row, str | None]]:
    """Return the refused operations, each with the record that it was about."""
    found: dict[tuple[Row, str | None], None] = {}
    for entry in reversed(entries):
        row = permissions.PERMITTED.get(entry.route or "")
        if row is None or entry.status < REFUSED_FROM:
            continue
        refused = [reason for step, _, reason, _ in entry.decisions[-1:] if step == "target"]
        named = _TARGET.search(" ".join((entry.path, *refused))) if row.target else None
        if named or row.target is None or row.target.where != "path":
            found[row, named and named[0]] = None
    return list(found)[:LENS_MAX]


CAPTURES_BELONG_HERE: Final = "<!-- captures -->"
"""The place for captures: scripts of type application/gzip, with gzipped JSON in base64."""

_POLICY: Final = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data:; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


@get(f"{PREFIX}/report.html", "report.page", media_type=HTML)
async def read_report_page(request: ControlRequest) -> Written[str]:
    """Return the console as one file that shows captures and needs no server.

    Source: assumed D25-reports.
    """
    return Written(await run_in_thread(read_page))


@cache
def read_page() -> bytes:
    """Return the page in UTF-8, with CAPTURES_BELONG_HERE where captures go."""
    script, style = join_scripts(), join_styles()
    # Either would end the element that holds the script.
    assert "</script" not in script
    assert "<!--" not in script
    clauses = [one.model_copy(update={"tests": None}) for one in read_ledger().clauses]
    ledger = _zip({"clauses": clauses, "total": len(clauses)})
    policy = _POLICY.format(script=_policy_hash(script), style=_policy_hash(style))
    parts = {"policy": policy, "script": script, "style": style, "ledger": ledger}
    return fill_page("report.html", **parts, captures=CAPTURES_BELONG_HERE).encode()


def _zip(document: Any) -> str:
    """Return a document as the page reads it: gzipped JSON in base64."""
    return b64encode(gzip.compress(to_json(document), mtime=0)).decode()


def _policy_hash(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


BYTES_MAX: Final = 256 * 1_048_576
"""Size limit of an unpacked capture."""

_SHAPES: Final = {int: "a number", str: "text", dict: "an object", list: "a list"}


class NotACapture(ValueError):
    """A file without a capture that this version can read; the message says why."""


class NamedCapture(NamedTuple):
    """A capture as a report names it: `id` in links, `name` to people."""

    id: str
    name: str
    content: dict[str, Any]


def free_id(wanted: str, captures: Iterable[NamedCapture]) -> str:
    """Return the id, with a number after it if one of these captures has it."""
    taken = {one.id for one in captures}
    ids = chain([wanted], (f"{wanted}-{number}" for number in count(2)))
    return next(id for id in ids if id not in taken)


def read_capture(file: bytes) -> dict[str, Any]:
    """Return the capture in the content of a file. Raises NotACapture."""
    try:
        content = from_json(_unpacked(file))
    except ValueError as error:
        raise NotACapture(f"is not a capture: {error}") from None
    if not isinstance(content, dict) or content.get("program") != PROGRAM:
        raise NotACapture("is not a capture of this program")
    if content.get("capture") != CAPTURE_FORMAT:
        found = str(content.get("capture"))[:20]
        raise NotACapture(f"has the format {found}, and this version reads {CAPTURE_FORMAT}")
    for name in content.keys() - Capture.model_fields.keys():
        raise NotACapture(f"has {name[:40]!r}, which no capture has")
    for name, member in Capture.model_fields.items():
        if name not in content:
            raise NotACapture(f"has no {name}")
        _check_member(name, content[name], member.annotation)
    return content


def _unpacked(file: bytes) -> bytes:
    """Return the JSON in the file. Raises ValueError."""
    unpacking = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        text = unpacking.decompress(file, BYTES_MAX)
    except zlib.error:
        raise ValueError("it is not gzipped") from None
    if unpacking.unconsumed_tail:
        raise ValueError(f"it is larger than {BYTES_MAX // 1_048_576} MiB")
    if not unpacking.eof:
        raise ValueError("it ends too early")
    return text


def _check_member(name: str, value: Any, shape: Any) -> None:
    """Raise NotACapture for a member of the wrong type."""
    shapes = get_args(shape) if type(None) in get_args(shape) else (shape,)
    origins = [get_origin(one) or one for one in shapes]
    kinds = [dict if issubclass(one, View) else one for one in origins]
    if type(value) not in kinds:
        raise NotACapture(f"{name}: must be {_SHAPES[kinds[0]]}")
    if kinds == [list] and not all(isinstance(item, dict) for item in value):
        raise NotACapture(f"{name}: must be a list of objects")


def with_captures(captures: Iterable[NamedCapture]) -> bytes:
    """Return the console as one file that shows these captures."""
    scripts = "\n".join(map(_capture_script, captures)).encode()
    return read_page().replace(CAPTURES_BELONG_HERE.encode(), scripts, 1)


def _capture_script(capture: NamedCapture) -> str:
    """Return a capture as the page reads it."""
    world = str(capture.content["world"].get("id", ""))
    told = {"capture": capture.id, "test": capture.name, "world": world, "why": ""}
    attributes = " ".join(f'data-{name}="{escape(value)}"' for name, value in told.items())
    return f'<script type="{GZIP}" {attributes}>{_zip(capture.content)}</script>'
