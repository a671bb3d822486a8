"""The shape of a scenario file. The words are those of the platform. Source: assumed D4, D24."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, TypeVar

from pydantic import Field, field_validator

from sandbox.domain.webhooks import ENDPOINTS_MAX
from sandbox.scenarios.attempts import Rule
from sandbox.scenarios.examples import Example
from sandbox.scenarios.webhooks import ScenarioEndpoint, WebhookRule
from sandbox.scenarios.words import RULES_MAX, WEBHOOK_RULES_MAX, Name, Part

T = TypeVar("T")

# Only the first error is reported: finding all errors of a thousand rules takes long.
_Listed = Annotated[list[T], Field(max_length=RULES_MAX, fail_fast=True)]


class Scenario(Part):
    """A whole file: rules on attempts, rules on webhooks, and examples that prove them."""

    name: Name
    about: Annotated[str, Field(min_length=1, max_length=1000)] = ""
    rule: _Listed[Rule] = Field(default_factory=list)
    webhook: Annotated[list[WebhookRule], Field(max_length=WEBHOOK_RULES_MAX, fail_fast=True)] = (
        Field(default_factory=list)
    )
    endpoint: Annotated[list[ScenarioEndpoint], Field(max_length=ENDPOINTS_MAX)] = Field(
        default_factory=list
    )
    example: _Listed[Example] = Field(default_factory=list)

    @field_validator("rule")
    @classmethod
    def _has_distinct_rules(cls, rules: list[Rule]) -> list[Rule]:
        _must_differ("rules", [rule.name for rule in rules])
        return rules

    @field_validator("webhook")
    @classmethod
    def _has_distinct_webhook_rules(cls, rules: list[WebhookRule]) -> list[WebhookRule]:
        _must_differ("webhook rules", [rule.name for rule in rules])
        return rules

    @field_validator("endpoint")
    @classmethod
    def _has_distinct_endpoints(cls, endpoints: list[ScenarioEndpoint]) -> list[ScenarioEndpoint]:
        _must_differ("endpoints", [one.name for one in endpoints])
        return endpoints

    @field_validator("example")
    @classmethod
    def _has_distinct_examples(cls, examples: list[Example]) -> list[Example]:
        _must_differ("examples", [example.name for example in examples])
        return examples


def _must_differ(what: str, names: Sequence[str | None]) -> None:
    """Raises ValueError for a name that occurs twice."""
    counts = Counter(filter(None, names))
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"two {what} are named {twice!r}")
