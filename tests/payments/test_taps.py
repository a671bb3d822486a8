"""Payments that wait for their tap. Source: assumed D24; the deadline assumed 8.2-deadline."""

import asyncio

import pytest

from tests.directory.making import terminal_id
from tests.payments.tapping import (
    CONTROL,
    advance,
    at_desk,
    desk_opens,
    meanwhile,
    tap,
    tapped,
    taps,
)
from tests.payments.waits import action, sale, world_of
from tests.support.payments import (
    all_transactions,
    ask_on_loop,
    chosen,
    event_types,
    events_of,
    read,
    set_switches,
    turns,
)

AUTH = "/v3/preauth"


def preauth(sandbox, **more):
    _, _, body = sale(sandbox, **more)
    return "POST", AUTH, body


def carrying(token):
    return {"card_reader_data": {"paymentCardData": token}}


# --- waiting ----------------------------------------------------------------------------------


@pytest.mark.proves("assumed D24")
def test_a_payment_waits_at_the_desk_with_its_request(sandbox):
    desk_opens(sandbox)

    async def look():
        task = await at_desk(sandbox, sale(sandbox))
        listed = await taps(sandbox)
        id = listed[0]["transaction_id"]
        record = await ask_on_loop(sandbox, "GET", f"/v1/transactions/{id}")
        told = [one.event_type for one in world_of(sandbox).store.messages()]
        was_done = task.done()
        await tap(sandbox, id, card="tok_visa_credit")
        await task
        return was_done, listed, record.json(), told, await taps(sandbox)

    was_done, listed, record, told, afterwards = asyncio.run(look())

    assert was_done is False
    assert listed == [
        {
            "transaction_id": record["transaction_id"],
            "operation": "sale",
            "amount": 1000,
            "currency": "USD",
            "terminal_id": terminal_id(sandbox, "merchant"),
            "since": "2026-03-01T12:00:00.000Z",
            "until": "2026-03-01T12:01:00.000Z",
        }
    ]
    assert (record["status"], told) == ("pending", ["transaction.create"])
    assert afterwards == []


def test_several_payments_wait_side_by_side_and_end_in_any_order(sandbox):
    desk_opens(sandbox)

    async def three():
        tasks = [await at_desk(sandbox, sale(sandbox, amount=n)) for n in (100, 200, 300)]
        listed = await taps(sandbox)
        for one, how in zip(
            reversed(listed),
            ({"card": "tok_amex"}, {"outcome": "lost_card"}, {"cancel": "merchant"}),
            strict=True,
        ):
            await tap(sandbox, one["transaction_id"], **how)
        return [one["amount"] for one in listed], [(await task).json() for task in tasks]

    amounts, bodies = asyncio.run(three())

    assert amounts == [100, 200, 300]
    assert [one["status"] for one in bodies] == ["canceled", "declined", "captured"]


# --- a card -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("card", "shown"),
    [
        ("tok_visa_credit", ("captured", "approved", "Visa", "Credit", "476173******0011")),
        ("tok_amex", ("captured", "approved", "Amex", "Credit", "371449*****8431")),
        ("tok_mc_debit", ("captured", "approved", "MasterCard", "Debit", "520082******8210")),
        ("tok_declined", ("declined", "declined", "Visa", "Credit", "400000******0002")),
        (
            "tok_insufficient",
            ("declined", "insufficient_funds", "Visa", "Credit", "400000******9995"),
        ),
        ("tok_timeout", ("error", "processor_timeout", "Visa", "Credit", "400000******0127")),
    ],
)
def test_the_card_that_is_tapped_pays_and_its_issuer_answers(sandbox, card, shown):
    desk_opens(sandbox)

    answer, done = tapped(sandbox, sale(sandbox, **carrying("tok_discover")), card=card)

    body = answer.json()
    said = [body[name] for name in ("status", "status_reason", "card_brand", "card_type")]
    assert (*said, body["card"]) == shown
    assert answer.status == 200
    assert [done.json()["status"], done.json()["status_reason"]] == said[:2]
    assert read(sandbox, body["transaction_id"])["card"] == shown[-1]


