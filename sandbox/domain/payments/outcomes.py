"""The processor's answers: every outcome that an attempt can have, and what chooses one.

The keys of outcomes are stable identifiers; the status reasons are those of the spec (2.4-reasons).
The state machine has the effect of an outcome on a payment. Amounts from $9,000.00 to $9,004.99
choose one, so ordinary test amounts never do: 900051 chooses host code 51, for example. Transport
faults concern the connection between client and platform, not a payment. Source: assumed 5.2, 5.3,
6.2.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from sandbox.domain.field_types import DelayMs, PositiveAmount
from sandbox.domain.operations import Method, OperationWord, PathPattern, PathText
from sandbox.domain.text import one_of
from sandbox.domain.transport_faults import NEED_BODY, TRANSPORT_FAULTS, FaultName


class Operation(StrEnum):
    """The operations. Each value is the `transaction_type` that the attempt shows.

    CONFIRM completes a sale and appears as one (assumed F1).
    """

    SALE = "sale"
    AUTH = "auth"
    CAPTURE = "capture"
    INCREMENT = "incremental_auth"
    ADJUST = "tip_adjust"
    REFUND = "refund"
    REVERSE = "reverse"
    CONFIRM = "confirm"


INITIATING: Final = frozenset({Operation.SALE, Operation.AUTH})
ANY: Final = frozenset(Operation)

_SCOPES: Final[Mapping[str, frozenset[Operation]]] = {
    **{one: frozenset({one}) for one in Operation},
    "any": ANY,
    "init": INITIATING,
    "issuer": ANY - {Operation.INCREMENT},
}
"""The words of the catalogue for the operations that an outcome is for.

The issuer can decline every operation; increments have their own form.
Source: assumed 5.1, 5.2-declines.
"""


Verdict = Literal["ok", "declined", "error", "canceled", "surcharge_pending", "pending"]
"""The verdict of an outcome for the attempt: `ok` is the operation's own success."""


class Outcome(Struct, frozen=True, kw_only=True, gc=False):
    """One row. `response_code` is None if no answer came at all.

    `has_gateway_id` tells whether a first attempt gets a gateway_transaction_id; `latency_ms` is
    nominal; `retry` advises a client (assumed 5.1). `cents` are those of the amount from $9,001.00
    on that chooses it; 0 for none.
    """

    key: str
    scope: frozenset[Operation]
    verdict: Verdict
    status_reason: str
    response_code: str | None
    host_code: str | None
    message: str | None
    has_approval_code: bool
    has_gateway_id: bool
    latency_ms: int
    retry: str
    cents: int

    @property
    def is_approval(self) -> bool:
        """Whether the operation succeeds, if only in part."""
        return self.verdict == "ok"

    @property
    def can_come_late(self) -> bool:
        """Whether the processor can give it as a late answer. A prompt needs a cardholder."""
        return self.response_code not in (None, "E") and self.verdict != "surcharge_pending"


def _rows() -> Iterator[Outcome]:
    for line in _CATALOGUE.strip().splitlines():
        key, scope, verdict, reason, resp, host, message, approval, gtid, ms, retry, *cents = (
            cell.strip() for cell in line.split("|")
        )
        yield Outcome(
            key=key,
            scope=frozenset().union(*(_SCOPES[word] for word in scope.split(", "))),
            verdict=verdict,  # type: ignore[arg-type]
            status_reason=reason,
            response_code=None if resp == "-" else resp,
            host_code=None if host in ("-", "null") else host,
            message=None if message == "-" else message,
            has_approval_code=approval == "num",
            has_gateway_id=gtid == "yes",
            latency_ms=int(ms),
            retry=retry,
            cents=int(cents[0]) if cents else 0,
        )


