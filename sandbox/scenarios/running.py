"""A scenario at work in a world: which rule applies to an attempt, and how often each has."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from sandbox.scenarios.loading import ScenarioError

if TYPE_CHECKING:
    from sandbox.scenarios.shapes import AmountRange, Rule, Scenario, Then

Words = Mapping[str, Any]
"""What is known of an attempt, by the words of `when`."""

Resolve = Callable[[str, str], str]
"""Gives for a kind (terminal, location, account, key) and a cast name or id the id."""


class Ruling(NamedTuple):
    """What a rule says of an attempt, and how answers name the rule."""

    then: "Then"
    rule: str


@dataclass(slots=True)
class _Entry:
    """One rule, its names resolved, and what became of it so far."""

    rule: "Rule"
    name: str
    wanted: dict[str, list[Any]]
    fitted: int = 0
    applied: int = 0

    @property
    def is_used_up(self) -> bool:
        times = self.rule.then.times
        return times is not None and self.applied >= times

    def misfit(self, words: Words) -> str | None:
        """The first word of `when` that does not fit; None when all do."""
        for word, values in self.wanted.items():
            fact = words.get(word)
            if fact is None or not any(_takes(value, fact) for value in values):
                return word
        return None


def _takes(wanted: "Any | AmountRange", fact: Any) -> bool:
    takes = getattr(wanted, "takes", None)
    return bool(takes(fact)) if takes is not None else bool(wanted == fact)


@dataclass(slots=True)
class Running:
    """A scenario in use in a world."""

    scenario: "Scenario"
    resolve: Resolve
    _entries: list[_Entry] = field(init=False)

    def __post_init__(self) -> None:
        self._entries = [
            _Entry(rule, rule.name or str(number), self._wanted(rule, number))
            for number, rule in enumerate(self.scenario.rule, start=1)
        ]

    def _wanted(self, rule: "Rule", number: int) -> dict[str, list[Any]]:
        """The words of `when` but for the counting ones. Raises ScenarioError for unknown names."""
        wanted = {}
        for word in rule.when.model_fields_set - {"nth"}:
            values = getattr(rule.when, word)
            if values is None:
                continue
            if word in ("terminal", "location", "account", "key"):
                try:
                    values = [self.resolve(word, name) for name in values]
                except ValueError as error:
                    named = f" {rule.name!r}" if rule.name else ""
                    raise ScenarioError(
                        f"rule {number}{named}, when.{word}: {error}",
                        getattr(error, "nearest", None),
                    ) from None
            wanted[word] = values
        return wanted

    def ruling(
        self, words: Words, is_possible: Callable[["Then"], bool], near_misses: list[str]
    ) -> Ruling | None:
        """What the first rule that fits says; None when none does."""
        for entry in self._entries:
            misfit = entry.misfit(words)
            if misfit is not None:
                if misfit != "operation":
                    near_misses.append(f"scenario {entry.name}: another {misfit}")
                continue
            if not is_possible(entry.rule.then):
                near_misses.append(f"scenario {entry.name}: not for {words['operation']}")
                continue
            entry.fitted += 1
            nth = entry.rule.when.nth
            if nth is not None and entry.fitted not in nth:
                near_misses.append(f"scenario {entry.name}: this is number {entry.fitted}")
                continue
            if entry.is_used_up:
                near_misses.append(f"scenario {entry.name}: used up")
                continue
            entry.applied += 1
            return Ruling(entry.rule.then, entry.name)
        return None

    def restart(self) -> None:
        """Forget how often each rule applied."""
        for entry in self._entries:
            entry.fitted = entry.applied = 0

    def view(self) -> dict[str, Any]:
        """The scenario as the control API shows it."""
        return {
            "name": self.scenario.name,
            "about": self.scenario.about,
            "rules": [
                {
                    "name": entry.name,
                    "fitted": entry.fitted,
                    "applied": entry.applied,
                    "is_used_up": entry.is_used_up,
                }
                for entry in self._entries
            ],
        }
