"""State machines: keys and the directory on one page, payments and batches on their own."""

from collections.abc import Iterable, Iterator
from typing import Final, get_args

from sandbox.domain.batches import BATCH_LIFE, BATCH_STATUSES, DEFAULT_REASON, FROZEN, REASONS
from sandbox.domain.clock import LATE_ANSWER
from sandbox.domain.directory import DIRECTORIES
from sandbox.domain.faults import (
    DUPLICATE_EVENT,
    INVALID_TRANSACTION_STATE,
    VALIDATION_ERROR,
    Fault,
)
from sandbox.domain.keys import KEY_LIFE
from sandbox.domain.payments.edits import EDITABLE
from sandbox.domain.payments.outcomes import (
    INITIATING,
    OUTCOMES,
    SETTLEMENTS,
    TRIGGERS,
    Operation,
    Settlement,
    for_operation,
)
from sandbox.domain.payments.transactions import STATUSES
from sandbox.domain.payments.transitions import (
    AS_ANSWERED,
    EDIT,
    NEW,
    SAME,
    TRANSITIONS,
    Transition,
    transitions_from,
)
from sandbox.domain.states import Machine
from sandbox.platform.transactions import EditTransaction
from tools.pages.markdown import NONE, Arrow, code, diagram, listed, page, table

_FOLLOW_UPS: Final = tuple(operation for operation in Operation if operation not in INITIATING)


def states() -> str:
    """Return the machines whose records begin in the status active."""
    return page(
        "State machines",
        "Generated from the rows that the code executes. Payments and batches have pages of their\n"
        "own: [transactions](transactions.md), [batches](batches.md).",
        *(
            f"## {machine.name}\n\n{_drawn(machine, (NEW, 'active', ''))}\n{_steps(machine)}\n"
            for machine in (KEY_LIFE, *(directory.life for directory in DIRECTORIES))
        ),
    )


def _drawn(machine: Machine, *more: Arrow) -> str:
    return diagram((*more, *((row.state, row.target, row.trigger) for row in machine.steps)))


def _steps(machine: Machine) -> str:
    rows = [
        (step.state, step.trigger, step.target, step.event or NONE, step.source)
        for step in machine.steps
    ]
    return table(("from", "trigger", "to", "event", "source"), rows)


def transactions() -> str:
    """Return the machine of a payment: every row, every refused pair, and the diagram."""
    place = [row.trigger for row in TRANSITIONS].index
    return page(
        "Transitions of a payment",
        "One line per row that the code executes. Rows of one trigger and state are tried from\n"
        "the top. The first one whose condition and answer match applies.",
        "## The states\n",
        "Drawn from the rows that change something.\n",
        diagram(_arrows()),
        "## The rows\n",
        f"State `{NEW}` means that there is no record yet: a new record fires\n"
        "`transaction.create` before the event of its row. `same` means that the status stays.\n"
        "`as answered` means the status that the processor, or an edit, gives. A row without an\n"
        "`answer` does not wait for the processor. A payment that ends as canceled fires\n"
        "`transaction.cancel`.\n\n"
        "A row with an error and an event is a rule failure: the attempt is refused, but its\n"
        "event fires and the history has it. Some [readings](readings.md) change this table:\n\n"
        "- `rule_failures` answers a rule failure with the failed transaction.\n"
        "- `refused_attempts` makes every refused row a rule failure.\n"
        "- `status_after_partial_refund` shows a payment as refunded once a part of it was.\n"
        "- `status_of_partial_reverse` shows a partial reversal as reversed, in answer and event.\n"
        "- `tip_on_a_hold` adjusts the tip of an authorization by the rows of a captured one.\n"
        "- `reversal_of_a_timeout` allows the reversal of a whole payment that timed out.\n\n"
        "Money: A authorized, C captured, R0 reversed before the capture, R1 reversed after it,\n"
        "F refunded. Shown: `transaction_type` / `status` / `status_reason`.\n",
        # Rows of one trigger together, in the order in which they are tried.
        table(_COLUMNS, map(_cells, sorted(TRANSITIONS, key=lambda row: place(row.trigger)))),
        "## Refused in any case\n",
        "The error, and the row that refuses, for each state and operation without a row that\n"
        "can succeed.\n",
        table(
            ("state", *_FOLLOW_UPS),
            [(state, *(_refusal(one, state) for one in _FOLLOW_UPS)) for state in STATUSES],
        ),
        f"{_error(DUPLICATE_EVENT)} comes before all of these, in any state\n"
        f"({DUPLICATE_EVENT.source}). The reading `duplicate_event_id` can answer such a\n"
        "request with the payment, or make it a failed attempt.\n\n"
        "An `edit` is for passthrough payments whose batch is not closed, in the states\n"
        f"{listed(EDITABLE)}.\n"
        f"Any other edit is refused with {_error(INVALID_TRANSACTION_STATE)}. An edit can set the\n"
        f"status to {listed(_TOLD)}.\n",
    )


_COLUMNS: Final = (
    *("id", "trigger", "from", "when", "answer", "after", "shown", "money", "event"),
    *("batch entry", "error", "clause"),
)

_TOLD: Final = get_args(get_args(EditTransaction.model_fields["status"].annotation)[0])
"""The statuses that an edit can set."""


