"""Operators choose how the next attempts end."""

import pytest

from tests.control.refusals import assert_refused


def queue(sandbox, **entry):
    return sandbox.manage("POST", "/scenario/next", entry).expect(201)


def queued(sandbox):
    listed = sandbox.look("scenario/next")
    assert listed["total"] == len(listed["queue"])
    return listed["queue"]


@pytest.mark.proves("assumed D4")
def test_the_queue_is_in_order_until_its_entries_are_used_removed_cleared_or_reset(sandbox):
    ids = [queue(sandbox, outcome="lost_card")["id"] for _ in range(3)]
    queue(sandbox, outcome="approved", operation="capture", amount=500)
    assert [one["id"] for one in queued(sandbox)][:3] == ids == ["next_1", "next_2", "next_3"]

    assert sandbox.manage("DELETE", f"/scenario/next/{ids[1]}").status == 204
    assert_refused(sandbox.manage("DELETE", f"/scenario/next/{ids[1]}"), 404, "not_found")
    sandbox.pay()
    assert [one["operation"] for one in queued(sandbox)] == [None, "capture"]
    assert queue(sandbox, outcome="lost_card")["id"] not in ids
    assert sandbox.manage("DELETE", "/scenario/next").status == 204
    assert queued(sandbox) == []
    queue(sandbox, outcome="lost_card")
    sandbox.reset()
    assert queued(sandbox) == []


@pytest.mark.proves("assumed 5.3-anywhere")
def test_a_queued_fault_is_for_the_next_request_that_it_names(sandbox):
    for entry in (
        {"operation": "terminals.list"},
        {"method": "GET"},
        {"path": "/v2/*"},
        {"operation": "terminals.list", "method": "GET", "path": "*terminals"},
        {},
    ):
        assert queue(sandbox, fault="http_503", **entry).items() >= entry.items()
        if entry:
            assert sandbox.post("/v1/batches/open", by="psp").status != 503

        failed, spared = (sandbox.get("/v2/terminals", by="psp") for _ in range(2))

        assert (failed.status, spared.status) == (503, 200), entry
        assert failed.outcome == "http_503; source=queue; rule=queue"
