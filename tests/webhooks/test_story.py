"""Endpoints that fail and recover, over days that pass at once. Source: assumed 8.3-retry, D22."""

from datetime import timedelta

import pytest

from sandbox.domain.instants import parse_rfc3339, to_wire
from tests.driving import Served
from tests.webhooks.calling import DOCUMENTED_S
from tests.webhooks.hooked import START, Hooked, planned_wait, waits
from tests.webhooks.receiving import receiving


def another_world(served: Served, **more) -> Hooked:
    created = served.control("POST", "/worlds", json={"clock": to_wire(START)} | more)
    assert created.status_code == 201, created.text
    return Hooked(served, created.json()["id"], created.json())


def failing_message(hooked: Hooked, url: str) -> str:
    """A message of which the first attempt, at an endpoint `e`, has just failed."""
    hooked.endpoint(url, id="e")
    id = hooked.emit()
    hooked.tried(id, "e")
    return id


# --- the schedule -----------------------------------------------------------------------------


@pytest.mark.proves("spec 6.1.12", "assumed 8.3-retry")
def test_eight_attempts_are_made_in_the_documented_schedule_and_then_no_more(hooked):
    with receiving(500) as receiver:
        id = failing_message(hooked, receiver.url)

        hooked.pass_by(days=2)
        delivery = hooked.delivery(id, "e")
        hooked.pass_by(days=2)

    planned = zip(waits(delivery), DOCUMENTED_S, strict=True)
    assert all(least <= wait <= least * 1.2 for wait, least in planned)
    assert (delivery["status"], delivery["next_attempt_at"]) == ("failed", None)
    assert hooked.delivery(id, "e") == delivery
    assert receiver.ids() == [id] * 8


def test_each_attempt_is_made_at_the_very_moment_for_which_it_was_planned(hooked):
    with receiving(500) as receiver:
        id = failing_message(hooked, receiver.url)
        planned = []

        while (due := hooked.delivery(id, "e")["next_attempt_at"]) is not None:
            planned.append(due)
            hooked.move_to(parse_rfc3339(due) - timedelta(milliseconds=1))
            assert len(hooked.delivery(id, "e")["attempts"]) == len(planned)
            hooked.move_to(due)

    moments = [one["at"] for one in hooked.delivery(id, "e")["attempts"]]
    assert moments == [to_wire(START), *planned]
    assert len(moments) == 8


def test_it_is_the_same_whether_time_passes_step_by_step_or_at_once(served):
    stepping, jumping = another_world(served), another_world(served)
    deliveries = []
    with receiving(500) as receiver:
        for hooked, hours in ((stepping, 1), (jumping, 48)):
            id = failing_message(hooked, receiver.url)
            for _ in range(0, 48, hours):
                hooked.pass_by(hours=hours)
            deliveries.append(hooked.delivery(id, "e"))

    stepped, jumped = ([one["at"] for one in delivery["attempts"]] for delivery in deliveries)
    assert stepped == jumped
    assert len(stepped) == 8


def test_the_waits_of_two_messages_differ_by_their_jitter(hooked):
    with receiving(500) as receiver:
        hooked.endpoint(receiver.url, id="e")
        ids = [hooked.emit() for _ in range(10)]

        planned = {planned_wait(hooked.tried(id, "e")) for id in ids}

    assert len(planned) == 10
    assert all(5 <= wait <= 6 for wait in planned)


def test_an_endpoint_that_fails_for_a_day_gets_everything_once_it_recovers(hooked):
    with receiving(500) as receiver:
        hooked.endpoint(receiver.url, id="e")
        ids = []
        for _ in range(24):
            ids.append(hooked.emit())
            hooked.tried(ids[-1], "e")
            hooked.pass_by(hours=1)
        failed = len(receiver.requests)
        receiver.behave(200)
        hooked.pass_by(hours=12)

    deliveries = [hooked.delivery(id, "e") for id in ids]
    assert {one["status"] for one in deliveries} == {"delivered"}
    assert sorted(receiver.ids()[failed:]) == sorted(ids)
    for delivery in deliveries:
        planned = zip(waits(delivery), DOCUMENTED_S, strict=False)
        assert all(least <= wait <= least * 1.2 for wait, least in planned)


