"""A running scenario: the rule for each attempt, and how often each rule has applied."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from msgspec import Struct

from sandbox.domain.operations import PathPattern
from sandbox.scenarios.parser import ScenarioError
from sandbox.scenarios.rules import Rule, Then
from sandbox.scenarios.scenario import Scenario
from sandbox.scenarios.webhook_rules import WebhookRule, WebhookThen
from sandbox.scenarios.words import AmountRange

NEAR_MISSES_MAX: Final = 20
"""Near misses of one attempt that are stored as text; the rest are counted. A queue and a scenario
can have 2,000 together, and the journal holds a thousand attempts."""


class NearMisses(list[str]):
    """The first near misses of an attempt, and how many `more` there were."""

    def __init__(self, *parts: Iterable[str]) -> None:
        super().__init__()
        self.more = 0
        for part in parts:
            for why in part:
                self.append(why)
            self.more += getattr(part, "more", 0)

    def append(self, why: str) -> None:
        """Note one."""
        if len(self) < NEAR_MISSES_MAX:
            super().append(why)
        else:
            self.more += 1


def show_near_misses(*parts: Iterable[str]) -> list[str]:
    """All of them in words, one after the other, and the count of the rest."""
    near = NearMisses(*parts)
    return [*near, f"and {near.more} more"] if near.more else list(near)


Words = Mapping[str, Any]
"""The facts of an attempt or a delivery, by the words of `when`.

A tuple holds several names of one thing.
"""

Resolve = Callable[[str, str], str]
"""Gives for a kind (terminal, location, account, key) and a cast name or id the id."""

RuleCounts = list[int]
"""How many attempts or deliveries fitted a rule, and to how many of them it applied."""

_NAMED = ("terminal", "location", "account", "key")
_OF_ANOTHER = ("operation", "method", "path")
"""Words of rules that were not meant for a request: no near misses."""

_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)

Draw = Callable[[str], float]
"""Gives for a name a number from 0 to 1."""


class MatchedRule(NamedTuple):
    """The effect of a rule on a request, and the rule's name in answers.

    `delay_ms` is that of this request. A rule that always applies for a while ends at `until`.
    """

    then: Then
    rule: str
    delay_ms: int
    until: datetime | None


class MatchedWebhookRule(NamedTuple):
    """The effect of a rule on a delivery, and the rule's name."""

    then: WebhookThen
    rule: str


class _Entry(Struct):
    """One rule with its names resolved, and its counters."""

    rule: Rule | WebhookRule
    name: str
    wanted: "dict[str, Wanted]"
    nth: frozenset[int] | None
    counts: RuleCounts
    until: datetime | None = None

    @property
    def fitted(self) -> int:
        """How many attempts or deliveries fitted."""
        return self.counts[0]

    @property
    def applied(self) -> int:
        """To how many of them the rule applied."""
        return self.counts[1]

    @property
    def is_used_up(self) -> bool:
        times = self.rule.then.times
        return times is not None and self.applied >= times

    def mismatch(self, words: Words) -> str | None:
        """Return the first word of `when` that does not fit; None when all do."""
        for word, values in self.wanted.items():
            fact = words.get(word)
            if fact is None or not values.matches(fact):
                return word
        return None

    def use(self, draw: Draw) -> str | None:
        """Count one more that fits, and that the rule applies to it; why it does not, if so."""
        self.counts[0] += 1
        if self.nth is not None and self.fitted not in self.nth:
            return f"this is number {self.fitted}"
        if self.is_used_up:
            return "used up"
        chance = getattr(self.rule.then, "probability", None)
        if chance is not None and draw(f"rule {self.name}/{self.fitted}") >= chance:
            return f"chance spares number {self.fitted}"
        self.counts[1] += 1
        return None


class Wanted:
    """The values of one word of a rule, of which any will do."""

    __slots__ = ("_plain", "_ranges")

    def __init__(self, values: Sequence[Any | AmountRange]) -> None:
        self._ranges = [value for value in values if hasattr(value, "matches")]
        self._plain = frozenset(value for value in values if not hasattr(value, "matches"))

    def matches(self, fact: Any) -> bool:
        """Whether the fact is one of them; of a tuple, any of its names."""
        if isinstance(fact, tuple):
            return not self._plain.isdisjoint(fact)
        return fact in self._plain or any(one.matches(fact) for one in self._ranges)


class Window(NamedTuple):
    """The time in which a rule applies."""

    begin: datetime
    end: datetime

    def matches(self, now: datetime) -> bool:
        """Whether it is that time now."""
        return self.begin <= now < self.end


