"""Rules for any request: what they name, when they apply, and how often by chance."""

import pytest

from sandbox.scenarios.words import Latency
from tests.driving import NOW
from tests.scenarios.running import LOST, counts, put, running

FAILS = {"fault": "http_503"}

READS = {
    "terminals": "/v2/terminals",
    "terminal": "/v2/terminals/{tid}",
    "keys": "/v5/apikeys",
    "batches": "/v1/batches",
    "batch": "/v1/batches/{batch_id}",
    "payment": "/v1/transactions/{transaction_id}",
    "history": "/v1/transactions/{transaction_id}/history",
}

WHENS = [
    ({}, {*READS, "sale"}),
    ({"method": "GET"}, {*READS}),
    ({"method": "POST"}, {"sale"}),
    ({"path": "/v2/*"}, {"terminals", "terminal"}),
    ({"path": "/v2/terminals/*"}, {"terminal"}),
    ({"path": ["/v5/apikeys", "/v1/batches"]}, {"keys", "batches"}),
    ({"operation": "apikeys.list"}, {"keys"}),
    ({"operation": ["terminals.read", "sale"]}, {"terminal", "sale"}),
    ({"operation": "payments.create"}, {"sale"}),
    ({"operation": "auth"}, set()),
    ({"operation": "terminals.read", "terminal": "merchant"}, {"terminal"}),
    ({"method": "GET", "terminal": "merchant"}, {"terminal", "payment", "history", "batch"}),
    ({"method": "GET", "terminal": "second_merchant"}, set()),
    ({"key": "merchant", "method": "GET"}, set()),
    ({"key": "psp"}, {*READS}),
]
"""What a rule says, and the requests that it lets fail."""


@pytest.mark.proves("assumed 5.3-anywhere")
def test_a_rule_matches_the_requests_that_it_names(sandbox):
    sold = sandbox.sold()
    for when, failing in WHENS:
        running(sandbox, {"when": when, "then": FAILS})

        answers = {
            name: sandbox.get(path.format_map(sold), by="psp") for name, path in READS.items()
        }
        answers["sale"] = sandbox.pay()

        assert {name for name, one in answers.items() if one.status == 503} == failing, when
        assert {one.status for name, one in answers.items() if name not in failing} <= {200}


def test_a_rule_for_payments_matches_no_other_request_and_the_first_decides(sandbox):
    running(sandbox, {"when": {"amount": 500}, "then": LOST}, {"then": {**FAILS, "times": 2}})

    # A request that is refused for another reason keeps its refusal.
    assert sandbox.get("/v2/terminals/nowhere", by="psp").status == 404
    assert sandbox.get("/v2/terminals?limit=x", by="psp").status in (400, 404)
    assert sandbox.get("/v2/terminals", by="psp").status == 503
    assert sandbox.pay(500).json()["status"] == "declined"
    assert sandbox.pay(501).status == 503
    assert counts(sandbox) == [("1", 1, 1, False), ("2", 3, 2, True)]


@pytest.mark.proves("assumed D24-requests")
def test_a_rule_applies_from_a_time_until_another(sandbox):
    for when in (
        {"from": "1m", "until": "11m"},
        {"from": "2026-03-01T12:01:00Z", "until": "2026-03-01T12:11:00Z"},
    ):
        sandbox.manage("PUT", "/clock", {"now": NOW, "mode": "frozen"})
        running(sandbox, {"name": "maintenance", "when": when, "then": FAILS})

        seen = [sandbox.get("/v2/terminals", by="psp")]
        for by in ("1m", "9m", "1m"):
            sandbox.advance(by)
            seen.append(sandbox.get("/v2/terminals", by="psp"))

        assert [one.status for one in seen] == [200, 503, 503, 200]
        assert [one.headers.get("retry-after") for one in seen] == [None, "600", "60", None]
    # A reset begins the times of a scenario again.
    running(sandbox, {"when": {"from": "1m"}, "then": FAILS})
    sandbox.reset()
    early = sandbox.get("/v2/terminals", by="psp")
    sandbox.advance("1m")
    assert (early.status, sandbox.get("/v2/terminals", by="psp").status) == (200, 503)


def failing(sandbox, count=60):
    return [n for n in range(count) if sandbox.get("/v2/terminals", by="psp").status == 503]


@pytest.mark.proves("assumed D24-requests")
def test_the_same_run_fails_in_the_same_places(sandbox):
    rule = {"name": "unlucky", "then": {**FAILS, "probability": 0.1}}
    running(sandbox, rule)
    first = failing(sandbox)

    running(sandbox, rule)
    second = failing(sandbox)
    running(sandbox, {**rule, "name": "another"})

    assert first == second
    assert 1 <= len(first) <= 15
    assert failing(sandbox) != first


