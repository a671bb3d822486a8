"""Counters of the parts of the platform that were used, in one world or in several."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Final

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


class CoverageCounters:
    """How often each thing was exercised.

    `answers` are counted by operation (None if there is none) and status, and `messages` by event,
    and status and status_reason of their transaction; a payment that a batch settles has only a
    status. Scenarios beyond the limit are counted as `OTHERS`.
    """

    def __init__(self) -> None:
        self.answers: dict[tuple[str | None, int], int] = defaultdict(int)
        self.messages: dict[tuple[str | None, str | None, str | None], int] = defaultdict(int)
        self.refusals: dict[str, int] = defaultdict(int)
        self.outcomes: dict[str, int] = defaultdict(int)
        self.scenarios: dict[str, int] = defaultdict(int)

    @property
    def refused(self) -> int:
        """How many requests were refused or got no answer."""
        answers = self.answers.items()
        return sum(times for (_, status), times in answers if not 0 < status < REFUSED_FROM)

    @property
    def sections(self) -> dict[str, Counter[Any]]:
        """The counts by name, except scenarios. An answer is named by operation and status."""
        counts = defaultdict[str, Counter[Any]](Counter)
        counts |= {"refusals": Counter(self.refusals), "outcomes": Counter(self.outcomes)}
        for (route, status), times in self.answers.items():
            if route is not None:
                counts["operations"][route] += times
                counts["answers"][f"{route} {status}"] += times
        for names, times in self.messages.items():
            for section, name in zip(("events", "statuses", "status_reasons"), names, strict=True):
                counts[section][name] += times
        return counts

    def begin(self, scenario: Running | None) -> None:
        """Restart the counts of scenarios; the running one counts once."""
        self.scenarios.clear()
        if scenario is not None:
            self.ran(scenario.scenario.name)

    def ran(self, scenario: str, times: int = 1) -> None:
        """Count runs of a scenario."""
        has_room = scenario in self.scenarios or len(self.scenarios) < SCENARIOS_MAX
        self.scenarios[scenario if has_room else OTHERS] += times

    def answered(
        self, route: str | None, status: int, refusal: str | None, choice: ChosenOutcome | None
    ) -> None:
        """Count a request that was answered."""
        self.answers[route, status] += 1
        if refusal is not None:
            self.refusals[refusal] += 1
        if choice is not None and choice.has_outcome:
            self.outcomes[choice.outcome.key] += 1
        if choice is not None and choice.fault is not None:
            self.outcomes[choice.fault.key] += 1

    def count_messages(self, messages: Sequence[Message], store: Store) -> None:
        """Count committed messages, and the payments that they settle."""
        for message in messages:
            record, status, reason = message.record, None, None
            if isinstance(record, Transaction):
                status, reason = record.status, record.status_reason
            self.messages[message.event_type, status, reason] += 1
            if message.event_type in SETTLES and isinstance(record, Batch):
                where = {"in_batch": message.subject, "batch_id": message.subject}
                members, _ = store.begin().find(Payment, where)
                # Payments that were already refunded in full stay refunded (assumed F36).
                self.messages[None, "settled", None] += sum(
                    one.status == "settled" and one.original_id is None for one in members
                )

    def add(self, other: "CoverageCounters") -> None:
        """Add the counts of another one."""
        for scenario, times in other.scenarios.items():
            self.ran(scenario, times)
        for name in ("answers", "messages", "refusals", "outcomes"):
            counts = getattr(self, name)
            for key, times in getattr(other, name).items():
                counts[key] += times
