"""What rules of a scenario do to webhooks, as receivers see it. Source: assumed D22, D24."""

from datetime import UTC, datetime

import pytest
import standardwebhooks

from tests.webhooks.hooked import Hooked, recover, resend, rule, triggers
from tests.webhooks.receiving import Received, Receiver


def fared(delivery):
    return delivery["status"], triggers(delivery)


def test_what_no_rule_changes_is_as_it_should_be(hooked, receiver):
    for scenario in (
        {"name": "on attempts only", "rule": [{"then": {"outcome": "lost_card"}}]},
        {"name": "on others", "webhook": [rule(when={"event": "batch.opened"}, drop=True)]},
        {"name": "more only", "webhook": [rule(contradict={"name": "Other"})]},
        {"name": "stopped", "webhook": [rule(drop=True)]},
    ):
        hooked.ask("PUT", "/scenario", scenario, status=200)
        if scenario["name"] == "stopped":
            hooked.ask("DELETE", "/scenario", status=204)
        id = hooked.emit()

        assert fared(hooked.tried(id)) == ("delivered", ["scheduled"]), scenario
        next(one for one in receiver.requests if one.id == id).verify(hooked.shown("e")["secret"])


# --- drop -------------------------------------------------------------------------------------


def test_what_is_dropped_is_not_sent_and_shows_it(hooked, receiver):
    hooked.run(rule(drop=True, times=1))
    dropped, sent = hooked.emit(), hooked.emit()
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


# --- duplicate --------------------------------------------------------------------------------


def test_duplicates_come_under_one_id_one_after_another_each_signed(hooked, receiver):
    hooked.run(rule(duplicate=3, times=1))
    id, next_one = hooked.emit(), hooked.emit()
    receiver.wait_for(4)
    delivery = hooked.tried(id, times=3)

    assert receiver.ids() == [id, id, id, next_one]
    assert len({one.body for one in receiver.requests[:3]}) == 1
    for one in receiver.requests:
        one.verify(hooked.shown("e")["secret"])
    assert fared(delivery) == ("delivered", ["scheduled", "scenario", "scenario"])


@pytest.mark.parametrize(
    ("answers", "status", "retries"),
    [([200, 500], "delivered", 0), ([500, 200], "delivered", 0), ([500, 500], "failed", 7)],
)
def test_one_copy_that_arrives_is_enough_and_otherwise_there_is_one_schedule(
    hooked, receiver, answers, status, retries
):
    hooked.run(rule(duplicate=2))
    receiver.behave(answers)
    id = hooked.emit()
    hooked.tried(id, times=2)
    hooked.pass_by(days=3)

    delivery = hooked.delivery(id)
    assert fared(delivery) == (status, ["scheduled", "scenario"] + ["scheduled"] * retries)
    assert delivery["next_attempt_at"] is None
    assert len(receiver.requests) == 2 + retries


# --- signature, stale_timestamp, truncate -----------------------------------------------------


def refused_once(hooked: Hooked, receiver: Receiver, **then) -> tuple[Received, Received, str]:
    """What the receiver got first and refused, what it got then, and the endpoint's secret."""
    hooked.run(rule(**then))
    receiver.behave([400, 200])
    id = hooked.emit()
    hooked.tried(id)
    hooked.pass_by(seconds=6)
    assert fared(hooked.delivery(id)) == ("delivered", ["scenario", "scheduled"])
    first, second = receiver.requests
    assert first.id == second.id == id
    secret = hooked.shown("e")["secret"]
    second.verify(secret)
    return first, second, secret


def signature(request: Received, secret: str, body: bytes) -> str:
    """What signs these bytes under the id and timestamp of the request."""
    moment = datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), UTC)
    return standardwebhooks.Webhook(secret).sign(request.id, moment, body.decode())


@pytest.mark.parametrize("fault", ["wrong", "old_secret"])
def test_a_wrong_signature_has_the_form_of_one_and_the_retry_is_good(hooked, receiver, fault):
    """Without an old secret it is signed with one that the endpoint never had."""
    first, second, secret = refused_once(hooked, receiver, signature=fault)

    assert not first.is_signed_by(secret)
    shape = [len(part) for part in first.headers["webhook-signature"].split(",")]
    assert shape == [len(part) for part in second.headers["webhook-signature"].split(",")]
    assert first.body == second.body


def test_a_missing_signature_has_no_header_at_all_and_the_retry_is_good(hooked, receiver):
    first, second, _ = refused_once(hooked, receiver, signature="missing")

    assert set(second.headers) - set(first.headers) == {"webhook-signature"}
    assert first.body == second.body


@pytest.mark.parametrize("grace_s", [0, 3_600])
def test_an_old_secret_is_the_newest_that_was_rotated_out_and_signs_alone(
    hooked, receiver, grace_s
):
    hooked.run(rule(signature="old_secret"))
    secrets = [hooked.shown("e")["secret"]]
    for _ in range(2):
        hooked.ask("POST", "/endpoints/e/rotate-secret", {"grace_s": grace_s}, status=200)
        secrets.append(hooked.shown("e")["secret"])
    hooked.emit()
    (request,) = receiver.wait_for(1)

    assert [request.is_signed_by(secret) for secret in secrets] == [False, True, False]
    assert len(request.headers["webhook-signature"].split()) == 1


def test_a_stale_timestamp_is_ten_minutes_old_by_the_wall_and_signed(hooked, receiver):
    first, _, secret = refused_once(hooked, receiver, stale_timestamp=True)

    assert 595 < first.at - int(first.headers["webhook-timestamp"]) < 605
    assert first.headers["webhook-signature"] == signature(first, secret, first.body)
    with pytest.raises(standardwebhooks.WebhookVerificationError, match="too old"):
        first.verify(secret)


@pytest.mark.parametrize(
    ("truncate", "left"),
    [(True, lambda size: size // 2), (0, lambda _: 0), (10, lambda _: 10), (10**9, lambda n: n)],
    ids=["half", "nothing", "some", "all"],
)
def test_what_is_truncated_says_how_long_it_is_and_is_signed_as_a_whole(
    hooked, receiver, truncate, left
):
    first, second, secret = refused_once(hooked, receiver, truncate=truncate)

    assert first.body == second.body[: left(len(second.body))]
    assert len(first.body) == left(len(second.body)) == int(first.headers["content-length"])
    assert first.headers["webhook-signature"] == signature(first, secret, second.body)
    assert first.headers["content-type"] == "application/json"


def test_what_is_said_to_have_no_fault_has_none(hooked, receiver):
    hooked.run(rule(truncate=False, stale_timestamp=False, duplicate=2))

    assert triggers(hooked.tried(hooked.emit(), times=2)) == ["scheduled", "scenario"]
    receiver.requests[0].verify(hooked.shown("e")["secret"])
