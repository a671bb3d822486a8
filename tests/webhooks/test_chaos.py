"""What rules of a scenario do to webhooks, to which, how often, and together.

Source: assumed D22, D24.
"""

import asyncio
from datetime import UTC, datetime

import pytest
import standardwebhooks

from tests.webhooks.hooked import rule, triggers
from tests.webhooks.receiving import Received, receiving


def fared(delivery):
    return delivery["status"], triggers(delivery)


def test_a_dropped_webhook_is_not_sent_and_marked_until_the_scenario_is_stopped(hooked, receiver):
    hooked.run_rules(rule(drop=True))
    dropped = hooked.emit()
    hooked.manage("DELETE", "/scenario").expect(204)
    sent = hooked.emit()
    receiver.wait_for(1)
    hooked.pass_by(days=3)

    delivery = hooked.delivery(dropped)
    assert fared(delivery) == ("dropped", [])
    assert delivery["next_attempt_at"] is None
    assert receiver.ids() == [sent]


def test_a_dropped_webhook_is_resent_or_recovered(hooked, receiver):
    hooked.run_rules(rule(drop=True))
    receiver.behave([500, 200])
    first, second = hooked.emit(), hooked.emit()

    hooked.resend(first)
    assert fared(hooked.tried(first)) == ("dropped", ["manual"])
    hooked.resend(second)
    assert fared(hooked.tried(second)) == ("delivered", ["manual"])
    assert hooked.recover() == 1
    assert fared(hooked.tried(first, times=2)) == ("delivered", ["manual", "manual"])
    assert receiver.ids() == [first, second, first]
    # No rule is asked about what is sent again.
    assert counts(hooked.manage("GET", "/scenario")) == [(2, 2)]


def test_one_accepted_copy_is_enough_and_otherwise_there_is_one_schedule(hooked, receiver):
    # What a rule says not to do is no fault either.
    hooked.run_rules(
        rule(when={"nth": [1, 3, 5]}, duplicate=3, truncate=False, stale_timestamp=False)
    )
    for answers, status, retries in (
        ([200, 500, 500, 200], "delivered", 0),
        ([500, 500, 200], "delivered", 0),
        ([500, 500, 500, 200, 500], "failed", 7),
    ):
        before = len(receiver.requests)
        receiver.behave(answers)
        id, next_one = hooked.emit(), hooked.emit()
        hooked.tried(next_one)
        hooked.pass_by(days=3)

        delivery = hooked.delivery(id)
        assert fared(delivery) == (
            status,
            ["scheduled", "scenario", "scenario"] + ["scheduled"] * retries,
        )
        assert delivery["next_attempt_at"] is None
        assert receiver.ids()[before:] == [id, id, id, next_one] + [id] * retries
    for one in receiver.requests:
        one.verify(hooked.look("endpoints/e")["secret"])


def signature(request: Received, secret: str, body: bytes) -> str:
    """What signs these bytes under the id and timestamp of the request."""
    moment = datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), UTC)
    return standardwebhooks.Webhook(secret).sign(request.id, moment, body.decode())


FAULTS = [
    ({"signature": "wrong"}, ["signature = wrong"], "signature"),
    # Without an old secret it is signed with one that the endpoint never had.
    ({"signature": "old_secret"}, ["signature = old_secret"], "signature"),
    ({"signature": "missing"}, ["signature = missing"], "headers"),
    ({"stale_timestamp": True}, ["stale_timestamp"], "timestamp"),
    *(({"truncate": size}, ["truncate"], "signature") for size in (True, 0, 10)),
    ({"truncate": 10**9}, ["truncate"], None),
]
"""What a rule does, how the attempt tells it, and the step at which the check refuses it."""


