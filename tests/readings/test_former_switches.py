"""Switches that became readings: they are set under either name, and both show what is in force."""

import pytest

from sandbox.app import build
from sandbox.domain import readings
from sandbox.domain.profile import parse_profile
from sandbox.domain.switches import SWITCHES
from sandbox.settings import Settings
from tests.driving import InProcess
from tests.support.payments import act, acted, ask, pay, read, sold

FORMER = {name: switch for name, switch in SWITCHES.items() if switch.reading is not None}
PAIRS = [
    (name, value, switch.reading.id, chosen)
    for name, switch in FORMER.items()
    for value, chosen in zip(switch.values, switch.reading.names, strict=True)
]


def shown(sandbox, kind, world="default"):
    return sandbox.control("GET", f"/worlds/{world}/{kind}").json()


def put(sandbox, kind, world="default", **values):
    answer = sandbox.control("PUT", f"/worlds/{world}/{kind}", values)
    assert answer.status == 200, answer.body
    return answer.json()


def test_every_former_switch_has_the_default_of_its_reading():
    assert {one.reading.id for one in FORMER.values()} == set(list(readings.READINGS)[:4])
    assert all(one.default == one.values[0] for one in FORMER.values())


def test_a_former_switch_and_its_reading_show_each_other(sandbox):
    for name, value, reading, chosen in PAIRS:
        assert put(sandbox, "switches", **{name: value})[name] == value
        assert shown(sandbox, "readings")[reading] == chosen
        put(sandbox, "readings", **{reading: None})
        assert shown(sandbox, "switches")[name] == SWITCHES[name].default
        put(sandbox, "readings", **{reading: chosen})
        assert shown(sandbox, "switches")[name] == value


@pytest.mark.proves("assumed D35")
def test_a_new_world_takes_former_switches_and_a_reading_counts_before_them(sandbox):
    body = {
        "id": "mine",
        "switches": {"strict_headers": True, "idempotency.duplicate": "replay"},
        "readings": {"duplicate_event_id": "reject"},
    }

    assert sandbox.control("POST", "/worlds", body).status == 201

    for _ in range(2):
        assert shown(sandbox, "readings", "mine")["missing_headers"] == "refused"
        assert shown(sandbox, "switches", "mine")["idempotency.duplicate"] == "reject"
        sandbox.control("POST", "/worlds/mine/reset")
    assert shown(sandbox, "switches")["strict_headers"] is False


@pytest.mark.proves("assumed D35")
def test_a_snapshot_may_name_a_reading_by_its_former_switch():
    profile = parse_profile({"readings": {"rule_failures": "http_200"}})
    sandbox = InProcess(build(Settings(profile=profile)))
    snapshot = sandbox.control("GET", "/worlds/default/snapshot").json()
    state = snapshot["world"]["0"]
    state["switches"]["refund.partial_status"] = "refunded"

    assert sandbox.control("PUT", "/worlds/default/snapshot", snapshot).status in (200, 204)

    readings = shown(sandbox, "readings")
    assert readings["status_after_partial_refund"] == "refunded"
    assert readings["rule_failures"] == "http_200"
    assert shown(sandbox, "switches")["lifecycle.rule_failures"] == "http_200"


@pytest.mark.proves("assumed D35-partial-refund")
@pytest.mark.parametrize(("value", "status"), [("unchanged", "captured"), ("refunded", "refunded")])
def test_a_payment_refunded_in_part_is_unchanged_or_refunded(sandbox, value, status):
    put(sandbox, "readings", status_after_partial_refund=value)
    sale = sold(sandbox)

    assert acted(sandbox, sale, "refund", amount=400)["status"] == status

    assert read(sandbox, sale)["status"] == status
    assert acted(sandbox, sale, "refund", amount=400)["status"] == status


@pytest.mark.proves("assumed D35-rule-failures")
@pytest.mark.parametrize(("value", "status"), [("http_400", 400), ("http_200", 200)])
def test_a_rule_failure_is_refused_or_answered_with_the_failed_transaction(sandbox, value, status):
    put(sandbox, "readings", rule_failures=value)
    sale = sold(sandbox)

    answer = act(sandbox, sale["transaction_id"], "capture", amount=sale["total_amount"])

    assert answer.status == status
    assert "invalid_capture_sequence" in answer.body.decode()


@pytest.mark.proves("assumed D35-headers")
@pytest.mark.parametrize(("value", "status"), [("served", 200), ("refused", 400)])
def test_a_request_without_accept_is_served_or_refused(sandbox, value, status):
    put(sandbox, "readings", missing_headers=value)
    headers = [(b"x-service-apikey", sandbox.key("merchant").encode())]

    assert sandbox.ask("GET", "/v5/apikeys", headers=headers).status == status
    assert ask(sandbox, "GET", "/v5/apikeys").status == 200


@pytest.mark.proves("assumed D35-duplicate")
@pytest.mark.parametrize(("value", "status"), [("reject", 400), ("replay", 200)])
def test_a_repeated_event_id_is_refused_or_answered_again(sandbox, value, status):
    put(sandbox, "readings", duplicate_event_id=value)
    sale = sold(sandbox, event_id="one")

    again = pay(sandbox, event_id="one")

    assert again.status == status
    if status == 200:
        assert again.json() == sale
    assert pay(sandbox, 2000, event_id="one").status == 400