class Running(Struct, eq=False):
    """A scenario in use in a world.

    `draw` gives for a name the number from 0 to 1 that the world's seed gives to it; times of rules
    count from `since`. Source: assumed D24-requests.
    """

    scenario: Scenario
    resolve: Resolve
    draw: Draw = lambda _: 0.0
    since: datetime = _LONG_AGO
    attempts: list[_Entry] = []
    webhooks: list[_Entry] = []

    def __post_init__(self) -> None:
        self.attempts = self._entries("rule", self.scenario.rule)
        self.webhooks = self._entries("webhook", self.scenario.webhook)

    def _entries(self, kind: str, rules: Sequence[Rule | WebhookRule]) -> list[_Entry]:
        return [
            self._entry(rule, number, f"{kind} {number}")
            for number, rule in enumerate(rules, start=1)
        ]

    def _entry(self, rule: Rule | WebhookRule, number: int, place: str) -> _Entry:
        """Return the rule in use. Raises ScenarioError for unknown names."""
        wanted = self._parse_words(rule, place)
        end = None
        if isinstance(rule, Rule) and (times := rule.when.window(self.since)) is not None:
            wanted["time"] = Wanted([Window(*times)])
            if rule.when.until is not None and rule.then.probability is None:
                end = times[1]
        return _Entry(
            rule,
            rule.name or str(number),
            wanted,
            None if rule.when.nth is None else frozenset(rule.when.nth),
            [0, 0],
            end,
        )

    def _parse_words(self, rule: Rule | WebhookRule, place: str) -> dict[str, Wanted]:
        """Return the words of `when` but for those of numbers and times. Raises ScenarioError."""
        wanted = {}
        for word in rule.when.model_fields_set - {"nth", "from_", "until"}:
            values = getattr(rule.when, word)
            if values is None:
                continue
            if word in _NAMED:
                try:
                    values = [self.resolve(word, name) for name in values]
                except ValueError as error:
                    named = f" {rule.name!r}" if rule.name else ""
                    raise ScenarioError(
                        f"{place}{named}, when.{word}: {error}",
                        getattr(error, "nearest", None),
                    ) from None
            elif word == "path":
                values = list(map(PathPattern, values))
            wanted[word] = Wanted(values)
        return wanted

    def matched(
        self, words: Words, is_possible: Callable[[Then], bool | None], near_misses: NearMisses
    ) -> MatchedRule | None:
        """Return the effect of the first rule that applies, or None.

        A rule of which `is_possible` is None is meant for something else, and no near miss. The
        rules after it count a request that fits them all the same. Source: assumed D40.
        """
        found: MatchedRule | None = None
        for entry in self.attempts:
            then: Then = entry.rule.then  # type: ignore[assignment]
            mismatch, why_not = entry.mismatch(words), None
            if mismatch is not None:
                is_near = mismatch in words and mismatch not in _OF_ANOTHER
                why_not = f"another {mismatch}" if is_near else None
            elif not (possible := is_possible(then)):
                why_not = None if possible is None else f"not for {words['operation'][0]}"
            elif found is not None:
                entry.counts[0] += 1
            elif (why_not := entry.use(self.draw)) is None:
                found = self._matched(entry, then)
            if found is None and why_not is not None:
                near_misses.append(f"scenario {entry.name}: {why_not}")
        return found

    def _matched(self, entry: _Entry, then: Then) -> MatchedRule:
        delay_ms = then.delay_ms
        if not isinstance(delay_ms, int):
            delay_ms = delay_ms.at(self.draw(f"delay {entry.name}/{entry.fitted}"))
        return MatchedRule(then, entry.name, delay_ms, entry.until)

    @property
    def is_about_webhooks(self) -> bool:
        """Whether it has rules for webhooks."""
        return bool(self.webhooks)

    def for_webhook(self, words: Words) -> "MatchedWebhookRule | None":
        """Return the first rule that applies to a delivery, or None; those after it count it too.

        The words are those of `WebhookWhen`: `endpoint` is all its names. Source: assumed D40.
        """
        found: MatchedWebhookRule | None = None
        for entry in self.webhooks:
            if entry.mismatch(words) is not None:
                continue
            if found is not None:
                entry.counts[0] += 1
            elif entry.use(self.draw) is None:
                found = MatchedWebhookRule(entry.rule.then, entry.name)  # type: ignore[arg-type]
        return found

    def counts(self) -> list[RuleCounts]:
        """Return the counts of each rule, in order. They go on counting."""
        return [one.counts for one in (*self.attempts, *self.webhooks)]

    def begin_again(self, since: datetime) -> "Running":
        """Return the same scenario from its beginning, which is then."""
        return Running(self.scenario, self.resolve, self.draw, since)

    def go_on_from(self, counts: Sequence[Sequence[int]]) -> None:
        """Take over the counts of an earlier run. Raises ValueError if they are of other rules."""
        entries = (*self.attempts, *self.webhooks)
        for entry, (fitted, applied) in zip(entries, counts, strict=True):
            entry.counts[:] = fitted, applied