@pytest.mark.proves("assumed 8.3-timestamp")
def test_a_faulty_attempt_is_shown_and_checked_as_faulty_and_the_retry_is_good(hooked, receiver):
    secret = hooked.look("endpoints/e")["secret"]
    for then, spoilt, step in FAULTS:
        hooked.run_rules(rule(**then))
        receiver.behave([400, 200])
        id = hooked.emit()
        attempt = hooked.tried(id)["attempts"][0]
        hooked.pass_by(seconds=6)
        assert fared(hooked.delivery(id)) == ("delivered", ["scenario", "scheduled"]), then
        assert counts(hooked.manage("GET", "/scenario")) == [(1, 1)]
        first, second = (one for one in receiver.requests if one.id == id)
        shown = hooked.manage("GET", f"/messages/{id}/verify?endpoint_id=e&attempt=1").json()
        same = {"headers": first.headers, "body": first.body.decode(), "endpoint_id": "e"}
        yours = hooked.manage("POST", "/verify", same).json()

        second.verify(secret)
        assert attempt["sent"]["spoilt"] == spoilt
        assert (shown["step"], yours["step"]) == (step, step), then
        assert shown["verdict"] == yours["verdict"] == ("refused" if step else "genuine")
        if "truncate" in then:
            size = len(second.body)
            left = size // 2 if then["truncate"] is True else min(size, then["truncate"])
            assert first.body == second.body[:left]
            assert int(first.headers["content-length"]) == left
        else:
            assert first.body == second.body
        gone = {"webhook-signature"} if step == "headers" else set()
        assert set(second.headers) - set(first.headers) == gone
        if step == "timestamp":
            assert 595 < first.at - int(first.headers["webhook-timestamp"]) < 605
        if not gone:
            given = first.headers["webhook-signature"]
            assert len(given) == len(second.headers["webhook-signature"])
            is_signed = given == signature(first, secret, second.body)
            assert is_signed == ("signature" not in then)


def test_an_old_secret_is_the_newest_that_was_rotated_out_and_signs_alone(hooked, receiver):
    hooked.run_rules(rule(signature="old_secret"))
    secrets = [hooked.look("endpoints/e")["secret"]]
    for grace_s in (3_600, 3_600, 0):
        hooked.manage("POST", "/endpoints/e/rotate-secret", {"grace_s": grace_s}).expect(200)
        secrets.append(hooked.look("endpoints/e")["secret"])
        hooked.tried(hooked.emit())

        request = receiver.requests[-1]
        assert [one for one in secrets if request.is_signed_by(one)] == [secrets[-2]]
        assert len(request.headers["webhook-signature"].split()) == 1


def counts(ask) -> list[tuple[int, int]]:
    """Of each rule how often it fitted and applied."""
    return [(one["fitted"], one["applied"]) for one in ask.json()["webhooks"]]


def statuses(sandbox, event="account.updated", **changes):
    """How a sample fares at each endpoint; without an event loop nothing is sent."""
    return sandbox.fares(sandbox.emit(event, **changes))


# --- which ------------------------------------------------------------------------------------


SALE, REFUND = "transaction.sale", "transaction.refund"


WORDS = [
    ({"event": SALE}, (SALE, {}), (REFUND, {})),
    ({"event": [SALE, REFUND]}, (REFUND, {}), ("account.updated", {})),
    ({"transaction_type": "sale"}, (SALE, {}), (SALE, {"transaction_type": "auth"})),
    ({"transaction_type": "sale"}, (SALE, {}), ("batch.opened", {})),
    ({"status": "captured"}, (SALE, {"status": "captured"}), (SALE, {"status": "declined"})),
    ({"status": "blocked"}, ("account.updated", {"status": "blocked"}), (SALE, {})),
    ({"event": SALE, "status": "error"}, (SALE, {"status": "error"}), (SALE, {})),
    ({"status": "deleted"}, ("api_key.deleted", {}), (SALE, {"status": ["deleted"]})),
]


def test_a_rule_matches_by_the_event_and_its_body(sandbox):
    mine, above = ({"account_id": sandbox.account_id(name)} for name in ("merchant", "partner"))
    accounts = [
        ({"account": name}, (SALE, mine), (SALE, above)) for name in ("merchant", *mine.values())
    ]
    url = sandbox.add_endpoint(id="e", description="The first")["url"]
    places = [
        ({"endpoint": word, "event": SALE}, (SALE, {}), (REFUND, {}))
        for word in ("e", "The first", url, ["x", "e"])
    ]
    for when, (event, changes), (other_event, others) in WORDS + accounts + places:
        sandbox.run_rules(rule(when=when, drop=True))

        assert statuses(sandbox, event, **changes) == {"e": "dropped"}, when
        assert statuses(sandbox, other_event, **others) == {"e": "pending"}, when


