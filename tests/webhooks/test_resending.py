"""Operators have a message sent once more. Source: assumed D22."""

from threading import Event

import pytest

from sandbox.domain.webhooks import ATTEMPTS_MAX, Sent
from tests.control.refusals import assert_refused
from tests.webhooks.calling import WORLD, add, message, sample, world_of
from tests.webhooks.hooked import resend, triggers, until
from tests.webhooks.misbehaving import refusing
from tests.webhooks.receiving import Answer, receiving


@pytest.mark.proves("spec 6.1.9", "assumed D22")
def test_a_delivered_message_is_sent_once_more_under_its_id(hooked):
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()
        hooked.tried(id, "e")

        endpoints = resend(hooked, id, endpoint_id="e")
        delivery = hooked.tried(id, "e", times=2)

    assert endpoints == ["e"]
    assert (delivery["status"], triggers(delivery)) == ("delivered", ["scheduled", "manual"])
    assert receiver.ids() == [id, id]


def test_without_an_endpoint_it_goes_to_all_that_want_it(hooked):
    with receiving() as receiver:
        for name in ("a", "b"):
            hooked.endpoint(receiver.url, id=name)
        hooked.endpoint(receiver.url, id="disabled", disabled=True)
        hooked.endpoint(receiver.url, id="other", event_types=["batch.opened"])
        id = hooked.emit()
        receiver.wait_for(2)

        endpoints = resend(hooked, id)
        receiver.wait_for(4)

    assert endpoints == ["a", "b"]
    assert receiver.ids() == [id] * 4


def test_a_body_is_not_needed(hooked):
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()
        receiver.wait_for(1)

        hooked.ask("POST", f"/messages/{id}/resend", status=202)

        receiver.wait_for(2)


@pytest.mark.proves("assumed D22")
@pytest.mark.parametrize("answers", [[200, 500], [500, 200]], ids=["failed", "succeeded"])
def test_after_a_resend_one_success_is_enough(hooked, answers):
    with receiving(answers) as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()
        hooked.tried(id, "e")

        resend(hooked, id)
        delivery = hooked.tried(id, "e", times=2)
        hooked.pass_by(days=3)

    assert (delivery["status"], delivery["next_attempt_at"]) == ("delivered", None)
    assert len(receiver.requests) == 2


def test_a_failed_resend_leaves_the_planned_attempt_as_it_is(hooked):
    with receiving(500) as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()
        planned = hooked.tried(id, "e")["next_attempt_at"]

        resend(hooked, id)
        between = hooked.tried(id, "e", times=2)
        hooked.move_to(planned)
        after = hooked.tried(id, "e", times=3)

    assert (between["status"], between["next_attempt_at"]) == ("pending", planned)
    assert triggers(after) == ["scheduled", "manual", "scheduled"]
    assert after["attempts"][2]["at"] == planned


def test_an_attempt_that_fails_after_a_resend_succeeded_plans_nothing(hooked):
    gate = Event()
    with receiving([Answer(500, gate=gate), 200]) as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()
        receiver.wait_for(1)

        resend(hooked, id)
        until(lambda: hooked.delivery(id, "e")["status"] == "delivered")
        gate.set()
        delivery = hooked.tried(id, "e", times=2)

    assert (delivery["status"], delivery["next_attempt_at"]) == ("delivered", None)


def test_a_message_of_before_the_endpoint_can_be_sent_to_it(hooked):
    with receiving() as receiver:
        id = hooked.emit()
        hooked.endpoint(receiver.url, id="e", event_types=["batch.opened"])

        resend(hooked, id, endpoint_id="e")
        delivery = hooked.tried(id, "e")

    assert (delivery["status"], triggers(delivery)) == ("delivered", ["manual"])


def test_a_message_whose_only_attempt_was_a_failed_resend_has_failed_and_can_be_recovered(hooked):
    id = hooked.emit()
    with refusing() as url:
        hooked.endpoint(url, id="e")
        resend(hooked, id)
        delivery = hooked.tried(id, "e")

        recovered = hooked.ask(
            "POST", "/endpoints/e/recover", {"since": "2026-03-01T12:00:00Z"}, status=202
        )

    assert (delivery["status"], delivery["next_attempt_at"]) == ("failed", None)
    assert recovered.json() == {"messages": 1}


# --- refused ----------------------------------------------------------------------------------


def test_a_disabled_endpoint_is_a_409_that_says_why(sandbox):
    add(sandbox, id="e", disabled=True)
    id = sample(sandbox)

    answer = sandbox.control("POST", f"{WORLD}/messages/{id}/resend", {"endpoint_id": "e"})

    assert_refused(answer, 409, "endpoint_disabled")
    assert "disabled by hand" in answer.json()["message"]
    assert message(sandbox, id)["deliveries"] == []


@pytest.mark.parametrize(("id", "body"), [("msg_x", {}), (None, {"endpoint_id": "other"})])
def test_a_message_or_endpoint_that_does_not_exist_is_a_404(sandbox, id, body):
    add(sandbox, id="e")
    path = f"{WORLD}/messages/{id or sample(sandbox)}/resend"

    assert_refused(sandbox.control("POST", path, body), 404, "not_found")


@pytest.mark.parametrize("body", [{"endpoint_id": 5}, {"endpoint": "e"}])
def test_a_body_that_cannot_be_is_a_400(sandbox, body):
    answer = sandbox.control("POST", f"{WORLD}/messages/{sample(sandbox)}/resend", body)

    nearest = "endpoint_id" if "endpoint" in body else None
    assert_refused(answer, 400, "validation_error", nearest)


# --- samples ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "nearest"),
    [
        ({"event_type": "account.update"}, "account.updated"),
        ({"event_type": None}, None),
        ({}, None),
        ({"event_type": "account.updated", "changes": []}, None),
        ({"event_type": "account.updated", "change": {}}, "changes"),
        (
            {
                "event_type": "account.updated",
                "changes": {"name": "svc_live_abcdefghijkl_abcdefghijklmnopqrstuvwxyz012345"},
            },
            None,
        ),
    ],
    ids=str,
)
def test_a_sample_that_cannot_be_is_a_400_that_emits_nothing(sandbox, body, nearest):
    answer = sandbox.control("POST", f"{WORLD}/messages", body)

    assert_refused(answer, 400, "validation_error", nearest)
    assert sandbox.control("GET", f"{WORLD}/messages").json()["total"] == 0


def test_of_very_many_attempts_the_newest_are_kept(sandbox):
    add(sandbox, id="e")
    id = sample(sandbox)
    outbox = world_of(sandbox).outbox

    for number in range(ATTEMPTS_MAX + 5):
        assert sandbox.control("POST", f"{WORLD}/messages/{id}/resend", {}).status == 202
        while (job := outbox.take("e")) is not None:
            outbox.conclude(
                job, Sent(status_code=200, duration_ms=0, response=str(number), error=None)
            )

    (delivery,) = message(sandbox, id)["deliveries"]
    assert [one["response"] for one in delivery["attempts"]] == [
        str(number) for number in range(5, ATTEMPTS_MAX + 5)
    ]
