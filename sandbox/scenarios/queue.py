"""What is set for the next attempts and deliveries of one world, first come first served.

Faults for the next deliveries go before the rules of the scenario. Source: assumed D24.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from sandbox.domain.payments.outcomes import Operation, Queued
from sandbox.domain.webhooks import WebhookFault
from sandbox.scenarios.matcher import MatchedWebhookRule, NearMisses, Resolve, Running, Words
from sandbox.scenarios.parser import ScenarioError, parse_scenario

QUEUE_MAX: Final = 1_000
"""Next outcomes that wait in one world. Each attempt goes through them until one fits."""

Entries = tuple[Queued, ...]


def _next_number(entries: Sequence[Queued | WebhookFault], numbered: int) -> int:
    """Return the number after the last one, and after those of the entries."""
    ends = (one.id.rpartition("_")[2] for one in entries)
    return max(numbered, *(int(end) for end in ends if end.isascii() and end.isdecimal()), 0) + 1


class QueueFull(ValueError):
    """The queue of next outcomes is full."""


class Queue:
    """The next outcomes of one world.

    `entries` are the stored ones, the first one first, and `store` stores others.
    """

    def __init__(self, store: Callable[[Entries], None], entries: Entries = ()) -> None:
        self._store = store
        self.entries = entries
        self._numbered = 0

    def add(self, entry: Queued) -> Queued:
        """Put one at the end, and give it an id. Raises QueueFull."""
        if len(self.entries) >= QUEUE_MAX:
            raise QueueFull(f"{QUEUE_MAX} next outcomes already wait, which is the most")
        self._numbered = _next_number(self.entries, self._numbered)
        entry = replace(entry, id=f"next_{self._numbered}")
        self._store((*self.entries, entry))
        return entry

    def remove(self, id: str) -> bool:
        """Forget the entry with this id; whether there was one."""
        rest = tuple(one for one in self.entries if one.id != id)
        if len(rest) == len(self.entries):
            return False
        self._store(rest)
        return True

    def take(
        self,
        request: Words,
        operation: Operation | None,
        amount: int | None,
        near_misses: NearMisses,
    ) -> Queued | None:
        """Take the first that fits out of the queue.

        The ones passed over are near misses.
        """
        for place, entry in enumerate(self.entries):
            mismatch = entry.mismatch(request, operation, amount)
            if mismatch is None:
                self._store((*self.entries[:place], *self.entries[place + 1 :]))
                return entry
            near_misses.append(f"queue: {mismatch}")
        return None

    def clear(self) -> None:
        """Forget them all."""
        self._store(())


# --- faults for the next deliveries -------------------------------------------------------------

WEBHOOK_FAULTS_MAX: Final = 100
"""Entries that wait in one world. Each delivery goes through them until one fits."""


USED_MAX: Final = 1_000
"""Entries that were used, of which what they did is kept."""

RULE_OF_QUEUE: Final = "next delivery "
"""A delivery names its rule; that of an entry of the queue is this and the id of the entry."""


class WebhookFaultsFull(ValueError):
    """The queue of faults for deliveries is full."""


WebhookRules = Callable[[Words], MatchedWebhookRule | None]
"""Gives the first rule that matches a delivery, or None."""


def running_of(entry: WebhookFault, resolve: Resolve) -> Running:
    """Return the entry as a scenario of one rule. Raises ScenarioError."""
    rule = {"when": dict(entry.when), "then": dict(entry.then)}
    return Running(parse_scenario({"name": entry.id, "webhook": [rule]}), resolve)


class WebhookFaults:
    """The faults of the next deliveries of one world.

    `entries` are the stored ones, the first one first, and `store` stores others. `resolve` gives
    the id for a name in `when`. `used` has what the entries did that were used, by id; like the
    journal it lasts as long as the process.
    """

    def __init__(self, store: Callable[[tuple[WebhookFault, ...]], None], resolve: Resolve) -> None:
        self._store = store
        self._resolve = resolve
        self.entries: tuple[WebhookFault, ...] = ()
        self.used: dict[str, Mapping[str, Any]] = {}
        # The rule of each entry, with the part of it that tells two of one id apart.
        self._running: dict[str, tuple[object, Running | None]] = {}
        self._numbered = 0

    def add(self, when: Mapping[str, Any], then: Mapping[str, Any], times: int) -> WebhookFault:
        """Put one at the end. Raises WebhookFaultsFull, or ScenarioError if it makes no sense."""
        if len(self.entries) >= WEBHOOK_FAULTS_MAX:
            raise WebhookFaultsFull(f"{WEBHOOK_FAULTS_MAX} entries already wait, which is the most")
        number = _next_number(self.entries, self._numbered)
        entry = WebhookFault(id=f"next_{number}", when=when, then=then, left=times)
        running_of(entry, self._resolve)
        self._numbered = number
        self._store((*self.entries, entry))
        return entry

    def remove(self, ids: Sequence[str]) -> None:
        """Forget these entries."""
        self._store(tuple(one for one in self.entries if one.id not in ids))

    def before(self, scenario: Running | None) -> WebhookRules:
        """Return these, and then the rules of the scenario."""

        def find(words: Words) -> MatchedWebhookRule | None:
            found = self.for_webhook(words)
            return scenario.for_webhook(words) if found is None and scenario else found

        return find

    def for_webhook(self, words: Words) -> MatchedWebhookRule | None:
        """Return the first entry that matches a delivery, which uses it up once; or None."""
        for entry in self.entries:
            running = self._of(entry)
            matched = None if running is None else running.for_webhook(words)
            if matched is not None:
                self._use(entry)
                return MatchedWebhookRule(matched.then, f"{RULE_OF_QUEUE}{entry.id}")
        return None

    def _of(self, entry: WebhookFault) -> Running | None:
        """Return the rule of an entry. None if the name of something in it is gone by now."""
        then, running = self._running.get(entry.id, (None, None))
        if then is not entry.then:
            known = {one.id for one in self.entries}
            self._running = {id: one for id, one in self._running.items() if id in known}
            try:
                running = running_of(entry, self._resolve)
            except ScenarioError:
                running = None
            self._running[entry.id] = entry.then, running
        return running

    def _use(self, entry: WebhookFault) -> None:
        self.used[entry.id] = entry.then
        if len(self.used) > USED_MAX:
            del self.used[next(iter(self.used))]
        if entry.left <= 1:
            self.remove([entry.id])
            return
        used = replace(entry, left=entry.left - 1)
        self._store(tuple(used if one.id == entry.id else one for one in self.entries))
