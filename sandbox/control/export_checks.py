"""What exported tests check besides answers: webhooks, retries, and waits.

A test queues the same outcomes and faults again, and waits for the webhooks of its requests.

A request may be repeated after a time-out, a lost answer, or an answer with Retry-After. If the
first one was carried out late, the operation happened twice: the test lets your software decide
about the second, and fails as long as it is sent. If the first one was refused for a while, the
test lets your software send the second, and fails as long as it does not wait and try again.
Source: assumed D24-late, D25-export.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, takewhile
from typing import Any, Final

from pydantic_core import from_json

from sandbox.control.journal import JournalEntry, find_messages
from sandbox.domain.events import Message, body_of
from sandbox.domain.instants import from_ms, to_wire
from sandbox.domain.json_text import fields_of
from sandbox.domain.payments.outcomes import APPROVED, PARTIAL, TIMED_OUT
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.transport_faults import LOST, TRANSPORT_FAULTS
from sandbox.domain.webhooks import Delivery
from sandbox.platform import form
from sandbox.platform.application import AGAIN_LATER
from sandbox.worlds.journal import REFUSED_FROM
from sandbox.worlds.world import World

CHOSEN: Final = ("queue", "header")
"""Sources that chose an outcome for one request; the other world needs them again."""


def fault_of(view: JournalEntry) -> str | None:
    """Return the transport fault of a request's answer, if any."""
    notes = str(view.notes)
    return next((key for key in TRANSPORT_FAULTS if f"transport fault {key}: " in notes), None)


OUTCOME_HEADER: Final = form.OUTCOME_HEADER.decode()


def is_outcome_refused(view: JournalEntry) -> bool:
    """Whether a request was refused for the outcome that its header named."""
    return view.decisions[-1].reason.startswith(f"{OUTCOME_HEADER}: ")


def is_spared(view: JournalEntry) -> bool:
    """Whether a lookup asked to be spared from faults."""
    return view.method == "GET" and view.headers.get(OUTCOME_HEADER) == APPROVED.key


def queue_again(view: JournalEntry) -> dict[str, Any]:
    """Return the entry of the queue that chooses the same outcome and fault again."""
    assert view.outcome
    key, response, fault = view.outcome.key, view.response, fault_of(view)
    if key in TRANSPORT_FAULTS:
        return {"fault": key}
    if view.outcome.source in ("card", "terminal", "amount"):
        # The request chooses its outcome itself, and only the fault came from elsewhere.
        return {"fault": fault}
    again: dict[str, Any] = {"outcome": key} if fault is None else {"outcome": key, "fault": fault}
    if key == PARTIAL.key and isinstance(response, dict):
        told = response.get("additional_details") or {}
        again["approved_amount"] = told.get("captured_amount") or told.get("authorized_amount")
    return again


# --- webhooks ---------------------------------------------------------------------------------

_PATHS: Final = {"transaction": "/v1/transactions/", "batch": "/v1/batches/"}
"""The path for reading a record, by the category of its events."""

_NEAR: Final = 200
"""How many messages after its request a contradicting message may come."""

_LATE_S: Final = 5.0
"""How much longer than its delay a test waits for a webhook."""

YOUR_RECORD: Final = '''
def your_record(sandbox, webhook):
    """Return what your software knows of the payment or batch, once it has the webhook.

    As written, it believes the webhook, so the test fails. Hand your software webhook.raw and
    webhook.headers instead, and return what it says then.
    """
    return webhook.body
'''

_OF_WAIT_FOR: Final = frozenset({"event_type", "subject", "after", "timeout_s"})
"""Parameters of `wait_for`, which cannot be names of fields."""


def _list_sent(world: World, view: JournalEntry) -> Iterator[tuple[Message, list[Delivery]]]:
    """Yield the messages of a request that went to an endpoint, with their deliveries.

    They include those that a rule made up to contradict another one.
    """
    messages = find_messages(world, view.events)
    if messages:
        last = messages[-1]
        # From the end, because most exported requests are new.
        later = [*takewhile(lambda one: one is not last, reversed(world.store.messages()))]
        near = later[::-1][:_NEAR]
        messages += [one for one in near if one.only_for and one.request_id == view.id]
    for message in messages:
        if deliveries := world.outbox.deliveries_of(message.id):
            yield message, list(deliveries)


