"""Payments that ended before their tap show no card. Source: assumed D29."""

import pytest

from tests.payments.tapping import CONTROL, desk_opens, meanwhile, tapped
from tests.payments.waits import sale
from tests.support.payments import events_of, found, pay, read

NOTHING = {"card": None, "card_brand": None, "card_type": None, "payment_method": None}


def card_of(shown):
    return {name: shown[name] for name in NOTHING}


def found_by_card(sandbox):
    """The numbers of payments that each field of the card finds."""
    queries = ("card_brand=Amex", "card_number=8431", "payment_method=contactlessIcc")
    return [len(found(sandbox, query)) for query in queries]


def amex(sandbox):
    return sale(sandbox, card_reader_data={"paymentCardData": "tok_amex"})


def at_the_desk(*other):
    def ended(sandbox):
        desk_opens(sandbox)
        return meanwhile(sandbox, amex(sandbox), other)[0]

    return ended


def canceled_at_the_desk(sandbox):
    desk_opens(sandbox)
    return tapped(sandbox, amex(sandbox), cancel="user")[0]


ENDINGS = {
    "error/timed_out": at_the_desk("POST", f"{CONTROL}/clock/advance", {"by": "61s"}),
    "canceled/merchant_canceled": at_the_desk("POST", "/v3/payments/{}/reverse", {}),
    "canceled/user_canceled": canceled_at_the_desk,
    "canceled/user_canceled at once": lambda sandbox: pay(
        sandbox, card="tok_amex", outcome="user_canceled"
    ),
}


@pytest.mark.parametrize("ended", ENDINGS)
@pytest.mark.proves("assumed D29")
def test_a_payment_that_ended_before_its_tap_shows_no_card_and_is_found_by_none(sandbox, ended):
    answer = ENDINGS[ended](sandbox)

    body = answer.json()
    assert f"{body['status']}/{body['status_reason']}" == ended.removesuffix(" at once")
    assert card_of(body) == card_of(read(sandbox, body)) == NOTHING
    told = [one["body"] for one in events_of(sandbox, answer) if "card" in one["body"]]
    assert [card_of(one) for one in told] == [NOTHING] * max(1, len(told))
    assert found_by_card(sandbox) == [0, 0, 0]
    assert found(sandbox, f"transaction_id={body['transaction_id']}") == [body["transaction_id"]]


def test_the_card_of_the_request_is_shown_once_its_payment_was_answered(sandbox):
    desk_opens(sandbox)

    answer, _ = tapped(sandbox, amex(sandbox), outcome="do_not_honor")

    told = [card_of(one["body"]) for one in events_of(sandbox, answer)]
    assert told == [NOTHING, card_of(answer.json())]
    assert answer.json()["card_brand"] == "Amex"
    assert found_by_card(sandbox) == [1, 1, 1]


def test_a_snapshot_keeps_that_no_card_was_read(sandbox):
    body = pay(sandbox, card="tok_amex", outcome="user_canceled").json()
    kept = sandbox.control("GET", "/worlds/default/snapshot")

    restored = sandbox.control("PUT", "/worlds/default/snapshot", kept.json())

    assert restored.status == 200, restored.body
    assert card_of(read(sandbox, body)) == NOTHING


def test_a_late_answer_waits_for_the_tap_too(sandbox):
    follow = [{"do": "late_answer", "outcome": "approved", "after": "1s"}]
    desk_opens(sandbox, outcome="pending_forever", follow=follow)
    moved = ("POST", f"{CONTROL}/clock/advance")

    (answer, *_) = meanwhile(
        sandbox,
        amex(sandbox),
        (*moved, {"by": "5s"}),
        ("POST", f"{CONTROL}/taps/{{}}", {"outcome": "pending_forever"}),
        (*moved, {"by": "2m"}),
    )

    assert answer.json()["status"] == "pending"
    later = read(sandbox, answer.json())
    assert (later["status"], later["card_brand"]) == ("captured", "Amex")
