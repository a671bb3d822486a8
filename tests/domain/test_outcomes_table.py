"""The catalogue of the processor's answers, held against the one of the documents."""

import pytest

from sandbox.domain.payments.outcomes import OUTCOMES, Operation, for_operation, of_host_code
from sandbox.domain.payments.transactions import STATUS_REASONS
from tests.payments.outcome_rows import ROWS, WORD_OF, answered, is_for

ALL = [operation.value for operation in Operation]


@pytest.mark.proves("assumed 5.2")
def test_the_catalogue_has_the_outcomes_of_the_document_in_their_order():
    assert list(OUTCOMES) == list(ROWS)


@pytest.mark.proves(
    "assumed 5.1, 5.1-codes, 5.2, 5.2-cards, 5.2-timeouts, 5.1-latency, 8.2-deadline"
)
def test_every_outcome_is_what_its_row_says():
    for key, row in ROWS.items():
        outcome = OUTCOMES[key]

        assert (outcome.key, outcome.verdict.value) == (key, row.status)
        assert (key, outcome.status_reason) == (key, row.status_reason)
        assert (key, outcome.response_code) == (key, answered(row.resp))
        assert (key, outcome.host_code) == (key, answered(row.host))
        assert (key, outcome.message) == (key, answered(row.message))
        assert (key, outcome.has_approval_code) == (key, row.approval == "num")
        assert (key, outcome.has_gateway_id) == (key, row.gtid == "yes")
        assert (key, outcome.latency_ms, outcome.retry) == (key, row.ms, row.retry)


@pytest.mark.proves("assumed 5.1, 5.2, 5.2-declines")
def test_every_outcome_is_for_the_operations_of_its_scope():
    for key, row in ROWS.items():
        in_scope = {
            name
            for name in ALL
            if {"any", WORD_OF[name]} & set(row.scope)
            or ("issuer" in row.scope and name != "incremental_auth")
        }

        found = {operation.value for operation in OUTCOMES[key].scope}

        assert (key, found) == (key, in_scope)


def test_only_what_says_ok_is_an_approval():
    approvals = [key for key, outcome in OUTCOMES.items() if outcome.is_approval]

    assert approvals == [key for key, row in ROWS.items() if row.status == "ok"]


@pytest.mark.proves("spec 2.4-reasons")
def test_every_status_reason_is_one_of_the_spec():
    assert {outcome.status_reason for outcome in OUTCOMES.values()} <= set(STATUS_REASONS)


@pytest.mark.proves("assumed 5.1")
@pytest.mark.parametrize("operation", Operation)
def test_an_operation_finds_only_what_is_for_it(operation):
    found = {key for key in ROWS if for_operation(key, operation) is not None}

    assert found == {key for key, row in ROWS.items() if is_for(row, operation.value)}


DECLINING = [key for key, row in ROWS.items() if row.status == "declined"]


@pytest.mark.proves("assumed 5.2-increment")
@pytest.mark.parametrize(
    "key", [key for key in DECLINING if ROWS[key].scope[0] in ("init", "issuer", "any")]
)
def test_what_declines_an_initiation_declines_an_increment_with_its_own_host_code(key):
    row = ROWS[key]

    outcome = for_operation(key, Operation.INCREMENT)

    assert outcome is not None
    assert (outcome.verdict.value, outcome.status_reason) == (
        "declined",
        "incremental_auth_declined",
    )
    assert (outcome.response_code, outcome.host_code) == (row.resp, answered(row.host))
    assert (outcome.message, outcome.key) == (row.message, key)


@pytest.mark.parametrize("key", ["capture_declined", "refund_declined"])
def test_what_declines_another_follow_up_leaves_an_increment_alone(key):
    assert for_operation(key, Operation.INCREMENT) is None


def test_a_host_code_stands_for_the_first_row_that_has_it():
    first = {}
    for row in ROWS.values():
        first.setdefault(row.host, row.key)

    codes = {f"{code:02}" for code in range(100)} | {"1A", "B1", "ZZ"}
    found = {code: of_host_code(code) for code in codes}

    assert {code: row.key for code, row in found.items() if row is not None} == {
        code: key for code, key in first.items() if code not in ("-", "null")
    }
