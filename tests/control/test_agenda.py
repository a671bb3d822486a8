"""The agenda tells what falls due, and an advance of the clock lets it happen, as was told."""

import pytest

from sandbox.domain.clock import TIMER_KINDS
from sandbox.platform.timers import TIMERS
from tests.control.refusals import assert_refused
from tests.driving import NOW
from tests.scenarios.running import after, follows


def agenda(sandbox, **query):
    return sandbox.look("agenda", **query)["agenda"]


def advance(sandbox, **how):
    return sandbox.manage("POST", "/clock/advance", how).json()


@pytest.mark.proves("assumed D23, F21")
def test_follow_ups_happen_in_order_at_their_own_time(sandbox):
    amex = sandbox.paid_id(operation="auth", card="tok_amex")
    visa = sandbox.paid_id(operation="auth", card="tok_visa_credit")
    prompt = sandbox.paid_id(at="surcharge_merchant")
    told = [one for one in agenda(sandbox) if one["subject"]["id"] in (amex, visa, prompt)]

    came = advance(sandbox, by="30d")

    assert came == {
        "now": "2026-03-31T12:00:00.000Z",
        "fired": [
            {"at": one["due"], "kind": one["kind"], "subject": one["subject"]["id"]} for one in told
        ],
    }
    assert [(one["due"], one["subject"]["id"], one["clause"]) for one in told] == [
        ("2026-03-01T12:05:00.000Z", prompt, "assumed F4"),
        ("2026-03-06T12:00:00.000Z", visa, "assumed F21"),
        ("2026-03-08T12:00:00.000Z", amex, "assumed F21"),
    ]
    assert sandbox.read(visa)["history"][-1]["created_at"] == 1_772_798_400_000
    for one in told:
        tx = sandbox.read(one["subject"]["id"])
        assert one["then"] == {"status": tx["status"], "status_reason": tx["status_reason"]}


@pytest.mark.proves("assumed D23")
def test_the_clock_goes_to_what_falls_due_next_or_stops_just_before_it(sandbox):
    visa = sandbox.paid_id(operation="auth", card="tok_visa_credit")
    sandbox.paid_id(operation="auth", card="tok_amex")
    due = agenda(sandbox)[0]["due"]

    before = advance(sandbox, to="next", before=True)
    again = advance(sandbox, to="next", before=True)
    then = advance(sandbox, to="next")

    assert due == "2026-03-06T12:00:00.000Z"
    assert before == again == {"now": "2026-03-06T11:59:59.999Z", "fired": []}
    assert then["now"] == due
    assert [one["subject"] for one in then["fired"]] == [visa]
    assert agenda(sandbox)[0]["due"] == "2026-03-08T12:00:00.000Z"
    assert advance(sandbox, by="2d", before=True)["fired"] == []


def test_a_clock_advances_to_an_instant_by_zero_and_while_it_runs(sandbox):
    for how in ({"by": "0s"}, {"to": NOW}, {"by": "0s", "before": True}):
        assert advance(sandbox, **how) == {"now": NOW, "fired": []}
    moved = advance(sandbox, to="2026-03-02T00:00:00Z")
    assert moved == {"now": "2026-03-02T00:00:00.000Z", "fired": []}
    assert sandbox.look("clock")["mode"] == "frozen"
    sandbox.manage("PUT", "/clock", {"mode": "running", "rate": 0.001})

    assert advance(sandbox, by="1d")["now"].startswith("2026-03-03T00:00:00.")
    assert sandbox.look("clock")["mode"] == "running"
    advance(sandbox, to="2500-01-01T00:00:00Z")
    nothing = sandbox.manage("POST", "/clock/advance", {"to": "next"})
    assert_refused(nothing, 400, "validation_error")
    assert nothing.json()["message"] == "to: nothing falls due in this world"
    # A key can be used again until its expiry once the clock is set back.
    sandbox.set_clock(NOW)
    (again,) = agenda(sandbox, subject=sandbox.key_id("legacy"))
    assert again["due"] == "2026-07-31T00:00:00.000Z"


