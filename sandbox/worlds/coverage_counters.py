"""Counters of the parts of the platform that were used, in one world or in several."""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from sandbox.domain.batches import Batch
from sandbox.domain.events import Message
from sandbox.domain.payments.transactions import Payment, Transaction
from sandbox.scenarios.matcher import Running
from sandbox.scenarios.outcome_choice import ChosenOutcome
from sandbox.store.store import Store

SCENARIOS_MAX: Final = 200
"""How many scenarios are counted separately. The library has a few dozen, but tests invent more,
and counts live as long as the server."""

OTHERS: Final = "other scenarios"
"""The name under which all other scenarios are counted."""

SETTLES: Final = frozenset({"batch.accepted", "batch.partially_accepted"})
"""Events of batches that settle their members, which get no events themselves."""


class AnswerKind(NamedTuple):
    """The properties by which requests are counted.

    The operation, if there was one; the status; the code of the refusal; the outcome of the attempt
    and its transport fault.
    """

    route: str | None
    status: int
    refusal: str | None
    outcome: str | None
    fault: str | None


class MessageKind(NamedTuple):
    """The properties by which messages are counted; samples have only the event."""

    event_type: str
    status: str | None = None
    status_reason: str | None = None


class CoverageCounters:
    """How often each thing was exercised.

    `answers` are counted by `AnswerKind`, `messages` by `MessageKind`, and `scenarios` by name,
    those beyond the limit as `OTHERS`. `settled` counts payments.
    """

    def __init__(self) -> None:
        self.answers: Counter[AnswerKind] = Counter()
        self.messages: Counter[MessageKind] = Counter()
        self.settled = 0
        self.scenarios: Counter[str] = Counter()

    def begin(self, scenario: Running | None) -> None:
        """Restart the counts of scenarios; the running one counts once."""
        self.scenarios.clear()
        if scenario is not None:
            self.ran(scenario.scenario.name)

    def ran(self, scenario: str, times: int = 1) -> None:
        """Count runs of a scenario."""
        is_known = scenario in self.scenarios or len(self.scenarios) < SCENARIOS_MAX
        self.scenarios[scenario if is_known else OTHERS] += times

    def answered(
        self, route: str | None, status: int, refusal: str | None, choice: ChosenOutcome | None
    ) -> None:
        """Count a request that was answered."""
        outcome = fault = None
        if choice is not None:
            fault = choice.fault.key if choice.fault else None
            outcome = choice.outcome.key if choice.has_outcome else None
        self.answers[AnswerKind(route, status, refusal, outcome, fault)] += 1

    def count_messages(self, messages: Sequence[Message], store: Store) -> None:
        """Count committed messages, and the payments that they settle."""
        for message in messages:
            record = message.record
            shown = (record.status, record.status_reason) if isinstance(record, Transaction) else ()
            self.messages[MessageKind(message.event_type, *shown)] += 1
            if message.event_type in SETTLES and isinstance(record, Batch):
                members, _ = store.begin().find(Payment, {"batch_id": message.subject})
                # Payments that were already refunded in full stay refunded (assumed F36).
                self.settled += sum(
                    payment.status == "settled" and payment.original_id is None
                    for payment in members
                )

    def add(self, other: "CoverageCounters") -> None:
        """Add the counts of another one."""
        self.answers.update(other.answers)
        self.messages.update(other.messages)
        self.settled += other.settled
        for scenario, times in other.scenarios.items():
            self.ran(scenario, times)
