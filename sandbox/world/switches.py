"""The switches of a world: where the spec leaves a choice, the other reading can be chosen.

One row per switch. A switch stands here only when something reads it (assumed D8).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sandbox.domain.words import did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """One choice: its name, its values, the default, and what it changes."""

    name: str
    values: tuple[Any, ...]
    default: Any
    about: str
    source: str


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
        if not any(value is allowed for allowed in switch.values):
            shown = ", ".join(map(str, switch.values)).lower()
            raise UnknownSwitch(f"{name}: must be one of {shown}")
    return dict(wanted)


def defaults() -> dict[str, Any]:
    """Every switch at its default."""
    return {name: switch.default for name, switch in SWITCHES.items()}
