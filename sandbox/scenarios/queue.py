"""The queues of one world: outcomes for its next attempts, and faults for its next deliveries.

Both go before the rules of the scenario. Source: assumed D24.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar

from msgspec.structs import replace

from sandbox.domain.payments.outcomes import Queued
from sandbox.domain.webhooks import WebhookFault
from sandbox.scenarios.matcher import MatchedWebhookRule, Resolve, Running, Words
from sandbox.scenarios.parser import ScenarioError, parse_scenario
from sandbox.scenarios.scenario import Scenario

QUEUE_MAX: Final = 1_000
"""How many next outcomes may wait in one world. Each attempt tries them until one matches."""

E = TypeVar("E", bound=Queued | WebhookFault)


class _Waiting(Generic[E]):
    """A queue of one world, the first entry first. `store` stores the changed entries."""

    def __init__(self, store: Callable[[tuple[E, ...]], None], entries: tuple[E, ...] = ()) -> None:
        self._store = store
        self.entries = entries
        self._numbered = 0

    def _append(self, entry: E) -> E:
        """Append an entry, numbered after the last one."""
        ends = (one.id.rpartition("_")[2] for one in self.entries)
        known = (int(end) for end in ends if end.isascii() and end.isdecimal())
        self._numbered = max(self._numbered, *known, 0) + 1
        entry = replace(entry, id=f"next_{self._numbered}")
        self._store((*self.entries, entry))
        return entry

    def remove(self, id: str) -> bool:
        """Remove the entry with this id. Return whether there was one."""
        rest = tuple(one for one in self.entries if one.id != id)
        if len(rest) == len(self.entries):
            return False
        self._store(rest)
        return True

    def clear(self) -> None:
        """Remove all entries."""
        self._store(())


class QueueFull(ValueError):
    """The queue of next outcomes is full."""


class Queue(_Waiting[Queued]):
    """The next outcomes of one world."""

    def add(self, entry: Queued) -> Queued:
        """Append an entry, and return it with its id. Raises QueueFull."""
        if len(self.entries) >= QUEUE_MAX:
            raise QueueFull(f"{QUEUE_MAX} next outcomes are already waiting, which is the limit")
        return self._append(entry)

    def take(self, words: Words, near_misses: list[str]) -> Queued | None:
        """Remove and return the first entry that matches; those passed over are near misses."""
        for place, entry in enumerate(self.entries):
            mismatch = entry.mismatch(words)
            if mismatch is None:
                self._store((*self.entries[:place], *self.entries[place + 1 :]))
                return entry
            near_misses.append(f"queue: {mismatch}")
        return None


# --- faults for the next deliveries -------------------------------------------------------------

WEBHOOK_FAULTS_MAX: Final = 100
"""How many entries may wait in one world. Each delivery tries them until one matches."""


USED_MAX: Final = 1_000
"""How many used entries to remember, with their effects."""


class WebhookFaultsFull(ValueError):
    """The queue of faults for deliveries is full."""


def rule_of(entry: WebhookFault) -> Scenario:
    """Return the entry as a scenario of one rule. Raises ScenarioError."""
    rule = {"when": entry.when, "then": entry.then}
    return parse_scenario({"name": "next delivery", "webhook": [rule]})


def running_of(entry: WebhookFault, resolve: Resolve) -> Running:
    """Return the scenario of an entry in use. Raises ScenarioError, also for unknown names."""
    running = Running(rule_of(entry), resolve)
    running.go_on_from([[entry.fitted, 0]])
    return running


class WebhookFaults(_Waiting[WebhookFault]):
    """The faults of the next deliveries of one world.

    `resolve` returns the id for a name in `when`. `used` has the effects of used entries, by rule;
    like the journal, it lasts as long as the process.
    """

    def __init__(self, store: Callable[[tuple[WebhookFault, ...]], None], resolve: Resolve) -> None:
        super().__init__(store)
        self._resolve = resolve
        self.used: dict[str, Mapping[str, Any]] = {}

    def add(self, when: Mapping[str, Any], then: Mapping[str, Any], times: int) -> WebhookFault:
        """Append an entry. Raises WebhookFaultsFull, or ScenarioError if it is invalid."""
        if len(self.entries) >= WEBHOOK_FAULTS_MAX:
            raise WebhookFaultsFull(
                f"{WEBHOOK_FAULTS_MAX} entries are already waiting, which is the limit"
            )
        entry = WebhookFault(id="next", when=when, then=then, left=times)
        running_of(entry, self._resolve)
        return self._append(entry)

    def for_webhook(self, words: Words) -> MatchedWebhookRule | None:
        """Use the first entry that matches a delivery, and return its rule; None if none does."""
        for entry in self.entries:
            try:
                running = running_of(entry, self._resolve)
            except ScenarioError:
                # It names something that no longer exists.
                continue
            matched, [(fitted, _)] = running.for_webhook(words), running.counts()
            if "nth" in entry.when and fitted != entry.fitted:
                entry = replace(entry, fitted=fitted)
                self._put(entry)
            if matched is not None:
                rule = f"next delivery {entry.id}"
                self._use(entry, rule)
                return MatchedWebhookRule(matched.then, rule)
        return None

    def _use(self, entry: WebhookFault, rule: str) -> None:
        self.used[rule] = entry.then
        if len(self.used) > USED_MAX:
            del self.used[next(iter(self.used))]
        if entry.left > 1:
            self._put(replace(entry, left=entry.left - 1))
        else:
            self.remove(entry.id)

    def _put(self, entry: WebhookFault) -> None:
        """Store a changed entry in place of the one with its id."""
        self._store(tuple(entry if one.id == entry.id else one for one in self.entries))
