"""When a failed delivery is tried again, over days that pass at once.

Source: assumed 8.3-retry, D22.
"""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.webhooks import wait_after
from tests.driving import NOW
from tests.webhooks.hooked import START, Hooked, another_world, planned_wait, triggers, waits
from tests.webhooks.misbehaving import refusing
from tests.webhooks.receiving import receiving

DOCUMENTED_S = [5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 10 * 3600]
"""The waits after the first to the seventh failure."""


def fail_once(hooked: Hooked) -> str:
    """The id of a message whose first attempt has just failed."""
    id = hooked.emit()
    hooked.tried(id)
    return id


def is_as_documented(waited: list[float]) -> bool:
    """Whether these are the first waits of the schedule, with their jitter."""
    planned = zip(waited, DOCUMENTED_S, strict=False)
    return all(least <= wait <= least * 1.2 for wait, least in planned)


# --- the schedule -----------------------------------------------------------------------------


@pytest.mark.proves("spec 6.1.9, 6.1.12", "assumed 8.3-retry, D1, 8.3-id, 8.3-timestamp")
def test_eight_attempts_are_made_in_the_documented_schedule_and_then_no_more(hooked, receiver):
    receiver.behave(500)
    with refusing() as url:
        hooked.add_endpoint(url=url, id="nobody")
        id = fail_once(hooked)
        hooked.pass_by(days=2)
        deliveries = {one: hooked.delivery(id, one) for one in ("e", "nobody")}
        hooked.pass_by(days=2)

    for endpoint, delivery in deliveries.items():
        assert is_as_documented(waits(delivery))
        status = 500 if endpoint == "e" else None
        assert [one["status_code"] for one in delivery["attempts"]] == [status] * 8
        assert (delivery["status"], delivery["next_attempt_at"]) == ("failed", None)
        assert hooked.delivery(id, endpoint) == delivery
    # Each has the id and the body, and a timestamp of the wall.
    assert receiver.ids() == [id] * 8
    assert len({one.body for one in receiver.requests}) == 1
    for one in receiver.requests:
        assert abs(one.at - int(one.headers["webhook-timestamp"])) < 60
        one.verify(hooked.look("endpoints/e")["secret"])


def test_each_attempt_is_made_at_the_very_moment_for_which_it_was_planned(hooked, receiver):
    receiver.behave(500)
    id = fail_once(hooked)
    planned = []

    while (due := hooked.delivery(id)["next_attempt_at"]) is not None:
        planned.append(due)
        hooked.move_to(parse_rfc3339(due) - timedelta(milliseconds=1))
        assert len(hooked.delivery(id)["attempts"]) == len(planned)
        # Setting the clock back sends nothing, and the plan stands.
        hooked.pass_by(hours=-1)
        assert hooked.delivery(id)["next_attempt_at"] == due
        hooked.move_to(due)

    moments = [one["at"] for one in hooked.delivery(id)["attempts"]]
    assert moments == [NOW, *planned]
    assert len(receiver.requests) == 8


def test_the_waits_of_two_messages_differ_by_their_jitter(hooked, receiver):
    receiver.behave(500)
    ids = [hooked.emit() for _ in range(10)]

    planned = {planned_wait(hooked.tried(id)) for id in ids}

    assert len(planned) == 10
    assert all(5 <= wait <= 6 for wait in planned)


def test_an_endpoint_that_moves_gets_the_next_attempt_at_its_new_address(hooked, receiver):
    with refusing() as url:
        hooked.manage("PATCH", "/endpoints/e", {"url": url}).expect(200)
        id = fail_once(hooked)
        hooked.manage("PATCH", "/endpoints/e", {"url": receiver.url}).expect(200)
        hooked.pass_by(minutes=1)

    assert [one["status_code"] for one in hooked.delivery(id)["attempts"]] == [None, 200]


def test_with_a_scale_of_zero_all_eight_attempts_are_made_at_once(hooked, receiver):
    hooked.set_switch("webhooks.time_scale", 0)
    receiver.behave(500)
    delivery = hooked.tried(hooked.emit(), times=8)

    assert (delivery["status"], waits(delivery)) == ("failed", [0.0] * 7)


@pytest.mark.parametrize(
    ("rate", "scale", "first", "second"),
    [(1, 0.001, (0.005, 1), (0.3, 2)), (1_000, 1, (5, 1_000), (300, 2_000))],
)
def test_a_running_clock_fires_the_retries_by_itself(served, rate, scale, first, second):
    clock, switches = {"mode": "running", "rate": rate}, {"webhooks.time_scale": scale}
    hooked = another_world(served, clock=clock, switches=switches)
    with receiving([500, 500, 200]) as receiver:
        hooked.add_endpoint(url=receiver.url, id="e")
        delivery = hooked.tried(hooked.emit(), times=3)

    assert delivery["status"] == "delivered"
    for waited, (least, most) in zip(waits(delivery), (first, second), strict=True):
        assert least <= waited < most


