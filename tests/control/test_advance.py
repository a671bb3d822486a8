"""Advancing a clock: everything on the way happens, in order, at its own moment."""

import pytest

from tests.conftest import NOW
from tests.control.refusals import assert_refused
from tests.support.payments import paid_id, read

CLOCK = "/worlds/default/clock"


def advance(sandbox, **how):
    return sandbox.control("POST", f"{CLOCK}/advance", how)


@pytest.mark.proves("assumed D23")
def test_what_falls_due_happens_in_order_at_its_own_moment(sandbox):
    amex = paid_id(sandbox, operation="auth", card="tok_amex")
    visa = paid_id(sandbox, operation="auth", card="tok_visa_credit")
    prompt = paid_id(sandbox, at="surcharge_merchant")

    answer = advance(sandbox, by="30d")

    assert answer.status == 200
    assert answer.json() == {
        "now": "2026-03-31T12:00:00.000Z",
        "fired": [
            {"at": "2026-03-01T12:05:00.000Z", "kind": "surcharge_expires", "subject": prompt},
            {"at": "2026-03-06T12:00:00.000Z", "kind": "authorization_expires", "subject": visa},
            {"at": "2026-03-08T12:00:00.000Z", "kind": "authorization_expires", "subject": amex},
        ],
    }
    assert read(sandbox, visa)["history"][-1]["created_at"] == 1_772_798_400_000
    assert [read(sandbox, id)["status_reason"] for id in (prompt, visa, amex)] == [
        *("surcharge_expired", "timed_out", "timed_out"),
    ]


def test_the_clock_can_be_advanced_to_an_instant(sandbox):
    answer = advance(sandbox, to="2026-03-02T00:00:00Z")

    assert answer.json() == {"now": "2026-03-02T00:00:00.000Z", "fired": []}
    assert sandbox.control("GET", CLOCK).json()["mode"] == "frozen"


def test_a_running_clock_goes_on_from_where_it_was_advanced_to(sandbox):
    sandbox.control("PUT", CLOCK, {"mode": "running", "rate": 0.001})

    now = advance(sandbox, by="1d").json()["now"]

    assert now.startswith("2026-03-02T12:00:00.")
    assert sandbox.control("GET", CLOCK).json()["mode"] == "running"


def test_advancing_by_nothing_is_allowed(sandbox):
    assert advance(sandbox, by="0s").json() == {"now": NOW, "fired": []}
    assert advance(sandbox, to=NOW).json() == {"now": NOW, "fired": []}
    assert advance(sandbox, by="0s", before=True).json() == {"now": NOW, "fired": []}


@pytest.mark.proves("assumed D23")
def test_the_clock_goes_to_what_falls_due_next_or_stops_just_before_it(sandbox):
    visa = paid_id(sandbox, operation="auth", card="tok_visa_credit")
    paid_id(sandbox, operation="auth", card="tok_amex")
    due = next_due(sandbox)

    before = advance(sandbox, to="next", before=True).json()
    again = advance(sandbox, to="next", before=True).json()
    then = advance(sandbox, to="next").json()

    assert due == "2026-03-06T12:00:00.000Z"
    assert before == again == {"now": "2026-03-06T11:59:59.999Z", "fired": []}
    assert then["now"] == due
    assert [one["subject"] for one in then["fired"]] == [visa]
    assert next_due(sandbox) == "2026-03-08T12:00:00.000Z"
    assert advance(sandbox, by="2d", before=True).json()["fired"] == []


def next_due(sandbox):
    return sandbox.control("GET", "/worlds/default/agenda").json()["agenda"][0]["due"]


def test_a_world_without_anything_due_has_no_next(sandbox):
    advance(sandbox, to="2500-01-01T00:00:00Z")

    answer = advance(sandbox, to="next")

    assert_refused(answer, 400, "validation_error")
    assert answer.json()["message"] == "to: nothing falls due in this world"