# key | scope | status | status_reason | resp | host | message | approval | gtid | ms | retry
# | cents, where an amount chooses it
_CATALOGUE: Final = """
approved | any | ok | approved | A | 00 | APPROVAL | num | yes | 900 | no
approved_with_id | init | ok | approved | A | 08 | APPROVAL | num | yes | 900 | no
no_reason_to_decline | init | ok | approved | A | 85 | CARD OK | num | yes | 900 | no
partial_approval | init, confirm | ok | partial_approval | P | 10 | PARTIAL APPROVAL | num | yes | 950 | other
refer_to_issuer | issuer | declined | declined | R | 01 | CALL | null | yes | 1100 | other
refer_to_issuer_special | init, confirm | declined | declined | R | 02 | CALL | null | yes | 1100 | other
invalid_merchant | any | error | invalid_terminal | D | 03 | TERM ID ERROR | null | yes | 300 | fix
pick_up_card | issuer | declined | invalid_card | C | 04 | HOLD-CALL | null | yes | 1000 | no
do_not_honor | issuer | declined | declined | D | 05 | DECLINE | null | yes | 1000 | other
general_error | any | error | payment_failed | D | 06 | ERROR | null | yes | 700 | same
pick_up_fraud | issuer | declined | invalid_card | C | 07 | HOLD-CALL | null | yes | 1000 | no
invalid_transaction | any | declined | declined | D | 12 | INVALID TRANS | null | yes | 500 | fix
invalid_amount | any | declined | declined | D | 13 | AMOUNT ERROR | null | yes | 500 | fix
invalid_card_number | issuer | declined | invalid_card | D | 14 | CARD NO. ERROR | null | yes | 600 | other
no_such_issuer | issuer | declined | invalid_card | D | 15 | NO SUCH ISSUER | null | yes | 600 | other
re_enter | init, confirm | declined | declined | D | 19 | RE ENTER | null | yes | 800 | same
unable_to_back_out | reverse | error | payment_failed | D | 21 | NO ACTION TAKEN | null | yes | 800 | recon
file_unavailable | any | error | payment_failed | D | 28 | NO REPLY | null | yes | 1500 | same
format_error | any | error | format_error | D | 30 | FORMAT ERROR | null | yes | 400 | fix | 5
lost_card | issuer | declined | invalid_card | C | 41 | HOLD-CALL | null | yes | 1000 | no
stolen_card | issuer | declined | invalid_card | C | 43 | HOLD-CALL | null | yes | 1000 | no
insufficient_funds | issuer | declined | insufficient_funds | D | 51 | DECLINE | null | yes | 1000 | other
expired_card | issuer | declined | invalid_card | D | 54 | EXPIRED CARD | null | yes | 900 | other
incorrect_pin | init | declined | declined | D | 55 | WRONG PIN | null | yes | 1000 | same
not_permitted_card | issuer | declined | declined | D | 57 | SERV NOT ALLOWED | null | yes | 900 | other
not_permitted_terminal | any | error | invalid_terminal | D | 58 | SERV NOT ALLOWED | null | yes | 500 | fix
suspected_fraud | issuer | declined | declined | D | 59 | DECLINE | null | yes | 1000 | no
exceeds_withdrawal_limit | issuer | declined | declined | D | 61 | DECLINE | null | yes | 1000 | other
restricted_card | issuer | declined | invalid_card | D | 62 | DECLINE | null | yes | 1000 | other
security_violation | issuer | declined | declined | D | 63 | SEC VIOLATION | null | yes | 1000 | no
activity_limit_exceeded | issuer | declined | declined | D | 65 | DECLINE | null | yes | 1000 | other
pin_required | init | declined | declined | D | 70 | PIN REQUIRED | null | yes | 900 | same
pin_tries_exceeded | init | declined | declined | D | 75 | PIN EXCEEDED | null | yes | 1000 | other
no_matching_original | capture, reverse, refund | error | payment_failed | D | 76 | UNSOLIC REVERSAL | null | yes | 700 | fix
inconsistent_data | capture, reverse, refund | error | payment_failed | D | 77 | NO ACTION TAKEN | null | yes | 700 | fix
no_account | issuer | declined | invalid_card | D | 78 | NO ACCOUNT | null | yes | 900 | other
already_reversed | reverse | error | payment_failed | D | 79 | ALREADY REVERSED | null | yes | 700 | no
crypto_error | init, confirm | error | payment_failed | D | 81 | ENCRYPTION ERROR | null | yes | 600 | same
issuer_unavailable | issuer, incremental_auth | error | payment_failed | D | 91 | NO REPLY | null | yes | 8000 | same
invalid_routing | init, confirm | error | payment_failed | D | 92 | INVALID ROUTING | null | yes | 700 | fix
violation | issuer | declined | declined | D | 93 | DECLINE | null | yes | 900 | no
duplicate_event | any | error | duplicate_event | D | 94 | DUPLICATE TRANS | null | yes | 500 | recon | 8
system_malfunction | any | error | payment_failed | D | 96 | SYSTEM ERROR | null | yes | 1500 | same
payment_failed | any | error | payment_failed | E | null | HOST FAILURE | null | yes | 2000 | recon | 6
processor_timeout | any | error | processor_timeout | - | - | - | null | no | 30000 | recon | 1
timed_out | any | error | timed_out | - | - | - | null | no | 60000 | recon | 2
network_connectivity_error | any | error | network_connectivity_error | - | - | - | null | no | 5000 | same | 3
invalid_gateway_response | any | error | invalid_gateway_response | - | - | - | null | no | 1200 | recon | 4
invalid_terminal | any | error | invalid_terminal | D | 03 | TERM ID ERROR | null | no | 200 | fix | 7
user_canceled | init, confirm | canceled | user_canceled | - | - | - | null | no | 4000 | same | 9
merchant_canceled | init, confirm | canceled | merchant_canceled | - | - | - | null | no | 2000 | same | 10
surcharge_prompt | sale | surcharge_pending | approved | A | 00 | APPROVAL | num | yes | 900 | no | 11
surcharge_declined_by_payer | init, confirm | canceled | surcharge_declined_by_payer | - | - | - | null | yes | 3000 | other | 12
surcharge_expired | init, confirm | canceled | surcharge_expired | - | - | - | null | yes | 0 | same | 13
incremental_auth_declined | incremental_auth | declined | incremental_auth_declined | D | 05 | DECLINE | null | yes | 1000 | other
incremental_insufficient_funds | incremental_auth | declined | incremental_auth_declined | D | 51 | DECLINE | null | yes | 1000 | other
exceeds_original_auth | capture, tip_adjust | error | exceeds_original_auth | - | - | - | null | no | 50 | fix
invalid_capture_sequence | capture | error | invalid_capture_sequence | - | - | - | null | no | 50 | fix
invalid_tip_adjustment | tip_adjust | error | invalid_tip_adjustment | - | - | - | null | no | 50 | fix
pending_forever | init | pending | pending | E | null | PENDING | null | yes | 500 | recon | 14
refund_declined | refund | declined | declined | D | 05 | DECLINE | null | yes | 1000 | other
capture_declined | capture | declined | declined | D | 05 | DECLINE | null | yes | 900 | fix
insert_card | init | declined | declined | D | null | INSERT CARD | null | yes | 800 | same
use_another_card | init | declined | declined | D | null | USE ANOTHER CARD | null | yes | 800 | other
contactless_limit_exceeded | init | declined | declined | D | 65 | CONTACTLESS LIMIT | null | yes | 900 | same
strong_authentication_required | init | declined | declined | D | 1A | ADD AUTH REQUIRED | null | yes | 900 | same
timed_out_held | init | error | processor_timeout | - | - | - | null | no | 30000 | recon
surcharge_not_permitted | init, capture | declined | declined | D | B1 | SURCHARGE ERROR | null | yes | 900 | fix
"""  # noqa: E501

