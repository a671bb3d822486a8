"""Payments that wait for their tap. Source: assumed D24, D29; the deadline assumed 8.2-deadline."""

from itertools import product

import pytest

from sandbox.domain.payments.cards import CARDS
from tests.scenarios.running import carrying
from tests.support.open_requests import CONTROL, desk_opens, sale


def kind(body):
    return f"{body['status']}/{body['status_reason']}"


@pytest.mark.proves("assumed D24")
def test_payments_wait_side_by_side_and_end_in_any_order(sandbox, requests):
    desk_opens(sandbox)
    tasks = [requests.open(sale(sandbox, amount=amount)) for amount in (1000, 200, 300)]

    listed = requests.taps()

    # tests/openapi/test_control has its other fields.
    times = {(one["since"], one["until"]) for one in listed}
    assert times == {("2026-03-01T12:00:00.000Z", "2026-03-01T12:01:00.000Z")}
    record = sandbox.read(listed[0])
    assert [one["amount"] for one in listed] == [1000, 200, 300]
    told = [one.event_type for one in sandbox.get_world().store.messages()]
    assert (record["status"], told) == ("pending", ["transaction.create"] * 3)
    assert all(requests.is_open(task) for task in tasks)
    for one, how in zip(
        reversed(listed),
        ({"card": "tok_amex"}, {"outcome": "lost_card"}, {"cancel": "merchant"}),
        strict=True,
    ):
        requests.tap(one["transaction_id"], **how)
    ended = [requests.end(task).json()["status"] for task in tasks]
    assert (ended, requests.taps()) == (["canceled", "declined", "captured"], [])


# merchant; card; what it comes to; surcharge and total; debit and prepaid cards have none (2.8)
TAPPED = """
merchant;tok_amex;captured/approved;0 1000
merchant;tok_mc_debit;captured/approved;0 1000
merchant;tok_declined;declined/declined;0 1000
merchant;tok_insufficient;declined/insufficient_funds;0 1000
merchant;tok_timeout;error/processor_timeout;0 1000
surcharge_merchant;tok_visa_credit;surcharge_pending/approved;30 1030
surcharge_merchant;tok_visa_debit;captured/approved;0 1000
quiet_surcharge_merchant;tok_amex;captured/approved;30 1030
quiet_surcharge_merchant;tok_mc_prepaid;captured/approved;0 1000
"""


def test_the_card_that_is_tapped_pays_its_price_and_its_issuer_answers(sandbox, requests):
    desk_opens(sandbox)
    for line, sent in product(TAPPED.strip().splitlines(), ("tok_discover", "tok_visa_debit")):
        merchant, token, expected, money = line.split(";")
        request = sale(sandbox, terminal_id=sandbox.terminal_id(merchant), **carrying(sent))

        answer, done = requests.tapped(request, card=token)

        body, card = answer.json(), CARDS[token]
        assert (answer.status, kind(body), kind(done.json())) == (200, expected, expected), line
        assert (body["card_brand"], body["card_type"]) == (card.brand, card.type)
        assert sandbox.read(body)["card"] == body["card"] == card.masked
        assert f"{body['surcharge_amount']} {body['total_amount']}" == money
        assert [one["status"] for one in body["history"]] == ["pending", body["status"]]
        assert len({one["event_id"] for one in body["history"]}) == 1
        events = sandbox.events_of(answer)
        types = [one["event_type"] for one in events if one["event_type"] != "batch.opened"]
        assert types == ["transaction.create", "transaction.sale"]
        assert events[-1]["body"] == body


@pytest.mark.proves("assumed 8.2-surcharge")
def test_a_prompt_lasts_from_the_tap(sandbox, requests):
    desk_opens(sandbox)
    task = requests.open(sale(sandbox, terminal_id=sandbox.terminal_id("surcharge_merchant")))
    sandbox.advance("59s")
    requests.tap(card="tok_visa_credit")
    assert requests.end(task).json()["status"] == "surcharge_pending"
    ((at, kind, _),) = sandbox.advance("5m")
    assert (at, kind) == ("2026-03-01T12:05:59.000Z", "surcharge_expires")


# --- who chooses ------------------------------------------------------------------------------

CHOSEN = [
    ({}, 1000, "tok_amex", "approved; source=scenario; rule=tap"),
    ({}, 1000, "tok_lost", "lost_card; source=card; rule=tok_lost"),
    ({}, 900051, "tok_amex", "insufficient_funds; source=amount; rule=amount:900051"),
    ({}, 900051, "tok_lost", "lost_card; source=card; rule=tok_lost"),
    ({"outcome": "expired_card"}, 900051, "tok_lost", "expired_card; source=scenario; rule=tap"),
    # A fault that comes before anything is done comes too late.
    ({}, 900303, "tok_amex", "approved; source=scenario; rule=tap"),
]


