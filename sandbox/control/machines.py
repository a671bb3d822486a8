"""Control endpoints on the state machines of the platform: each row with its clause."""

from typing import Final, TypedDict

from sandbox.control.rows import ControlFault, ControlRequest
from sandbox.domain.batches import BATCH_LIFE
from sandbox.domain.directory import ACCOUNTS, LOCATIONS, TERMINALS
from sandbox.domain.keys import KEY_LIFE
from sandbox.domain.payments.transitions import SAME, TRANSITIONS
from sandbox.domain.states import Machine
from sandbox.domain.text import nearest


class MachineRow(TypedDict):
    """One transition. `state` is "-" before there is a record; `id` is null where it has none.

    `when` says what else has to hold; "" always holds. `event` is null where nothing is announced
    or the outcome decides.
    """

    id: str | None
    state: str
    trigger: str
    when: str
    to: str
    event: str | None
    error: str | None
    clause: str


class MachineView(TypedDict):
    """A state machine: its states and its rows, in the order in which they are tried."""

    name: str
    states: list[str]
    rows: list[MachineRow]


class Machines(TypedDict):
    """The state machines."""

    machines: list[MachineView]
    total: int


_LIVES: Final = {
    life.name: life
    for life in (BATCH_LIFE, ACCOUNTS.life, TERMINALS.life, LOCATIONS.life, KEY_LIFE)
}
_PAYMENT: Final = "transaction"
_NAMES: Final = (_PAYMENT, *_LIVES)


def list_all(request: ControlRequest) -> Machines:
    """Every state machine of the platform."""
    return {"machines": [_view(name) for name in _NAMES], "total": len(_NAMES)}


def read(request: ControlRequest) -> MachineView:
    """One state machine."""
    name = request.params["name"]
    if name not in _NAMES:
        raise ControlFault(
            404,
            "not_found",
            f"there is no state machine {name[:80]!r}",
            details=f"there are: {', '.join(_NAMES)}",
            nearest=nearest(name, _NAMES),
        )
    return _view(name)


def _view(name: str) -> MachineView:
    rows = _of_payments() if name == _PAYMENT else _of_life(_LIVES[name])
    states = dict.fromkeys(state for row in rows for state in (row["state"], row["to"]))
    return {"name": name, "states": list(states), "rows": rows}


def _of_payments() -> list[MachineRow]:
    return [
        {
            "id": row.id,
            "state": state,
            "trigger": str(row.trigger),
            "when": ", ".join(part for part in (row.when, row.answer) if part),
            "to": state if row.next_status == SAME else row.next_status,
            "event": row.event,
            "error": None if row.fault is None else row.fault.code,
            "clause": row.source,
        }
        for row in TRANSITIONS
        for state in row.states
    ]


def _of_life(life: Machine) -> list[MachineRow]:
    return [
        {
            "id": None,
            "state": step.state,
            "trigger": step.trigger,
            "when": "",
            "to": step.target,
            "event": step.event,
            "error": None,
            "clause": step.source,
        }
        for step in life.steps
    ]
