"""Switches that became readings: they are set under either name, and both show what is in force."""

import pytest

from sandbox.domain.profile import Profile
from sandbox.domain.switches import SWITCHES
from tests.driving import fresh

FORMER = {name: switch for name, switch in SWITCHES.items() if switch.reading is not None}
PAIRS = [
    (name, value, switch.reading.id, chosen)
    for name, switch in FORMER.items()
    for value, chosen in zip(switch.values, switch.reading.names, strict=True)
]


def put(sandbox, kind, **values):
    return sandbox.manage("PUT", f"/{kind}", values).expect(200)


def test_a_former_switch_and_its_reading_show_each_other(sandbox):
    for name, value, reading, chosen in PAIRS:
        assert put(sandbox, "switches", **{name: value})[name] == value
        assert sandbox.look("readings")[reading] == chosen
        put(sandbox, "readings", **{reading: None})
        assert sandbox.look("switches")[name] == SWITCHES[name].default
        put(sandbox, "readings", **{reading: chosen})
        assert sandbox.look("switches")[name] == value


@pytest.mark.proves("assumed D35")
def test_a_new_world_takes_former_switches_and_a_reading_counts_before_them(sandbox):
    switches = {"strict_headers": True, "idempotency.duplicate": "replay"}
    readings = {"duplicate_event_id": "reject"}

    mine = sandbox.add_world("mine", switches=switches, readings=readings)

    for _ in range(2):
        assert mine.look("readings")["missing_headers"] == "refused"
        assert mine.look("switches")["idempotency.duplicate"] == "reject"
        mine.reset()
    assert sandbox.look("switches")["strict_headers"] is False


@pytest.mark.proves("assumed D35")
def test_a_snapshot_may_name_a_reading_by_its_former_switch():
    sandbox = fresh(profile=Profile(readings={"rule_failures": "http_200"}))
    snapshot = sandbox.look("snapshot")
    state = snapshot["world"]["0"]
    state["switches"]["refund.partial_status"] = "refunded"

    assert sandbox.manage("PUT", "/snapshot", snapshot).status in (200, 204)

    readings = sandbox.look("readings")
    assert readings["status_after_partial_refund"] == "refunded"
    assert readings["rule_failures"] == "http_200"
    assert sandbox.look("switches")["lifecycle.rule_failures"] == "http_200"