def test_header_and_queue_come_before_the_desk_then_scenario_card_and_amount(sandbox, requests):
    for then, amount, card, said in CHOSEN:
        desk_opens(sandbox, **then)
        answer, _ = requests.tapped(sale(sandbox, amount=amount), card=card)
        assert answer.outcome == said
    sandbox.manage("POST", "/scenario/next", {"outcome": "lost_card"})
    assert sandbox.pay().outcome == "lost_card; source=queue; rule=queue"
    assert sandbox.pay(outcome="approved").outcome == "approved; source=header; rule=header"


AT_THE_DESK = [
    ({"outcome": "do_not_honor"}, "declined/declined"),
    ({"outcome": "approved"}, "captured/approved"),
    ({"outcome": "surcharge_prompt"}, "surcharge_pending/approved"),
    ({"outcome": "surcharge_expired"}, "canceled/surcharge_expired"),
    ({"outcome": "processor_timeout"}, "error/processor_timeout"),
    ({"outcome": "pending_forever"}, "pending/pending"),
    ({"cancel": "user"}, "canceled/user_canceled"),
    ({"cancel": "merchant"}, "canceled/merchant_canceled"),
]


def test_at_the_desk_an_outcome_can_be_chosen_or_the_payment_canceled(sandbox, requests):
    desk_opens(sandbox)
    for how, ended in AT_THE_DESK:
        answer, done = requests.tapped(sale(sandbox, **carrying("tok_discover")), **how)

        assert (answer.status, done.status) == (200, 200)
        assert kind(answer.json()) == kind(done.json()) == ended
        assert answer.json()["card_brand"] == (None if "cancel" in how else "Discover")
        said = how.get("outcome", f"{how.get('cancel')}_canceled")
        assert answer.outcome == f"{said}; source=scenario; rule=tap"


@pytest.mark.proves("assumed 5.2-prompt, 6.2")
def test_an_outcome_chosen_at_the_desk_has_its_own_price(sandbox, requests):
    desk_opens(sandbox)
    prompted, _ = requests.tapped(sale(sandbox), outcome="surcharge_prompt")
    expired, _ = requests.tapped(sale(sandbox), outcome="surcharge_expired")
    desk_opens(sandbox, outcome="surcharge_prompt")
    approved, _ = requests.tapped(sale(sandbox), outcome="approved")

    assert (prompted.json()["surcharge_amount"], prompted.json()["total_amount"]) == (30, 1030)
    told = [one["body"]["status"] for one in sandbox.events_of(expired)]
    assert told == ["pending", "surcharge_pending", "canceled"]
    assert (kind(approved.json()), approved.json()["total_amount"]) == ("captured/approved", 1000)


def test_faults_and_delays_come_after_the_tap(sandbox, requests):
    desk_opens(sandbox, fault="malformed_json")
    answer, done = requests.tapped(sale(sandbox), card="tok_amex")
    assert (done.json()["status"], answer.body.endswith(b"}")) == ("captured", False)

    desk_opens(sandbox, delay_ms=40)
    answer, done = requests.tapped(sale(sandbox), card="tok_amex")
    assert (done.json()["status"], answer.json()["card_brand"]) == ("pending", "Amex")
    assert (answer.json()["status"], requests.taps()) == ("captured", [])

    # 900 ms nominal, of which a twentieth is waited (assumed 5.1-latency).
    desk_opens(sandbox)
    sandbox.set_switch("latency.scale", 0.05)
    answer, done = requests.tapped(sale(sandbox), card="tok_amex")
    assert (done.json()["status"], answer.json()["status"]) == ("pending", "captured")


@pytest.mark.proves("assumed 8.2-deadline")
def test_a_card_that_was_tapped_in_time_has_no_deadline(sandbox, requests):
    desk_opens(sandbox, delay_ms=40)
    task = requests.open(sale(sandbox))
    requests.tap(card="tok_amex")

    assert sandbox.advance("2m") == []
    answer = requests.end(task)
    assert (kind(answer.json()), answer.json()["card_brand"]) == ("captured/approved", "Amex")