@pytest.mark.proves("assumed 8.3-dead, D22")
def test_five_days_of_failures_disable_an_endpoint_and_cancel_what_waited(hooked, receiver):
    receiver.behave(500)
    ids = []
    for _ in range(5):
        ids.append(fail_once(hooked))
        hooked.pass_by(days=1)
    shown = hooked.look("endpoints/e")
    delivery = hooked.tried(hooked.emit())

    assert (shown["disabled"], shown["failing_since"]) == (False, NOW)
    assert shown["disables_at"] == "2026-03-06T12:00:00.000Z"
    assert hooked.look("endpoints/e")["disabled_reason"] == "every attempt failed for 5 days"
    assert hooked.look("endpoints/e")["disables_at"] is None
    assert (delivery["status"], delivery["next_attempt_at"]) == ("canceled", None)
    statuses = [hooked.delivery(id)["status"] for id in ids]
    assert statuses == ["failed"] * 4 + ["canceled"]
    assert hooked.delivery(hooked.emit()) == {}


@pytest.mark.proves("assumed 8.3-dead")
def test_a_success_enabling_it_or_a_reset_begins_the_five_days_again(hooked, receiver):
    for anew in ("success", "/endpoints/e/enable", "/reset"):
        begun = hooked.now
        receiver.behave(500)
        fail_once(hooked)
        hooked.pass_by(days=4)
        if anew == "success":
            receiver.behave(200)
            hooked.tried(hooked.emit())
            receiver.behave(500)
        else:
            hooked.manage("POST", anew).expect(200)
        hooked.move_to(begun + timedelta(days=6))

        fail_once(hooked)

        assert hooked.look("endpoints/e")["disabled"] is False, anew
        hooked.manage("POST", "/endpoints/e/enable").expect(200)


# --- recovering -------------------------------------------------------------------------------


@pytest.mark.proves("assumed D22")
def test_recovering_brings_what_was_missed_while_disabled_in_order_and_once(hooked, receiver):
    hooked.manage("PATCH", "/endpoints/e", {"event_types": ["account.updated"]}).expect(200)
    before = hooked.emit()
    receiver.wait_for(1)
    hooked.manage("PATCH", "/endpoints/e", {"disabled": True}).expect(200)
    long_ago = hooked.emit()
    hooked.pass_by(hours=1)
    missed = [hooked.emit() for _ in range(5)]
    hooked.emit("account.blocked")
    hooked.manage("POST", "/endpoints/e/enable").expect(200)
    counts = [hooked.recover(START + timedelta(hours=hours)) for hours in (1, 1, 0)]
    receiver.wait_for(7)

    assert counts == [5, 0, 1]
    assert receiver.ids() == [before, *missed, long_ago]
    assert [triggers(hooked.tried(id)) for id in missed] == [["manual"]] * 5


def test_recovering_takes_up_what_failed_for_good_with_a_schedule_of_its_own(hooked, receiver):
    receiver.behave(500)
    id = fail_once(hooked)
    still_to_be_tried = hooked.recover()
    hooked.pass_by(days=2)

    failed = hooked.recover()
    hooked.tried(id, times=9)
    hooked.pass_by(days=2)
    delivery = hooked.delivery(id)

    assert (still_to_be_tried, failed) == (0, 1)
    assert delivery["status"] == "failed"
    assert triggers(delivery) == ["scheduled"] * 8 + ["manual"] + ["scheduled"] * 7
    assert is_as_documented(waits(delivery)[8:])


def wait_s(failures, jitter, **more):
    wait = wait_after(failures, jitter=jitter, **more)
    assert wait is not None
    assert wait.microseconds % 1000 == 0
    return wait.total_seconds()


@pytest.mark.proves("assumed 8.3-retry, D22")
@given(st.floats(0, 1), st.none() | st.floats(0, 1e9), st.booleans(), st.floats(0, 10))
def test_jitter_a_429_and_what_an_endpoint_asks_for_lengthen_a_wait_within_bounds(
    jitter, retry_after_s, is_throttled, scale
):
    given = {"retry_after_s": retry_after_s, "is_throttled": is_throttled}
    for number, documented in enumerate(DOCUMENTED_S, start=1):
        planned, wait = wait_s(number, jitter), wait_s(number, jitter, **given)

        assert planned == pytest.approx(documented * (1 + 0.2 * jitter), abs=0.001)
        heeded = min(max(retry_after_s or 0, planned), 2 * planned)
        assert wait == pytest.approx(max(60, heeded) if is_throttled else heeded, abs=0.002)
        scaled = wait_s(number, jitter, **given, scale=scale)
        assert scaled == pytest.approx(wait * scale, abs=0.006)
