"""Operators inject faults into next deliveries without a scenario."""

import pytest

from tests.webhooks.hooked import refused, rule
from tests.webhooks.receiving import receiving

NEXT = "/webhooks/next"


def inject(hooked, status=201, **body):
    return hooked.ask("POST", NEXT, body, status=status).json()


@pytest.mark.proves("assumed D24")
def test_the_next_deliveries_that_match_get_the_fault_and_no_others(hooked):
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        hooked.run(rule(signature="missing"))
        added = inject(hooked, then={"signature": "wrong"}, when={"endpoint": "e"}, times=2)
        inject(hooked, then={"drop": True}, when={"event": "batch.opened"})
        tried = [hooked.tried(hooked.emit(), "e") for _ in range(3)]

    assert added == {
        "id": "next_1",
        "when": {"endpoint": "e"},
        "then": {"signature": "wrong"},
        "left": 2,
    }
    assert [one["rule"] for one in tried] == ["next delivery next_1"] * 2 + ["1"]
    assert [one["attempts"][0]["sent"]["spoilt"] for one in tried] == [
        *(["signature = wrong"],) * 2,
        ["signature = missing"],
    ]
    left = hooked.ask("GET", NEXT).json()
    assert [one["id"] for one in left["queue"]] == ["next_2"]
    hooked.ask("DELETE", NEXT, status=204)
    assert hooked.ask("GET", NEXT).json() == {"queue": [], "total": 0}
    assert inject(hooked, then={"drop": True})["id"] == "next_3"


@pytest.mark.proves("assumed D25")
def test_a_snapshot_keeps_what_is_queued(hooked):
    inject(hooked, then={"drop": True}, times=3)
    saved = hooked.ask("GET", "/snapshot").json()
    hooked.ask("DELETE", NEXT, status=204)

    hooked.ask("PUT", "/snapshot", saved, status=200)

    assert [one["left"] for one in hooked.ask("GET", NEXT).json()["queue"]] == [3]


@pytest.mark.parametrize(
    ("body", "nearest"),
    [
        ({"then": {}}, None),
        ({"then": {"dropp": True}}, "drop"),
        ({"then": {"drop": True, "times": 2}}, None),
        ({"then": {"drop": True}, "when": {"event": "transaction.sal"}}, "transaction.sale"),
        ({"then": {"drop": True}, "when": {"account": "merchent"}}, "merchant"),
        ({"then": {"drop": True}, "times": 0}, None),
        ({"then": {"drop": True}, "tims": 2}, "times"),
        ({}, None),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_not_queued(hooked, body, nearest):
    answer = hooked.ask("POST", NEXT, body)

    refused(answer, 400, "validation_error", nearest)
    assert hooked.ask("GET", NEXT).json()["total"] == 0


def test_the_last_of_the_queue_is_late_together_with_what_contradicts_it(hooked):
    """No fault waits when the second message is made."""
    made = hooked.ask("POST", "/receivers", {}, status=201).json()
    inject(hooked, then={"delay_ms": 20, "contradict": {"status": "declined"}})

    id = hooked.emit("transaction.sale", status="captured")
    hooked.tried(id, made["id"])
    hooked.ask("POST", "/clock/advance", {"by": "0s"})

    got = hooked.ask("GET", f"/receivers/{made['id']}/received").json()["received"]
    assert [one["body"]["status"] for one in got] == ["captured", "declined"]
    assert [one["attempt"] for one in got] == [1, 1]