def test_a_tapped_payment_is_announced_and_kept_like_any_other(sandbox):
    desk_opens(sandbox)

    answer, _ = tapped(sandbox, sale(sandbox), card="tok_amex")

    body = answer.json()
    assert event_types(sandbox, answer) == [
        "transaction.create",
        "batch.opened",
        "transaction.sale",
    ]
    assert events_of(sandbox, answer)[2]["body"]["card_brand"] == "Amex"
    assert [one["status"] for one in body["history"]] == ["pending", "captured"]
    assert len({one["event_id"] for one in body["history"]}) == 1
    assert body["batch_id"] is not None


def test_an_authorization_is_held_as_long_as_the_tapped_card_says(sandbox):
    desk_opens(sandbox)

    answer, _ = tapped(sandbox, preauth(sandbox), card="tok_amex")
    fired = asyncio.run(advance(sandbox, "30d"))

    # Amex holds for seven days, and the deadline of the tap is not one any more (assumed 8.1).
    assert answer.json()["status"] == "authorized"
    id = answer.json()["transaction_id"]
    assert fired == [
        {"at": "2026-03-08T12:00:00.000Z", "kind": "authorization_expires", "subject": id}
    ]


@pytest.mark.parametrize(
    ("merchant", "card", "status", "surcharge", "total"),
    [
        ("surcharge_merchant", "tok_visa_credit", "surcharge_pending", 30, 1030),
        ("surcharge_merchant", "tok_visa_debit", "captured", 0, 1000),
        ("quiet_surcharge_merchant", "tok_amex", "captured", 30, 1030),
        ("quiet_surcharge_merchant", "tok_mc_prepaid", "captured", 0, 1000),
        ("merchant", "tok_amex", "captured", 0, 1000),
    ],
)
@pytest.mark.parametrize("sent", ["tok_visa_credit", "tok_visa_debit"])
def test_the_price_is_that_of_the_tapped_card(
    sandbox, sent, merchant, card, status, surcharge, total
):
    # Debit and prepaid cards are never surcharged (assumed 2.8-never).
    desk_opens(sandbox)
    request = sale(sandbox, terminal_id=terminal_id(sandbox, merchant), **carrying(sent))

    answer, _ = tapped(sandbox, request, card=card)

    body = answer.json()
    assert (body["status"], body["surcharge_amount"], body["total_amount"]) == (
        *(status, surcharge, total),
    )


def test_a_prepaid_card_gives_what_is_on_it(sandbox):
    desk_opens(sandbox)

    answer, _ = tapped(sandbox, sale(sandbox, amount=8000), card="tok_mc_prepaid")

    body = answer.json()
    assert (body["status"], body["status_reason"]) == ("captured", "partial_approval")
    assert body["additional_details"]["captured_amount"] == 5000


def test_what_a_card_answers_later_is_that_of_the_tapped_one(sandbox):
    desk_opens(sandbox)

    answer, _ = tapped(sandbox, sale(sandbox), card="tok_refund_fails")
    refund = asyncio.run(ask_on_loop(sandbox, *action(answer.json()["transaction_id"], "refund")))

    assert (refund.json()["status"], refund.json()["status_reason"]) == ("declined", "declined")


# --- who chooses ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("then", "amount", "card", "said"),
    [
        ({}, 1000, "tok_amex", "approved; source=scenario; rule=tap"),
        ({}, 1000, "tok_lost", "lost_card; source=card; rule=tok_lost"),
        ({}, 900051, "tok_amex", "insufficient_funds; source=amount; rule=amount:900051"),
        ({}, 900051, "tok_lost", "lost_card; source=card; rule=tok_lost"),
        (
            {"outcome": "expired_card"},
            900051,
            "tok_lost",
            "expired_card; source=scenario; rule=tap",
        ),
        # A fault that comes before anything is done comes too late.
        ({}, 900303, "tok_amex", "approved; source=scenario; rule=tap"),
    ],
)
def test_the_scenario_decides_before_the_card_and_the_card_before_the_amount(
    sandbox, then, amount, card, said
):
    desk_opens(sandbox, **then)

    answer, _ = tapped(sandbox, sale(sandbox, amount=amount), card=card)

    assert chosen(answer) == said


