"""Control endpoints on the messages and the journal of a world."""

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypedDict

from pydantic_core import from_json

from sandbox.control.finding import account_of
from sandbox.control.long import written_list
from sandbox.control.rows import (
    ControlFault,
    ControlRequest,
    Written,
    invalid,
    must_be_known,
    window,
)
from sandbox.domain.instants import parse_rfc3339, to_wire
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.outcomes import OUTCOMES, TRANSPORT_FAULTS
from sandbox.domain.payments.transactions import Transaction
from sandbox.platform.routes import OPERATIONS
from sandbox.store.steps import OFTEN, Steps
from sandbox.store.tables import LAST_DIGITS
from sandbox.worlds.journal import Entry, EntryView, Origin, WaitingRequest, client_of
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.control.shapes import RequestsQuery

_SUMMARIES: Final = {row.name: row.summary for row in OPERATIONS}
_OUTCOMES: Final = frozenset({*OUTCOMES, *TRANSPORT_FAULTS})
_REFUSED_FROM: Final = 400
_WHY_CHARS_MAX: Final = 200


class PaymentOfRow(TypedDict):
    """The payment of an answer, as it was answered. `total` is in minor units of `currency`."""

    id: str
    status: str
    total: int
    currency: str
    merchant: str | None
    brand: str | None
    last4: str | None


class JournalEntry(EntryView):
    """A journal entry. `summary` says what the operation of its route does; null without one."""

    summary: str | None


class RequestRow(TypedDict):
    """A request in a list. `why` is the deciding sentence of a refusal, with its clause.

    `summary` says what the operation of its route does; null for a path that has none.

    `status` is null while the request waits for a card or its processor.
    `amount` is what the request asked for, in minor units. `payment` is the payment of its answer.
    `decided_by` is the source of the outcome, `rule` the rule or the switch that chose it; both are
    null where nothing was to be decided.
    """

    id: str
    at: str
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
    status: int | None
    outcome: str | None
    decided_by: str | None
    rule: str | None
    why: str | None
    clause: str | None
    events: int
    amount: int | None
    payment: PaymentOfRow | None
    duration_ms: float


class Requests(TypedDict):
    """Journal entries, oldest first, whole or as rows.

    `next` as `before` gives those before the first of them.
    """

    requests: list[JournalEntry | RequestRow]
    total: int
    limit: int
    offset: int
    next: str | None


async def requests(request: ControlRequest) -> Written[Requests]:
    """The journal of a world, newest last."""
    query: RequestsQuery = request.query
    world, slices = request.world, request.services.worlds.slices
    must_be_known("route", query.route, _SUMMARIES)
    must_be_known("outcome", query.outcome, _OUTCOMES)
    account = None if query.account is None else account_of(world, query.account).id
    key_id = None if query.key_id is None else _key_of(world, query.key_id)
    fitting, end = await slices.run(_fitting(world, query, account, key_id))
    if end is None:
        raise invalid("before: the journal has no request with this id, or no longer has it")
    waits: list[RequestRow] = []
    if query.shape == "row" and query.before is None and not query.offset:
        waits = [one for one in waiting_rows(world) if _suits(one, query, account, key_id)]
        waits = waits[-query.limit :]
    left = query.limit - len(waits)
    # Where those that wait fill the page, the others need a larger limit.
    page = window(fitting[:end], max(left, 1), query.offset)
    answer = Requests(
        requests=[],
        total=len(fitting) + len(waits),
        limit=query.limit,
        offset=page.offset,
        next=page.items[0].id if left and page.items and page.offset else None,
    )
    views: Iterable[JournalEntry | RequestRow] = (
        chain((row_of(world, entry) for entry in page.items if left), waits)
        if query.shape == "row"
        else (view_of(world, entry) for entry in page.items)
    )
    return await slices.run(written_list(answer, "requests", views))


def _fitting(
    world: World, query: "RequestsQuery", account: str | None, key_id: str | None
) -> Steps[tuple[list[Entry], int | None]]:
    """The entries that the query is about, oldest first, and how many are before its cursor.

    The number is None if the journal does not have the request that the cursor names.
    """
    found: list[Entry] = []
    end = None
    for number, entry in enumerate(world.journal.entries()):
        if entry.id == query.before:
            end = len(found)
        if (
            (key_id is None or entry.key_id == key_id)
            and _fits(entry, query, account)
            and (query.subject is None or _is_about(world, entry, query.subject))
        ):
            found.append(entry)
        if not number % OFTEN:
            yield
    return found, len(found) if query.before is None else end


def _fits(entry: Entry, query: "RequestsQuery", account: str | None) -> bool:
    return (
        (query.route is None or entry.route == query.route)
        and (query.status is None or entry.status == query.status)
        and (query.status_class is None or _class_of(entry.status) == query.status_class)
        and (query.since is None or entry.at >= query.since)
        and (query.until is None or entry.at <= query.until)
        and (query.origin is None or entry.origin == query.origin)
        and (account is None or entry.account_id == account)
        and (query.outcome is None or (entry.choice and entry.choice.key) == query.outcome)
        and (query.q is None or _mentions(entry, query.q.lower()))
    )


def _key_of(world: World, word: str) -> str:
    """The id of the key with this id, or this name in the cast. Raises ControlFault."""
    if word in world.cast.keys:
        return world.cast.keys[word][0]
    if world.store.get(ApiKey, word) is None:
        must_be_known("key_id", word, world.cast.keys)
    return word


def _class_of(status: int) -> str:
    return f"{status // 100}xx" if status else "none"


