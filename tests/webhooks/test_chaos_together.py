"""Which webhooks a rule is for, how often, and what rules do together. Source: assumed D22, D24."""

import asyncio

import pytest

from sandbox.domain.instants import to_wire
from tests.webhooks.calling import WORLD, add, living, message, sample
from tests.webhooks.hooked import START, resend, rule, triggers, types
from tests.webhooks.receiving import receiving


def run(sandbox, *rules):
    """A scenario of these rules runs from here on."""
    scenario = {"name": "mine", "webhook": list(rules)}
    answer = sandbox.control("PUT", f"{WORLD}/scenario", scenario)
    assert answer.status == 200, answer.body


def counts(ask) -> list[tuple[int, int]]:
    """Of each rule how often it fitted and applied."""
    return [(one["fitted"], one["applied"]) for one in ask.json()["webhooks"]]


def statuses(sandbox, id):
    """By endpoint how the message fares; without an event loop nothing is sent."""
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
    assert statuses(sandbox, sample(sandbox, event, **changes)) == {"e": "dropped"}
    if other is not None:
        event, changes = other
        assert statuses(sandbox, sample(sandbox, event, **changes)) == {"e": "pending"}


@pytest.mark.parametrize("by_name", [True, False])
def test_an_account_is_that_of_the_event_by_its_name_in_the_cast_or_its_id(sandbox, by_name):
    mine, above = sandbox.account("merchant"), sandbox.account("partner")
    run(sandbox, rule(when={"account": "merchant" if by_name else mine}, drop=True))
    add(sandbox, id="e")

    assert statuses(sandbox, sample(sandbox, SALE, account_id=mine)) == {"e": "dropped"}
    assert statuses(sandbox, sample(sandbox, SALE, account_id=above)) == {"e": "pending"}


@pytest.mark.parametrize("word", ["a", "The first", "http://127.0.0.1:9/first", ["x", "a"]])
def test_an_endpoint_goes_by_id_description_or_url(sandbox, word):
    run(sandbox, rule(when={"endpoint": word}, drop=True))
    add(sandbox, id="a", description="The first", url="http://127.0.0.1:9/first")
    add(sandbox, id="b", description="The second", url="http://127.0.0.1:9/second")

    assert statuses(sandbox, sample(sandbox)) == {"a": "dropped", "b": "pending"}


def test_nth_counts_the_deliveries_that_fit_otherwise(sandbox):
    run(sandbox, rule(when={"event": SALE, "nth": [2, 4]}, drop=True))
    add(sandbox, id="e")

    fared = []
    for event in (SALE, REFUND, SALE, SALE, SALE, SALE):
        fared.append(statuses(sandbox, sample(sandbox, event))["e"])

    assert fared == ["pending", "pending", "dropped", "pending", "dropped", "pending"]


def test_a_rule_that_is_used_up_leaves_what_fits_to_the_next(sandbox):
    run(sandbox, rule(drop=True, times=2), rule(**{"delay_ms": 60_000, "times": 1}))
    add(sandbox, id="e")

    ids = [sample(sandbox) for _ in range(4)]

    assert [statuses(sandbox, id)["e"] for id in ids] == ["dropped"] * 2 + ["pending"] * 2
    assert counts(sandbox.control("GET", f"{WORLD}/scenario")) == [(4, 2), (4, 1)]


def test_each_endpoint_is_asked_about_by_itself_and_others_than_wanting_ones_are_not(sandbox):
    run(sandbox, rule(drop=True, times=1))
    add(sandbox, id="other", event_types=[SALE])
    add(sandbox, id="disabled", disabled=True)
    add(sandbox, id="a")
    add(sandbox, id="b")

    assert statuses(sandbox, sample(sandbox)) == {"a": "dropped", "b": "pending"}
    assert counts(sandbox.control("GET", f"{WORLD}/scenario")) == [(2, 1)]


def test_a_reset_begins_to_count_again(sandbox):
    run(sandbox, rule(drop=True, times=1))
    add(sandbox, id="e")
    sample(sandbox)
    sandbox.control("POST", f"{WORLD}/reset")

    assert statuses(sandbox, sample(sandbox)) == {"e": "dropped"}


def test_no_rule_is_asked_about_retries_resends_and_what_is_recovered(hooked):
    hooked.run(rule(signature="missing"))
    with receiving(500) as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()
        hooked.tried(id, "e")
        hooked.pass_by(days=3)
        resend(hooked, id)
        hooked.tried(id, "e", times=9)
        hooked.ask("POST", "/endpoints/e/recover", {"since": to_wire(START)}, status=202)
        delivery = hooked.tried(id, "e", times=10)
        secret = hooked.shown("e")["secret"]

    assert counts(hooked.ask("GET", "/scenario")) == [(1, 1)]
    assert triggers(delivery) == ["scenario"] + ["scheduled"] * 7 + ["manual"] * 2
    assert "webhook-signature" not in receiver.requests[0].headers
    for one in receiver.requests[1:]:
        one.verify(secret)


# --- contradictions ---------------------------------------------------------------------------


