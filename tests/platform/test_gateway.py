"""Maintenance and quotas: what is refused before the platform looks at a request."""

import pytest


def get(sandbox, path="/v2/terminals", by="psp"):
    return sandbox.get(path, by=by)


# --- maintenance ------------------------------------------------------------------------------


def begin(sandbox, lasts):
    return sandbox.manage("PUT", "/maintenance", {"lasts": lasts})


@pytest.mark.proves("assumed 5.3-gateway")
def test_during_maintenance_every_request_is_refused(sandbox):
    begun = begin(sandbox, "10m")

    sale, missing = sandbox.pay(), get(sandbox, "/v2/terminals/nowhere")
    sandbox.advance("9m")
    last = get(sandbox)
    sandbox.advance("1m")

    assert begun.json() == {"until": "2026-03-01T12:10:00.000Z"}
    assert [one.status for one in (sale, missing, last)] == [503] * 3
    assert [one.headers["retry-after"] for one in (sale, last)] == ["600", "60"]
    assert sale.json()["error"] == "unavailable"
    decision = sandbox.journal(sale)["decisions"][-1]
    assert (decision["step"], decision["clause"]) == ("gateway", "assumed 5.3-gateway")
    assert decision["reason"] == "maintenance lasts until 2026-03-01T12:10:00.000Z"
    assert (get(sandbox).status, sandbox.all_transactions()) == (200, 0)
    assert sandbox.look("maintenance") == {"until": None}


def test_a_maintenance_ends_by_hand_or_with_a_reset_and_is_in_a_snapshot(sandbox):
    begin(sandbox, "10m")
    saved = sandbox.saved()
    for method, path in (("DELETE", "/maintenance"), ("POST", "/reset")):
        assert get(sandbox).status == 503
        assert sandbox.manage(method, path).status < 300
        assert get(sandbox).status == 200
        sandbox.load(saved).expect(200)


def test_a_maintenance_needs_a_length(sandbox):
    for lasts in ("0s", "soon", "10", "99999999w", None, 5):
        assert begin(sandbox, lasts).status == 400
    assert get(sandbox).status == 200


# --- quotas -----------------------------------------------------------------------------------


def limit(sandbox, **quotas):
    wanted = {f"quota.per_{name}": count for name, count in quotas.items()}
    return sandbox.manage("PUT", "/switches", wanted)


def limits_of(answer):
    names = ("limit", "remaining", "reset", "policy")
    return [answer.headers.get(f"ratelimit-{name}") for name in names]


@pytest.mark.proves("assumed 5.3-gateway")
def test_above_its_quota_a_key_gets_429_until_the_next_second(sandbox):
    limit(sandbox, second=2)

    answers = [get(sandbox) for _ in range(3)]
    other = get(sandbox, by="merchant")
    sandbox.advance("1s")

    assert [one.status for one in answers] == [200, 200, 429]
    assert answers[2].json()["error"] == "rate_limited"
    assert answers[2].headers["retry-after"] == "1"
    assert [limits_of(one) for one in answers] == [
        ["2", "1", "1", "2;w=1"],
        ["2", "0", "1", "2;w=1"],
        ["2", "0", "1", "2;w=1"],
    ]
    assert (other.status, get(sandbox).status) == (200, 200)


def test_the_quota_nearest_to_its_end_is_shown_and_refusals_use_up_none(sandbox):
    limit(sandbox, second=2, minute=3)
    sandbox.advance("20s")

    first = [get(sandbox) for _ in range(5)]
    sandbox.advance("1s")
    second = [get(sandbox) for _ in range(2)]

    assert [one.status for one in first + second] == [200, 200, 429, 429, 429, 200, 429]
    assert limits_of(first[0])[:2] == ["2", "1"]
    assert limits_of(second[0]) == ["3", "0", "39", "2;w=1, 3;w=60"]
    assert second[1].headers["retry-after"] == "39"
    limit(sandbox, second=1, minute=1)
    assert limits_of(get(sandbox))[:3] == ["1", "0", "39"]
    limit(sandbox, second=0, minute=0)
    assert limits_of(get(sandbox)) == [None] * 4


def test_a_quota_is_a_whole_number(sandbox):
    said = "quota.per_second: must be a whole number from 0 to 100,000"
    for value in (-1, 0.5, True, "2", 100_001, None):
        answer = limit(sandbox, second=value)
        assert (answer.status, said in answer.json()["message"]) == (400, True)
