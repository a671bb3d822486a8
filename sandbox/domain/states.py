"""State machines as tables: a row is a state, a trigger, the next state, and the event it fires.

This file looks up rows; each resource has its own rows. A pair without a row is refused, and the
refusal lists what is possible instead.
"""

from collections.abc import Iterable

from msgspec import Struct


class Step(Struct, frozen=True, gc=False):
    """One transition. `event` is None where the step changes nothing that is announced."""

    state: str
    trigger: str
    target: str
    event: str | None
    source: str


class NoSuchStep(Exception):
    """The machine has no row for this state and trigger; the message says what it does have."""


class Machine:
    """A named table of steps, looked up by state and trigger."""

    def __init__(self, name: str, steps: Iterable[Step]) -> None:
        self.name = name
        self.steps = tuple(steps)
        self._by_pair = {(step.state, step.trigger): step for step in self.steps}

    def has_step(self, state: str, trigger: str) -> bool:
        """Whether there is a row for this pair."""
        return (state, trigger) in self._by_pair

    def step(self, state: str, trigger: str) -> Step:
        """Return the row for this pair. Raises NoSuchStep when there is none."""
        found = self._by_pair.get((state, trigger))
        if found is None:
            possible = [row.trigger for row in self.steps if row.state == state]
            raise NoSuchStep(
                f"{self.name}: cannot {trigger} from {state}; "
                f"possible: {', '.join(possible) or 'nothing'}"
            )
        return found