def fault_lines(world: World, view: JournalEntry) -> Iterator[str]:
    """Yield the lines before a request that queue the faults of its webhooks."""
    for message, deliveries in _list_sent(world, view):
        if (then := _queued(world, deliveries)) is not None:
            yield f"    sandbox.spoil({then!r}, when={{'event': {message.event_type!r}}})"


def _queued(world: World, deliveries: list[Delivery]) -> dict[str, Any] | None:
    """Return the effect that the queue of faults had on one of the deliveries."""
    used = world.webhook_faults.used
    return next((dict(used[one.rule]) for one in deliveries if one.rule in used), None)


def wait_lines(
    world: World, view: JournalEntry, known: Mapping[str, str], client: str
) -> Iterator[str]:
    """Yield the lines after a request that wait for its webhooks.

    `known` maps ids to code that names them; `client` is the code of the key that reads records.
    """
    sent = list(_list_sent(world, view))
    delays = ((_queued(world, one) or {}).get("delay_ms") or 0 for _, one in sent)
    late_ms = max(delays, default=0)
    late = [f"timeout_s={late_ms / 1000 + _LATE_S:g}"] if late_ms else []
    first: dict[tuple[str, str], Mapping[str, Any]] = {}
    blocks: dict[tuple[str, ...], None] = {}
    for message, deliveries in sent:
        event, body = message.event_type, from_json(body_of(message))
        before = first.get((event, message.subject), body)
        if message.only_for is None:
            first[event, message.subject] = before
        if message.subject not in known or not _has_arrived(deliveries):
            continue
        # The fields that contradict the webhook before it.
        differ = {name: one for name, one in body.items() if before.get(name) != one}
        told = {"status": body["status"]} if isinstance(body.get("status"), str) else {}
        fields = {name: one for name, one in (told | differ).items() if name not in _OF_WAIT_FOR}
        words = [f"**{fields!r}"] if fields else []
        asked = [repr(event), f"subject={known[message.subject]}", *words, *late]
        wait = f"sandbox.webhooks.wait_for({', '.join(asked)})"
        path = _PATHS.get(event.partition(".")[0])
        blocks[tuple(_check_lines(wait, differ, path, client))] = None
    return chain.from_iterable(blocks)


def _has_arrived(deliveries: list[Delivery]) -> bool:
    """Whether a working receiver would accept the first attempt as genuine."""
    heads = [one.attempts and one.attempts[0].sent for one in deliveries if one.status != "dropped"]
    return any(not (head and head.spoilt) for head in heads)


def _check_lines(wait: str, differ: Iterable[str], path: str | None, client: str) -> Iterator[str]:
    """Yield the lines that wait for a webhook, and check your software if it contradicts."""
    if not differ or path is None:
        yield f"    {wait}"
        return
    yield f"    webhook = {wait}"
    yield f"    record = sandbox.client({client}).request('GET', {path!r} + webhook.subject).json()"
    for name in differ:
        yield f"    assert your_record(sandbox, webhook).get({name!r}) == record.get({name!r})"


# --- retries and waits ------------------------------------------------------------------------

YOUR_RETRY: Final = '''
def your_retry(sandbox, send):
    """Do what your software does after a time-out, when it does not know how the attempt ended.

    As written, it sends the request again, so the test fails. Have your software look the attempt
    up by its event_id instead, and return None if it sends nothing.
    """
    return send()
'''

YOUR_WAIT: Final = '''
def your_retry_after(sandbox, answer, send):
    """Do what your software does with an answer that says when to try again.

    As written, it gives up, so the test fails. Have your software wait for the seconds of the
    header Retry-After on the world's clock, as sandbox.advance("600s") does, and send the request
    again. Return the last answer.
    """
    return answer
'''