@pytest.mark.proves("assumed D3, D24, F5")
def test_a_payment_that_is_canceled_during_a_delay_says_so(sandbox, requests):
    desk_opens(sandbox, delay_ms=40, follow=[{"do": "cancel", "after": "5s"}])
    task = requests.open(sale(sandbox))
    requests.tap(card="tok_amex")

    sandbox.advance("5s")

    answer = requests.end(task)
    assert kind(answer.json()) == "canceled/merchant_canceled"
    assert answer.outcome == "merchant_canceled; source=scenario; rule=tap"
    # If it is canceled at once, it waits for no tap.
    desk_opens(sandbox, follow=[{"do": "cancel", "after": "0s"}])
    assert kind(sandbox.pay().json()) == "canceled/merchant_canceled"


# --- no tap, no card --------------------------------------------------------------------------


@pytest.mark.proves(
    "assumed D24, F9, 8.2-deadline, 8.2-pending", "spec 2.4-processor_timeout, 2.4-timed_out"
)
def test_an_untapped_payment_times_out(sandbox, requests):
    for then, just_before, event, request in (
        ({}, "59999ms", "transaction.sale", sale(sandbox)),
        ({"after": "3m"}, "179999ms", "transaction.sale", sale(sandbox)),
        ({}, "59999ms", "transaction.authorize", ("POST", "/v3/preauth", sale(sandbox)[2])),
    ):
        desk_opens(sandbox, **then)
        task = requests.open(request)
        assert (sandbox.advance(just_before), requests.is_open(task)) == ([], True)

        fired = sandbox.advance("1ms")

        assert not requests.is_open(task)
        answer = requests.end(task)
        body = answer.json()
        assert [one[1:] for one in fired] == [("tap_expires", body["transaction_id"])]
        assert (answer.status, kind(body), requests.taps()) == (200, "error/timed_out", [])
        assert (
            body["history"][-1]["created_at"] == sandbox.get_world().clock.now().timestamp() * 1000
        )
        assert len({one["event_id"] for one in body["history"]}) == 1
        assert sandbox.event_types(answer) == ["transaction.create", event]
        entry = sandbox.journal(answer)
        assert entry["events"] == [one["id"] for one in sandbox.events_of(answer)]
        assert entry["decisions"][-1]["verdict"] == "timed_out"
        assert answer.outcome == "timed_out; source=scenario; rule=tap"


def called_off(requests, task):
    (waiting,) = requests.taps()
    reverse = requests.sandbox.act(waiting, "reverse", version="v3")
    # assumed F5: the whole of what is pending.
    assert requests.end(task).json() == reverse.json()


NO_CARD = {
    "error/timed_out": lambda requests, task: requests.sandbox.advance("61s"),
    "canceled/merchant_canceled": called_off,
    "canceled/user_canceled": lambda requests, task: requests.tap(cancel="user"),
}
CARD_FIELDS = ("card", "card_brand", "card_type", "payment_method")


@pytest.mark.proves("assumed D29")
def test_a_payment_that_ended_before_its_tap_shows_no_card_and_is_found_by_none(sandbox, requests):
    desk_opens(sandbox)
    kept = []
    for ended, end in NO_CARD.items():
        task = requests.open(sale(sandbox, **carrying("tok_amex")))
        end(requests, task)
        answer = requests.end(task)
        said = f"{ended.split('/')[1]}; source=scenario; rule=tap"
        assert (answer.status, kind(answer.json()), answer.outcome) == (200, ended, said)
        kept += [answer.json(), *(one["body"] for one in sandbox.events_of(answer))]
    at_once = sandbox.pay(card="tok_amex", outcome="user_canceled")
    kept += [at_once.json(), *(one["body"] for one in sandbox.events_of(at_once))]
    sandbox.load(sandbox.saved()).expect(200)
    for one in (*kept, *(sandbox.read(one) for one in kept)):
        assert [one[name] for name in CARD_FIELDS if one.get(name)] == []
    for query in ("card_brand=Amex", "card_number=8431", "payment_method=contactlessIcc"):
        assert sandbox.found(query) == [], query


def test_a_late_answer_waits_for_the_tap_too(sandbox, requests):
    follow = [{"do": "late_answer", "outcome": "approved", "after": "1s"}]
    desk_opens(sandbox, outcome="pending_forever", follow=follow)
    task = requests.open(sale(sandbox, **carrying("tok_amex")))
    sandbox.advance("5s")

    requests.tap(outcome="pending_forever")
    sandbox.advance("2m")

    answer = requests.end(task)
    later = sandbox.read(answer.json())
    assert (kind(answer.json()), kind(later)) == ("pending/pending", "captured/approved")
    assert later["card_brand"] == "Amex"