def test_a_contradiction_comes_right_after_the_original_as_a_message_of_its_own(hooked):
    hooked.run(rule(when={"event": SALE}, contradict={"status": "declined", "note": [1]}))
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        hooked.pay()
        hooked.emit()
        receiver.wait_for(5)
    listed = {one["id"]: one for one in hooked.ask("GET", "/messages").json()["messages"]}
    original, other = receiver.requests[2:4]

    assert types(hooked, receiver.requests[2:]) == [SALE, SALE, "account.updated"]
    assert original.id != other.id
    assert original.json()["status"] == "captured"
    assert other.json() == original.json() | {"status": "declined", "note": [1]}
    other.verify(hooked.shown("e")["secret"])
    same = ("event_type", "account_id", "subject", "request_id", "created_at")
    assert [listed[original.id][one] for one in same] == [listed[other.id][one] for one in same]
    assert listed[original.id]["request_id"] is not None
    assert listed[other.id]["body"] == other.json()
    assert triggers(hooked.tried(other.id, "e")) == ["scenario"]


def test_a_contradiction_goes_to_its_endpoint_only_whatever_is_done_later(hooked):
    hooked.run(rule(when={"endpoint": "a"}, contradict={"name": "Other"}))
    with receiving() as one, receiving() as another:
        hooked.endpoint(one.url, id="a")
        hooked.endpoint(another.url, id="b")
        id = hooked.emit()
        _, contradiction = one.wait_for(2)
        resent = hooked.ask("POST", f"/messages/{contradiction.id}/resend", status=202).json()
        since = {"since": to_wire(START)}
        recovered = hooked.ask("POST", "/endpoints/b/recover", since, status=202).json()
        one.wait_for(3)
        another.wait_for(1)

    assert (resent, recovered) == ({"endpoints": ["a"]}, {"messages": 0})
    assert one.ids() == [id, contradiction.id, contradiction.id]
    assert another.ids() == [id]


def test_no_rule_is_applied_to_a_contradiction_and_it_is_tried_again_like_others(hooked):
    hooked.run(rule(contradict={"name": "Other"}), rule(drop=True))
    with receiving([200, 500, 200]) as receiver:
        hooked.endpoint(receiver.url, id="e")
        hooked.emit()
        _, other = receiver.wait_for(2)
        hooked.tried(other.id, "e")
        hooked.pass_by(seconds=6)

    delivery = hooked.delivery(other.id, "e")
    assert (delivery["status"], triggers(delivery)) == ("delivered", ["scenario", "scheduled"])
    assert counts(hooked.ask("GET", "/scenario")) == [(1, 1), (1, 0)]
    assert len(hooked.ask("GET", "/messages").json()["messages"]) == 2


def test_runs_of_one_seed_give_a_contradiction_the_same_id(sandbox):
    def second_id():
        sandbox.control("POST", f"{WORLD}/reset")
        sample(sandbox)
        return [one["id"] for one in sandbox.control("GET", f"{WORLD}/messages").json()["messages"]]

    run(sandbox, rule(contradict={"name": "Other"}))
    add(sandbox, id="e")

    assert second_id() == second_id()
    assert len(set(second_id())) == 2


# --- together ---------------------------------------------------------------------------------


def test_all_that_belongs_to_what_is_delayed_comes_after_the_delay(hooked):
    late = rule(when={"nth": 1}, delay_ms=100, duplicate=2, contradict={"name": "Other"})
    hooked.run(late)
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        delayed, other = hooked.emit(), hooked.emit()
        *_, contradiction = receiver.wait_for(4)

    assert receiver.ids() == [other, delayed, delayed, contradiction.id]
    delivery = hooked.tried(delayed, "e", times=2)
    assert triggers(delivery) == ["scenario", "scenario"]


def test_faults_of_an_attempt_apply_to_the_first_copy_in_every_way_and_no_other(hooked):
    hooked.run(rule(duplicate=2, signature="missing", stale_timestamp=True, truncate=5))
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        hooked.emit()
        first, second = receiver.wait_for(2)

    assert first.body == second.body[:5]
    assert "webhook-signature" not in first.headers
    assert first.at - int(first.headers["webhook-timestamp"]) > 595
    second.verify(hooked.shown("e")["secret"])


def test_an_order_takes_copies_and_contradictions_along(hooked):
    hooked.run(
        rule(when={"event": "transaction.create"}, order="last", duplicate=2),
        rule(when={"event": SALE}, order="first", contradict={"status": "declined"}),
    )
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        hooked.pay()
        receiver.wait_for(5)

    opened, created = "batch.opened", "transaction.create"
    assert types(hooked, receiver.requests) == [SALE, SALE, opened, created, created]


def test_a_rule_on_one_endpoint_leaves_the_others_as_they_should_be(hooked):
    hooked.run(rule(when={"endpoint": "a"}, signature="wrong", truncate=True, duplicate=2))
    with receiving() as one, receiving() as another:
        hooked.endpoint(one.url, id="a")
        hooked.endpoint(another.url, id="b")
        id = hooked.emit()
        one.wait_for(2)
        (request,) = another.wait_for(1)

    request.verify(hooked.shown("b")["secret"])
    assert triggers(hooked.tried(id, "b")) == ["scheduled"]


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
