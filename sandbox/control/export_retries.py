"""Retries in exported tests: after a time-out, a lost answer, or one that says when to come again.

If the first was carried out late, the operation happened twice. The test then asks your software
whether it sends the second, and fails as long as it does. If the first was refused for a while, the
test asks your software for the second, and fails as long as that does not wait and come again.
Source: assumed D24-late, D25-export.
"""

import json
from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import Any, Final

from sandbox.control.export_outcomes import fault_of, is_spared
from sandbox.control.journal import JournalEntry
from sandbox.domain.instants import from_ms, to_wire
from sandbox.domain.payments.outcomes import TIMED_OUT, Verdict
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.transport_faults import LOST
from sandbox.platform.application import AGAIN_LATER
from sandbox.worlds.world import World

YOUR_RETRY: Final = '''
def your_retry(sandbox, send):
    """What your software does after a time-out, while it does not know how the attempt ended.

    As it stands it sends the request again, so the test fails. Have your software look the attempt
    up by its event_id instead, and return None if it sends nothing.
    """
    return send()
'''

YOUR_WAIT: Final = '''
def your_retry_after(sandbox, answer, send):
    """What your software does with an answer that says when to come again.

    As it stands it gives up, so the test fails. Have your software wait for the seconds of the
    header Retry-After on the world's clock, as sandbox.advance("600s") does, and send the request
    again. Return the last answer.
    """
    return answer
'''

_LOST_AFTER: Final = ("drop_after", "half_answer")
_REFUSED_FROM: Final = 400

_NOT_DONE: Final = ("pending", Verdict.DECLINED, Verdict.ERROR)


def find_retries(world: World, views: Sequence[JournalEntry]) -> dict[str, str]:
    """Return the ids of requests that were sent again, each with when the first was carried out."""
    found: dict[str, str] = {}
    timed_out: dict[str, str] = {}
    for number, view in enumerate(views):
        asked = _as_asked(view)
        if (
            asked in timed_out
            and view.status < _REFUSED_FROM
            and not _is_named_later(view, views[number + 1 :])
        ):
            found[view.id] = timed_out[asked]
        elif (at := _carried_out_at(world, view)) is not None:
            timed_out[asked] = at
    return found


def _as_asked(view: JournalEntry) -> str:
    """Return the request without its event_id, which a retry may change."""
    body = view.request
    if isinstance(body, dict):
        body = {name: one for name, one in body.items() if name != "event_id"}
    return json.dumps([view.method, view.path, view.query, view.key_id, body], sort_keys=True)


def _carried_out_at(world: World, view: JournalEntry) -> str | None:
    """When the attempt that timed out was carried out; None if it never was."""
    outcome, response = view.outcome, view.response
    is_unknown = fault_of(view) in _LOST_AFTER or (outcome and outcome.key in TIMED_OUT)
    if not is_unknown or not isinstance(response, dict):
        return None
    payment = world.store.get(Payment, str(response.get("transaction_id")))
    if payment is None:
        return None
    attempts = [
        one for one in payment.transaction.history if one.event_id == response.get("event_id")
    ]
    if not attempts or attempts[-1].status in _NOT_DONE:
        return None
    return to_wire(from_ms(attempts[-1].created_at))


def _is_named_later(view: JournalEntry, later: Sequence[JournalEntry]) -> bool:
    """Whether later requests name the payment that this one made."""
    response: Any = view.response
    id = response.get("transaction_id") if isinstance(response, dict) else None
    if id is None or id in view.path:
        return False
    return any(id in f"{one.path} {one.request}" for one in later)


def find_waits(world: World, views: Sequence[JournalEntry]) -> dict[str, int]:
    """Return the ids of requests that succeeded once the platform was there again.

    Each has the number, from 1, of the request that was refused for a while.
    """
    retries = find_retries(world, views)
    found: dict[str, int] = {}
    refused: dict[str, int] = {}
    for number, view in enumerate(views, start=1):
        if is_spared(view):
            continue
        asked = _as_asked(view)
        before = refused.pop(asked, None)
        is_done = view.status < _REFUSED_FROM and fault_of(view) not in LOST
        if view.status in AGAIN_LATER:
            refused[asked] = number
        elif before is not None and is_done and view.id not in retries:
            found[view.id] = before
    return found


def put_looks_after(world: World, views: Sequence[JournalEntry]) -> list[JournalEntry]:
    """Return the requests, with looks after the request for which your software waits.

    The clock was advanced before these looks, and your software has to do that.
    """
    waits, looks = find_waits(world, views), list[JournalEntry]()
    ordered: list[JournalEntry] = []
    for view in views:
        if is_spared(view):
            looks.append(view)
            continue
        ordered += [view, *looks] if view.id in waits else [*looks, view]
        looks.clear()
    return ordered + looks


def wait_as_yours(number: int, lines: list[str], refused: int) -> list[str]:
    """Return the lines of a request, as one that your software sends again when it is time."""
    asked, rest = _hand_over(number, lines, f"your_retry_after(sandbox, answer_{refused}, ")
    return asked + rest


def ask_yours(number: int, lines: list[str]) -> list[str]:
    """Return the lines of a request, as one that your software may leave out."""
    asked, rest = _hand_over(number, lines, "your_retry(sandbox, ")
    return [
        *asked,
        f"    if answer_{number} is not None:",
        *(indent(line, "    ") for line in rest),
    ]


def _hand_over(number: int, lines: list[str], called: str) -> tuple[list[str], list[str]]:
    """Return the lines of a request that is handed to a function, and those after it."""
    begins = f"    answer_{number} = "
    at = next(place for place, line in enumerate(lines) if line.startswith(begins))
    end = lines.index("    )", at)
    call = f"{begins}{called}lambda: {lines[at].removeprefix(begins)}"
    return [*lines[:at], call, *lines[at + 1 : end], "    ))"], lines[end + 1 :]


def advance_line(to: str, *, has_waited: bool) -> str:
    """Return the line that advances the clock, which your software may have done before."""
    at = f'max(sandbox.clock["now"], {to!r})' if has_waited else repr(to)
    return f"    sandbox.advance(to={at})"


def was_sent_once(
    retries: dict[str, str], views: Sequence[JournalEntry], *, has_waited: bool
) -> Iterator[str]:
    """Yield the lines at the end of the test: what was carried out late was sent once."""
    latest = max(retries.values(), default="")
    if latest > views[-1].at:
        yield advance_line(latest, has_waited=has_waited)
    for number, view in enumerate(views, start=1):
        if view.id in retries:
            why = f"the first was carried out at {retries[view.id]}, and this one too"
            yield f"    assert answer_{number} is None, {why!r}"
