"""One row of the transaction state machine, and the words that rows use."""

from dataclasses import dataclass
from typing import Final, Literal

from sandbox.domain.faults import Fault

Answer = Literal["approved", "failed"]
Entry = Literal["capture", "refund"]

NEW: Final = "-"
"""The state before there is a record."""

SAME: Final = "same"
AS_ANSWERED: Final = "as answered"
"""A head or a reason that the record, or the outcome, decides."""

FINISHED: Final = ("refunded", "reversed", "declined", "error", "canceled")
"""States that nothing leaves. Source: assumed F35."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One row.

    `trigger` is the operation, or `clock`, `settle`, `edit` for what needs no action. `when` names
    a condition (see `initiating` and `follow_ups`); "" always holds. `head` is the stored status
    afterwards. `shown_status` and `reason` are those of the attempt, in the answer and the event.
    `fault` is the 400 of a refusal, which an `event` makes a rule failure: it is announced and kept
    in the history (assumed 2.1-rule). `joins` tells which entry is made in a batch.
    """

    id: str
    trigger: str
    states: tuple[str, ...] = (NEW,)
    when: str = ""
    answer: Answer | None = None
    head: str = SAME
    shown_status: str = ""
    reason: str = "approved"
    ledger: str = "unchanged"
    fault: Fault | None = None
    event: str | None = None
    batch_entry: Entry | None = None

    @property
    def source(self) -> str:
        """The clause that fixes the row."""
        return f"assumed {self.id}"

    @property
    def is_rule_failure(self) -> bool:
        """Refused, and yet an attempt: kept in the history and announced."""
        return self.fault is not None and self.event is not None

    @property
    def is_silent_refusal(self) -> bool:
        """Refused, and nothing happened."""
        return self.fault is not None and self.event is None
