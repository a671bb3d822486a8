"""What rules of a scenario do to webhooks, as receivers see it. Source: assumed D22, D24."""

from datetime import UTC, datetime

import pytest
import standardwebhooks

from sandbox.domain.instants import to_wire
from tests.webhooks.hooked import START, Hooked, resend, rule, triggers
from tests.webhooks.receiving import Received, receiving


def signature(request: Received, secret: str, body: bytes) -> str:
    """What signs these bytes under the id and timestamp of the request."""
    moment = datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), UTC)
    return standardwebhooks.Webhook(secret).sign(request.id, moment, body.decode())


# --- nothing is done --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scenario",
    [
        {"name": "on attempts only", "rule": [{"then": {"outcome": "lost_card"}}]},
        {"name": "on others", "webhook": [rule(when={"event": "batch.opened"}, drop=True)]},
        {"name": "more only", "webhook": [rule(contradict={"name": "Other"})]},
    ],
    ids=lambda one: one["name"],
)
def test_what_no_rule_changes_is_as_it_should_be(hooked, scenario):
    hooked.ask("PUT", "/scenario", scenario, status=200)
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()
        delivery = hooked.tried(id, "e")

        assert (delivery["status"], triggers(delivery)) == ("delivered", ["scheduled"])
        assert receiver.ids()[0] == id
        receiver.requests[0].verify(hooked.shown("e")["secret"])


def test_a_stopped_scenario_no_longer_does_anything(hooked):
    hooked.run(rule(drop=True))
    hooked.ask("DELETE", "/scenario", status=204)
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")

        assert hooked.tried(hooked.emit(), "e")["status"] == "delivered"


# --- drop -------------------------------------------------------------------------------------


def test_what_is_dropped_is_not_sent_and_shows_it(hooked):
    hooked.run(rule(drop=True, times=1))
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        dropped, sent = hooked.emit(), hooked.emit()
        receiver.wait_for(1)
        hooked.pass_by(days=3)

    delivery = hooked.delivery(dropped, "e")
    assert (delivery["status"], delivery["attempts"]) == ("dropped", [])
    assert delivery["next_attempt_at"] is None
    assert receiver.ids() == [sent]


def test_what_was_dropped_is_recovered_as_it_should_be(hooked):
    hooked.run(rule(drop=True))
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()

        answer = hooked.ask("POST", "/endpoints/e/recover", {"since": to_wire(START)}, status=202)
        delivery = hooked.tried(id, "e")

    assert answer.json() == {"messages": 1}
    assert (delivery["status"], triggers(delivery)) == ("delivered", ["manual"])
    assert receiver.ids() == [id]


@pytest.mark.parametrize(("answer", "status"), [(200, "delivered"), (500, "dropped")])
def test_what_was_dropped_is_sent_by_hand(hooked, answer, status):
    hooked.run(rule(drop=True))
    with receiving(answer) as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()

        resend(hooked, id)
        delivery = hooked.tried(id, "e")

    assert (delivery["status"], triggers(delivery)) == (status, ["manual"])


# --- duplicate --------------------------------------------------------------------------------


def test_duplicates_come_under_one_id_one_after_another_each_signed(hooked):
    hooked.run(rule(duplicate=3, times=1))
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        id, next_one = hooked.emit(), hooked.emit()
        receiver.wait_for(4)
        delivery = hooked.tried(id, "e", times=3)

    assert receiver.ids() == [id, id, id, next_one]
    assert len({one.body for one in receiver.requests[:3]}) == 1
    for one in receiver.requests:
        one.verify(hooked.shown("e")["secret"])
    assert delivery["status"] == "delivered"
    assert triggers(delivery) == ["scheduled", "scenario", "scenario"]


def test_a_copy_that_fails_changes_nothing_and_is_not_tried_again(hooked):
    hooked.run(rule(duplicate=2))
    with receiving([200, 500]) as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()
        hooked.tried(id, "e", times=2)
        hooked.pass_by(days=3)

    delivery = hooked.delivery(id, "e")
    assert (delivery["status"], delivery["next_attempt_at"]) == ("delivered", None)
    assert len(receiver.requests) == 2


def test_a_copy_that_arrives_where_the_first_failed_ends_the_schedule(hooked):
    hooked.run(rule(duplicate=2))
    with receiving([500, 200]) as receiver:
        hooked.endpoint(receiver.url, id="e")
        delivery = hooked.tried(hooked.emit(), "e", times=2)

    assert (delivery["status"], delivery["next_attempt_at"]) == ("delivered", None)


