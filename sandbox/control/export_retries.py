"""Retries in exported tests: a request that was sent again after a time-out or a lost answer.

If the first was carried out late, the operation happened twice. The test then asks your software
whether it sends the second, and fails as long as it does. Source: assumed D24-late, D25-export.
"""

import json
from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import Any, Final

from sandbox.control.export_outcomes import fault_of
from sandbox.control.journal import JournalEntry
from sandbox.domain.instants import from_ms, to_wire
from sandbox.domain.payments.outcomes import TIMED_OUT, Verdict
from sandbox.domain.payments.transactions import Payment
from sandbox.worlds.world import World

YOUR_RETRY: Final = '''
def your_retry(sandbox, send):
    """What your software does after a time-out, while it does not know how the attempt ended.

    As it stands it sends the request again, so the test fails. Have your software look the attempt
    up by its event_id instead, and return None if it sends nothing.
    """
    return send()
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
    return json.dumps([view.method, view.path, view.key_id, body], sort_keys=True)


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


def ask_yours(number: int, lines: list[str]) -> list[str]:
    """Return the lines of a request, as one that your software may leave out."""
    begins = f"    answer_{number} = "
    at = next(place for place, line in enumerate(lines) if line.startswith(begins))
    end = lines.index("    )", at)
    call = lines[at].removeprefix(begins)
    return [
        *lines[:at],
        f"{begins}your_retry(sandbox, lambda: {call}",
        *lines[at + 1 : end],
        "    ))",
        f"    if answer_{number} is not None:",
        *(indent(line, "    ") for line in lines[end + 1 :]),
    ]


def was_sent_once(retries: dict[str, str], views: Sequence[JournalEntry]) -> Iterator[str]:
    """Yield the lines at the end of the test: what was carried out late was sent once."""
    latest = max(retries.values(), default="")
    if latest > views[-1].at:
        yield f"    sandbox.advance(to={latest!r})"
    for number, view in enumerate(views, start=1):
        if view.id in retries:
            why = f"the first was carried out at {retries[view.id]}, and this one too"
            yield f"    assert answer_{number} is None, {why!r}"
