"""The transaction state machine as rows: assumed I1 to I10, F1 to F41, for spec 3.2-transitions.

Rows of one operation and state are tried in order and the first whose condition holds is taken.
A row with an `answer` is taken once the processor has answered so; a row without one is decided
before anybody asks the processor. `initiating` and `follow_ups` walk the rows; the endpoints,
the docs and the tests read them.
"""

from typing import Final

from sandbox.domain.payments.rows import NEW, Transition
from sandbox.domain.payments.rows_after import BY_ITSELF, FOLLOW_UPS
from sandbox.domain.payments.rows_start import INITIATION

MOVES: Final[tuple[Transition, ...]] = (*INITIATION, *FOLLOW_UPS, *BY_ITSELF)
"""Every row. F38, the duplicate event_id, is asked before any of them (assumed D9)."""


def _by_pair() -> dict[tuple[str, str], tuple[Transition, ...]]:
    found: dict[tuple[str, str], tuple[Transition, ...]] = {}
    for row in MOVES:
        for state in row.states:
            pair = (row.trigger, state)
            found[pair] = (*found.get(pair, ()), row)
    return found


_BY_PAIR: Final = _by_pair()


def transitions_from(trigger: str, state: str = NEW) -> tuple[Transition, ...]:
    """The rows for a trigger in a state, in the order in which they are tried."""
    return _BY_PAIR.get((trigger, state), ())


def move(id: str, trigger: str | None = None) -> Transition:
    """The row with this id (and trigger, where several rows have it)."""
    return next(
        row for row in MOVES if row.id == id and (trigger is None or row.trigger == trigger)
    )