def _cells(row: Transition) -> tuple[str, ...]:
    return (
        row.id,
        row.trigger,
        ", ".join(row.states),
        row.when or NONE,
        row.answer or NONE,
        row.next_status,
        f"{_type(row)} / {row.shown_status} / {row.reason}" if row.shown_status else NONE,
        _FORMULAS.get(row.id, row.money),
        row.event or NONE,
        row.batch_entry or NONE,
        _error(row.fault) if row.fault else NONE,
        row.source,
    )


_FORMULAS: Final = {
    "I2": "A = total without surcharge; C = 0",
    "I1": "A = C = total",
    "I3": "A = C = the approved part",
    "I8": "A = total",
    "I9": "A = the approved part",
    "F1": "A = C = total",
    "F10": "C = amount; the rest of the hold is released",
    "F13": "A and total grow by the amount",
    "F22": "C and total change by the difference",
    "F16": "R0 = A",
    "F17": "R0 grows",
    "F25": "R1 = C; it leaves its batch",
    "F26": "R1 grows",
    "F28": "F = C - R1",
    "F29": "F grows",
    "D24": "as I1 to I9 have it",
    "D24-late": "as the row of the action has it",
}
"""The formulas of assumed 2.2, for a reader. The code computes it from `money`."""


def _type(row: Transition) -> str:
    """Return the transaction_type of an attempt. Canceling and expiring leave it unchanged."""
    if row.trigger == Operation.CONFIRM:
        return Operation.SALE
    if row.next_status == "reversed":
        return Operation.REVERSE
    if row.trigger in INITIATING or (row.trigger in _FOLLOW_UPS and row.next_status != "canceled"):
        return row.trigger
    if row.trigger == EDIT or row.id == _OF_ACTIONS:
        return AS_ANSWERED
    return "sale or auth, as it began"


def _error(fault: Fault) -> str:
    return f"{fault.status} {code(fault.code)}"


def _refusal(operation: Operation, state: str) -> str:
    rows = transitions_from(operation, state)
    if any(row.fault is None for row in rows):
        return NONE
    return ", ".join(f"{_error(row.fault)}, {row.id}" for row in rows if row.fault)


def _arrows() -> Iterator[Arrow]:
    """One arrow per trigger and pair of states, with the ids of its rows."""
    ids: dict[Arrow, list[str]] = {}
    for row in TRANSITIONS:
        for state in row.states:
            for target in _targets(row, state):
                ids.setdefault((state, target, row.trigger), []).append(row.id)
    for (state, target, trigger), names in ids.items():
        yield state, target, f"{trigger} {' '.join(dict.fromkeys(names))}"


def _targets(row: Transition, state: str) -> Iterable[str]:
    """Return the state to which a row leads; none if it is refused or changes nothing."""
    if row.fault is not None or row.id == _OF_ACTIONS:
        return ()
    if row.next_status == SAME:
        return () if row.answer == "failed" else (state,)
    if row.next_status == AS_ANSWERED:
        told = _TOLD if row.trigger == EDIT else ("authorized", "captured", "declined", "error")
        if row.trigger not in (EDIT, LATE_ANSWER):
            # The statuses of the outcomes with which the operation fails.
            found = (for_operation(key, Operation(row.trigger)) for key in OUTCOMES)
            told = tuple(one.verdict for one in found if one and one.verdict != "ok")
        return [target for target in dict.fromkeys(told) if target not in (state, "pending")]
    return (row.next_status,)


_OF_ACTIONS: Final = "D24-late"
"""The row of late answers to actions, which takes the rows and arrows of the actions."""


def batches() -> str:
    """Return the machine of a batch, and why a processor does not accept one."""
    frozen = listed(status for status in BATCH_STATUSES if status in FROZEN)
    return page(
        "Transitions of a batch",
        "Generated from the rows that the code executes. An action without a row for the state is\n"
        f"{_error(VALIDATION_ERROR)}. Sums and payments no longer change in {frozen}.",
        "## The states\n",
        _drawn(BATCH_LIFE),
        "## The rows\n",
        _steps(BATCH_LIFE),
        "## Why a batch is rejected\n",
        f"A rejection without a reason has {code(DEFAULT_REASON)}.\n",
        table(
            ("key", "`rejection_reason`", "source"),
            [(code(key), text, "assumed 3.3") for key, text in REASONS.items()],
        ),
        "## Amounts that decide the result of a batch\n",
        "The payment itself is approved. If a batch has several of these amounts, `no_result`\n"
        "comes first, then the first one that rejects the whole batch. Otherwise only the records\n"
        "with these amounts are rejected (assumed 6.2-settlement). [Triggers](triggers.md) lists\n"
        "all amounts that choose an outcome.\n",
        table(
            ("amount", "key", "the batch", "reason"),
            [
                (str(one.amount), code(one.key), _comes_to(row), code(row.reason))
                for one in TRIGGERS.values()
                if one.kind == "settlement"
                for row in (SETTLEMENTS[one.key],)
            ],
        ),
    )


def _comes_to(row: Settlement) -> str:
    answer = "stays submitted" if row.answer == "none" else row.answer
    return f"{answer}, at its first close only" if row.is_once else answer
