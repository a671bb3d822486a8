"""Locations: status, metadata, the terminal, filters. Source: spec 2.8, assumed 1.5."""

import pytest

from tests.support.directory import NOBODY

PATH = "/v1/locations"


@pytest.mark.proves("spec 2.8-null-fields", "assumed 1.5-metadata")
def test_metadata_is_accepted_in_any_form_and_shown_as_null(sandbox):
    body = {"account_id": sandbox.account_id("merchant"), "name": "Patio"}

    # spec 2.8: null in the shape seen
    for metadata in ({"a": 1}, [], "text", 7, True, {"b": {"c": None}}):
        answer = sandbox.post(PATH, body | {"metadata": metadata})
        location = answer.expect(201)
        assert location["metadata"] is None
        assert sandbox.journal(answer)["notes"] == []
        changed = sandbox.put(f"{PATH}/{location['id']}", {"metadata": metadata})
        assert changed.expect(200) == location
    assert set(sandbox.fired()) == {"location.created"}


@pytest.mark.proves("assumed 1.5-create")
def test_a_location_points_at_a_live_terminal_of_its_account_and_at_no_other(sandbox):
    own = sandbox.a_terminal()["terminal_id"]
    location = sandbox.a_location(terminal_id=own)
    assert location["terminal_id"] == own
    sandbox.delete(f"/v2/terminals/{own}")
    # What it is already may be sent back (assumed D42).
    assert sandbox.put(f"{PATH}/{location['id']}", location).expect(200) == location
    item = f"{PATH}/{sandbox.location_id('merchant')}"
    others = [sandbox.terminal_id(name) for name in ("second_merchant", "other_merchant")]

    with sandbox.unchanged():
        for id in (*others, NOBODY, own):
            body = {"account_id": sandbox.account_id("merchant"), "name": "x", "terminal_id": id}
            created, changed = sandbox.post(PATH, body), sandbox.put(item, body, by="merchant")
            assert "terminal_id" in created.detail()
            # They are told apart by nothing.
            assert (changed.status, changed.body) == (created.status, created.body)


BISTRO, PATIO = "Barton Springs Bistro", "Barton Springs Bistro Patio"
FOUND = {
    "search=bistro": [PATIO, BISTRO],
    "search=PATIO": [PATIO],
    "search=hill%20country": ["Hill Country Grocers"],
    "search=rose": [],
    "search=hello": [],
    "search=bistro&status=active": [PATIO],
    "status=blocked": [BISTRO],
    "status=blocked&search=grocer": [],
}


@pytest.mark.proves("assumed 1.5, 0.5-lists")
def test_each_filter_of_the_listing_alone_and_with_others(sandbox):
    path = f"{PATH}/{sandbox.location_id('merchant')}"
    sandbox.post(f"{path}/block").expect(200)

    for query, names in FOUND.items():
        listed = sandbox.get(PATH, query=query).expect(200)
        assert [one["name"] for one in listed["locations"]] == names, query
        assert listed["total"] == len(names)
