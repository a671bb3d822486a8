"""Operators have a message sent once more, and get new secrets. Source: assumed D22."""

from datetime import timedelta
from threading import Event

import pytest

from sandbox.domain.webhooks import ATTEMPTS_MAX, Sent
from sandbox.webhooks.signing import write_secret
from tests.driving import until
from tests.webhooks.hooked import triggers
from tests.webhooks.receiving import Answer


def test_without_an_endpoint_or_body_it_goes_to_all_that_want_it(hooked, receiver):
    hooked.add_endpoint(url=receiver.url, id="a")
    hooked.add_endpoint(url=receiver.url, id="disabled", disabled=True)
    hooked.add_endpoint(url=receiver.url, id="other", event_types=["batch.opened"])
    id = hooked.emit()
    receiver.wait_for(2)

    sent = hooked.manage("POST", f"/messages/{id}/resend").expect(202)
    receiver.wait_for(4)

    assert sent == {"endpoints": ["e", "a"]}
    assert receiver.ids() == [id] * 4


@pytest.mark.proves("spec 6.1.9", "assumed D22")
def test_after_a_resend_under_its_id_one_success_is_enough(hooked, receiver):
    for answers in ([200, 500], [500, 200]):
        receiver.behave(answers)
        id = hooked.emit()
        hooked.tried(id)

        assert hooked.resend(id, endpoint_id="e") == ["e"]
        delivery = hooked.tried(id, times=2)
        hooked.pass_by(days=3)

        assert (delivery["status"], triggers(delivery)) == ("delivered", ["scheduled", "manual"])
        assert delivery["next_attempt_at"] is None
        assert receiver.ids().count(id) == 2


def test_a_failed_resend_leaves_the_planned_attempt_as_it_is(hooked, receiver):
    receiver.behave(500)
    id = hooked.emit()
    planned = hooked.tried(id)["next_attempt_at"]

    hooked.resend(id)
    between = hooked.tried(id, times=2)
    hooked.move_to(planned)
    after = hooked.tried(id, times=3)

    assert (between["status"], between["next_attempt_at"]) == ("pending", planned)
    assert triggers(after) == ["scheduled", "manual", "scheduled"]
    assert after["attempts"][2]["at"] == planned


def test_an_attempt_that_fails_after_a_resend_succeeded_plans_nothing(hooked, receiver):
    gate = Event()
    receiver.behave([Answer(500, gate=gate), 200])
    id = hooked.emit()
    receiver.wait_for(1)

    hooked.resend(id)
    until(lambda: hooked.delivery(id)["status"] == "delivered")
    gate.set()
    delivery = hooked.tried(id, times=2)

    assert (delivery["status"], delivery["next_attempt_at"]) == ("delivered", None)


def test_a_message_that_was_not_for_the_endpoint_can_be_sent_to_it(hooked, receiver):
    """A failed resend as the only attempt has failed for good, and can be recovered."""
    for answer, status, missed in ((200, "delivered", 0), (500, "failed", 1)):
        receiver.behave(answer)
        hooked.manage("PATCH", "/endpoints/e", {"event_types": ["batch.opened"]}).expect(200)
        id = hooked.emit()
        hooked.manage("PATCH", "/endpoints/e", {"event_types": []}).expect(200)

        hooked.resend(id, endpoint_id="e")
        delivery = hooked.tried(id)

        assert (delivery["status"], triggers(delivery)) == (status, ["manual"])
        assert delivery["next_attempt_at"] is None
        assert hooked.recover() == missed


def test_only_the_newest_of_very_many_attempts_are_kept(sandbox):
    sandbox.add_endpoint(id="e")
    id = sandbox.emit()
    outbox = sandbox.get_world().outbox

    for number in range(ATTEMPTS_MAX + 5):
        assert sandbox.manage("POST", f"/messages/{id}/resend", {}).status == 202
        while (job := outbox.take("e")) is not None:
            outbox.conclude(
                job, Sent(status_code=200, duration_ms=0, response=str(number), error=None)
            )

    (delivery,) = sandbox.look(f"messages/{id}")["deliveries"]
    assert [one["response"] for one in delivery["attempts"]] == [
        str(number) for number in range(5, ATTEMPTS_MAX + 5)
    ]


# --- secrets ----------------------------------------------------------------------------------

SECRET = write_secret(b"k" * 32)
OTHER_SECRET = write_secret(b"o" * 32)


def test_a_secret_is_rotated_to_a_new_or_a_given_one(sandbox):
    for grace in ({}, {"grace_s": None}, {"grace_s": 0}, {"grace_s": 604_800}):
        before = sandbox.add_endpoint(secret=SECRET)
        path = f"/endpoints/{before['id']}/rotate-secret"

        drawn = sandbox.manage("POST", path, grace)
        given = sandbox.manage("POST", path, grace | {"secret": OTHER_SECRET})

        assert (drawn.status, given.status) == (200, 200)
        assert drawn.json()["secret"] not in (SECRET, OTHER_SECRET)
        assert drawn.json() | {"secret": SECRET, "old_secrets": []} == before
        old = [one["secret"] for one in given.json()["old_secrets"]]
        assert old == ([] if grace == {"grace_s": 0} else [drawn.json()["secret"], SECRET])
        assert given.json()["secret"] == OTHER_SECRET
    # At most ten old secrets sign at a time.
    answers = [sandbox.manage("POST", path).status for _ in range(9)]
    at_once = sandbox.manage("POST", path, {"grace_s": 0})
    assert (answers, at_once.status) == ([200] * 8 + [409], 200)


def rotate(hooked, **body):
    """The secrets before and after."""
    before = hooked.look("endpoints/e")["secret"]
    answer = hooked.manage("POST", "/endpoints/e/rotate-secret", body).expect(200)
    return before, answer["secret"]


@pytest.mark.proves("assumed D22")
def test_the_old_secret_signs_along_until_its_grace_is_over(hooked, receiver):
    for grace, grace_s in (({}, 86_400), ({"grace_s": 90}, 90)):
        old, new = rotate(hooked, **grace)
        rotated_at = hooked.now
        for passed, signing in ((0, 2), (grace_s - 0.001, 2), (grace_s, 1)):
            hooked.move_to(rotated_at + timedelta(seconds=passed))
            hooked.tried(hooked.emit())
            request = receiver.requests[-1]

            assert len(request.headers["webhook-signature"].split()) == signing
            assert request.is_signed_by(new)
            assert request.is_signed_by(old) is (signing == 2)


def test_a_retry_is_signed_with_the_secrets_of_its_own_time(hooked, receiver):
    receiver.behave([500, 200])
    hooked.tried(hooked.emit())
    old, new = rotate(hooked, grace_s=0)

    hooked.pass_by(seconds=6)
    first, second = receiver.wait_for(2)

    assert [one.is_signed_by(old) for one in (first, second)] == [True, False]
    assert second.is_signed_by(new)
