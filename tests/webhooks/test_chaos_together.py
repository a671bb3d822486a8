"""Which webhooks a rule is for, how often, and what rules do together. Source: assumed D22, D24."""

import asyncio

import pytest

from sandbox.scenarios.words import WEBHOOK_RULES_MAX
from tests.control.refusals import assert_refused
from tests.webhooks.calling import WORLD, add, living, message, sample
from tests.webhooks.hooked import recover, resend, rule, triggers, types
from tests.webhooks.receiving import receiving


def put(sandbox, *rules):
    """Asks for a scenario of these rules."""
    return sandbox.control("PUT", f"{WORLD}/scenario", {"name": "mine", "webhook": list(rules)})


def run(sandbox, *rules):
    """A scenario of these rules runs from here on."""
    assert put(sandbox, *rules).status == 200


def counts(ask) -> list[tuple[int, int]]:
    """Of each rule how often it fitted and applied."""
    return [(one["fitted"], one["applied"]) for one in ask.json()["webhooks"]]


def statuses(sandbox, event="account.updated", **changes):
    """How a sample fares at each endpoint; without an event loop nothing is sent."""
    id = sample(sandbox, event, **changes)
    return {one["endpoint_id"]: one["status"] for one in message(sandbox, id)["deliveries"]}


# --- which ------------------------------------------------------------------------------------


SALE, REFUND = "transaction.sale", "transaction.refund"


@pytest.mark.parametrize(
    ("when", "fitting", "other"),
    [
        ({"event": SALE}, (SALE, {}), (REFUND, {})),
        ({"event": [SALE, REFUND]}, (REFUND, {}), ("account.updated", {})),
        ({"transaction_type": "sale"}, (SALE, {}), (SALE, {"transaction_type": "auth"})),
        ({"transaction_type": "sale"}, (SALE, {}), ("batch.opened", {})),
        ({"status": "captured"}, (SALE, {"status": "captured"}), (SALE, {"status": "declined"})),
        ({"status": "blocked"}, ("account.updated", {"status": "blocked"}), (SALE, {})),
        ({"event": SALE, "status": "error"}, (SALE, {"status": "error"}), (SALE, {})),
        ({"status": "deleted"}, ("account.updated", {"status": "deleted"}), (SALE, {"status": 5})),
        ({}, (SALE, {}), None),
    ],
    ids=str,
)
def test_a_rule_is_for_what_its_words_say_of_the_event_and_its_body(sandbox, when, fitting, other):
    run(sandbox, rule(when=when, drop=True))
    add(sandbox, id="e")

    event, changes = fitting
    assert statuses(sandbox, event, **changes) == {"e": "dropped"}
    if other is not None:
        event, changes = other
        assert statuses(sandbox, event, **changes) == {"e": "pending"}


@pytest.mark.parametrize("by_name", [True, False])
def test_an_account_is_that_of_the_event_by_its_name_in_the_cast_or_its_id(sandbox, by_name):
    mine, above = sandbox.account("merchant"), sandbox.account("partner")
    run(sandbox, rule(when={"account": "merchant" if by_name else mine}, drop=True))
    add(sandbox, id="e")

    assert statuses(sandbox, SALE, account_id=mine) == {"e": "dropped"}
    assert statuses(sandbox, SALE, account_id=above) == {"e": "pending"}


@pytest.mark.parametrize("word", ["a", "The first", "http://127.0.0.1:9/first", ["x", "a"]])
def test_an_endpoint_goes_by_id_description_or_url(sandbox, word):
    run(sandbox, rule(when={"endpoint": word}, drop=True))
    add(sandbox, id="a", description="The first", url="http://127.0.0.1:9/first")
    add(sandbox, id="b", description="The second", url="http://127.0.0.1:9/second")

    assert statuses(sandbox) == {"a": "dropped", "b": "pending"}


def test_nth_counts_the_deliveries_that_fit_otherwise(sandbox):
    run(sandbox, rule(when={"event": SALE, "nth": [2, 4]}, drop=True))
    add(sandbox, id="e")

    fared = [statuses(sandbox, event)["e"] for event in (SALE, REFUND, SALE, SALE, SALE, SALE)]

    assert fared == ["pending", "pending", "dropped", "pending", "dropped", "pending"]


def test_a_rule_that_is_used_up_leaves_what_fits_to_the_next_until_a_reset(sandbox):
    run(sandbox, rule(drop=True, times=2), rule(**{"delay_ms": 60_000, "times": 1}))
    add(sandbox, id="e")

    assert [statuses(sandbox)["e"] for _ in range(4)] == ["dropped"] * 2 + ["pending"] * 2
    assert counts(sandbox.control("GET", f"{WORLD}/scenario")) == [(4, 2), (4, 1)]
    sandbox.control("POST", f"{WORLD}/reset")
    assert statuses(sandbox) == {"e": "dropped"}


