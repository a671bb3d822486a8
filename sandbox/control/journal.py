"""The journal of a world: each request with the reasons for its answer."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, ValidationError

from sandbox.control.context import ControlFault, ControlRequest, must_be_known, not_found
from sandbox.control.models import Milliseconds, OlderListing, Time, View, attribute
from sandbox.control.routing import WORLD, delete, get
from sandbox.domain.directory import Account
from sandbox.domain.events import Message
from sandbox.domain.instants import Instant
from sandbox.domain.json_text import parse_finite
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.outcomes import OUTCOMES
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.transport_faults import TRANSPORT_FAULTS
from sandbox.platform.routes import OPERATIONS
from sandbox.worlds.background import collect
from sandbox.worlds.journal import REFUSED_FROM, Decision, Entry, Origin, Scrub, WaitingRequest
from sandbox.worlds.world import World


class RequestsQuery(OlderListing):
    """Which requests: of an operation, with a status, and so on; as rows or in full.

    `q` is a text in the id, the path or the bodies. `status_class` none means closed without an
    answer. `subject` is the id of a record that the request names or changed. `account` is the
    account of the key: an id, or a name of the cast. `before` is the id of a request, and lists
    those before it. `key_id` is the id of the key, or its name in the cast. `origin` is who sent
    the request.
    """

    route: str | None = None
    status: int | None = None
    status_class: Literal["2xx", "4xx", "5xx", "none"] | None = None
    q: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    since: Instant | None = None
    until: Instant | None = None
    subject: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    account: str | None = None
    outcome: str | None = None
    key_id: str | None = None
    origin: Literal["client", "console"] | None = None
    shape: Literal["row", "full"] = "full"


_SUMMARIES: Final = {row.name: row.summary for row in OPERATIONS}
_OUTCOMES: Final = frozenset({*OUTCOMES, *TRANSPORT_FAULTS})
_WHY_CHARS_MAX: Final = 200


class PaymentOfRow(View):
    """The payment in an answer, as it was then. `total` is in minor units of `currency`."""

    id: str = attribute("transaction_id")
    status: str
    total: int = attribute("total_amount")
    currency: str
    merchant: str | None = attribute("merchant_name")
    brand: str | None = attribute("card_brand")
    last4: Annotated[str, AfterValidator(lambda card: card[-4:])] | None = attribute("card")


class DecisionView(View):
    """A decision as the control API shows it."""

    step: str
    verdict: str
    reason: str
    clause: str


class OutcomeView(View):
    """The outcome of an attempt, who chose it, and by which rule."""

    key: str
    source: str
    rule: str


class _Request(View):
    id: str
    at: Time
    method: str
    path: str
    query: str
    route: str | None
    key: str | None
    key_id: str | None
    key_name: str | None
    account_id: str | None
    subject: str | None
    origin: Origin
    client: str | None


class JournalEntry(_Request):
    """A journal entry. `summary` says what the operation of its route does; null without one."""

    headers: dict[str, str]
    status: int
    duration_ms: Milliseconds
    request: Any
    response: Any
    decisions: list[DecisionView]
    outcome: OutcomeView | None = attribute("choice")
    near_misses: list[str]
    events: list[str]
    notes: list[str]
    summary: str | None


class RequestRow(_Request):
    """A request in a list. `why` is the reason of a refusal, with its clause.

    `summary` says what the operation of its route does; null for a path without one. `status` is
    null while the request waits for a card or its processor. `amount` is what the request asked
    for, in minor units. `payment` is the payment in its answer. `decided_by` is the source of the
    outcome, and `rule` the rule or the switch that chose it; both are null if nothing was decided.
    """

    query: str = Field("", exclude=True)
    summary: str | None
    status: int | None = None
    outcome: str | None = attribute("choice.key", None)
    decided_by: str | None = attribute("choice.source", None)
    rule: str | None = attribute("choice.rule", None)
    why: str | None = None
    clause: str | None = None
    events: int = 0
    amount: int | None
    payment: PaymentOfRow | None = None
    duration_ms: Milliseconds = 0


class Requests(View):
    """Journal entries, oldest first, in full or as rows.

    `next` is the `before` of the entries before these.
    """

    requests: list[JournalEntry | RequestRow]
    total: int
    limit: int
    offset: int
    next: str | None


@get(f"{WORLD}/requests", "requests.list")
async def list_requests(request: ControlRequest, query: RequestsQuery) -> Requests:
    """List a world's journal, newest last."""
    world = request.world
    must_be_known("route", query.route, _SUMMARIES)
    must_be_known("outcome", query.outcome, _OUTCOMES)
    account = request.find_id(Account, query.account)
    key_id = request.find_id(ApiKey, query.key_id, "key_id")
    listed: list[Entry | WaitingRequest] = [*world.journal.entries()]
    if query.shape == "row":
        listed += world.journal.waiting.values()

    def matches(one: Entry | WaitingRequest) -> bool:
        is_of_them = account in (None, one.account_id) and key_id in (None, one.key_id)
        return is_of_them and _matches(world, one, query)

    unknown = "the journal has no request with this id, or no longer has it"
    page = await request.find_older(listed, matches, query, unknown)
    shape: Callable[[World, Any], View] = request_row if query.shape == "row" else view_entry
    shown = await collect((shape(world, one) for one in page.items), every=10)
    return Requests.of(page, requests=shown)