OUTCOMES: Final[dict[str, Outcome]] = {row.key: row for row in _rows()}
APPROVED: Final = OUTCOMES["approved"]
PARTIAL: Final = OUTCOMES["partial_approval"]
MISCONFIGURED: Final = OUTCOMES["invalid_terminal"]
HELD: Final = OUTCOMES["timed_out_held"]
"""The client sees a time-out, but the host approved and reverses its hold later (assumed I11)."""

TIMED_OUT: Final = ("processor_timeout", "timed_out", "timed_out_held")
"""Outcomes without an answer of the processor, which may come late (assumed D24)."""

AT_THE_READER: Final = ("user_canceled", "merchant_canceled")
"""Outcomes that end a payment before a card is read (assumed D29)."""

FORCED_RULES: Final = frozenset(
    {"exceeds_original_auth", "invalid_capture_sequence", "invalid_tip_adjustment"}
)
"""Outcomes that act as the rule failures of that name. Source: assumed 5.2-forced."""

LOST_AS_DECLINED: Final[dict[str, Outcome]] = {
    key: replace(OUTCOMES[key], status_reason="declined")
    for key in ("lost_card", "stolen_card", "pick_up_card", "pick_up_fraud", "restricted_card")
}
"""The outcomes of lost and stolen cards, as declines. Source: assumed D35-lost."""

