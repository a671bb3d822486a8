"""What happens to payments and batches by itself, when its timer falls due."""

from collections.abc import Callable, Mapping
from typing import Final

from sandbox.domain.payments import follow_ups
from sandbox.domain.payments.moves import move
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.timers import AUTHORIZATION_EXPIRES, BATCH_RESULT, SURCHARGE_EXPIRES, Timer
from sandbox.operations.call import Call
from sandbox.operations.payments import batches, keeping


def _expire(call: Call, timer: Timer, row_id: str) -> None:
    row = move(row_id)
    tx = call.unit.get(Transaction, timer.subject)
    if tx is None or tx.status not in row.states:
        return
    event_id = call.world.draws.uuid().upper()
    # The history says when it fell due, not when somebody noticed (assumed 8.1).
    conclusion = follow_ups.expire(tx, row, event_id=event_id, at=call.now_ms)
    keeping.keep(call, conclusion, tx)


def _authorization(call: Call, timer: Timer) -> None:
    _expire(call, timer, "F21")


def _surcharge(call: Call, timer: Timer) -> None:
    _expire(call, timer, "F4")


def _batch(call: Call, timer: Timer) -> None:
    batches.answer_by_itself(call, timer.subject)


FALLS_DUE: Final[Mapping[str, Callable[[Call, Timer], None]]] = {
    AUTHORIZATION_EXPIRES: _authorization,
    SURCHARGE_EXPIRES: _surcharge,
    BATCH_RESULT: _batch,
}
"""What each kind of timer does. The call's present is the moment at which the timer was due."""
