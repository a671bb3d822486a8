"""Batches that close on schedule, on the world's clock. Source: assumed B16.

tests/control/test_refused has schedules that cannot be.
"""

import pytest

from tests.scenarios.running import running


def scheduled(sandbox, *times, zone="UTC", **more):
    path = f"/batch-schedules/{sandbox.terminal_id('merchant')}"
    return sandbox.manage("PUT", path, {"times": list(times), "zone": zone} | more)


def closings(sandbox, by):
    """When batches closed on schedule while the time went on."""
    return [at for at, kind, _ in sandbox.advance(by) if kind == "batch_closes"]


@pytest.mark.proves("assumed B16")
def test_the_open_batch_closes_at_the_local_time_and_nothing_is_opened(sandbox):
    set_ = scheduled(sandbox, "23:30", zone="America/New_York")
    id = sandbox.sold()["batch_id"]
    count = len(sandbox.messages())

    # New York is five hours behind until 8 March.
    assert (set_.status, set_.json()["next"]) == (200, "2026-03-02T04:30:00.000Z")
    assert closings(sandbox, "16h") == []
    assert sandbox.batch(id)["status"] == "open"
    assert closings(sandbox, "1h") == ["2026-03-02T04:30:00.000Z"]

    closed = sandbox.batch(id)
    assert (closed["status"], closed["closed_at"]) == ("accepted", "2026-03-02T04:30:00.000Z")
    assert sandbox.fired(count) == ["batch.submitted", "batch.accepted"]
    assert len(sandbox.batches()) == 1
    # One that is empty is closed too (assumed B13).
    empty = sandbox.opened_batch()["id"]
    sandbox.advance("1d")
    assert sandbox.batch(empty)["status"] == "accepted"


@pytest.mark.proves("assumed B16")
def test_it_closes_once_a_day_also_when_the_clocks_change(sandbox):
    for now, time, zone, expected in (
        # New York skips 02:00 to 03:00 on 8 March, and has 01:00 to 02:00 twice on 1 November.
        ("2026-03-07T12:00:00Z", "02:30", "America/New_York", ["03-08T07:30", "03-09T06:30"]),
        ("2026-10-31T12:00:00Z", "01:30", "America/New_York", ["11-01T05:30", "11-02T06:30"]),
        ("2026-11-07T12:00:00Z", "00:00", "Pacific/Auckland", ["11-08T11:00", "11-09T11:00"]),
    ):
        sandbox.set_clock(now)
        scheduled(sandbox, time, zone=zone)
        assert closings(sandbox, "47h") == [f"2026-{one}:00.000Z" for one in expected]


def test_only_on_the_days_and_at_each_of_the_times_that_are_named(sandbox):
    scheduled(sandbox, "18:00", "06:00", "18:00", days=["TUE", "MON"])

    (schedule,) = sandbox.look("batch-schedules")["schedules"]
    assert (schedule["times"], schedule["days"]) == (["06:00", "18:00"], ["MON", "TUE"])
    came = [one[8:16] for one in closings(sandbox, "8d")]
    assert came == ["02T06:00", "02T18:00", "03T06:00", "03T18:00", "09T06:00"]


def test_the_running_scenario_shows_how_its_rules_applied(sandbox):
    follow = [{"do": "revoke_key", "after": "1s"}]
    then = {"batch": "rejected", "follow": follow}
    running(sandbox, {"name": "no", "when": {"operation": "close_batch"}, "then": then})
    scheduled(sandbox, "23:30")
    sale = sandbox.sold()
    due = sandbox.look(f"payments/{sale['transaction_id']}")["story"][-1]

    sandbox.advance("12h")

    assert (due["at"], due["says"]) == ("2026-03-01T23:30:00.000Z", "batch_closes")
    assert sandbox.batch(sale["batch_id"])["status"] == "rejected"
    # No key closed the batch, so none is revoked.
    assert sandbox.sold()["status"] == "captured"


@pytest.mark.proves("assumed B16, 8.2-cut-off")
def test_a_deleted_terminal_has_no_schedule_and_without_one_a_batch_stays_open(sandbox):
    sale = sandbox.sold(at="second_merchant")
    scheduled(sandbox, "23:30")
    sandbox.delete(f"/v2/terminals/{sandbox.terminal_id('merchant')}")

    assert sandbox.look("batch-schedules")["schedules"] == []
    assert closings(sandbox, "9d") == []
    assert sandbox.batch(sale["batch_id"])["status"] == "open"
