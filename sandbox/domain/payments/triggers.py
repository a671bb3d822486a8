"""Amounts that choose an outcome: the nine-thousand blocks. Source: assumed 6.2.

"Nine thousand and the response code": 900051 is host code 51. Only amounts from $9,000.00 to
$9,004.99 are triggers, so ordinary test amounts never are.
"""

from typing import Final, Literal

from msgspec import Struct

from sandbox.domain.payments.outcomes import OUTCOMES, Operation, of_host_code

FIRST_AMOUNT: Final = 900_000
LAST_AMOUNT: Final = 900_499

Kind = Literal["outcome", "later", "fault", "settlement"]


class Trigger(Struct, frozen=True, gc=False):
    """The meaning of one amount.

    `key` is an outcome, a transport fault, or a settlement. A `later` trigger makes the named
    `operation` fail once; a settlement is stored with the payment until its batch closes.
    """

    amount: int
    kind: Kind
    key: str
    about: str
    operation: Operation | None = None

    @property
    def rule(self) -> str:
        """How answers name it. Source: assumed D14."""
        return f"amount:{self.amount}"


class Settlement(Struct, frozen=True, gc=False):
    """The result of a batch that contains a certain record. Source: assumed 6.2-settlement.

    `answer` is the result of the batch; `reason` is a key of `batches.REASONS`. With `is_once` it
    applies to the first close only.
    """

    key: str
    answer: Literal["partially_accepted", "rejected", "none"]
    reason: str | None = None
    is_once: bool = False


SETTLEMENTS: Final[dict[str, Settlement]] = {
    one.key: one
    for one in (
        Settlement("record_rejected", "partially_accepted"),
        Settlement("batch_rejected_hash_mismatch", "rejected", "hash_mismatch"),
        Settlement("batch_rejected_duplicate", "rejected", "duplicate_batch"),
        Settlement("batch_rejected_bad_terminal", "rejected", "bad_terminal"),
        Settlement("batch_rejected_once", "rejected", "hash_mismatch", is_once=True),
        Settlement("no_result", "none"),
    )
}

_TECHNICAL: Final = (
    "processor_timeout",
    "timed_out",
    "network_connectivity_error",
    "invalid_gateway_response",
    "format_error",
    "payment_failed",
    "invalid_terminal",
    "duplicate_event",
    "user_canceled",
    "merchant_canceled",
    "surcharge_prompt",
    "surcharge_declined_by_payer",
    "surcharge_expired",
    "pending_forever",
)
"""From $9,001.01 on, in this order."""

_LATER: Final = (
    (Operation.CAPTURE, "capture_declined"),
    (Operation.INCREMENT, "incremental_auth_declined"),
    (Operation.REFUND, "refund_declined"),
    (Operation.REVERSE, "already_reversed"),
    (Operation.ADJUST, "invalid_tip_adjustment"),
    (Operation.CONFIRM, "do_not_honor"),
)
"""From $9,002.01 on; the same operations time out from 11 on and are cut off from 21 on."""

_FAULTS: Final = {
    0: "http_500",
    2: "http_502",
    3: "http_503",
    4: "http_504",
    29: "http_429",
    8: "drop_before",
    9: "drop_after",
}

_SETTLING: Final = {
    1: "record_rejected",
    2: "batch_rejected_hash_mismatch",
    3: "batch_rejected_duplicate",
    4: "batch_rejected_bad_terminal",
    5: "batch_rejected_once",
    9: "no_result",
}


def _rows() -> list[Trigger]:
    rows = []
    for cents in range(100):
        outcome = of_host_code(f"{cents:02}")
        if outcome is not None:
            about = f"host code {cents:02}: {outcome.key}"
            rows.append(Trigger(900_000 + cents, "outcome", outcome.key, about))
    for cents, key in enumerate(_TECHNICAL, 1):
        rows.append(Trigger(900_100 + cents, "outcome", key, key))
    for first, forced in ((1, None), (11, "processor_timeout"), (21, "network_connectivity_error")):
        for cents, (operation, usual) in enumerate(_LATER, first):
            key = forced or usual
            about = f"approved; the next {operation} ends as {key}"
            rows.append(Trigger(900_200 + cents, "later", key, about, operation))
    for cents, key in _FAULTS.items():
        rows.append(Trigger(900_300 + cents, "fault", key, f"transport fault {key}"))
    for cents, key in _SETTLING.items():
        about = f"approved; at settlement {key.replace('_', ' ')}"
        rows.append(Trigger(900_400 + cents, "settlement", key, about))
    return rows


TRIGGERS: Final[dict[int, Trigger]] = {row.amount: row for row in _rows()}

assert all(row.key in OUTCOMES for row in TRIGGERS.values() if row.kind in ("outcome", "later"))