AFTER_PROMPT: Final = frozenset({"surcharge_declined_by_payer", "surcharge_expired"})
"""At initiation, these show the prompt and then resolve it. Source: assumed 5.2-prompt."""


ALIKE_MAX: Final = 5
"""How many outcomes a refusal suggests instead of one that is impossible."""


@cache
def for_operation(key: str, operation: Operation) -> Outcome | None:
    """Return the outcome in its form for this operation; None if it does not apply to it.

    Every outcome that declines an initiation declines an increment too, as
    incremental_auth_declined with the outcome's own host code (assumed 5.2-increment, which wins
    over 5.1: assumed D9).
    """
    row = OUTCOMES[key]
    if operation is Operation.INCREMENT and row.verdict == "declined":
        if row.scope & (INITIATING | {operation}):
            return replace(row, status_reason="incremental_auth_declined")
        return None
    return row if operation in row.scope else None


def operations_of(key: str) -> list[str]:
    """Return the operations that can have this outcome, including increments."""
    return sorted(one.value for one in Operation if for_operation(key, one) is not None)


def why_not_for(key: str, operation: Operation) -> str | None:
    """Return why the operation cannot have this outcome, with similar ones; None if it can.

    Source: assumed D41.
    """
    if for_operation(key, operation) is not None:
        return None
    alike = [
        row
        for row in OUTCOMES.values()
        if row.verdict == OUTCOMES[key].verdict and for_operation(row.key, operation) is not None
    ]
    # Outcomes for few operations come first: they are the most specific.
    named = [row.key for row in sorted(alike, key=lambda row: row.scope == ANY)][:ALIKE_MAX]
    hint = f"; for {operation} there is {', '.join(named)}" if named else ""
    return f"{key} is for {', '.join(operations_of(key))}, not for {operation}{hint}"


FIRST_AMOUNT: Final = 900_000
LAST_AMOUNT: Final = 900_499


class Trigger(Struct, frozen=True, gc=False):
    """The meaning of one amount.

    `key` is an outcome, a transport fault, or a settlement. A `later` trigger makes the named
    `operation` fail once; a settlement is stored with the payment until its batch closes.
    """

    amount: int
    kind: Literal["outcome", "later", "fault", "settlement"]
    key: str
    about: str
    operation: Operation | None = None

    @property
    def rule(self) -> str:
        """Its name in answers. Source: assumed D14."""
        return f"amount:{self.amount}"


class Settlement(Struct, frozen=True, gc=False):
    """The result of a batch that contains a certain record. Source: assumed 6.2-settlement.

    `cents` are those of the amount from $9,004.00 on that chooses it. `answer` is the result of the
    batch; `reason` is a key of `batches.REASONS`. With `is_once` it applies to one close only.
    """

    cents: int
    key: str
    answer: Literal["partially_accepted", "rejected", "none"]
    reason: str | None = None
    is_once: bool = False


