"""What chose the outcomes and faults of requests that are exported, so that it is chosen again."""

from typing import Any, Final

from sandbox.control.journal import JournalEntry
from sandbox.domain.payments.outcomes import APPROVED, PARTIAL
from sandbox.domain.transport_faults import TRANSPORT_FAULTS

CHOSEN: Final = ("queue", "header")
"""What chose an outcome for one request: the other world has to be told."""


def fault_of(view: JournalEntry) -> str | None:
    """Return the transport fault that the answer of a request met, if any."""
    notes = str(view.notes)
    return next((key for key in TRANSPORT_FAULTS if f"transport fault {key}: " in notes), None)


def is_spared(view: JournalEntry) -> bool:
    """Whether a look asked to be left alone by faults."""
    outcome = view.outcome
    if view.method != "GET" or outcome is None:
        return False
    return (outcome.source, outcome.key) == ("header", APPROVED.key)


def queue_again(view: JournalEntry) -> dict[str, Any]:
    """Return what to queue so that the outcome and the fault are chosen again."""
    assert view.outcome
    key, response, fault = view.outcome.key, view.response, fault_of(view)
    if key in TRANSPORT_FAULTS:
        return {"fault": key}
    again: dict[str, Any] = {"outcome": key} if fault is None else {"outcome": key, "fault": fault}
    if key == PARTIAL.key and isinstance(response, dict):
        told = response.get("additional_details") or {}
        again["approved_amount"] = told.get("captured_amount") or told.get("authorized_amount")
    return again
