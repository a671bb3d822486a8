"""Locations: their fields, creation, changes, filters, deletion. Source: spec 2.8, assumed 1.5."""

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

# --- create -----------------------------------------------------------------------------------


@pytest.mark.proves("spec 2.8-status")
def test_a_location_can_be_created_blocked(sandbox):
    # assumed 1.5 lists status among the fields of a creation.
    location = a_location(sandbox, status="blocked")

    assert location["status"] == "blocked"


@pytest.mark.proves("spec 2.8-null-fields", "assumed 1.5-metadata")
@pytest.mark.parametrize("metadata", [{"a": 1}, [], "text", 7, True, {"b": {"c": None}}])
def test_metadata_is_taken_in_any_form_and_shown_as_null(sandbox, metadata):
    # spec 2.8: null in the shape seen
    body = {"account_id": account_id(sandbox, "merchant"), "name": "Patio", "metadata": metadata}
    answer = post(sandbox, "/v1/locations", body)

    location = made(answer)
    changed = shown(put(sandbox, f"/v1/locations/{location['id']}", {"metadata": metadata}))

    assert location["metadata"] is None
    assert changed == location
    assert sandbox.journal(answer)["notes"] == []
    assert events(sandbox) == ["location.created"]


# --- the terminal it points at ----------------------------------------------------------------


@pytest.mark.proves("assumed 1.5-create")
def test_a_location_points_at_a_terminal_of_its_account(sandbox):
    terminal = a_terminal(sandbox)["terminal_id"]

    location = a_location(sandbox, terminal_id=terminal)

    assert location["terminal_id"] == terminal


def pointed_at(sandbox, name):
    if name == "deleted":
        id = a_terminal(sandbox)["terminal_id"]
        delete(sandbox, f"/v2/terminals/{id}")
        return id
    return NOBODY if name == "missing" else terminal_id(sandbox, name)


ELSEWHERE = ["second_merchant", "other_merchant", "missing", "deleted"]


@pytest.mark.proves("assumed 1.5-create")
@pytest.mark.parametrize("whose", ELSEWHERE)
def test_a_location_cannot_be_created_on_a_terminal_of_another_account(sandbox, whose):
    body = {
        "account_id": account_id(sandbox, "merchant"),
        "name": "Patio",
        "terminal_id": pointed_at(sandbox, whose),
    }
    before = sandbox.state()

    answer = post(sandbox, "/v1/locations", body)

    assert "terminal_id" in detail(answer)
    assert sandbox.state() == before


@pytest.mark.proves("assumed 1.5-create")
@pytest.mark.parametrize("whose", ELSEWHERE)
def test_a_location_cannot_be_moved_to_a_terminal_of_another_account(sandbox, whose):
    id = pointed_at(sandbox, whose)
    path = f"/v1/locations/{location_id(sandbox, 'merchant')}"
    before = sandbox.state()

    answer = put(sandbox, path, {"terminal_id": id, "name": "x"})

    assert "terminal_id" in detail(answer)
    assert sandbox.state() == before


def test_terminals_that_cannot_be_named_are_told_apart_by_nothing(sandbox):
    path = f"/v1/locations/{location_id(sandbox, 'merchant')}"

    answers = [
        put(sandbox, path, {"terminal_id": pointed_at(sandbox, whose)}, by="merchant")
        for whose in ("second_merchant", "other_merchant", "missing")
    ]

    assert len({(answer.status, answer.body) for answer in answers}) == 1


# --- listing and deletion ---------------------------------------------------------------------


@pytest.mark.proves("assumed 1.5, 0.5-lists")
@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("search=bistro", ["Barton Springs Bistro Patio", "Barton Springs Bistro"]),
        ("search=PATIO", ["Barton Springs Bistro Patio"]),
        ("search=hill%20country", ["Hill Country Grocers"]),
        ("search=rose", []),
        ("search=hello", []),
        ("search=bistro&status=active", ["Barton Springs Bistro Patio"]),
        ("status=blocked", ["Barton Springs Bistro"]),
        ("status=blocked&search=grocer", []),
    ],
)
def test_each_filter_of_the_listing_alone_and_with_others(sandbox, query, names):
    if "status" in query:
        path = f"/v1/locations/{location_id(sandbox, 'merchant')}"
        shown(sandbox.ask("POST", f"{path}/block", key="partner"))

    listed = shown(get(sandbox, "/v1/locations", query=query))

    assert [one["name"] for one in listed["locations"]] == names
    assert listed["total"] == len(names)
