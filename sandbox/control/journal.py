"""The journal of a world: each request with the reasons for its answer."""

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, ValidationError
from pydantic_core import from_json

from sandbox.control.context import ControlFault, ControlRequest, invalid, must_be_known, not_found
from sandbox.control.models import Milliseconds, OlderListing, Time, View, attribute
from sandbox.control.routing import WORLD, delete, get
from sandbox.domain.directory import Account
from sandbox.domain.instants import Instant
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.outcomes import OUTCOMES
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.transport_faults import TRANSPORT_FAULTS
from sandbox.platform.routes import OPERATIONS
from sandbox.scenarios.matcher import show_near_misses
from sandbox.worlds.background import collect, select
from sandbox.worlds.journal import Decision, Entry, Origin, Scrub, WaitingRequest, client_of
from sandbox.worlds.world import World


class RequestsQuery(OlderListing):
    """Which requests: of a row of the route table, with a status, and so on; as rows or whole.

    `q` is a text in its id, address or bodies. `status_class` none: closed without an answer.
    `subject` is the id of a record that the request names or changed. `account` is the account of
    the key: an id, or a name of the cast. `before` is a request: only those listed before it.
    `key_id` is the id of the key, or its name in the cast. `origin` is who sent the request.
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
REFUSED_FROM: Final = 400
_WHY_CHARS_MAX: Final = 200


class PaymentOfRow(View):
    """The payment of an answer, as it was answered. `total` is in minor units of `currency`."""

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


class JournalEntry(View):
    """A journal entry. `summary` says what the operation of its route does; null without one."""

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


class RequestRow(View):
    """A request in a list. `why` is the deciding sentence of a refusal, with its clause.

    `summary` says what the operation of its route does; null for a path that has none.

    `status` is null while the request waits for a card or its processor.
    `amount` is what the request asked for, in minor units. `payment` is the payment of its answer.
    `decided_by` is the source of the outcome, `rule` the rule or the switch that chose it; both are
    null where nothing was to be decided.
    """

    id: str
    at: Time
    method: str
    path: str
    route: str | None
    summary: str | None
    key: str | None
    key_id: str | None
    key_name: str | None
    origin: Origin
    client: str | None
    account_id: str | None
    subject: str | None
    status: int | None = None
    outcome: str | None = attribute("choice.key", None)
    decided_by: str | None = attribute("choice.source", None)
    rule: str | None = attribute("choice.rule", None)
    why: str | None = None
    clause: str | None = None
    events: int = 0
    amount: int | None
    payment: PaymentOfRow | None
    duration_ms: Milliseconds = 0


class Requests(View):
    """Journal entries, oldest first, whole or as rows.

    `next` as `before` gives those before the first of them.
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
    entries, end = world.journal.entries(), None
    if query.before is not None:
        end = next((place for place, one in enumerate(entries) if one.id == query.before), None)
        if end is None:
            raise invalid("before: the journal has no request with this id, or no longer has it")

    def matches(entry: Entry) -> bool:
        return _is_of(entry, query, account, key_id) and _matches(world, entry, query)

    older = await select(entries[:end], matches)
    newer = [] if end is None else await select(entries[end:], matches)
    waits: list[RequestRow] = []
    if query.shape == "row" and query.before is None and not query.offset:
        waits = list_waiting(
            world, lambda one: _is_of(one, query, account, key_id) and _matches_waiting(one, query)
        )[-query.limit :]
    left = query.limit - len(waits)
    # Where those that wait fill the page, the others need a larger limit.
    page = query.cut(older, max(left, 1))
    shape: Callable[[World, Entry], View] = request_row if query.shape == "row" else view_entry
    shown = await collect(shape(world, entry) for entry in page.items if left)
    return Requests.of(
        page,
        requests=[*shown, *waits],
        total=len(older) + len(newer) + len(waits),
        limit=query.limit,
        next=page.next if left else None,
    )


def _is_of(
    one: Entry | WaitingRequest, query: RequestsQuery, account: str | None, key_id: str | None
) -> bool:
    """Whether a request has what can be asked of one that still waits, too."""
    return (
        query.route in (None, one.route)
        and query.origin in (None, one.origin)
        and account in (None, one.account_id)
        and key_id in (None, one.key_id)
        and (query.since is None or one.at >= query.since)
        and (query.until is None or one.at <= query.until)
    )


def _matches(world: World, entry: Entry, query: RequestsQuery) -> bool:
    return (
        query.status in (None, entry.status)
        and query.status_class in (None, f"{entry.status // 100}xx" if entry.status else "none")
        and query.outcome in (None, entry.choice and entry.choice.key)
        and (query.q is None or _has_text(entry, query.q.lower()))
        and (query.subject is None or _is_about(world, entry, query.subject))
    )


