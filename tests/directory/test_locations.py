"""Locations: status, metadata, the terminal, filters. Source: spec 2.8, assumed 1.5."""

import pytest

from tests.directory.making import (
    NOBODY,
    a_location,
    a_terminal,
    account_id,
    delete,
    detail,
    events,
    get,
    location_id,
    made,
    post,
    put,
    shown,
    terminal_id,
)

PATH = "/v1/locations"


@pytest.mark.proves("spec 2.8-status")
def test_a_location_can_be_created_blocked(sandbox):
    # assumed 1.5 lists status among the fields of a creation.
    assert a_location(sandbox, status="blocked")["status"] == "blocked"


@pytest.mark.proves("spec 2.8-null-fields", "assumed 1.5-metadata")
def test_metadata_is_accepted_in_any_form_and_shown_as_null(sandbox):
    body = {"account_id": account_id(sandbox, "merchant"), "name": "Patio"}

    # spec 2.8: null in the shape seen
    for metadata in ({"a": 1}, [], "text", 7, True, {"b": {"c": None}}):
        answer = post(sandbox, PATH, body | {"metadata": metadata})
        location = made(answer)
        assert location["metadata"] is None
        assert sandbox.journal(answer)["notes"] == []
        changed = put(sandbox, f"{PATH}/{location['id']}", {"metadata": metadata})
        assert shown(changed) == location
    assert set(events(sandbox)) == {"location.created"}


@pytest.mark.proves("assumed 1.5-create")
def test_a_location_points_at_a_live_terminal_of_its_account_and_at_no_other(sandbox):
    own = a_terminal(sandbox)["terminal_id"]
    location = a_location(sandbox, terminal_id=own)
    assert location["terminal_id"] == own
    delete(sandbox, f"/v2/terminals/{own}")
    # What it is already may be sent back (assumed D42).
    assert shown(put(sandbox, f"{PATH}/{location['id']}", location)) == location
    item = f"{PATH}/{location_id(sandbox, 'merchant')}"
    others = [terminal_id(sandbox, name) for name in ("second_merchant", "other_merchant")]
    before = sandbox.state()

    for id in (*others, NOBODY, own):
        body = {"account_id": account_id(sandbox, "merchant"), "name": "x", "terminal_id": id}
        created, changed = post(sandbox, PATH, body), put(sandbox, item, body, by="merchant")
        assert "terminal_id" in detail(created)
        # They are told apart by nothing.
        assert (changed.status, changed.body) == (created.status, created.body)
    assert sandbox.state() == before


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
    path = f"{PATH}/{location_id(sandbox, 'merchant')}"
    shown(sandbox.ask("POST", f"{path}/block", key="partner"))

    for query, names in FOUND.items():
        listed = shown(get(sandbox, PATH, query=query))
        assert [one["name"] for one in listed["locations"]] == names, query
        assert listed["total"] == len(names)