def test_nth_counts_what_fits_otherwise_and_what_is_used_up_leaves_the_rest_until_a_reset(sandbox):
    """Each endpoint is asked about by itself, and others than wanting ones are not."""
    sandbox.run_rules(
        rule(when={"event": SALE, "nth": [2, 4]}, drop=True, times=1),
        rule(when={"event": REFUND}, drop=True, times=1),
    )
    sandbox.add_endpoint(id="other", event_types=["batch.opened"])
    sandbox.add_endpoint(id="disabled", disabled=True)
    sandbox.add_endpoint(id="a")
    sandbox.add_endpoint(id="b")

    fared = [list(statuses(sandbox, event).values()) for event in (SALE, REFUND, SALE)]

    assert fared == [["pending", "dropped"], ["dropped", "pending"], ["pending", "pending"]]
    assert counts(sandbox.manage("GET", "/scenario")) == [(4, 1), (2, 1)]
    sandbox.reset()
    assert statuses(sandbox, REFUND) == {"a": "dropped", "b": "pending"}


def test_a_contradiction_comes_right_after_the_original_as_a_message_of_its_own(hooked, receiver):
    hooked.run_rules(rule(when={"event": SALE}, contradict={"status": "declined", "note": [1]}))
    hooked.pay()
    hooked.emit()
    receiver.wait_for(5)
    listed = {one["id"]: one for one in hooked.look("messages")["messages"]}
    original, other = receiver.requests[2:4]

    assert hooked.types_of(receiver.requests[2:]) == [SALE, SALE, "account.updated"]
    assert original.json()["status"] == "captured"
    assert other.json() == original.json() | {"status": "declined", "note": [1]}
    other.verify(hooked.look("endpoints/e")["secret"])
    assert listed[original.id]["request_id"] is not None
    own = {"id": other.id, "body": other.json()}
    apart = {"deliveries": listed[other.id]["deliveries"]}
    assert listed[other.id] == listed[original.id] | own | apart
    assert triggers(hooked.tried(other.id)) == ["scenario"]


def test_a_contradiction_goes_to_its_endpoint_only_and_is_tried_again_like_others(hooked, receiver):
    hooked.run_rules(
        rule(when={"endpoint": "other"}, contradict={"name": "Other"}), rule(drop=True)
    )
    with receiving([200, 500, 200]) as other:
        hooked.add_endpoint(url=other.url, id="other")
        id = hooked.emit()
        _, contradiction = other.wait_for(2)
        hooked.tried(contradiction.id, "other")
        hooked.pass_by(seconds=6)
        delivery = hooked.delivery(contradiction.id, "other")
        resent, recovered = hooked.resend(contradiction.id), hooked.recover()
        other.wait_for(4)
        receiver.wait_for(1)

    assert (delivery["status"], triggers(delivery)) == ("delivered", ["scenario", "scheduled"])
    assert (resent, recovered) == (["other"], 1)
    assert other.ids() == [id, *[contradiction.id] * 3]
    assert receiver.ids() == [id]
    # No rule is applied to a contradiction.
    assert counts(hooked.manage("GET", "/scenario")) == [(1, 1), (2, 1)]


# --- together ---------------------------------------------------------------------------------


def test_a_delayed_webhook_comes_with_its_copies_and_faults(hooked, receiver):
    """The faults apply to the first copy at the ruled endpoint and to no other."""
    faults = {"signature": "missing", "stale_timestamp": True, "truncate": 5}
    more = {"delay_ms": 300, "duplicate": 2, "contradict": {"name": "Other"}}
    hooked.run_rules(rule(when={"endpoint": "e", "nth": 1}, **faults, **more))
    with receiving() as another:
        hooked.add_endpoint(url=another.url, id="other")
        delayed, next_one = hooked.emit(), hooked.emit()
        _, first, second, contradiction = receiver.wait_for(4)
        untouched, _ = another.wait_for(2)

    assert receiver.ids() == [next_one, delayed, delayed, contradiction.id]
    assert triggers(hooked.tried(delayed, times=2)) == ["scenario", "scenario"]
    assert first.body == second.body[:5]
    assert "webhook-signature" not in first.headers
    assert first.at - int(first.headers["webhook-timestamp"]) > 595
    second.verify(hooked.look("endpoints/e")["secret"])
    untouched.verify(hooked.look("endpoints/other")["secret"])
    assert triggers(hooked.tried(delayed, "other")) == ["scheduled"]