def _matches_waiting(one: WaitingRequest, query: RequestsQuery) -> bool:
    unanswered = (query.status, query.status_class, query.outcome, query.q)
    return all(word is None for word in unanswered) and query.subject in (None, one.payment)


def _has_text(entry: Entry, text: str) -> bool:
    words = (entry.id, entry.path, entry.query)
    bodies = (entry.request or b"", entry.response or b"")
    return any(text in word.lower() for word in words) or any(
        text.encode() in body.lower() for body in bodies
    )


def _is_about(world: World, entry: Entry, id: str) -> bool:
    """Whether the request named the record, or an event of the request is about it."""
    messages = filter(None, map(world.store.message, entry.events))
    return has_named(entry, id) or any(message.subject == id for message in messages)


def has_named(entry: Entry, id: str) -> bool:
    """Whether the request named the record."""
    return id in entry.path or id.encode() in (entry.request or b"")


def is_refused(entry: Entry) -> bool:
    """Whether a request was refused, or got no answer."""
    return entry.status == 0 or entry.status >= REFUSED_FROM


def view_entry(world: World, entry: Entry) -> JournalEntry:
    """Return a request with its whole way."""
    scrub, choice = world.profile.scrub, entry.choice
    return JournalEntry.of(
        entry,
        summary=_SUMMARIES.get(entry.route or ""),
        key_name=world.journal.key_name(entry),
        headers=dict(entry.headers),
        request=view_body(entry.request),
        response=view_body(entry.response),
        # Reasons and notes may quote names.
        decisions=[view_decision(one, scrub) for one in entry.decisions],
        near_misses=show_near_misses(entry.near_misses, choice.near_misses if choice else ()),
        notes=map(scrub, entry.notes),
    )


def view_decision(decision: Decision, scrub: Scrub = str) -> DecisionView:
    """Show a step of the way of a request."""
    step, verdict, reason, clause = decision
    return DecisionView(step=step, verdict=verdict, reason=scrub(reason), clause=clause)


def view_body(body: bytes | None) -> Any:
    """Return a recorded body as JSON if it is JSON, else as text."""
    try:
        return body and from_json(body)
    except ValueError:
        return body and body.decode("utf-8", "replace")


def request_row(world: World, entry: Entry) -> RequestRow:
    """Return a request as lists show it."""
    why = clause = None
    if is_refused(entry) and entry.decisions:
        _, _, reason, clause = entry.decisions[-1]
        why = world.profile.scrub(reason)[:_WHY_CHARS_MAX]
    amount = _fields(entry.request, b"amount").get("amount")
    return RequestRow.of(
        entry,
        summary=_SUMMARIES.get(entry.route or ""),
        key_name=world.journal.key_name(entry),
        why=why,
        clause=clause,
        events=len(entry.events),
        amount=amount if type(amount) is int else None,
        payment=_payment(_fields(entry.response, b"transaction_id")),
    )


def list_waiting(
    world: World, matches: Callable[[WaitingRequest], bool] = bool
) -> list[RequestRow]:
    """Return the requests that wait for a card or their processor, the first one first."""
    return [_view_waiting(world, one) for one in world.journal.waiting.values() if matches(one)]


def _view_waiting(world: World, one: WaitingRequest) -> RequestRow:
    known = world.store.get(Payment, one.payment)
    payment = known and PaymentOfRow.of(known.transaction, card_brand=None, card=None)
    return RequestRow.of(
        one,
        summary=_SUMMARIES.get(one.route),
        key_name=world.journal.key_name(one),
        client=client_of(one.headers),
        subject=one.payment,
        amount=payment and payment.total,
        payment=payment,
    )


def _fields(body: bytes | None, name: bytes) -> dict[str, Any]:
    """Return the fields of a body that has this one; none of a body that is stored cut."""
    fields = view_body(body) if b'"%b"' % name in (body or b"") else None
    return fields if isinstance(fields, dict) else {}


def _payment(told: dict[str, Any]) -> PaymentOfRow | None:
    """Return the payment of an answer; None for other answers."""
    try:
        return PaymentOfRow.model_validate(told)
    except ValidationError:
        return None


@get(f"{WORLD}/requests/{{id}}", "requests.read")
def read_request(request: ControlRequest) -> JournalEntry:
    """Read a request of the journal."""
    return view_entry(request.world, get_entry(request))


def get_entry(request: ControlRequest) -> Entry:
    """Return the request that the path names. Raises ControlFault."""
    journal = request.world.journal
    if request.id in journal.waiting:
        raise ControlFault(
            404,
            "not_answered",
            "the request waits for a card or its processor, and has no answer yet",
            details="GET .../taps lists the payments that wait for a card",
        )
    if (entry := journal.entry(request.id)) is None:
        raise not_found("the journal has no request with this id, or no longer has it")
    return entry


@delete(f"{WORLD}/requests", "requests.clear")
def clear_requests(request: ControlRequest) -> None:
    """Clear a world's journal."""
    request.world.journal.clear()