def test_each_endpoint_is_asked_about_by_itself_and_others_than_wanting_ones_are_not(sandbox):
    run(sandbox, rule(drop=True, times=1))
    add(sandbox, id="other", event_types=[SALE])
    add(sandbox, id="disabled", disabled=True)
    add(sandbox, id="a")
    add(sandbox, id="b")

    assert statuses(sandbox) == {"a": "dropped", "b": "pending"}
    assert counts(sandbox.control("GET", f"{WORLD}/scenario")) == [(2, 1)]


def test_one_rule_on_webhooks_more_than_may_be_is_refused(sandbox):
    refused = put(sandbox, *[rule(drop=True)] * (WEBHOOK_RULES_MAX + 1))

    assert_refused(refused, 400, "validation_error")
    assert f"at most {WEBHOOK_RULES_MAX}" in refused.json()["message"]


def test_no_rule_is_asked_about_retries_resends_and_what_is_recovered(hooked, receiver):
    hooked.run(rule(signature="missing"))
    receiver.behave(500)
    id = hooked.emit()
    hooked.tried(id)
    hooked.pass_by(days=3)
    resend(hooked, id)
    hooked.tried(id, times=9)
    recover(hooked)
    delivery = hooked.tried(id, times=10)

    assert counts(hooked.ask("GET", "/scenario")) == [(1, 1)]
    assert triggers(delivery) == ["scenario"] + ["scheduled"] * 7 + ["manual"] * 2
    assert "webhook-signature" not in receiver.requests[0].headers
    for one in receiver.requests[1:]:
        one.verify(hooked.shown("e")["secret"])


# --- contradictions ---------------------------------------------------------------------------


def test_a_contradiction_comes_right_after_the_original_as_a_message_of_its_own(hooked, receiver):
    hooked.run(rule(when={"event": SALE}, contradict={"status": "declined", "note": [1]}))
    hooked.pay()
    hooked.emit()
    receiver.wait_for(5)
    listed = {one["id"]: one for one in hooked.ask("GET", "/messages").json()["messages"]}
    original, other = receiver.requests[2:4]

    assert types(hooked, receiver.requests[2:]) == [SALE, SALE, "account.updated"]
    assert original.json()["status"] == "captured"
    assert other.json() == original.json() | {"status": "declined", "note": [1]}
    other.verify(hooked.shown("e")["secret"])
    assert listed[original.id]["request_id"] is not None
    own = {"id": other.id, "body": other.json()}
    apart = {"deliveries": listed[other.id]["deliveries"]}
    assert listed[other.id] == listed[original.id] | own | apart
    assert triggers(hooked.tried(other.id)) == ["scenario"]


def test_a_contradiction_goes_to_its_endpoint_only_whatever_is_done_later(hooked, receiver):
    hooked.run(rule(when={"endpoint": "other"}, contradict={"name": "Other"}))
    with receiving() as other:
        hooked.endpoint(other.url, id="other")
        id = hooked.emit()
        _, contradiction = other.wait_for(2)
        resent, recovered = resend(hooked, contradiction.id), recover(hooked)
        other.wait_for(3)
        receiver.wait_for(1)

    assert (resent, recovered) == (["other"], 0)
    assert other.ids() == [id, contradiction.id, contradiction.id]
    assert receiver.ids() == [id]


def test_no_rule_is_applied_to_a_contradiction_and_it_is_tried_again_like_others(hooked, receiver):
    hooked.run(rule(contradict={"name": "Other"}), rule(drop=True))
    receiver.behave([200, 500, 200])
    hooked.emit()
    _, other = receiver.wait_for(2)
    hooked.tried(other.id)
    hooked.pass_by(seconds=6)

    delivery = hooked.delivery(other.id)
    assert (delivery["status"], triggers(delivery)) == ("delivered", ["scenario", "scheduled"])
    assert counts(hooked.ask("GET", "/scenario")) == [(1, 1), (1, 0)]
    assert len(hooked.ask("GET", "/messages").json()["messages"]) == 2


def test_runs_of_one_seed_give_a_contradiction_the_same_id(sandbox):
    def ids():
        sandbox.control("POST", f"{WORLD}/reset")
        sample(sandbox)
        return {one["id"] for one in sandbox.control("GET", f"{WORLD}/messages").json()["messages"]}

    run(sandbox, rule(contradict={"name": "Other"}))
    add(sandbox, id="e")

    assert len(ids()) == 2
    assert ids() == ids()


# --- together ---------------------------------------------------------------------------------


