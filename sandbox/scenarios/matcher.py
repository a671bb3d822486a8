"""A running scenario: the rule for each attempt, and how often each rule has applied."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import Any, Final, NamedTuple

from msgspec import Struct

from sandbox.domain.clock import EARLIEST
from sandbox.domain.operations import PathPattern
from sandbox.domain.text import UnknownWord
from sandbox.scenarios.parser import ScenarioError
from sandbox.scenarios.rules import Rule, Then
from sandbox.scenarios.scenario import Scenario
from sandbox.scenarios.webhook_rules import WebhookRule, WebhookThen

NEAR_MISSES_MAX: Final = 20
"""How many near misses of an attempt are stored as text; the rest are counted. A queue and a
scenario can have 2,000 together, and the journal holds a thousand attempts."""


def shorten_near_misses(near: Sequence[str]) -> Sequence[str]:
    """Return the first near misses, and the count of the rest."""
    more = len(near) - NEAR_MISSES_MAX
    return near if more <= 0 else [*near[:NEAR_MISSES_MAX], f"and {more} more"]


Words = Mapping[str, Any]
"""The facts of an attempt or a delivery, by the words of `when`.

A tuple holds several names of the same thing.
"""

Resolve = Callable[[str, str], str]
"""Returns the id for a kind (terminal, location, account, key) and a cast name or id."""

RuleCounts = list[int]
"""How many attempts or deliveries matched a rule, and to how many of them it applied."""

_NAMED = ("terminal", "location", "account", "key")
_OF_ANOTHER = ("operation", "method", "path")
"""A rule that differs in one of these words was meant for other requests: no near miss."""

Draw = Callable[[str], float]
"""Returns a number from 0 to 1 for a name."""


class MatchedRule(NamedTuple):
    """The effect of a rule on a request, and the rule's name in answers.

    `delay_ms` is that of this request. `until` is the end of a rule that applies for some time.
    """

    then: Then
    rule: str
    delay_ms: int
    until: datetime | None


class MatchedWebhookRule(NamedTuple):
    """The effect of a rule on a delivery, and the rule's name; None if no rule matched."""

    then: WebhookThen
    rule: str | None


def _is_match(fact: Any, wanted: Sequence[Any]) -> bool:
    """Whether a fact is a wanted value, or in a wanted range or pattern."""
    names = fact if isinstance(fact, tuple) else (fact,)
    return fact is not None and any(
        one.matches(fact) if hasattr(one, "matches") else one in names for one in wanted
    )


class _Entry(Struct):
    """One rule with its names resolved, and its counters.

    `wanted` has the values, ranges and patterns for each word of the rule; any of them matches.
    """

    rule: Rule | WebhookRule
    name: str
    wanted: dict[str, Sequence[Any]]
    counts: RuleCounts

    @property
    def fitted(self) -> int:
        """How many attempts or deliveries matched."""
        return self.counts[0]

    @property
    def applied(self) -> int:
        """How many of them the rule applied to."""
        return self.counts[1]

    @property
    def is_used_up(self) -> bool:
        times = self.rule.then.times
        return times is not None and self.applied >= times

    def mismatches(self, words: Words) -> list[str]:
        """Return the words of `when` that do not match, in the order of its model."""
        wanted = self.wanted.items()
        return [word for word, values in wanted if not _is_match(words.get(word), values)]

    def use(self, draw: Draw) -> str | None:
        """Count another match, and apply the rule to it. Return why it does not apply, or None."""
        self.counts[0] += 1
        if self.rule.when.nth is not None and self.fitted not in self.rule.when.nth:
            return f"this is number {self.fitted}"
        if self.is_used_up:
            return "used up"
        chance = getattr(self.rule.then, "probability", None)
        if chance is not None and draw(f"rule {self.name}/{self.fitted}") >= chance:
            return f"chance spares number {self.fitted}"
        self.counts[1] += 1
        return None


