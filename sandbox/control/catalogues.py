"""Catalogues: outcomes, test cards, amounts that choose an outcome, and state machines."""

from functools import cache
from typing import Annotated

from sandbox.control.context import ControlRequest, not_found
from sandbox.control.models import TOTAL, View, attribute, shows
from sandbox.control.routing import PREFIX, get
from sandbox.domain.batches import BATCH_LIFE
from sandbox.domain.directory import DIRECTORIES
from sandbox.domain.keys import KEY_LIFE
from sandbox.domain.operations import API_WORDS
from sandbox.domain.payments.cards import CARDS, Card
from sandbox.domain.payments.outcomes import OUTCOMES, TRIGGERS, Outcome, Trigger, operations_of
from sandbox.domain.payments.transitions import SAME, TRANSITIONS
from sandbox.domain.states import Step
from sandbox.domain.text import OneOf, nearest
from sandbox.domain.transport_faults import TRANSPORT_FAULTS, TransportFault

OutcomeKey = Annotated[str, OneOf(OUTCOMES)]
FaultKey = Annotated[str, OneOf(TRANSPORT_FAULTS)]
OperationName = Annotated[str, OneOf(API_WORDS)]


# --- the catalogues ---------------------------------------------------------------------------


@shows(Outcome, without=("scope", "verdict", "host_code", "has_approval_code", "has_gateway_id"))
class CatalogueOutcome(View):
    """A row of the catalogue of outcomes."""

    key: OutcomeKey
    operations: list[str]
    status: str = attribute("verdict")
    processor_response_code: str | None = attribute("host_code")


@shows(TransportFault, without=("answer", "needs_body"))
class FaultView(View):
    """A transport fault; `status` is the answer that it sends instead, if any."""

    key: FaultKey
    status: int | None = attribute("answer.status", None)


class Outcomes(View):
    """The catalogue of outcomes, and the transport faults."""

    outcomes: list[CatalogueOutcome]
    total: int = TOTAL
    faults: list[FaultView]


@get(f"{PREFIX}/outcomes", "outcomes.list")
def list_outcomes(request: ControlRequest) -> Outcomes:
    """List the outcomes and transport faults.

    Source: assumed 5.2, 5.3.
    """
    faults = list(map(FaultView.of, TRANSPORT_FAULTS.values()))
    return Outcomes(outcomes=list(map(outcome_view, OUTCOMES.values())), faults=faults)


def outcome_view(row: Outcome) -> CatalogueOutcome:
    """Return an outcome as it is shown."""
    return CatalogueOutcome.of(row, operations=operations_of(row.key))


class CardView(View):
    """A test card, which a payment names by its `token`; the `number` is masked.

    Above `above_amount` it is approved in part; `later` has outcomes of later operations.
    """

    token: str
    number: str = attribute("masked")
    brand: str
    type: str
    outcome: OutcomeKey
    above_amount: int | None = attribute("limit")
    later: dict[str, str]


class Cards(View):
    """The test cards."""

    cards: list[CardView]
    total: int = TOTAL


@get(f"{PREFIX}/cards", "cards.list")
def list_cards(request: ControlRequest) -> Cards:
    """List the test cards.

    Source: assumed 6.4.
    """
    return Cards(cards=list(map(card_view, CARDS.values())))


def card_view(card: Card) -> CardView:
    """Return a test card as it is shown."""
    otherwise = "partial_approval" if card.limit is not None else "approved"
    return CardView.of(card, outcome=card.outcome or otherwise)


@shows(Trigger)
class TriggerView(View):
    """An amount that chooses an outcome."""

    kind: str
    operation: str | None


class Triggers(View):
    """The amounts that choose an outcome."""

    triggers: list[TriggerView]
    total: int = TOTAL


@get(f"{PREFIX}/triggers", "triggers.list")
def list_triggers(request: ControlRequest) -> Triggers:
    """List the amounts that choose an outcome.

    Source: assumed 6.2.
    """
    return Triggers(triggers=list(map(TriggerView.of, TRIGGERS.values())))


@shows(Step, without=("target", "source"))
class MachineRow(View):
    """One transition. `state` is "-" before there is a record; `id` is null if it has none.

    `when` says what else must hold; "" always holds. `event` is null if nothing is announced, or if
    the outcome decides.
    """

    id: str | None = None
    state: str
    when: str
    to: str
    error: str | None = attribute("fault.code", None)
    clause: str = attribute("source")


class MachineView(View):
    """A state machine: its states and its rows, in the order in which they are tried."""

    name: str
    states: list[str]
    rows: list[MachineRow]


class Machines(View):
    """The state machines."""

    machines: list[MachineView]
    total: int = TOTAL


@get(f"{PREFIX}/machines", "machines.list")
def list_machines(request: ControlRequest) -> Machines:
    """List the state machines with all of their rows."""
    return Machines(machines=list(_machines().values()))


@get(f"{PREFIX}/machines/{{name}}", "machines.read")
def read_machine(request: ControlRequest) -> MachineView:
    """Read a state machine."""
    name, known = request.params["name"], _machines()
    if name not in known:
        raise not_found(
            f"there is no state machine {name[:80]!r}",
            details=f"there are: {', '.join(known)}",
            nearest=nearest(name, known),
        )
    return known[name]


@cache
def _machines() -> dict[str, MachineView]:
    """Return every state machine by its name."""
    found = {
        "transaction": [
            MachineRow.of(
                row,
                state=state,
                when=", ".join(part for part in (row.when, row.answer) if part),
                to=state if row.next_status == SAME else row.next_status,
            )
            for row in TRANSITIONS
            for state in row.states
        ]
    }
    for life in (BATCH_LIFE, *(kind.life for kind in DIRECTORIES), KEY_LIFE):
        found[life.name] = [MachineRow.of(step, when="", to=step.target) for step in life.steps]
    machines = {}
    for name, rows in found.items():
        states = dict.fromkeys(state for row in rows for state in (row.state, row.to))
        machines[name] = MachineView(name=name, states=list(states), rows=rows)
    return machines