@pytest.mark.proves("spec 6.1.9", "assumed D1, 8.3-id, 8.3-timestamp")
def test_every_attempt_keeps_the_id_and_body_and_has_a_timestamp_of_the_wall(hooked):
    with receiving(500) as receiver:
        failing_message(hooked, receiver.url)
        hooked.pass_by(days=2)

    requests = receiver.requests
    assert len({one.id for one in requests}) == len({one.body for one in requests}) == 1
    for one in requests:
        assert abs(one.at - int(one.headers["webhook-timestamp"])) < 5
        one.verify(hooked.shown("e")["secret"])


def test_setting_the_clock_back_sends_nothing_and_the_plan_stands(hooked):
    with receiving(500) as receiver:
        id = failing_message(hooked, receiver.url)
        planned = hooked.delivery(id, "e")["next_attempt_at"]

        hooked.pass_by(days=-1)

        assert hooked.delivery(id, "e")["next_attempt_at"] == planned
        assert len(receiver.requests) == 1


# --- the switch and running clocks ------------------------------------------------------------


def test_with_a_scale_of_nothing_all_eight_attempts_are_made_at_once(hooked):
    hooked.switch(webhooks__time_scale=0)
    with receiving(500) as receiver:
        hooked.endpoint(receiver.url, id="e")
        delivery = hooked.tried(hooked.emit(), "e", times=8)

    assert (delivery["status"], waits(delivery)) == ("failed", [0.0] * 7)


def test_a_running_clock_fires_the_retries_by_itself(served):
    settings = {"webhooks.time_scale": 0.001}
    hooked = another_world(served, clock={"mode": "running"}, switches=settings)
    with receiving([500, 500, 200]) as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()
        receiver.wait_for(3)
        delivery = hooked.tried(id, "e", times=3)

    assert delivery["status"] == "delivered"
    first, second = waits(delivery)
    assert 0.005 <= first < 1
    assert 0.3 <= second < 2


def test_the_rate_of_a_clock_makes_retries_come_sooner(served):
    hooked = another_world(served, clock={"mode": "running", "rate": 1_000})
    with receiving([500, 500, 200]) as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()
        receiver.wait_for(3)
        delivery = hooked.tried(id, "e", times=3)

    first, second = waits(delivery)
    assert 5 <= first < 1_000
    assert 300 <= second < 2_000


def test_a_retry_comes_as_soon_as_a_frozen_clock_runs_again(hooked):
    hooked.switch(webhooks__time_scale=0.001)
    with receiving([500, 200]) as receiver:
        failing_message(hooked, receiver.url)

        hooked.ask("PUT", "/clock", {"mode": "running"}, status=200)

        receiver.wait_for(2)


# --- dead endpoints ---------------------------------------------------------------------------


def fail_daily(hooked: Hooked, days: int) -> list[str]:
    """One message a day, of which every attempt of that day fails."""
    ids = []
    for _ in range(days):
        ids.append(hooked.emit())
        hooked.tried(ids[-1], "e")
        hooked.pass_by(days=1)
    return ids


@pytest.mark.proves("assumed 8.3-dead, D22")
def test_five_days_of_failures_disable_an_endpoint_and_cancel_what_waited(hooked):
    with receiving(500) as receiver:
        hooked.endpoint(receiver.url, id="e")
        ids = fail_daily(hooked, 5)
        shown = hooked.shown("e")
        last = hooked.emit()
        delivery = hooked.tried(last, "e")

    assert (shown["disabled"], shown["failing_since"]) == (False, "2026-03-01T12:00:00.000Z")
    assert shown["disables_at"] == "2026-03-06T12:00:00.000Z"
    assert hooked.shown("e")["disabled_reason"] == "every attempt failed for 5 days"
    assert hooked.shown("e")["disables_at"] is None
    assert (delivery["status"], delivery["next_attempt_at"]) == ("canceled", None)
    statuses = [hooked.delivery(id, "e")["status"] for id in ids]
    assert statuses == ["failed"] * 4 + ["canceled"]
    assert hooked.delivery(hooked.emit(), "e") == {}


