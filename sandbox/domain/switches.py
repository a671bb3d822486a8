"""The switches of a world, which change how it behaves.

One row per switch (assumed D8). Some switches became readings. They can still be set under their
old names, and show the reading in force (assumed D35).
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from sandbox.domain.readings import READINGS, Reading
from sandbox.domain.text import UnknownWord


class Switch(Struct, frozen=True, gc=False):
    """One switch: its name, its values with the default first, and its effect.

    A switch without `values` accepts a number from 0 to `number_max`, only whole ones if
    `is_whole`; `usual` is its default. A switch with a `reading` sets that reading: its values
    stand for those of the reading, in the same order.
    """

    name: str
    source: str
    about: str
    values: tuple[Any, ...] = ()
    number_max: float = 0
    usual: int = 0
    is_whole: bool = False
    reading: Reading | None = None

    @property
    def default(self) -> Any:
        """The value unless a world sets another."""
        return self.values[0] if self.values else self.usual

    @property
    def choices(self) -> str:
        """The values in words."""
        if not self.values:
            number = "a whole number" if self.is_whole else "a number"
            return f"{number} from 0 to {self.number_max:,g}"
        return "one of " + ", ".join(map(str, self.values)).lower()

    def value_for(self, chosen: str) -> Any:
        """Return the value that stands for this value of its reading."""
        assert self.reading is not None
        return self.values[self.reading.names.index(chosen)]

    def accepts(self, value: Any) -> bool:
        """Whether the value is one of its own."""
        if self.values:
            return any(value is one or (value == one and type(value) is str) for one in self.values)
        kinds = (int,) if self.is_whole else (int, float)
        return type(value) in kinds and 0 <= value <= self.number_max


def _former(name: str, reading: Reading, about: str, values: tuple[bool, ...] = ()) -> Switch:
    """Return a switch that became a reading."""
    return Switch(name, reading.clause, about, values or reading.names, reading=reading)


SWITCHES: Final[dict[str, Switch]] = {
    switch.name: switch
    for switch in (
        _former(
            "strict_headers",
            READINGS["missing_headers"],
            "Refuse with 400 a request without Accept, or a body without Content-Type.",
            (False, True),
        ),
        _former(
            "refund.partial_status",
            READINGS["status_after_partial_refund"],
            "The status of a payment after a partial refund.",
        ),
        _former(
            "idempotency.duplicate",
            READINGS["duplicate_event_id"],
            "Whether a repeated event_id is refused, is answered with the payment if operation and "
            "amount are the same, or makes a failed attempt.",
        ),
        _former(
            "lifecycle.rule_failures",
            READINGS["rule_failures"],
            "How an attempt against a rule is answered: a refusal, or the failed transaction. The "
            "event fires either way.",
        ),
        Switch(
            "triggers.enabled",
            "assumed 6.2",
            "Whether amounts from 900000 to 900499 minor units, such as $9,000.00, choose an "
            "outcome.",
            (True, False),
        ),
        Switch(
            "latency.scale",
            "assumed 5.1-latency",
            "How much of the processor's nominal latency a request waits: 0 none, 1 all of it.",
            number_max=10,
        ),
        Switch(
            "webhooks.time_scale",
            "assumed 8.3-retry",
            "How much of the time between attempts at a webhook passes: 0 none, 1 all of it.",
            number_max=10,
            usual=1,
        ),
        Switch(
            "webhooks.timestamp",
            "assumed D49",
            "Which clock dates and signs webhooks: real time, or the world's, for an application "
            "whose own clock follows the world's date.",
            ("wall", "world"),
        ),
        Switch(
            "batch.settlement",
            "assumed B9",
            "Whether a closed batch gets its result right after the answer, or waits until you "
            "give it.",
            ("auto", "manual"),
        ),
        *(
            Switch(
                f"quota.per_{window}",
                "assumed 5.3-gateway",
                f"How many requests each key may send in a {window} of the world's clock; "
                "above that, 429. 0 means unlimited.",
                number_max=100_000,
                is_whole=True,
            )
            for window in ("second", "minute")
        ),
    )
}


class UnknownSwitch(UnknownWord):
    """A switch that does not exist, or a value that it does not have; the message helps."""


def checked(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings. Raises UnknownSwitch unless each is known and has a known value."""
    for name, value in wanted.items():
        switch = SWITCHES.get(name)
        if switch is None:
            raise UnknownSwitch(f"{name!r} is not a switch", name, SWITCHES)
        if not switch.accepts(value):
            raise UnknownSwitch(f"{name}: must be {switch.choices}", "", ())
    return dict(wanted)


def defaults() -> dict[str, Any]:
    """Return the defaults of the switches that do not set a reading."""
    return {name: one.default for name, one in SWITCHES.items() if one.reading is None}


def parted(wanted: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Split checked settings into those of switches, and those of readings by id."""
    own: dict[str, Any] = {}
    chosen: dict[str, str] = {}
    for name, value in wanted.items():
        switch = SWITCHES[name]
        if switch.reading is None:
            own[name] = value
        else:
            chosen[switch.reading.id] = switch.reading.names[switch.values.index(value)]
    return own, chosen


def in_force(own: Mapping[str, Any], readings: Mapping[str, str]) -> dict[str, Any]:
    """Return every switch with its value: its own, or the one for its reading."""
    return {
        name: own[name] if switch.reading is None else switch.value_for(readings[switch.reading.id])
        for name, switch in SWITCHES.items()
    }