def test_where_all_copies_fail_there_is_one_schedule(hooked):
    hooked.run(rule(duplicate=3))
    with receiving(500) as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()
        hooked.tried(id, "e", times=3)
        hooked.pass_by(days=3)

    delivery = hooked.delivery(id, "e")
    assert triggers(delivery) == ["scheduled", "scenario", "scenario"] + ["scheduled"] * 7
    assert delivery["status"] == "failed"


# --- signature, stale_timestamp, truncate -----------------------------------------------------


def refused_once(hooked: Hooked, **then) -> tuple[Received, Received, str]:
    """What the receiver got first and refused, what it got then, and the endpoint's secret."""
    hooked.run(rule(**then))
    with receiving([400, 200]) as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()
        hooked.tried(id, "e")
        hooked.pass_by(seconds=6)
    delivery = hooked.delivery(id, "e")
    assert (delivery["status"], triggers(delivery)) == ("delivered", ["scenario", "scheduled"])
    first, second = receiver.requests
    assert first.id == second.id == id
    secret = hooked.shown("e")["secret"]
    second.verify(secret)
    return first, second, secret


def test_a_wrong_signature_has_the_form_of_one_and_the_retry_is_good(hooked):
    first, second, secret = refused_once(hooked, signature="wrong")

    assert not first.is_signed_by(secret)
    shape = [len(part) for part in first.headers["webhook-signature"].split(",")]
    assert shape == [len(part) for part in second.headers["webhook-signature"].split(",")]
    assert first.body == second.body


def test_a_missing_signature_has_no_header_at_all_and_the_retry_is_good(hooked):
    first, second, _ = refused_once(hooked, signature="missing")

    assert set(second.headers) - set(first.headers) == {"webhook-signature"}
    assert first.body == second.body


@pytest.mark.parametrize("grace_s", [0, 3_600])
def test_an_old_secret_is_the_newest_that_was_rotated_out_and_signs_alone(hooked, grace_s):
    hooked.run(rule(signature="old_secret"))
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        secrets = [hooked.shown("e")["secret"]]
        for _ in range(2):
            hooked.ask("POST", "/endpoints/e/rotate-secret", {"grace_s": grace_s}, status=200)
            secrets.append(hooked.shown("e")["secret"])
        hooked.emit()
        (request,) = receiver.wait_for(1)

    assert [request.is_signed_by(secret) for secret in secrets] == [False, True, False]
    assert len(request.headers["webhook-signature"].split()) == 1


def test_where_no_secret_is_old_it_is_one_that_the_endpoint_never_had(hooked):
    first, _, secret = refused_once(hooked, signature="old_secret")

    assert not first.is_signed_by(secret)


def test_a_stale_timestamp_is_ten_minutes_old_by_the_wall_and_signed(hooked):
    first, _, secret = refused_once(hooked, stale_timestamp=True)

    assert 595 < first.at - int(first.headers["webhook-timestamp"]) < 605
    assert first.headers["webhook-signature"] == signature(first, secret, first.body)
    with pytest.raises(standardwebhooks.WebhookVerificationError, match="too old"):
        first.verify(secret)


@pytest.mark.parametrize(
    ("truncate", "left"),
    [(True, lambda size: size // 2), (0, lambda _: 0), (10, lambda _: 10), (10**9, lambda n: n)],
    ids=["half", "nothing", "some", "all"],
)
def test_what_is_truncated_says_how_long_it_is_and_is_signed_as_a_whole(hooked, truncate, left):
    first, second, secret = refused_once(hooked, truncate=truncate)

    assert first.body == second.body[: left(len(second.body))]
    assert len(first.body) == left(len(second.body)) == int(first.headers["content-length"])
    assert first.headers["webhook-signature"] == signature(first, secret, second.body)
    assert first.headers["content-type"] == "application/json"


def test_what_is_said_to_have_no_fault_has_none(hooked):
    hooked.run(rule(truncate=False, stale_timestamp=False, duplicate=2))
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        delivery = hooked.tried(hooked.emit(), "e", times=2)

    assert triggers(delivery) == ["scheduled", "scenario"]
    receiver.requests[0].verify(hooked.shown("e")["secret"])
