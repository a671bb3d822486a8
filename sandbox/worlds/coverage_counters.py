"""Counters of the parts of the platform that were used, in one world or in several."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from sandbox.domain.batches import Batch
from sandbox.domain.events import Message
from sandbox.domain.payments.transactions import Payment, Transaction
from sandbox.scenarios.matcher import Running
from sandbox.scenarios.outcome_choice import ChosenOutcome
from sandbox.store.store import Store
from sandbox.worlds.journal import REFUSED_FROM

SCENARIOS_MAX: Final = 200
"""How many scenarios are counted separately. The library has a few dozen, but tests invent more,
and counts live as long as the server."""

OTHERS: Final = "other scenarios"
"""The name under which all other scenarios are counted."""

SETTLES: Final = frozenset({"batch.accepted", "batch.partially_accepted"})
"""Events of batches that settle their members, which get no events themselves."""


SECTIONS: Final = (
    *("operations", "answers", "refusals", "outcomes"),
    *("events", "statuses", "status_reasons", "scenarios"),
)
"""What is counted, each by its own names; an answer is named by its operation and its status."""


class CoverageCounters:
    """How often each thing was exercised, by section and name.

    Scenarios beyond the limit are counted as `OTHERS`. `refused` counts the requests that were
    refused or got no answer.
    """

    def __init__(self) -> None:
        self.sections = {name: Counter[str]() for name in SECTIONS}
        self.refused = 0

    def begin(self, scenario: Running | None) -> None:
        """Restart the counts of scenarios; the running one counts once."""
        self.sections["scenarios"].clear()
        if scenario is not None:
            self.ran(scenario.scenario.name)

    def ran(self, scenario: str, times: int = 1) -> None:
        """Count runs of a scenario."""
        known = self.sections["scenarios"]
        has_room = scenario in known or len(known) < SCENARIOS_MAX
        known[scenario if has_room else OTHERS] += times

    def answered(
        self, route: str | None, status: int, refusal: str | None, choice: ChosenOutcome | None
    ) -> None:
        """Count a request that was answered."""
        counts = self.sections
        self.refused += status == 0 or status >= REFUSED_FROM
        if refusal is not None:
            counts["refusals"][refusal] += 1
        if route is not None:
            counts["operations"][route] += 1
            counts["answers"][f"{route} {status}"] += 1
        if choice is not None and choice.has_outcome:
            counts["outcomes"][choice.outcome.key] += 1
        if choice is not None and choice.fault is not None:
            counts["outcomes"][choice.fault.key] += 1

    def count_messages(self, messages: Sequence[Message], store: Store) -> None:
        """Count committed messages, and the payments that they settle."""
        counts = self.sections
        for message in messages:
            record = message.record
            counts["events"][message.event_type] += 1
            if isinstance(record, Transaction):
                counts["statuses"][record.status] += 1
                counts["status_reasons"][record.status_reason] += 1
            if message.event_type in SETTLES and isinstance(record, Batch):
                members, _ = store.begin().find(Payment, {"batch_id": message.subject})
                # Payments that were already refunded in full stay refunded (assumed F36).
                counts["statuses"]["settled"] += sum(
                    one.status == "settled" and one.original_id is None for one in members
                )

    def add(self, other: "CoverageCounters") -> None:
        """Add the counts of another one."""
        self.refused += other.refused
        for section, counts in other.sections.items():
            for name, times in counts.items():
                if section == "scenarios":
                    self.ran(name, times)
                else:
                    self.sections[section][name] += times