@pytest.mark.proves("assumed D2, 8.2-revoke")
def test_a_key_that_is_revoked_while_a_tap_is_awaited_gets_401(sandbox, requests):
    desk_opens(sandbox)
    for how, reason in (
        ({"card": "tok_amex"}, "payment_failed"),
        ({"cancel": "user"}, "payment_failed"),
        ({}, "timed_out"),
    ):
        key = sandbox.mint(["all"], by="partner")
        task = requests.open(sale(sandbox), by=key["key"])
        sandbox.change_key(key["id"], by="psp", status="revoked")

        if how:
            requests.tap(**how)
        else:
            sandbox.advance("1m")

        answer = requests.end(task)
        assert answer.error() == (401, "authentication_failed")
        assert sandbox.event_types(answer) == ["transaction.create", "transaction.sale"]
        body = sandbox.events_of(answer)[-1]["body"]
        assert kind(sandbox.read(body)) == f"error/{reason}"


def test_a_reset_or_the_end_of_its_world_ends_the_waiting(sandbox, requests):
    desk_opens(sandbox, times=1)
    task = requests.open(sale(sandbox))
    sandbox.reset()
    assert requests.end(task).error() == (404, "not_found")
    assert sandbox.all_transactions() == 0
    assert sandbox.advance("5m") == []

    scenario = {"name": "x", "rule": [{"then": {"tap": "wait"}}]}
    made = sandbox.control("POST", "/worlds", {"id": "w", "scenario": scenario}).json()
    body = {"amount": 5, "terminal_id": made["terminals"]["merchant"]}
    by = made["keys"]["partner"]["key"]

    paying = ("POST", "/v3/payment", body)
    answer, _ = requests.together(paying, ("DELETE", "/_sandbox/worlds/w", None), by=by)
    assert answer.status == 404


def test_a_reset_overtakes_a_payment_that_was_just_tapped(sandbox, requests):
    desk_opens(sandbox)
    task = requests.open(sale(sandbox))
    (waiting,) = requests.taps()
    tap = ("POST", f"{CONTROL}/taps/{waiting['transaction_id']}", {"card": "tok_amex"})

    requests.together(tap, ("POST", f"{CONTROL}/reset", {}))

    assert requests.end(task).error() == (404, "not_found")


IMPOSSIBLE = [
    ({}, "give one of card, outcome and cancel", None),
    ({"card": "tok_amex", "cancel": "user"}, "give one of", None),
    ({"card": "tok_amx"}, "card: there is no 'tok_amx'", "tok_amex"),
    ({"card": "4111 1111 1111 1111"}, "card: a card number is not allowed here", None),
    ({"card": "4111"}, "card: name a test card by its token", None),
    ({"outcome": "lost_crd"}, "outcome: there is no 'lost_crd'", "lost_card"),
    ({"outcome": "refund_declined"}, "outcome: refund_declined is for refund", None),
    ({"cancel": "nobody"}, "cancel: input should be 'user' or 'merchant'", None),
    ({"crd": "tok_amex"}, "crd: unknown field", "card"),
    # A debit card cannot pay an explicit surcharge (assumed D12).
    ({"card": "tok_visa_debit"}, "card: tok_visa_debit cannot pay this: ", None),
]


def test_an_impossible_tap_is_refused_and_the_payment_keeps_waiting(sandbox, requests):
    desk_opens(sandbox)
    stated = {"subtotal": 1000, "surchargeAmount": 20}
    task = requests.open(sale(sandbox, amount=1020, breakdown=stated))

    for body, said, nearest in IMPOSSIBLE:
        refused = requests.tap(**body)
        assert refused.error() == (400, "validation_error")
        assert refused.json()["message"].startswith(said)
        assert refused.json().get("nearest") == nearest
        assert "4111" not in refused.body.decode()

    assert requests.is_open(task)
    requests.tap(card="tok_amex")
    answer = requests.end(task).json()
    assert (answer["status"], answer["surcharge_amount"]) == ("captured", 20)
    assert requests.tap("nobody", cancel="user").error() == (404, "not_found")


def test_a_payment_is_tapped_once(sandbox, requests):
    desk_opens(sandbox)
    task = requests.open(sale(sandbox))
    (waiting,) = requests.taps()
    path = f"{CONTROL}/taps/{waiting['transaction_id']}"

    both = requests.together(
        ("POST", path, {"card": "tok_amex"}), ("POST", path, {"cancel": "user"})
    )

    assert [one.status for one in both] == [200, 409]
    assert requests.end(task).json()["status"] == "captured"
    later = requests.tap(waiting["transaction_id"], cancel="user")
    assert later.error() == (409, "not_waiting")
    assert later.json()["message"] == "the payment does not wait for a tap: it is captured"
