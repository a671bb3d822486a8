"""What rules of a scenario do to webhooks, as receivers see it. Source: assumed D22, D24."""

from datetime import UTC, datetime

import pytest
import standardwebhooks

from tests.webhooks.hooked import recover, resend, rule, triggers
from tests.webhooks.receiving import Received


def fared(delivery):
    return delivery["status"], triggers(delivery)


def test_what_is_dropped_is_not_sent_and_shows_it_until_the_scenario_is_stopped(hooked, receiver):
    hooked.run(rule(drop=True))
    dropped = hooked.emit()
    hooked.ask("DELETE", "/scenario", status=204)
    sent = hooked.emit()
    receiver.wait_for(1)
    hooked.pass_by(days=3)

    delivery = hooked.delivery(dropped)
    assert fared(delivery) == ("dropped", [])
    assert delivery["next_attempt_at"] is None
    assert receiver.ids() == [sent]


def test_what_was_dropped_is_sent_by_hand_or_recovered(hooked, receiver):
    hooked.run(rule(drop=True))
    receiver.behave([500, 200])
    first, second = hooked.emit(), hooked.emit()

    resend(hooked, first)
    assert fared(hooked.tried(first)) == ("dropped", ["manual"])
    resend(hooked, second)
    assert fared(hooked.tried(second)) == ("delivered", ["manual"])
    assert recover(hooked) == 1
    assert fared(hooked.tried(first, times=2)) == ("delivered", ["manual", "manual"])
    assert receiver.ids() == [first, second, first]


def test_duplicates_come_under_one_id_one_after_another_each_signed(hooked, receiver):
    """What a rule says not to do is no fault either."""
    hooked.run(rule(duplicate=3, truncate=False, stale_timestamp=False, times=1))
    id, next_one = hooked.emit(), hooked.emit()
    receiver.wait_for(4)
    delivery = hooked.tried(id, times=3)

    assert receiver.ids() == [id, id, id, next_one]
    assert len({one.body for one in receiver.requests[:3]}) == 1
    for one in receiver.requests:
        one.verify(hooked.shown("e")["secret"])
    assert fared(delivery) == ("delivered", ["scheduled", "scenario", "scenario"])


def test_one_copy_that_arrives_is_enough_and_otherwise_there_is_one_schedule(hooked, receiver):
    hooked.run(rule(duplicate=2))
    for answers, status, retries in (
        ([200, 500], "delivered", 0),
        ([500, 200], "delivered", 0),
        ([500, 500], "failed", 7),
    ):
        receiver.behave(answers)
        id = hooked.emit()
        hooked.tried(id, times=2)
        hooked.pass_by(days=3)

        delivery = hooked.delivery(id)
        assert fared(delivery) == (status, ["scheduled", "scenario"] + ["scheduled"] * retries)
        assert delivery["next_attempt_at"] is None
        assert receiver.ids().count(id) == 2 + retries


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
def test_a_faulty_attempt_is_told_and_checked_as_what_it_is_and_the_retry_is_good(hooked, receiver):
    secret = hooked.shown("e")["secret"]
    for then, spoilt, step in FAULTS:
        hooked.run(rule(**then))
        receiver.behave([400, 200])
        id = hooked.emit()
        attempt = hooked.tried(id)["attempts"][0]
        hooked.pass_by(seconds=6)
        assert fared(hooked.delivery(id)) == ("delivered", ["scenario", "scheduled"]), then
        first, second = (one for one in receiver.requests if one.id == id)
        shown = hooked.ask("GET", f"/messages/{id}/verify?endpoint_id=e&attempt=1").json()
        same = {"headers": first.headers, "body": first.body.decode(), "endpoint_id": "e"}
        yours = hooked.ask("POST", "/verify", same).json()

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
    hooked.run(rule(signature="old_secret"))
    secrets = [hooked.shown("e")["secret"]]
    for grace_s in (3_600, 3_600, 0):
        hooked.ask("POST", "/endpoints/e/rotate-secret", {"grace_s": grace_s}, status=200)
        secrets.append(hooked.shown("e")["secret"])
        hooked.tried(hooked.emit())

        request = receiver.requests[-1]
        assert [one for one in secrets if request.is_signed_by(one)] == [secrets[-2]]
        assert len(request.headers["webhook-signature"].split()) == 1
