"""The shapes of control answers, for the OpenAPI document.

Lists come whole, or in the windows of `rows.Page`.
"""

from typing import Annotated, Any, Literal, TypedDict

from sandbox.domain.batches import Batch
from sandbox.domain.events import EVENTS
from sandbox.domain.payments.outcomes import OUTCOMES, Operation
from sandbox.domain.payments.transport import TRANSPORT_FAULTS, When
from sandbox.domain.webhooks.deliveries import AttemptTrigger, DeliveryStatus
from sandbox.domain.words import OneOf
from sandbox.worlds.clock import ClockView
from sandbox.worlds.journal import EntryView

__all__ = ["Batch", "ClockView", "EntryView"]

Document = dict[str, Any]
"""A document with a shape of its own: a snapshot, a JSON Schema, an OpenAPI document."""

EventType = Annotated[str, OneOf(EVENTS)]
OutcomeKey = Annotated[str, OneOf(OUTCOMES)]
FaultKey = Annotated[str, OneOf(TRANSPORT_FAULTS)]


# --- worlds -----------------------------------------------------------------------------------


class Health(TypedDict):
    """That the server answers; `store` is `memory`, or the name of the state file."""

    status: Literal["ok"]
    version: str
    store: str


class KeyOfCast(TypedDict):
    """A key of the cast, with its plaintext."""

    id: str
    key: str


class WorldView(TypedDict):
    """A world, with the ids of its cast and the plaintext of their keys."""

    id: str
    name: str
    seed: int
    fixture: str
    scenario: str | None
    clock: ClockView
    accounts: dict[str, str]
    terminals: dict[str, str]
    locations: dict[str, str]
    keys: dict[str, KeyOfCast]


class Worlds(TypedDict):
    """Every world that is in use."""

    worlds: list[WorldView]
    total: int


class FiredTimer(TypedDict):
    """Something that fell due while a clock was advanced."""

    at: str
    kind: str
    subject: str


class Advanced(TypedDict):
    """The new time of a clock, and the events on the way."""

    now: str
    fired: list[FiredTimer]


# --- how payments end -------------------------------------------------------------------------


class ScenarioOfLibrary(TypedDict):
    """A scenario of the library; `name` is that of its file."""

    name: str
    title: str
    about: str


class Scenarios(TypedDict):
    """The scenarios of the library."""

    scenarios: list[ScenarioOfLibrary]
    total: int


class RuleView(TypedDict):
    """A rule of the scenario that runs: how often it fitted, and how often it applied."""

    name: str
    fitted: int
    applied: int
    is_used_up: bool


class RunningView(TypedDict):
    """The scenario that runs in a world."""

    name: str
    about: str
    rules: list[RuleView]
    webhooks: list[RuleView]


class QueuedView(TypedDict):
    """An outcome that waits for the next attempt that fits. Amounts are minor units."""

    outcome: OutcomeKey | None
    operation: Operation | None
    amount: int | None
    delay_ms: int
    fault: FaultKey | None
    approved_amount: int | None


class Queue(TypedDict):
    """The outcomes that wait, the next one first."""

    queue: list[QueuedView]
    total: int


class TapView(TypedDict):
    """A payment that waits for a card."""

    transaction_id: str
    operation: Operation
    amount: int
    terminal_id: str
    since: str
    until: str


class Taps(TypedDict):
    """The payments that wait, the oldest first."""

    taps: list[TapView]
    total: int


class TappedView(TapView):
    """What became of a payment that waited."""

    status: str | None
    status_reason: str | None


class CatalogueOutcome(TypedDict):
    """A row of the catalogue of outcomes."""

    key: OutcomeKey
    operations: list[str]
    status: str
    status_reason: str
    response_code: str | None
    processor_response_code: str | None
    message: str | None
    latency_ms: int
    retry: str


class FaultView(TypedDict):
    """A transport fault; `status` is the answer that it sends instead, if any."""

    key: FaultKey
    when: When
    status: int | None
    effect: str


class Outcomes(TypedDict):
    """The catalogue of outcomes, and the transport faults."""

    outcomes: list[CatalogueOutcome]
    total: int
    faults: list[FaultView]


class CardView(TypedDict):
    """A test card. Above `above_amount` it is approved in part; `later` is for later operations."""

    token: str
    number: str
    brand: str
    type: str
    outcome: OutcomeKey
    above_amount: int | None
    later: dict[str, str]


class Cards(TypedDict):
    """The test cards."""

    cards: list[CardView]
    total: int


class TriggerView(TypedDict):
    """An amount that chooses an outcome."""

    amount: int
    kind: str
    key: str
    operation: str | None
    about: str


class Triggers(TypedDict):
    """The amounts that choose."""

    triggers: list[TriggerView]
    total: int


# --- webhooks ---------------------------------------------------------------------------------


class AttemptView(TypedDict):
    """One attempt at a delivery; `response` is the beginning of the receiver's answer."""

    at: str
    status_code: int | None
    duration_ms: float
    response: str
    error: str | None
    trigger: AttemptTrigger


class DeliveryView(TypedDict):
    """How a message fares at an endpoint."""

    endpoint_id: str
    status: DeliveryStatus
    attempts: list[AttemptView]
    next_attempt_at: str | None


class MessageView(TypedDict):
    """One event that happened, with the body of its webhook and its deliveries."""

    id: str
    event_type: EventType
    account_id: str
    subject: str
    request_id: str | None
    created_at: str
    body: dict[str, Any]
    deliveries: list[DeliveryView]


class Messages(TypedDict):
    """Messages, oldest first."""

    messages: list[MessageView]
    total: int
    limit: int
    offset: int


class Resent(TypedDict):
    """The endpoints that get one more attempt."""

    endpoints: list[str]


class EndpointView(TypedDict):
    """A webhook endpoint with its secret. No event types means all of them."""

    id: str
    url: str
    description: str
    account_id: str | None
    event_types: list[EventType]
    filters: dict[str, list[str]]
    secret: str
    disabled: bool
    disabled_reason: str | None
    created_at: str


class Endpoints(TypedDict):
    """The endpoints of a world."""

    endpoints: list[EndpointView]
    total: int


class Recovered(TypedDict):
    """How many messages are sent again."""

    messages: int


# --- history ----------------------------------------------------------------------------------


class Requests(TypedDict):
    """Journal entries, oldest first."""

    requests: list[EntryView]
    total: int
    limit: int
    offset: int


class Section(TypedDict):
    """The entries of a table that were used, and how often; and the unused ones."""

    exercised: dict[str, int]
    never: list[str]


class Coverage(TypedDict):
    """The parts of the platform that were used."""

    operations: Section
    answers: Section
    statuses: Section
    status_reasons: Section
    events: Section
    refusals: Section
    scenarios: Section
    outcomes: Section


class Clause(TypedDict):
    """A clause, the code that implements it, and its tests, which are null outside a checkout."""

    id: str
    title: str
    summary: str
    fills: list[str]
    code: list[str]
    rows: list[str]
    tests: list[str] | None
    parts: list[str]
    needs_no_proof: str | None
    proved: bool


class Ledger(TypedDict):
    """Every clause, or those that were searched for."""

    clauses: list[Clause]
    total: int


class NearMiss(TypedDict):
    """A message that almost matched, and the reason why it did not."""

    id: str
    event_type: EventType
    subject: str
    why: str