def test_all_that_belongs_to_what_is_delayed_comes_after_the_delay(hooked, receiver):
    hooked.run(rule(when={"nth": 1}, delay_ms=500, duplicate=2, contradict={"name": "Other"}))
    delayed, other = hooked.emit(), hooked.emit()
    *_, contradiction = receiver.wait_for(4)

    assert receiver.ids() == [other, delayed, delayed, contradiction.id]
    assert triggers(hooked.tried(delayed, times=2)) == ["scenario", "scenario"]


def test_all_faults_apply_to_the_first_copy_at_the_ruled_endpoint_and_no_other(hooked, receiver):
    faults = {"signature": "missing", "stale_timestamp": True, "truncate": 5}
    hooked.run(rule(when={"endpoint": "e"}, duplicate=2, **faults))
    with receiving() as another:
        hooked.endpoint(another.url, id="other")
        id = hooked.emit()
        first, second = receiver.wait_for(2)
        (untouched,) = another.wait_for(1)

    assert first.body == second.body[:5]
    assert "webhook-signature" not in first.headers
    assert first.at - int(first.headers["webhook-timestamp"]) > 595
    second.verify(hooked.shown("e")["secret"])
    untouched.verify(hooked.shown("other")["secret"])
    assert triggers(hooked.tried(id, "other")) == ["scheduled"]


def test_an_order_takes_copies_and_contradictions_along(hooked, receiver):
    hooked.run(
        rule(when={"event": "transaction.create"}, order="last", duplicate=2),
        rule(when={"event": SALE}, order="first", contradict={"status": "declined"}),
    )
    hooked.pay()
    receiver.wait_for(5)

    opened, created = "batch.opened", "transaction.create"
    assert types(hooked, receiver.requests) == [SALE, SALE, opened, created, created]


def test_what_is_delayed_outlives_the_loop_in_which_it_was_held_back(sandbox):
    run(sandbox, rule(delay_ms=50, times=2))

    async def one_life(count):
        async with living(sandbox):
            id = sample(sandbox)
            await asyncio.to_thread(receiver.wait_for, count)
            return id

    with receiving() as receiver:
        add(sandbox, url=receiver.url, id="e")
        ids = [sample(sandbox), asyncio.run(one_life(0)), asyncio.run(one_life(3))]

    assert sorted(receiver.ids()) == sorted(ids)


# --- faults without a scenario ----------------------------------------------------------------

NEXT = "/webhooks/next"


def inject(hooked, **body):
    return hooked.ask("POST", NEXT, body, status=201).json()


@pytest.mark.proves("assumed D24")
def test_the_next_deliveries_that_match_get_the_fault_and_no_others(hooked, receiver):
    hooked.run(rule(signature="missing"))
    added = inject(hooked, then={"signature": "wrong"}, when={"endpoint": "e"}, times=2)
    inject(hooked, then={"drop": True}, when={"event": "batch.opened"})
    tried = [hooked.tried(hooked.emit()) for _ in range(3)]

    faults = {"when": {"endpoint": "e"}, "then": {"signature": "wrong"}, "left": 2}
    assert added == {"id": "next_1"} | faults
    assert [(one["rule"], one["attempts"][0]["sent"]["spoilt"]) for one in tried] == [
        *[("next delivery next_1", ["signature = wrong"])] * 2,
        ("1", ["signature = missing"]),
    ]
    left = hooked.ask("GET", NEXT).json()
    assert [one["id"] for one in left["queue"]] == ["next_2"]
    hooked.ask("DELETE", NEXT, status=204)
    assert hooked.ask("GET", NEXT).json() == {"queue": [], "total": 0}
    assert inject(hooked, then={"drop": True})["id"] == "next_3"


@pytest.mark.proves("assumed D25")
def test_a_snapshot_keeps_what_is_queued(hooked):
    inject(hooked, then={"drop": True}, times=3)
    saved = hooked.ask("GET", "/snapshot").json()
    hooked.ask("DELETE", NEXT, status=204)

    hooked.ask("PUT", "/snapshot", saved, status=200)

    assert [one["left"] for one in hooked.ask("GET", NEXT).json()["queue"]] == [3]


def test_the_last_of_the_queue_is_late_together_with_what_contradicts_it(hooked):
    """No fault waits when the second message is made."""
    made = hooked.ask("POST", "/receivers", {}, status=201).json()
    inject(hooked, then={"delay_ms": 20, "contradict": {"status": "declined"}})

    hooked.tried(hooked.emit(SALE, status="captured"), made["id"])
    hooked.ask("POST", "/clock/advance", {"by": "0s"})

    got = hooked.ask("GET", f"/receivers/{made['id']}/received").json()["received"]
    assert [(one["body"]["status"], one["attempt"]) for one in got] == [
        ("captured", 1),
        ("declined", 1),
    ]