def _matches(world: World, one: Entry | WaitingRequest, query: RequestsQuery) -> bool:
    is_sent_so = (
        query.route in (None, one.route)
        and query.origin in (None, one.origin)
        and (query.since is None or one.at >= query.since)
        and (query.until is None or one.at <= query.until)
    )
    if isinstance(one, WaitingRequest):
        of_answers = [query.status, query.status_class, query.outcome, query.q]
        is_asked = of_answers.count(None) == len(of_answers)
        return is_sent_so and is_asked and query.subject in (None, one.payment)
    return (
        is_sent_so
        and query.status in (None, one.status)
        and query.status_class in (None, f"{one.status // 100}xx" if one.status else "none")
        and query.outcome in (None, one.choice and one.choice.key)
        and (query.q is None or _has_text(one, query.q.lower()))
        and (query.subject is None or is_about(world, one, query.subject))
    )


def _has_text(entry: Entry, text: str) -> bool:
    words = "\n".join((entry.id, entry.path, entry.query)).lower()
    bodies = b"\n".join((entry.request or b"", entry.response or b"")).lower()
    return text in words or text.encode() in bodies


def unusual_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that change the answer: an outcome, and media types other than JSON."""
    return {
        name: value
        for name, value in headers.items()
        if name != "user-agent" and value not in ("*/*", "application/json")
    }


def is_about(world: World, entry: Entry, id: str) -> bool:
    """Whether the request names the record, or one of its events is about it."""
    messages = find_messages(world, entry.events)
    return has_named(entry, id) or any(message.subject == id for message in messages)


def find_messages(world: World, ids: Iterable[str]) -> list[Message]:
    """Return the messages with these ids, except those that the world no longer has."""
    known = world.store.all(Message)
    return [known[id] for id in ids if id in known]


def has_named(entry: Entry, id: str) -> bool:
    """Whether the request names the record."""
    return id in entry.path or id.encode() in (entry.request or b"")


def is_refused(entry: Entry) -> bool:
    """Whether a request was refused, or got no answer."""
    return entry.status == 0 or entry.status >= REFUSED_FROM


def view_entry(world: World, entry: Entry) -> JournalEntry:
    """Return a request with all its decisions."""
    scrub = world.profile.scrub
    return JournalEntry.of(
        entry,
        **_name(world, entry),
        headers=dict(entry.headers),
        request=view_body(entry.request),
        response=view_body(entry.response),
        # Reasons and notes may quote names.
        decisions=[view_decision(one, scrub) for one in entry.decisions],
        notes=map(scrub, entry.notes),
    )


def view_decision(decision: Decision, scrub: Scrub = str) -> DecisionView:
    """Show a decision about a request."""
    step, verdict, reason, clause = decision
    return DecisionView(step=step, verdict=verdict, reason=scrub(reason), clause=clause)


def view_body(body: bytes | None) -> Any:
    """Return a recorded body as JSON if it is JSON, else as text."""
    try:
        return body and parse_finite(body)
    except ValueError:
        return body and body.decode("utf-8", "replace")


def request_row(world: World, entry: Entry | WaitingRequest) -> RequestRow:
    """Return a request as lists show it."""
    if isinstance(entry, WaitingRequest):
        return _view_waiting(world, entry)
    amount = _fields(entry.request, b"amount").get("amount")
    more: dict[str, Any] = {"amount": amount if type(amount) is int else None}
    with suppress(ValidationError):
        more["payment"] = PaymentOfRow.model_validate(_fields(entry.response, b"transaction_id"))
    if is_refused(entry) and entry.decisions:
        _, _, reason, more["clause"] = entry.decisions[-1]
        more["why"] = world.profile.scrub(reason)[:_WHY_CHARS_MAX]
    return RequestRow.of(entry, **_name(world, entry), **more, events=len(entry.events))


def _name(world: World, one: Entry | WaitingRequest) -> dict[str, Any]:
    """Return the names of the operation and the key for people."""
    return {"summary": _SUMMARIES.get(one.route or ""), "key_name": world.key_name(one.key_id)}


def _view_waiting(world: World, one: WaitingRequest) -> RequestRow:
    known = world.store.get(Payment, one.payment)
    payment = known and PaymentOfRow.of(known.transaction, card_brand=None, card=None)
    more = {"subject": one.payment, "payment": payment}
    return RequestRow.of(one, **_name(world, one), **more, amount=payment and payment.total)


def _fields(body: bytes | None, name: bytes) -> dict[str, Any]:
    """Return the fields of a body if it has this one; none if the body was cut."""
    fields = view_body(body) if b'"%b"' % name in (body or b"") else None
    return fields if isinstance(fields, dict) else {}


@get(f"{WORLD}/requests/{{id}}", "requests.read")
def read_request(request: ControlRequest) -> JournalEntry:
    """Read a request of the journal."""
    return view_entry(request.world, get_entry(request))


def get_entry(request: ControlRequest) -> Entry:
    """Return the request that the path names. Raises ControlFault."""
    journal = request.world.journal
    if request.id in journal.waiting:
        why = "the request waits for a card or its processor, and has no answer yet"
        how = "GET .../taps lists the payments that wait for a card"
        raise ControlFault(404, "not_answered", why, details=how)
    if (entry := journal.entry(request.id)) is None:
        raise not_found("the journal has no request with this id, or no longer has it")
    return entry


@delete(f"{WORLD}/requests", "requests.clear")
def clear_requests(request: ControlRequest) -> None:
    """Clear a world's journal."""
    request.world.journal.clear()