def test_a_rule_that_chance_skipped_is_a_near_miss_and_a_probability_of_one_skips_none(sandbox):
    running(sandbox, {"name": "unlucky", "then": {**FAILS, "probability": 0.000001}})
    entry = sandbox.journal(sandbox.get("/v2/terminals", by="psp"))
    running(sandbox, {"then": {**FAILS, "probability": 1, "times": 2}})

    assert entry["near_misses"] == ["scenario unlucky: chance spares number 1"]
    assert failing(sandbox, 4) == [0, 1]


@pytest.mark.proves("assumed D24-requests")
def test_a_delay_can_differ_from_request_to_request():
    for delay, least, most in (
        ({"min": 100, "max": 200}, 100, 200),
        ({"max": 50}, 0, 50),
        ({"p50": 20, "p95": 100, "p99": 900}, 0, 900),
    ):
        drawn = [Latency(**delay).at(n / 200) for n in range(200)]

        assert drawn == sorted(drawn)
        assert least <= drawn[0] <= drawn[-1] <= most
        assert drawn[100] == pytest.approx(delay.get("p50", (least + most) / 2), abs=1)


NEVER = [
    ({"when": {"operation": "apikeys.lst"}}, "not a known operation", "apikeys.list"),
    ({"when": {"method": "GT"}}, "'GT' is not a known method", "GET"),
    ({"when": {"path": "/v1/batchs"}}, "no operation has the path", "/v1/batches"),
    ({"when": {"path": "v1/batches"}}, "when.path: String should match", None),
    ({"when": {"operation": "batches.close", "method": "GET"}}, "GET batches.close", None),
    ({"when": {"operation": "sale", "path": "/v5/*"}}, "/v5/* sale", None),
    ({"when": {"operation": "batches.list", "amount": 5}}, "amount: batches.list has", None),
    ({"when": {"method": "GET", "card": "tok_amex"}}, "when.card: ", None),
    ({"when": {"operation": "batches.list"}, "then": LOST}, "asks no processor", None),
    ({"when": {"path": "/v5/*"}, "then": {"tap": "wait"}}, "then.tap: ", None),
    ({"when": {"from": "5m", "until": "2m"}}, "until: the time ends before", None),
    ({"when": {"from": "5m", "until": "5m"}}, "until: the time ends before", None),
    ({"when": {"from": "5m", "until": "2030-01-01T00:00:00Z"}}, "until: give both", None),
    ({"when": {"until": "soon"}}, "until: must be a duration", None),
    ({"when": {"form": "5m"}}, "'form' is not a field here", "from"),
    ({"then": {**FAILS, "probability": 7}}, "probability: Input should be less", None),
    ({"then": {**FAILS, "probability": 0}}, "probability: Input should be greater", None),
    ({"then": {"probability": 0.5}}, "says nothing", None),
    ({"then": {"delay_ms": {"p50": 9, "p95": 5}}}, "must not become less", None),
    ({"then": {"delay_ms": {"min": 9}}}, "says nothing: give max", None),
    ({"then": {"delay_ms": {"max": 3_600_001}}}, "less than or equal to 3600000", None),
    (
        {"when": {"operation": "close_batch", "method": "POST"}, "then": {"batch": "accepted"}},
        "a batch closes without a request too",
        None,
    ),
    (
        {"when": {"operation": "terminals.delete"}, "then": {"fault": "half_answer"}},
        "half_answer cannot happen to terminals.delete",
        None,
    ),
    ({"then": {"fault": "half_anser"}}, "not a known transport fault", "half_answer"),
]
"""What a rule says besides, why it is refused, and the nearest known word."""


@pytest.mark.proves("assumed D41")
def test_a_rule_that_can_never_apply_is_refused(sandbox):
    for rule, said, nearest in NEVER:
        refused = put(sandbox, {"then": FAILS, **rule}).expect(400)

        assert said in refused["message"]
        assert refused.get("nearest") == nearest


def test_an_attempt_that_asks_no_processor_meets_the_fault_of_its_request(sandbox):
    tx = sandbox.paid()
    sandbox.choose(duplicate_event_id="replay")
    sent = {"amount": 100, "event_id": "again"}
    sandbox.act(tx, "refund", **sent)

    sandbox.act(tx, "refund", outcome="http_503", **sent).expect(503)
