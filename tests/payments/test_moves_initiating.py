"""How payments begin: assumed 2.3, rows I1 to I10. The table is written down here by hand."""

from dataclasses import dataclass, field

import pytest

from sandbox.domain.payments.transitions import TRANSITIONS
from tests.directory.making import shown
from tests.support.payments import (
    ask,
    block_location,
    block_terminal,
    kind,
    ledger,
    message_count,
    messages_since,
    paid,
    parts,
    pay,
    read,
    rows_taken,
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """What an initiation of 1000 must come to.

    `second` is the event after transaction.create and, where `opens` says so, batch.opened; ""
    where there is none.
    """

    row: str
    operation: str
    at: str = "merchant"
    force: str | None = None
    more: dict = field(default_factory=dict)
    shown: str
    second: str
    opens: bool = False
    ledger: tuple[int, int, int, int] = (0, 0, 0, 0)
    response: str | None

    @property
    def name(self):
        return f"{self.row}: {self.operation} at {self.at} {self.force or ''} {self.more or ''}"


SALE = {"operation": "sale", "second": "transaction.sale"}
AUTH = {"operation": "auth", "second": "transaction.authorize"}

CASES = [
    Case(
        **SALE,
        row="I1",
        shown="sale/captured/approved",
        opens=True,
        ledger=(1000, 1000, 0, 0),
        response="A00",
    ),
    Case(
        **SALE,
        row="I1",
        force="no_reason_to_decline",
        shown="sale/captured/approved",
        opens=True,
        ledger=(1000, 1000, 0, 0),
        response="A85",
    ),
    Case(
        **SALE,
        row="I1",
        at="quiet_surcharge_merchant",
        shown="sale/captured/approved",
        opens=True,
        ledger=(1030, 1030, 0, 0),
        response="A00",
    ),
    Case(
        **SALE,
        row="I2",
        at="surcharge_merchant",
        shown="sale/surcharge_pending/approved",
        ledger=(1000, 0, 0, 0),
        response="A00",
    ),
    Case(
        **SALE,
        row="I2",
        force="surcharge_prompt",
        shown="sale/surcharge_pending/approved",
        ledger=(1000, 0, 0, 0),
        response="A00",
    ),
    Case(
        **SALE,
        row="I3",
        force="partial_approval",
        shown="sale/captured/partial_approval",
        opens=True,
        ledger=(500, 500, 0, 0),
        response="P10",
    ),
    *(
        Case(
            **op,
            row="I4",
            force=force,
            shown=f"{op['operation']}/declined/{reason}",
            response=response,
        )
        for op in (SALE, AUTH)
        for force, reason, response in (
            ("do_not_honor", "declined", "D05"),
            ("insufficient_funds", "insufficient_funds", "D51"),
            ("expired_card", "invalid_card", "D54"),
            ("stolen_card", "invalid_card", "C43"),
            ("refer_to_issuer", "declined", "R01"),
        )
    ),
    *(
        Case(
            **op,
            row="I5",
            force=force,
            shown=f"{op['operation']}/error/{reason}",
            response=response,
        )
        for op in (SALE, AUTH)
        for force, reason, response in (
            ("processor_timeout", "processor_timeout", None),
            ("timed_out", "timed_out", None),
            ("network_connectivity_error", "network_connectivity_error", None),
            ("invalid_gateway_response", "invalid_gateway_response", None),
            ("format_error", "format_error", "D30"),
            ("issuer_unavailable", "payment_failed", "D91"),
            ("duplicate_event", "duplicate_event", "D94"),
            ("invalid_merchant", "invalid_terminal", "D03"),
        )
    ),
    *(
        Case(
            **op,
            row="I11",
            force="timed_out_held",
            shown=f"{op['operation']}/error/processor_timeout",
            ledger=(1000, 0, 0, 0),
            response=None,
        )
        for op in (SALE, AUTH)
    ),
    *(
        Case(
            row="I6",
            operation=operation,
            force=force,
            shown=f"{operation}/canceled/{force}",
            second="transaction.cancel",
            response=None,
        )
        for operation in ("sale", "auth")
        for force in ("user_canceled", "merchant_canceled")
    ),
    *(
        Case(
            row="I7",
            operation=operation,
            at=at,
            force=force,
            shown=f"{operation}/pending/pending",
            second="",
            response=response,
        )
        for operation in ("sale", "auth")
        for at, force, response in (
            ("passthrough_merchant", None, None),
            ("merchant", "pending_forever", "E"),
        )
    ),
    Case(
        **AUTH,
        row="I8",
        shown="auth/authorized/approved",
        ledger=(1000, 0, 0, 0),
        response="A00",
    ),
    # A preauthorization is never surcharged by itself, so that nobody is asked: assumed Q15.
    Case(
        **AUTH,
        row="I8",
        at="surcharge_merchant",
        shown="auth/authorized/approved",
        ledger=(1000, 0, 0, 0),
        response="A00",
    ),
    Case(
        **AUTH,
        row="I9",
        force="partial_approval",
        shown="auth/authorized/partial_approval",
        ledger=(500, 0, 0, 0),
        response="P10",
    ),
]

MISCONFIGURED = [
    Case(**SALE, row="I10", shown="sale/error/invalid_terminal", response="D03"),
    Case(**AUTH, row="I10", shown="auth/error/invalid_terminal", response="D03"),
]


def try_out(sandbox, case):
    seen = message_count(sandbox)

    answer = pay(
        sandbox,
        at=case.at,
        operation=case.operation,
        outcome=case.force,
        **case.more,
    )

    after, messages = shown(answer), messages_since(sandbox, seen)
    names = ["transaction.create", "batch.opened" if case.opens else "", case.second]
    assert [one["event_type"] for one in messages] == [name for name in names if name]
    assert (kind(after), ledger(after)) == (case.shown, case.ledger)
    assert read(sandbox, after["transaction_id"]) == after
    assert rows_taken(sandbox, answer) == {f"assumed {case.row}"}
    # spec 6.3-transaction.create: pending, pending, in no batch
    first = messages[0]["body"]
    assert kind(first) == f"{case.operation}/pending/pending"
    assert (first["batch_id"], first["transaction_id"]) == (None, after["transaction_id"])
    assert ledger(first) == (0, 0, 0, 0)
    # assumed D11: the creation and the outcome are one attempt
    kinds = [kind(first), case.shown] if case.second else [kind(first)]
    assert [kind(attempt) for attempt in after["history"]] == kinds
    assert {attempt["event_id"] for attempt in after["history"]} == {after["event_id"]}
    assert after["history"][0] == first["history"][0]
    if case.second:
        assert messages[-1]["body"] == after
    assert (after["batch_id"] is not None) == case.opens
    check_response(after, case.response)


def check_response(after, expected):
    response = after["gateway_transaction_response"]
    if expected is None:
        assert (response, after["processor_response_code"]) == (None, None)
        return
    assert (response["responseCode"] + (response["processorResponseCode"] or "")) == expected
    assert after["processor_response_code"] == expected[0]
    assert after["processor_response_message"] == response["responseMessage"]
    assert (response["approvalCode"] is not None) == (expected[0] in "AP")


@pytest.mark.proves(
    "spec 2.4-approved, 2.4-declined, 2.4-insufficient_funds, 2.4-invalid_card",
    "spec 2.4-payment_failed, 2.4-processor_timeout, 2.4-timed_out",
    "spec 2.4-network_connectivity_error, 2.4-invalid_gateway_response, 2.4-format_error",
    "spec 2.4-invalid_terminal, 2.4-partial_approval, 2.4-user_canceled",
    "spec 2.4-merchant_canceled, 2.4-duplicate_event, 2.4-pending, 3.2-surcharge_pending",
    "spec 3.2-declined, 3.2-error, 3.2-canceled, 3.2-pending, 2.4-batch-id, 4.4-paths-gap",
    "spec 2.4-event-id",
    "assumed I1, I2, I3, I4, I5, I6, I7, I8, I9, 5.1-silence, 5.2-cards, D11, Q15, Q16",
    "assumed Q17, 2.1-outcome, 2.2, 2.6-processor, 5.2-timeouts, D17, C11, Q25, Q19",
)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_initiation_does_what_its_row_says(sandbox, case):
    try_out(sandbox, case)


@pytest.mark.proves("spec 2.4-invalid_terminal", "assumed I10, 4.7-blocked-terminal")
@pytest.mark.parametrize("block", [block_terminal, block_location])
@pytest.mark.parametrize("case", MISCONFIGURED, ids=lambda case: case.name)
def test_a_blocked_terminal_or_location_takes_no_payment(sandbox, case, block):
    block(sandbox, "merchant")

    # Nobody is asked, so that nothing can be forced either.
    try_out(sandbox, case)


def test_every_row_of_an_initiation_has_a_case_and_every_case_a_row():
    rows = {(row.id, str(row.trigger)) for row in TRANSITIONS if row.id.startswith("I")}

    assert {(case.row, case.operation) for case in (*CASES, *MISCONFIGURED)} == rows
    assert all(row.states == ("-",) for row in TRANSITIONS if row.id.startswith("I"))


@pytest.mark.proves("assumed 1.8-start", "spec 4.4-paths-payments")
def test_an_auth_can_be_asked_of_either_path(sandbox):
    # assumed 1.8-start
    by_type = paid(sandbox, type="auth")
    by_path = paid(sandbox, operation="auth", type="sale")

    assert kind(by_type) == kind(by_path) == "auth/authorized/approved"


@pytest.mark.proves(
    "spec 2.4-surcharge_declined_by_payer, 2.4-surcharge_expired", "assumed 5.2-prompt"
)
@pytest.mark.parametrize("force", ["surcharge_declined_by_payer", "surcharge_expired"])
def test_a_prompt_that_is_scripted_to_fail_is_shown_first(sandbox, force):
    # assumed 5.2-prompt: three events, and no confirm call
    seen = message_count(sandbox)

    after = paid(sandbox, at="surcharge_merchant", outcome=force)

    told = [(one["event_type"], kind(one["body"])) for one in messages_since(sandbox, seen)]
    assert told == [
        ("transaction.create", "sale/pending/pending"),
        ("transaction.sale", "sale/surcharge_pending/approved"),
        ("transaction.cancel", f"sale/canceled/{force}"),
    ]
    assert (ledger(after), parts(after)) == ((0, 0, 0, 0), (1000, 0, 0, 0, 1000))
    assert read(sandbox, after["transaction_id"]) == after


@pytest.mark.proves("assumed 1.8-where")
def test_a_payment_is_taken_at_the_terminal_of_a_location_or_of_an_account(sandbox):
    # assumed 1.8-where
    sale = paid(sandbox)

    by_location = paid(sandbox, location_id=sale["location_id"])
    by_account = paid(sandbox, account_id=sale["account_id"])

    assert {sale["tid"], by_location["tid"], by_account["tid"]} == {sale["tid"]}


@pytest.mark.proves("assumed 1.8-amount")
def test_what_cannot_be_begun_leaves_nothing(sandbox):
    seen = message_count(sandbox)
    bodies = [{"amount": 0}, {"amount": 100_000_000}, {"amount": "12"}, {"amount": 1.5}, {}]

    answers = [
        ask(sandbox, "POST", path, {"account_id": sandbox.account("merchant"), **body})
        for path in ("/v3/payment", "/v3/preauth")
        for body in bodies
    ]

    assert {(one.status, one.json()["error"]) for one in answers} == {(400, "validation_error")}
    assert messages_since(sandbox, seen) == []