def test_the_header_and_the_queue_come_before_the_desk(sandbox):
    desk_opens(sandbox)
    sandbox.control("POST", "/worlds/default/scenario/next", {"outcome": "lost_card"})

    answer = sandbox.ask("POST", "/v3/payment", key="partner", json_body=sale(sandbox)[2])

    assert chosen(answer) == "lost_card; source=queue; rule=queue"


@pytest.mark.parametrize(
    ("how", "ended", "said"),
    [
        ({"outcome": "do_not_honor"}, "declined/declined", "do_not_honor"),
        ({"outcome": "approved"}, "captured/approved", "approved"),
        ({"outcome": "processor_timeout"}, "error/processor_timeout", "processor_timeout"),
        ({"outcome": "timed_out"}, "error/timed_out", "timed_out"),
        ({"outcome": "pending_forever"}, "pending/pending", "pending_forever"),
        ({"cancel": "user"}, "canceled/user_canceled", "user_canceled"),
        ({"cancel": "merchant"}, "canceled/merchant_canceled", "merchant_canceled"),
    ],
)
def test_at_the_desk_an_outcome_can_be_chosen_or_the_payment_canceled(sandbox, how, ended, said):
    desk_opens(sandbox)

    answer, done = tapped(sandbox, sale(sandbox, **carrying("tok_discover")), **how)

    body = answer.json()
    assert (answer.status, done.status) == (200, 200)
    assert f"{body['status']}/{body['status_reason']}" == ended
    assert f"{done.json()['status']}/{done.json()['status_reason']}" == ended
    assert body["card_brand"] == (None if "cancel" in how else "Discover")
    assert chosen(answer) == f"{said}; source=scenario; rule=tap"


def test_a_transport_fault_applies_to_the_answer_after_the_tap(sandbox):
    desk_opens(sandbox, fault="malformed_json")

    answer, done = tapped(sandbox, sale(sandbox), card="tok_amex")

    assert done.json()["status"] == "captured"
    assert answer.body.startswith(b'{"transaction_id"')
    assert not answer.body.endswith(b"}")


def test_a_processor_that_takes_its_time_does_so_after_the_tap(sandbox):
    desk_opens(sandbox, delay_ms=40)

    async def slowly():
        task = await at_desk(sandbox, sale(sandbox))
        (waiting,) = await taps(sandbox)
        done = await tap(sandbox, waiting["transaction_id"], card="tok_amex")
        return done.json(), await taps(sandbox), (await task).json()

    done, waiting, body = asyncio.run(slowly())

    assert (done["status"], waiting) == ("pending", [])
    assert (body["status"], body["card_brand"]) == ("captured", "Amex")


# --- no tap -----------------------------------------------------------------------------------


@pytest.mark.proves("assumed D24, 8.2-deadline", "spec 2.4-processor_timeout, 2.4-timed_out")
@pytest.mark.parametrize(
    ("then", "just_before", "event", "request_of"),
    [
        ({}, "59999ms", "transaction.sale", sale),
        ({"after": "3m"}, "179999ms", "transaction.sale", sale),
        ({}, "59999ms", "transaction.authorize", preauth),
    ],
)
def test_an_untapped_payment_times_out(sandbox, then, just_before, event, request_of):
    desk_opens(sandbox, **then)

    async def wait():
        task = await at_desk(sandbox, request_of(sandbox))
        nothing = await advance(sandbox, just_before)
        was_done = task.done()
        fired = await advance(sandbox, "1ms")
        await turns()
        assert task.done()
        return nothing, was_done, fired, await task, await taps(sandbox)

    nothing, was_done, fired, answer, waiting = asyncio.run(wait())

    body = answer.json()
    assert (nothing, was_done, waiting) == ([], False, [])
    assert [(one["kind"], one["subject"]) for one in fired] == [
        ("tap_expires", body["transaction_id"])
    ]
    assert (answer.status, body["status"], body["status_reason"]) == (200, "error", "timed_out")
    assert body["history"][-1]["created_at"] == world_of(sandbox).clock.now().timestamp() * 1000
    assert len({one["event_id"] for one in body["history"]}) == 1
    assert event_types(sandbox, answer) == ["transaction.create", event]
    assert chosen(answer) == "timed_out; source=scenario; rule=tap"


