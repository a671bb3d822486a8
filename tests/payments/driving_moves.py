"""One case of the transition table, and how it is tried out. Source of the table: assumed 2.3."""

from dataclasses import dataclass, field
from typing import Any

from tests.driving import InProcess, Response
from tests.support.payments import (
    act,
    in_state,
    kind,
    ledger,
    message_count,
    messages_since,
    read,
    rows_taken,
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """What an operation on a payment in a state must come to.

    `error` is the code of a 400. `shown` is type/status/reason in the answer, or, where that is a
    refusal, in the event; "" where nothing is shown. `head` is the stored status afterwards,
    `ledger` authorized, captured, refunded, reversed.
    """

    row: str
    state: str
    operation: str
    body: dict[str, Any] = field(default_factory=dict)
    force: str | None = None
    error: str | None = None
    shown: str = ""
    head: str
    events: tuple[str, ...] = ()
    ledger: tuple[int, int, int, int]

    @property
    def name(self) -> str:
        asked = ",".join(f"{key}={value}" for key, value in self.body.items())
        return f"{self.row}: {self.operation}({asked}) from {self.state}" + (
            f" with {self.force}" if self.force else ""
        )

    @property
    def leaves_the_record(self) -> bool:
        """Whether the attempt must not change the record, but for its history: assumed M9."""
        if self.row == "F2":  # the one failure that is the payment's own
            return False
        return self.error is not None or self.shown.split("/")[1] in ("declined", "error")


def try_out(sandbox: InProcess, case: Case) -> None:
    """Arranges the state, acts, and holds everything that can be seen against the case."""
    before = in_state(sandbox, case.state)
    seen = message_count(sandbox)

    answer = act(sandbox, before["transaction_id"], case.operation, **case.body, outcome=case.force)

    after = read(sandbox, before["transaction_id"])
    messages = messages_since(sandbox, seen)
    assert answer.status == (400 if case.error else 200), answer.body
    if case.error:
        assert answer.json()["error"] == case.error
    assert tuple(message["event_type"] for message in messages) == case.events
    assert (after["status"], ledger(after)) == (case.head, case.ledger)
    _check_history(case, before, after)
    if case.leaves_the_record:
        assert after | {"history": []} == before | {"history": []}
    if case.shown:
        _check_shown(case, answer, messages[-1]["body"], after)
    assert rows_taken(sandbox, answer) == {f"assumed {case.row}"}


def _check_history(case: Case, before: dict[str, Any], after: dict[str, Any]) -> None:
    """It grows by the attempt, and by nothing where nothing was attempted: assumed 2.1, 2.10."""
    old, new = before["history"], after["history"]
    assert new[: len(old)] == old
    assert [kind(attempt) for attempt in new[len(old) :]] == ([case.shown] if case.shown else [])


def _check_shown(case: Case, answer: Response, told: dict[str, Any], after: dict[str, Any]) -> None:
    """The answer and the event show the attempt; a failed one is laid over the record."""
    assert kind(told) == case.shown
    if not case.error:
        assert answer.json() == told
    attempt = after["history"][-1]
    laid_over = (
        *("event_id", "transaction_type", "status", "status_reason"),
        *("gateway_transaction_response", "processor_response_code"),
        "processor_response_message",
    )
    assert {name: told[name] for name in laid_over} == {name: attempt[name] for name in laid_over}
    rest = {name: value for name, value in told.items() if name not in laid_over}
    assert rest == {name: value for name, value in after.items() if name not in laid_over}


ROWS_BY_THEMSELVES = {
    ("F4", "surcharge_expires", "surcharge_pending"),
    ("F8", "edit", "pending"),
    ("F8", "edit", "authorized"),
    ("F8", "edit", "captured"),
    ("F9", "tap_expires", "pending"),
    ("F21", "authorization_expires", "authorized"),
    ("F36", "settle", "captured"),
    ("F42", "hold_reversed", "error"),
    ("F37", "settle", "refunded"),
}
"""The rows that test_moves_by_itself tests."""

ROWS_THAT_FOLLOW = {
    ("D24", "late_answer", "pending"),
    ("D24", "late_answer", "error"),
    ("D24-late", "late_answer", "authorized"),
    ("D24-late", "late_answer", "captured"),
    ("D24-late", "late_answer", "settled"),
    ("F5", "cancel", "surcharge_pending"),
    ("F5", "cancel", "pending"),
}
"""The rows that test_following tests."""