SETTLEMENTS: Final[dict[str, Settlement]] = {
    one.key: one
    for one in (
        Settlement(1, "record_rejected", "partially_accepted"),
        Settlement(2, "batch_rejected_hash_mismatch", "rejected", "hash_mismatch"),
        Settlement(3, "batch_rejected_duplicate", "rejected", "duplicate_batch"),
        Settlement(4, "batch_rejected_bad_terminal", "rejected", "bad_terminal"),
        Settlement(5, "batch_rejected_once", "rejected", "hash_mismatch", is_once=True),
        Settlement(9, "no_result", "none"),
    )
}

_LATER: Final = (
    (Operation.CAPTURE, "capture_declined"),
    (Operation.INCREMENT, "incremental_auth_declined"),
    (Operation.REFUND, "refund_declined"),
    (Operation.REVERSE, "already_reversed"),
    (Operation.ADJUST, "invalid_tip_adjustment"),
    (Operation.CONFIRM, "do_not_honor"),
)
"""From $9,002.01 on; from 11 cents on they time out, and from 21 cents on they are cut off."""


def _list_triggers() -> Iterator[Trigger]:
    # Of several outcomes with a host code, the first counts (assumed 6.2).
    by_code = {row.host_code: row for row in reversed(OUTCOMES.values())}
    for cents in range(100):
        if (outcome := by_code.get(f"{cents:02}")) is not None:
            about = f"host code {cents:02}: {outcome.key}"
            yield Trigger(900_000 + cents, "outcome", outcome.key, about)
    for row in sorted(OUTCOMES.values(), key=lambda row: row.cents):
        if row.cents:
            yield Trigger(900_100 + row.cents, "outcome", row.key, row.key)
    for first, forced in ((1, None), (11, "processor_timeout"), (21, "network_connectivity_error")):
        for cents, (operation, usual) in enumerate(_LATER, first):
            key = forced or usual
            about = f"approved; the next {operation} ends as {key}"
            yield Trigger(900_200 + cents, "later", key, about, operation)
    for fault in TRANSPORT_FAULTS.values():
        if fault.cents is not None:
            about = f"transport fault {fault.key}"
            yield Trigger(900_300 + fault.cents, "fault", fault.key, about)
    for one in SETTLEMENTS.values():
        about = f"approved; at settlement {one.key.replace('_', ' ')}"
        yield Trigger(900_400 + one.cents, "settlement", one.key, about)


TRIGGERS: Final[dict[int, Trigger]] = {row.amount: row for row in _list_triggers()}


OutcomeName = Annotated[str, one_of("a known outcome", OUTCOMES)]
"""The key of an outcome."""


class Queued(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A queued outcome or fault for the next request that matches. Source: assumed D24.

    `operation` is the name of an operation or a word of scenarios; `path` may contain `*`. `amount`
    (minor units) must be equal. An `outcome` is only for attempts; without `operation` it matches
    every attempt that it applies to. `approved_amount` is for a partial approval; `delay_ms` is
    real time. The queue sets its `id`.
    """

    outcome: OutcomeName | None = None
    operation: OperationWord | None = None
    method: Method | None = None
    path: PathText | None = None
    amount: PositiveAmount | None = None
    delay_ms: DelayMs = 0
    fault: FaultName | None = None
    approved_amount: PositiveAmount | None = None
    id: str = ""

    def mismatch(self, request: Mapping[str, Any]) -> str | None:
        """Return why this is not for a request; None if it is.

        The facts of an attempt include its operation as `attempts`.
        """
        operation = request.get("attempts")
        if self.operation is not None and self.operation not in request["operation"]:
            return f"waits for {self.operation}"
        if self.method is not None and self.method != request.get("method"):
            return f"waits for {self.method}"
        if self.path is not None and not PathPattern(self.path).matches(request.get("path", "")):
            return f"waits for {self.path}"
        if self.amount is not None and request.get("amount") != self.amount:
            return f"waits for the amount {self.amount}"
        if self.outcome is not None and (
            operation is None or for_operation(self.outcome, operation) is None
        ):
            return f"{self.outcome} is not for {operation or request['operation'][-1]}"
        if self.fault in NEED_BODY and not request.get("has_body", True):
            return f"{self.fault} needs an answer with a body"
        return None