_LOST_AFTER: Final = ("drop_after", "half_answer")
_NOT_DONE: Final = ("pending", "declined", "error")


def find_retries(world: World, views: Sequence[JournalEntry]) -> dict[str, str]:
    """Return the ids of repeated requests, with the time when the first one was carried out."""
    found: dict[str, str] = {}
    timed_out: dict[str, str] = {}
    for number, view in enumerate(views, start=1):
        asked, is_done = _as_asked(view), view.status < REFUSED_FROM
        if asked in timed_out and is_done and not _is_named_later(view, views[number:]):
            found[view.id] = timed_out[asked]
        elif (at := _carried_out_at(world, view)) is not None:
            timed_out[asked] = at
    return found


def _as_asked(view: JournalEntry) -> str:
    """Return the request without its event_id, which a retry may change."""
    body = view.request
    if isinstance(body, dict):
        body = body | {"event_id": None}
    return json.dumps([view.method, view.path, view.query, view.key_id, body], sort_keys=True)


def _carried_out_at(world: World, view: JournalEntry) -> str | None:
    """Return when the attempt that timed out was carried out; None if it never was."""
    outcome, response = view.outcome, fields_of(view.response)
    if fault_of(view) not in _LOST_AFTER and not (outcome and outcome.key in TIMED_OUT):
        return None
    payment = world.store.get(Payment, str(response.get("transaction_id")))
    event_id = response.get("event_id")
    attempts = [one for one in payment.history if one.event_id == event_id] if payment else []
    if not attempts or attempts[-1].status in _NOT_DONE:
        return None
    return to_wire(from_ms(attempts[-1].created_at))


def _is_named_later(view: JournalEntry, later: Sequence[JournalEntry]) -> bool:
    """Whether later requests name the payment that this one created."""
    id = str(fields_of(view.response).get("transaction_id", view.path))
    return id not in view.path and any(id in f"{one.path} {one.request}" for one in later)


def find_waits(views: Sequence[JournalEntry], retries: Mapping[str, str]) -> dict[str, int]:
    """Return the ids of requests that succeeded once the platform was available again.

    Each has the number, from 1, of the request that was refused before.
    """
    found: dict[str, int] = {}
    refused: dict[str, int] = {}
    for number, view in enumerate(views, start=1):
        if is_spared(view):
            continue
        asked = _as_asked(view)
        before = refused.pop(asked, None)
        is_done = view.status < REFUSED_FROM and fault_of(view) not in LOST
        if view.status in AGAIN_LATER:
            refused[asked] = number
        elif before is not None and is_done and view.id not in retries:
            found[view.id] = before
    return found


def put_looks_after(world: World, views: Sequence[JournalEntry]) -> list[JournalEntry]:
    """Return the requests, with lookups moved behind the request that your software waits for.

    The clock was advanced before these lookups, and now your software has to do that.
    """
    waits, looks = find_waits(views, find_retries(world, views)), list[JournalEntry]()
    ordered: list[JournalEntry] = []
    for view in views:
        if is_spared(view):
            looks.append(view)
            continue
        ordered += [view, *looks] if view.id in waits else [*looks, view]
        looks.clear()
    return ordered + looks


def advance_line(to: str, *, has_waited: bool) -> str:
    """Return the line that advances the clock, unless your software has done so already."""
    at = f'max(sandbox.clock["now"], {to!r})' if has_waited else repr(to)
    return f"    sandbox.advance(to={at})"


def was_sent_once(
    retries: dict[str, str], views: Sequence[JournalEntry], *, has_waited: bool
) -> Iterator[str]:
    """Yield the last lines of the test: what was carried out late was sent only once."""
    latest = max(retries.values(), default="")
    if latest > views[-1].at:
        yield advance_line(latest, has_waited=has_waited)
    for number, view in enumerate(views, start=1):
        if view.id in retries:
            why = f"the first was carried out at {retries[view.id]}, and this one too"
            yield f"    assert answer_{number} is None, {why!r}"
