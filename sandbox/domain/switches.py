"""The switches of a world: each selects the other reading where the spec leaves a choice.

One row per switch. Every switch here is read by some code (assumed D8).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sandbox.domain.words import did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """One switch: its name, its values, its default, and its effect.

    A switch without `values` accepts a number from 0 to `number_max`.
    """

    name: str
    values: tuple[Any, ...] = ()
    number_max: float = 0
    default: Any
    about: str
    source: str

    @property
    def choices(self) -> str:
        """The values in words."""
        if not self.values:
            return f"a number from 0 to {self.number_max:g}"
        return "one of " + ", ".join(map(str, self.values)).lower()

    def accepts(self, value: Any) -> bool:
        """Whether the value is one of its own."""
        if self.values:
            return any(value is one or (value == one and type(value) is str) for one in self.values)
        return type(value) in (int, float) and 0 <= value <= self.number_max


SWITCHES: Final[dict[str, Switch]] = {
    switch.name: switch
    for switch in (
        Switch(
            name="strict_headers",
            values=(False, True),
            default=False,
            about="Refuse with 400 a request without Accept, or a body without Content-Type.",
            source="assumed C7",
        ),
        Switch(
            name="refund.partial_status",
            values=("unchanged", "refunded"),
            default="unchanged",
            about="What a payment shows after a part of it was refunded.",
            source="assumed Q1",
        ),
        Switch(
            name="idempotency.duplicate",
            values=("reject", "replay"),
            default="reject",
            about="Whether a repeated event_id is refused, or answered with the payment as it is "
            "where operation and amount are the same.",
            source="assumed Q5",
        ),
        Switch(
            name="lifecycle.rule_failures",
            values=("http_400", "http_200"),
            default="http_400",
            about="How an attempt against a rule is answered: a refusal, or the failed "
            "transaction. The event fires either way.",
            source="assumed Q3",
        ),
        Switch(
            name="triggers.enabled",
            values=(True, False),
            default=True,
            about="Whether amounts from 900000 to 900499 minor units, such as $9,000.00, choose an "
            "outcome.",
            source="assumed 6.2",
        ),
        Switch(
            name="latency.scale",
            number_max=10,
            default=0,
            about="How much of the processor's nominal latency is really waited: 0 nothing, 1 all.",
            source="assumed 5.1-latency",
        ),
        Switch(
            name="webhooks.time_scale",
            number_max=10,
            default=1,
            about="How much of the waits between the attempts at a webhook is waited: 0 nothing, "
            "1 all.",
            source="assumed 8.3-retry",
        ),
        Switch(
            name="batch.settlement",
            values=("auto", "manual"),
            default="auto",
            about="Whether the result of a closed batch comes right after the answer, or only by "
            "the control API.",
            source="assumed B9",
        ),
    )
}


class UnknownSwitch(ValueError):
    """A switch that does not exist, or a value that it does not have; the message helps."""


def checked(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The same settings, every one known and of a value that its switch has."""
    for name, value in wanted.items():
        switch = SWITCHES.get(name)
        if switch is None:
            raise UnknownSwitch(f"{name!r} is not a switch{did_you_mean(name, SWITCHES)}")
        if not switch.accepts(value):
            raise UnknownSwitch(f"{name}: must be {switch.choices}")
    return dict(wanted)


def defaults() -> dict[str, Any]:
    """Every switch at its default."""
    return {name: switch.default for name, switch in SWITCHES.items()}