def test_an_order_takes_copies_and_contradictions_along(hooked, receiver):
    hooked.run_rules(
        rule(when={"event": "transaction.create"}, order="last", duplicate=2),
        rule(when={"event": SALE}, order="first", contradict={"status": "declined"}),
    )
    hooked.pay()
    receiver.wait_for(5)

    opened, created = "batch.opened", "transaction.create"
    assert hooked.types_of(receiver.requests) == [SALE, SALE, opened, created, created]
    for moved, copies in ((receiver.requests[0], 1), (receiver.requests[-1], 2)):
        assert triggers(hooked.tried(moved.id, times=copies)) == ["scenario"] * copies


def test_a_delayed_webhook_outlives_its_event_loop(sandbox):
    sandbox.run_rules(rule(delay_ms=50, times=2))

    async def one_life(count):
        async with sandbox.living():
            id = sandbox.emit()
            await asyncio.to_thread(receiver.wait_for, count)
            return id

    with receiving() as receiver:
        sandbox.add_endpoint(url=receiver.url, id="e")
        ids = [sandbox.emit(), asyncio.run(one_life(0)), asyncio.run(one_life(3))]

    assert sorted(receiver.ids()) == sorted(ids)


def test_a_delay_that_the_restart_ended_does_not_end_again(sandbox):
    sandbox.run_rules(rule(delay_ms=50))
    failed = []

    async def start_late():
        loop, is_over = asyncio.get_running_loop(), asyncio.Event()
        loop.set_exception_handler(lambda loop, context: failed.append(context))
        id = sandbox.emit()
        loop.call_later(0.05, is_over.set)
        async with sandbox.living():
            await asyncio.to_thread(receiver.wait_for, 1)
            await is_over.wait()
        return id

    with receiving() as receiver:
        sandbox.add_endpoint(url=receiver.url, id="e")
        id = asyncio.run(start_late())

    assert receiver.ids() == [id]
    assert failed == []


NEXT = "/webhooks/next"


def inject(hooked, **body):
    return hooked.manage("POST", NEXT, body).expect(201)


@pytest.mark.proves("assumed D24, D25")
def test_the_next_deliveries_that_match_get_the_fault_and_no_others(hooked, receiver):
    hooked.run_rules(rule(signature="missing"))
    added = inject(hooked, then={"signature": "wrong"}, when={"endpoint": "e"}, times=2)
    inject(hooked, then={"drop": True}, when={"event": "batch.opened"})
    tried = [hooked.tried(hooked.emit()) for _ in range(3)]

    faults = {"when": {"endpoint": "e"}, "then": {"signature": "wrong"}, "left": 2}
    assert added == {"id": "next_1"} | faults
    assert [(one["rule"], one["attempts"][0]["sent"]["spoilt"]) for one in tried] == [
        *[("next delivery next_1", ["signature = wrong"])] * 2,
        ("1", ["signature = missing"]),
    ]
    saved = hooked.look("snapshot")
    hooked.manage("DELETE", NEXT).expect(204)
    assert hooked.manage("GET", NEXT).json() == {"queue": [], "total": 0}
    assert inject(hooked, then={"drop": True})["id"] == "next_3"
    hooked.manage("PUT", "/snapshot", saved).expect(200)
    left = hooked.manage("GET", NEXT).json()
    assert [(one["id"], one["left"]) for one in left["queue"]] == [("next_2", 1)]


@pytest.mark.proves("assumed D25")
def test_a_queued_fault_keeps_counting_in_a_loaded_world(hooked, receiver):
    inject(hooked, then={"signature": "wrong"}, when={"event": "account.updated", "nth": 2})
    hooked.tried(hooked.emit())
    saved = hooked.look("snapshot")
    hooked.manage("PUT", "/snapshot", saved).expect(200)

    assert hooked.tried(hooked.emit())["rule"] == "next delivery next_1"


def test_the_last_of_the_queue_is_late_together_with_what_contradicts_it(hooked):
    """No fault waits when the second message is made."""
    made = hooked.manage("POST", "/receivers", {}).expect(201)
    inject(hooked, then={"delay_ms": 20, "contradict": {"status": "declined"}})

    hooked.tried(hooked.emit(SALE, status="captured"), made["id"])
    hooked.manage("POST", "/clock/advance", {"by": "0s"})

    got = hooked.look(f"receivers/{made['id']}/received")["received"]
    assert [(one["body"]["status"], one["attempt"]) for one in got] == [
        ("captured", 1),
        ("declined", 1),
    ]