@pytest.mark.proves("assumed 8.3-dead")
def test_one_success_begins_the_five_days_again(hooked):
    with receiving(500) as receiver:
        hooked.endpoint(receiver.url, id="e")
        fail_daily(hooked, 4)
        receiver.behave(200)
        hooked.tried(hooked.emit(), "e")
        receiver.behave(500)
        fail_daily(hooked, 4)

        assert hooked.shown("e")["disabled"] is False


@pytest.mark.parametrize("anew", ["enable", "reset"])
def test_enabling_it_or_a_reset_begins_the_five_days_again(hooked, anew):
    with receiving(500) as receiver:
        hooked.endpoint(receiver.url, id="e")
        fail_daily(hooked, 4)
        hooked.ask("POST", "/endpoints/e/enable" if anew == "enable" else "/reset")
        hooked.move_to(START + timedelta(days=6))

        hooked.tried(hooked.emit(), "e")

        assert hooked.shown("e")["disabled"] is False


# --- recovering -------------------------------------------------------------------------------


def recover(hooked: Hooked, since: str = to_wire(START)) -> int:
    answer = hooked.ask("POST", "/endpoints/e/recover", {"since": since}, status=202)
    return int(answer.json()["messages"])


@pytest.mark.proves("assumed D22")
def test_recovering_brings_what_was_missed_while_disabled_in_order_and_once(hooked):
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e", event_types=["account.updated"])
        before = hooked.emit()
        receiver.wait_for(1)
        hooked.ask("PATCH", "/endpoints/e", {"disabled": True}, status=200)
        missed = [hooked.emit() for _ in range(5)]
        hooked.emit("account.blocked")
        hooked.ask("POST", "/endpoints/e/enable", status=200)
        counts = recover(hooked), recover(hooked)
        receiver.wait_for(6)

    assert counts == (5, 0)
    assert receiver.ids() == [before, *missed]
    for id in missed:
        assert hooked.tried(id, "e")["attempts"][0]["trigger"] == "manual"


def test_recovering_looks_no_further_back_than_it_is_told(hooked):
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e", disabled=True)
        hooked.emit()
        hooked.pass_by(hours=1)
        id = hooked.emit()
        hooked.ask("POST", "/endpoints/e/enable", status=200)

        count = recover(hooked, to_wire(START + timedelta(hours=1)))
        receiver.wait_for(1)

    assert count == 1
    assert receiver.ids() == [id]


def test_recovering_takes_up_what_failed_for_good_with_a_schedule_of_its_own(hooked):
    with receiving(500) as receiver:
        id = failing_message(hooked, receiver.url)
        hooked.pass_by(days=2)

        count = recover(hooked)
        hooked.tried(id, "e", times=9)
        hooked.pass_by(days=2)
        delivery = hooked.delivery(id, "e")

    assert count == 1
    assert delivery["status"] == "failed"
    triggers = [one["trigger"] for one in delivery["attempts"]]
    assert triggers == ["scheduled"] * 8 + ["manual"] + ["scheduled"] * 7
    planned = zip(waits(delivery)[8:], DOCUMENTED_S, strict=True)
    assert all(least <= wait <= least * 1.2 for wait, least in planned)


def test_what_is_still_to_be_tried_again_is_not_recovered(hooked):
    with receiving(500) as receiver:
        failing_message(hooked, receiver.url)

        assert recover(hooked) == 0
