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


@pytest.mark.proves("assumed D35-partial-refund, D35-rule-failures, D35-headers, D35-duplicate")
def test_what_is_chosen_by_the_name_of_a_reading_is_done(sandbox):
    # tests/payments says what the defaults do, and test_outcomes and test_event_ids the rest.
    values = {
        "status_after_partial_refund": "refunded",
        "rule_failures": "http_200",
        "missing_headers": "refused",
        "duplicate_event_id": "replay",
    }
    put(sandbox, "readings", **values)
    sale = sandbox.sold(event_id="one")
    assert sandbox.pay(event_id="one").json() == sale
    assert sandbox.pay(2000, event_id="one").status == 400

    failed = sandbox.acted(sale, "capture")
    refunds = [sandbox.acted(sale, "refund", amount=400)["status"] for _ in range(2)]

    assert (failed["status"], failed["status_reason"]) == ("error", "invalid_capture_sequence")
    assert [*refunds, sandbox.read(sale)["status"]] == ["refunded"] * 3
    headers = [(b"x-service-apikey", sandbox.key("merchant").encode())]
    assert sandbox.ask("GET", "/v5/apikeys", headers=headers).status == 400
    assert sandbox.get("/v5/apikeys").status == 200