def test_on_a_running_clock_it_times_out_by_itself(sandbox):
    desk_opens(sandbox, after="50ms")
    sandbox.control("PUT", "/worlds/default/clock", {"mode": "running"})

    answer = asyncio.run(ask_on_loop(sandbox, *sale(sandbox)))

    assert (answer.json()["status"], answer.json()["status_reason"]) == ("error", "timed_out")


# --- meanwhile --------------------------------------------------------------------------------


def test_its_merchant_can_call_it_off(sandbox):
    desk_opens(sandbox)

    answer, reverse = meanwhile(
        sandbox, sale(sandbox), ("POST", "/v3/payments/{}/reverse", {"event_id": "R-1"})
    )

    # assumed F5: the whole of what is pending.
    assert (reverse.json()["status"], reverse.json()["status_reason"]) == (
        *("canceled", "merchant_canceled"),
    )
    assert (answer.status, answer.json()) == (200, reverse.json())
    assert chosen(answer) == "merchant_canceled; source=scenario; rule=tap"


@pytest.mark.proves("assumed D2, 8.2-revoke")
@pytest.mark.parametrize("how", [{"card": "tok_amex"}, {"cancel": "user"}])
def test_a_key_that_is_revoked_while_a_tap_is_awaited_gets_401(sandbox, how):
    desk_opens(sandbox)

    async def revoked():
        task = await at_desk(sandbox, sale(sandbox), by="merchant")
        (waiting,) = await taps(sandbox)
        path = f"/v5/apikeys/{sandbox.key_id('merchant')}"
        await ask_on_loop(sandbox, "PUT", path, {"status": "revoked"}, by="psp")
        done = await tap(sandbox, waiting["transaction_id"], **how)
        return await task, done.json()

    answer, done = asyncio.run(revoked())

    # assumed D2.
    assert (answer.status, answer.json()["error"]) == (401, "authentication_failed")
    assert (done["status"], done["status_reason"]) == ("error", "payment_failed")
    assert event_types(sandbox, answer) == ["transaction.create", "transaction.sale"]


def test_a_key_that_is_lost_before_the_payment_times_out_gets_401_too(sandbox):
    desk_opens(sandbox)

    async def revoked():
        task = await at_desk(sandbox, sale(sandbox), by="merchant")
        path = f"/v5/apikeys/{sandbox.key_id('merchant')}"
        await ask_on_loop(sandbox, "PUT", path, {"status": "revoked"}, by="psp")
        await advance(sandbox, "1m")
        return await task

    answer = asyncio.run(revoked())

    (tx,) = sandbox.ask("GET", "/v2/transactions", key="partner").json()["transactions"]
    assert answer.status == 401
    assert (tx["status"], tx["status_reason"]) == ("error", "timed_out")


def test_a_reset_ends_the_waiting_and_leaves_nothing_behind(sandbox):
    desk_opens(sandbox, times=1)

    answer, _ = meanwhile(sandbox, sale(sandbox), ("POST", f"{CONTROL}/reset", None))

    assert (answer.status, answer.json()["error"]) == (404, "not_found")
    assert all_transactions(sandbox) == 0
    assert asyncio.run(advance(sandbox, "5m")) == []


def test_the_end_of_its_world_ends_the_waiting(sandbox):
    made = sandbox.control(
        "POST",
        "/worlds",
        {"id": "w", "scenario": {"name": "x", "rule": [{"then": {"tap": "wait"}}]}},
    ).json()

    async def deleted():
        body = {"amount": 5, "terminal_id": made["terminals"]["merchant"]}
        key = made["keys"]["partner"]["key"]
        task = asyncio.create_task(ask_on_loop(sandbox, "POST", "/v3/payment", body, by=key))
        await turns()
        before = task.done()
        await ask_on_loop(sandbox, "DELETE", "/_sandbox/worlds/w")
        return before, await task

    before, answer = asyncio.run(deleted())

    assert (before, answer.status) == (False, 404)