def _mentions(entry: Entry, text: str) -> bool:
    words = (entry.id, entry.path, entry.query)
    bodies = (entry.request, entry.response)
    return any(text in word.lower() for word in words) or any(
        body is not None and text.encode() in body.lower() for body in bodies
    )


def _is_about(world: World, entry: Entry, id: str) -> bool:
    """Whether the request named the record, or an event of the request is about it."""
    if id in entry.path or (entry.request is not None and id.encode() in entry.request):
        return True
    messages = map(world.store.message, entry.events)
    return any(message is not None and message.subject == id for message in messages)


def summary_of(route: str | None) -> str | None:
    """What the operation of a route does, in words."""
    return None if route is None else _SUMMARIES.get(route)


def view_of(world: World, entry: Entry) -> JournalEntry:
    """A request with its whole way."""
    return {**world.journal.view(entry), "summary": summary_of(entry.route)}


def row_of(world: World, entry: Entry) -> RequestRow:
    """A request as lists show it."""
    why = clause = None
    if (entry.status == 0 or entry.status >= _REFUSED_FROM) and entry.decisions:
        _, _, reason, clause = entry.decisions[-1]
        why = world.profile.scrub(reason)[:_WHY_CHARS_MAX]
    choice = entry.choice
    return {
        "id": entry.id,
        "at": to_wire(entry.at),
        "method": entry.method,
        "path": entry.path,
        "route": entry.route,
        "summary": summary_of(entry.route),
        "key": entry.key,
        "key_id": entry.key_id,
        "key_name": world.journal.key_name(entry),
        "origin": entry.origin,
        "client": entry.client,
        "account_id": entry.account_id,
        "subject": entry.subject,
        "status": entry.status,
        "outcome": None if choice is None else choice.key,
        "decided_by": None if choice is None else choice.source,
        "rule": None if choice is None else choice.rule,
        "why": why,
        "clause": clause,
        "events": len(entry.events),
        "amount": _amount(entry.request),
        "payment": _payment(entry.response),
        "duration_ms": round(entry.duration_ms, 3),
    }


def waiting_rows(world: World) -> list[RequestRow]:
    """The requests that wait for a card or their processor, the first one first."""
    return [_waiting_row(world, one) for one in world.journal.waiting.values()]


def _waiting_row(world: World, one: WaitingRequest) -> RequestRow:
    tx = world.store.get(Transaction, one.payment)
    payment: PaymentOfRow | None = None
    if tx is not None:
        payment = {
            "id": tx.transaction_id,
            "status": tx.status,
            "total": tx.amounts.total,
            "currency": tx.origin.site.currency,
            "merchant": tx.origin.site.merchant_name,
            "brand": None,
            "last4": None,
        }
    return {
        "id": one.id,
        "at": to_wire(one.at),
        "method": one.method,
        "path": one.path,
        "route": one.route,
        "summary": summary_of(one.route),
        "key": one.key,
        "key_id": one.key_id,
        "key_name": world.journal.key_name(one),
        "origin": one.origin,
        "client": client_of(one.headers),
        "account_id": one.account_id,
        "subject": one.payment,
        "status": None,
        "outcome": None,
        "decided_by": None,
        "rule": None,
        "why": None,
        "clause": None,
        "events": 0,
        "amount": None if payment is None else payment["total"],
        "payment": payment,
        "duration_ms": 0,
    }


def _suits(
    row: RequestRow, query: "RequestsQuery", account: str | None, key_id: str | None
) -> bool:
    """Whether a request that waits is one of those that are asked for."""
    at = parse_rfc3339(row["at"])
    return (
        all(one is None for one in (query.status, query.status_class, query.outcome, query.q))
        and query.route in (None, row["route"])
        and query.origin in (None, row["origin"])
        and query.subject in (None, row["subject"])
        and account in (None, row["account_id"])
        and key_id in (None, row["key_id"])
        and (query.since is None or at >= query.since)
        and (query.until is None or at <= query.until)
    )


def _amount(body: bytes | None) -> int | None:
    """What a request asks for; None if it asks for no amount, or is stored cut."""
    if body is None or b'"amount"' not in body:
        return None
    try:
        asked: Any = from_json(body)
        amount = asked["amount"]
    except (ValueError, KeyError, TypeError):
        return None
    return amount if type(amount) is int else None


def _payment(body: bytes | None) -> PaymentOfRow | None:
    """The payment of an answer; None for other answers, and for those that are stored cut."""
    if body is None or b'"transaction_id"' not in body:
        return None
    try:
        told: Any = from_json(body)
        digits = told["card"]
        return {
            "id": told["transaction_id"],
            "status": told["status"],
            "total": told["total_amount"],
            "currency": told["currency"],
            "merchant": told["merchant_name"],
            "brand": told["card_brand"],
            "last4": None if digits is None else digits[-LAST_DIGITS:],
        }
    except (ValueError, KeyError, TypeError):
        return None


def request(request: ControlRequest) -> JournalEntry:
    """One request of the journal."""
    journal = request.world.journal
    entry = journal.entry(request.params["id"])
    if request.params["id"] in journal.waiting:
        raise ControlFault(
            404,
            "not_answered",
            "the request waits for a card or its processor, and has no answer yet",
            details="GET .../taps lists the payments that wait for a card",
        )
    if entry is None:
        raise ControlFault(
            404, "not_found", "the journal has no request with this id, or no longer has it"
        )
    return view_of(request.world, entry)


def forget_requests(request: ControlRequest) -> None:
    """Empty the journal of a world."""
    request.world.journal.clear()