@pytest.mark.proves("assumed D23")
def test_two_advances_at_once_are_both_made_in_full(sandbox, requests):
    # Where something falls due on the way, the other request has its turn.
    sandbox.held()
    clock = "/_sandbox/worlds/default/clock/advance"

    answers = requests.together(*[("POST", clock, {"by": "6d"})] * 2)

    came = [one.expect(200)["now"] for one in answers]
    assert came == ["2026-03-07T12:00:00.000Z", "2026-03-13T12:00:00.000Z"]


def test_an_amount_of_a_payment_is_shown_in_its_own_currency(sandbox):
    shop = f"/v1/locations/{sandbox.location_id('merchant')}"
    for currency, written in (("USD", "79.42 USD"), ("JPY", "7942 JPY"), ("BHD", "7.942 BHD")):
        sandbox.put(shop, {"currency": currency})
        id = sandbox.paid_id(7942, operation="auth")

        (one,) = agenda(sandbox, subject=id)

        assert one["subject"]["says"] == f"auth of {written}"
        assert (one["subject"]["amount"], one["subject"]["currency"]) == (7942, currency)
    for key in agenda(sandbox, kind="key_expires"):
        assert (key["subject"]["amount"], key["subject"]["currency"]) == (None, None)
        assert key["subject"]["id"] != sandbox.key_id("deleted")


@pytest.mark.proves("assumed D24")
def test_a_late_answer_has_the_effect_that_the_agenda_announces(sandbox):
    for first, outcome in (
        ("processor_timeout", "approved"),
        ("pending_forever", "insufficient_funds"),
    ):
        late = [after(wait, "late_answer", outcome=outcome) for wait in ("40s", "60s")]
        follows(sandbox, *late, outcome=first, times=1)
        id = sandbox.paid_id()
        told = agenda(sandbox, subject=id)[0]

        advance(sandbox, by="50s")
        tx = sandbox.read(id)
        rest = agenda(sandbox, subject=id)

        assert told["says"] == f"the processor answers late: {outcome}"
        assert told["then"] == {"status": tx["status"], "status_reason": tx["status_reason"]}
        assert [one["then"] for one in rest if one["kind"] == "late_answer"] == [None]
        assert rest[0]["says"] == f"nothing happens: the payment is {tx['status']} by now"


def test_keys_and_terminals_are_named_by_the_cast(sandbox):
    blocking = after("1m", "block_terminal"), after("2m", "unblock_terminal")
    follows(sandbox, after("1m", "revoke_key"), *blocking, outcome="approved", times=1)
    sandbox.pay()
    told = {one["kind"]: one for one in agenda(sandbox)}

    assert told["revoke_key"]["subject"]["says"] == "Demo partner key"
    assert told["revoke_key"]["then"] == {"status": "revoked", "status_reason": None}
    assert told["block_terminal"]["then"]["status"] == "blocked"
    assert told["unblock_terminal"]["then"]["status"] == "active"
    assert told["key_expires"]["then"] is None
    advance(sandbox, by="90s")
    (back,) = agenda(sandbox, kind="unblock_terminal")
    assert (back["then"]["status"], back["clause"]) == ("active", "spec 6.3-terminal.unblocked")


def test_it_is_filtered_counted_and_read_in_pages(sandbox):
    sandbox.add_endpoint()
    ids = [sandbox.paid_id(operation="auth") for _ in range(3)]
    kind = {"kind": "authorization_expires"}
    whole = sandbox.look("agenda", **kind)

    first = sandbox.look("agenda", limit=2, **kind)
    rest = sandbox.look("agenda", limit=2, after=first["next"], **kind)
    until = sandbox.look("agenda", until=whole["agenda"][0]["due"])

    assert [one["subject"]["id"] for one in first["agenda"] + rest["agenda"]] == ids
    assert (whole["total"], whole["by_kind"]) == (3, {"authorization_expires": 3})
    assert (first["next"] is None, rest["next"]) == (False, None)
    assert until["agenda"] == agenda(sandbox)[: until["total"]]
    assert len(agenda(sandbox, subject=ids[1])) == 1


def test_every_kind_of_timer_can_be_described():
    assert set(TIMERS) == TIMER_KINDS