# --- what cannot be done at the desk ----------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "said", "nearest"),
    [
        ({}, "give one of card, outcome and cancel", None),
        ({"card": "tok_amex", "cancel": "user"}, "give one of", None),
        ({"card": "tok_amx"}, "card: there is no 'tok_amx'", "tok_amex"),
        ({"card": "4111 1111 1111 1111"}, "card: a card number is not allowed here", None),
        ({"card": "4111"}, "card: name a test card by its token", None),
        ({"outcome": "lost_crd"}, "outcome: there is no 'lost_crd'", "lost_card"),
        ({"outcome": "refund_declined"}, "outcome: refund_declined is for refund", None),
        ({"cancel": "nobody"}, "cancel: input should be 'user' or 'merchant'", None),
        ({"crd": "tok_amex"}, "crd: unknown field", "card"),
    ],
)
def test_what_cannot_be_is_refused_and_the_payment_goes_on_waiting(sandbox, body, said, nearest):
    desk_opens(sandbox)

    async def tried():
        task = await at_desk(sandbox, sale(sandbox))
        (waiting,) = await taps(sandbox)
        refused = await tap(sandbox, waiting["transaction_id"], **body)
        await turns()
        was_done = task.done()
        await tap(sandbox, waiting["transaction_id"], card="tok_amex")
        return refused, was_done, await task

    refused, was_done, answer = asyncio.run(tried())

    assert (refused.status, refused.json()["error"]) == (400, "validation_error")
    assert refused.json()["message"].startswith(said)
    assert refused.json().get("nearest") == nearest
    assert "4111" not in refused.body.decode()
    assert (was_done, answer.json()["status"]) == (False, "captured")


def test_a_debit_card_cannot_pay_an_explicit_surcharge(sandbox):
    # assumed D12.
    desk_opens(sandbox)
    stated = {"subtotal": 1000, "surchargeAmount": 20}

    async def tried():
        task = await at_desk(sandbox, sale(sandbox, amount=1020, breakdown=stated))
        (waiting,) = await taps(sandbox)
        refused = await tap(sandbox, waiting["transaction_id"], card="tok_visa_debit")
        await tap(sandbox, waiting["transaction_id"], card="tok_amex")
        return refused, await task

    refused, answer = asyncio.run(tried())

    assert refused.status == 400
    assert refused.json()["message"].startswith("card: tok_visa_debit cannot pay this: ")
    assert (answer.json()["status"], answer.json()["surcharge_amount"]) == ("captured", 20)


def test_a_payment_is_tapped_once(sandbox):
    desk_opens(sandbox)

    async def twice():
        task = await at_desk(sandbox, sale(sandbox))
        (waiting,) = await taps(sandbox)
        id = waiting["transaction_id"]
        both = await asyncio.gather(
            tap(sandbox, id, card="tok_amex"), tap(sandbox, id, cancel="user")
        )
        return [one.status for one in both], await task, await tap(sandbox, id, cancel="user")

    statuses, answer, later = asyncio.run(twice())

    assert statuses == [200, 409]
    assert answer.json()["status"] == "captured"
    assert (later.status, later.json()["error"]) == (409, "not_waiting")
    assert later.json()["message"] == "the payment does not wait for a tap: it is captured"


def test_an_unknown_payment_cannot_be_tapped(sandbox):
    answer = asyncio.run(tap(sandbox, "nobody", cancel="user"))

    assert (answer.status, answer.json()["error"]) == (404, "not_found")


def test_the_latency_of_the_outcome_is_waited_after_the_tap(sandbox):
    desk_opens(sandbox)
    set_switches(sandbox, {"latency.scale": 0.05})

    answer, done = tapped(sandbox, sale(sandbox), card="tok_amex")

    # 900 ms nominal, of which a twentieth is waited (assumed 5.1-latency).
    assert (done.json()["status"], answer.json()["status"]) == ("pending", "captured")