class Running(Struct, eq=False):
    """A scenario in use in a world.

    `draw` returns a number from 0 to 1 for a name, by the world's seed. Times in rules count from
    `since`. Source: assumed D24-requests.
    """

    scenario: Scenario
    resolve: Resolve
    draw: Draw = lambda _: 0.0
    since: datetime = EARLIEST
    attempts: list[_Entry] = []
    webhooks: list[_Entry] = []

    def __post_init__(self) -> None:
        self.attempts = list(map(self._entry, count(1), self.scenario.rule))
        self.webhooks = list(map(self._entry, count(1), self.scenario.webhook))

    def _entry(self, number: int, rule: Rule | WebhookRule) -> _Entry:
        """Return the rule in use. Raises ScenarioError for unknown names."""
        wanted: dict[str, Sequence[Any]] = {}
        for word in type(rule.when).model_fields:
            values = getattr(rule.when, word)
            if values is None or word in ("nth", "from_", "until"):
                continue
            if word in _NAMED:
                try:
                    values = [self.resolve(word, name) for name in values]
                except UnknownWord as error:
                    kind = "rule" if isinstance(rule, Rule) else "webhook"
                    named = f" {rule.name!r}" if rule.name else ""
                    place = f"{kind} {number}{named}, when.{word}"
                    raise ScenarioError(f"{place}: {error}", error.nearest) from None
            elif word == "path":
                values = list(map(PathPattern, values))
            wanted[word] = values
        if isinstance(rule, Rule) and (rule.when.from_ or rule.when.until):
            wanted["time"] = [rule.when.window(self.since)]
        return _Entry(rule, rule.name or str(number), wanted, [0, 0])

    def matched(
        self, words: Words, is_possible: Callable[[Then], bool | None], near_misses: list[str]
    ) -> MatchedRule | None:
        """Return the effect of the first rule that applies, or None.

        If `is_possible` is None for a rule, it is meant for something else, not a near miss. The
        rules after the first one count their matches too. Source: assumed D40.
        """
        found: MatchedRule | None = None
        for entry in self.attempts:
            rule: Rule = entry.rule  # type: ignore[assignment]
            others, why_not = entry.mismatches(words), None
            if others:
                is_near = all(word in words and word not in _OF_ANOTHER for word in others)
                why_not = f"another {', '.join(others)}" if is_near else None
            elif not (possible := is_possible(rule.then)):
                why_not = None if possible is None else f"not for {words['operation'][0]}"
            elif found is not None:
                entry.counts[0] += 1
            elif (why_not := entry.use(self.draw)) is None:
                found = self._matched(entry, rule)
            if found is None and why_not is not None:
                near_misses.append(f"scenario {entry.name}: {why_not}")
        return found

    def _matched(self, entry: _Entry, rule: Rule) -> MatchedRule:
        delay_ms, until = rule.then.delay_ms, None
        if not isinstance(delay_ms, int):
            delay_ms = delay_ms.at(self.draw(f"delay {entry.name}/{entry.fitted}"))
        if rule.when.until is not None and rule.then.probability is None:
            until = rule.when.window(self.since).end
        return MatchedRule(rule.then, entry.name, delay_ms, until)

    def for_webhook(self, words: Words) -> "MatchedWebhookRule | None":
        """Return the first rule that applies to a delivery, or None; later rules count it too.

        The words are those of `WebhookWhen`; `endpoint` has all its names. Source: assumed D40.
        """
        found: MatchedWebhookRule | None = None
        for entry in self.webhooks:
            if entry.mismatches(words):
                continue
            if found is not None:
                entry.counts[0] += 1
            elif entry.use(self.draw) is None:
                found = MatchedWebhookRule(entry.rule.then, entry.name)  # type: ignore[arg-type]
        return found

    def counts(self) -> list[RuleCounts]:
        """Return the live counts of each rule, in order."""
        return [one.counts for one in (*self.attempts, *self.webhooks)]

    def go_on_from(self, counts: Sequence[Sequence[int]]) -> None:
        """Continue with the counts of an earlier run. Raises ValueError if the rules differ."""
        for mine, earlier in zip(self.counts(), counts, strict=True):
            mine[:] = earlier
