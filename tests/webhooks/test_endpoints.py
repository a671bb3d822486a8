"""Operators say where webhooks go, and who hears what; accounts have applications.

Source: spec 4.4-paths-provisioning, 6.1.3, 6.1.11; assumed 8.3, D22, D25.
"""

import re

import pytest

from sandbox.domain.webhooks import ENDPOINTS_MAX
from sandbox.webhooks.signing import write_secret
from tests.control.refusals import assert_refused
from tests.driving import NOW
from tests.webhooks.calling import WORLD
from tests.webhooks.hooked import START

URL = "http://127.0.0.1:9/hooks"
SECRET = write_secret(b"k" * 32)
SNAPSHOT = f"{WORLD}/snapshot"


# --- create, list, read, delete ---------------------------------------------------------------


def test_an_endpoint_needs_a_url_only_and_null_is_as_if_it_was_not_given(sandbox):
    optional = ("id", "description", "account_id", "event_types", "filters", "secret", "disabled")
    body = sandbox.add_endpoint(url=URL, **dict.fromkeys(optional))

    assert re.fullmatch(r"ep_[A-Za-z0-9]{27}", body.pop("id"))
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", body.pop("secret"))
    assert body == {
        "url": URL,
        "description": "",
        "account_id": None,
        "application_id": None,
        "event_types": [],
        "filters": {},
        "old_secrets": [],
        "disabled": False,
        "disabled_reason": None,
        "failing_since": None,
        "disables_at": None,
        "created_at": NOW,
    }


def test_an_endpoint_is_as_requested_and_keeps_what_a_change_does_not_name(sandbox):
    wanted = {
        "id": "mine-1_A",
        "url": "https://example.com:8443/a?b=c%20d",
        "description": "mine",
        "account_id": sandbox.account_id("merchant"),
        "event_types": ["transaction.sale", "transaction.refund"],
        "filters": {"status": ["captured", "accepted"]},
        "secret": SECRET,
    }
    twice = {"event_types": wanted["event_types"] * 2}
    empty = {"filters": wanted["filters"] | {"processor": None, "transaction_type": []}}

    before = sandbox.add_endpoint(**wanted | twice | empty | {"disabled": True})

    disabled = {"disabled": True, "disabled_reason": "disabled by hand"}
    assert before == before | wanted | disabled
    assert re.fullmatch(r"app_[A-Za-z0-9]{27}", before["application_id"])
    unchanged = dict.fromkeys(("url", "description", "event_types", "filters", "secret"))
    assert sandbox.change_endpoint(before["id"], **unchanged, disabled=None) == before

    for changes in (
        {"url": "https://example.com/", "secret": write_secret(b"o" * 32)},
        {"event_types": ["batch.opened"]},
        {"description": "", "event_types": [], "filters": {}},
        {"account_id": None},
    ):
        after = sandbox.change_endpoint(before["id"], **changes)

        gone = {"application_id": None} if "account_id" in changes else {}
        assert after == sandbox.look(f"endpoints/{before['id']}") == before | changes | gone
        before = after


def test_an_endpoint_is_disabled_enabled_and_deleted(sandbox):
    first, second = sandbox.add_endpoint(), sandbox.add_endpoint(id="a")
    assert sandbox.look("endpoints") == {"endpoints": [first, second], "total": 2}
    assert len({one[name] for one in (first, second) for name in ("id", "secret")}) == 4
    id = first["id"]
    waiting = sandbox.emit()

    disabled = sandbox.change_endpoint(id, disabled=True)
    missed = sandbox.emit()
    again = sandbox.change_endpoint(id, disabled=True)
    enabled = sandbox.change_endpoint(id, disabled=False)
    answer = sandbox.manage("POST", f"/endpoints/{id}/enable")
    heard = sandbox.emit()
    deleted = sandbox.manage("DELETE", f"/endpoints/{id}")

    assert (disabled["disabled"], disabled["disabled_reason"]) == (True, "disabled by hand")
    assert again == disabled
    assert (enabled["disabled"], enabled["disabled_reason"]) == (False, None)
    # It is answered also when it was enabled.
    assert (answer.status, answer.json()) == (200, enabled)
    assert (deleted.status, deleted.body) == (204, b"")
    assert sandbox.look("endpoints") == {"endpoints": [second], "total": 1}
    assert sandbox.fares(waiting) == sandbox.fares(heard) == {id: "canceled", "a": "pending"}
    assert list(sandbox.fares(missed)) == list(sandbox.fares(sandbox.emit())) == ["a"]
    # Endpoints stay as they are over a reset, while messages go.
    third = sandbox.add_endpoint(disabled=True)
    sandbox.reset()
    after = sandbox.add_endpoint()
    assert after["id"] != third["id"]
    assert sandbox.look("endpoints")["endpoints"] == [second, third, after]
    assert sandbox.look("messages")["total"] == 0


@pytest.mark.proves("spec 4.4-paths-provisioning", "assumed 8.3-application")
def test_a_v2_creation_provisions_an_application_to_which_endpoints_belong(sandbox):
    assert sandbox.look("applications") == {"applications": [], "total": 0}

    account = sandbox.an_account(path="/v2/accounts")
    (made,) = sandbox.look("applications")["applications"]
    hook = sandbox.add_endpoint(account_id=account["id"])

    assert re.fullmatch(r"app_[A-Za-z0-9]{27}", made["id"])
    own = {"account_id": account["id"], "created_at": NOW, "endpoints": []}
    assert made == {"id": made["id"]} | own
    assert hook["application_id"] == made["id"]
    listed = {"applications": [made | {"endpoints": [hook["id"]]}], "total": 1}
    assert sandbox.look("applications") == listed
    # The platform's answer has no field for it: spec 2.6 lists them.
    assert "application_id" not in account
    document = sandbox.look("snapshot")
    sandbox.manage("DELETE", f"/endpoints/{hook['id']}")
    sandbox.delete(f"/v1/accounts/{account['id']}")
    assert sandbox.look("applications")["total"] == 0
    sandbox.control("PUT", SNAPSHOT, document)
    assert sandbox.look("applications") == listed


@pytest.mark.proves("assumed 8.3-application")
def test_another_account_gets_its_application_with_its_first_endpoint_and_keeps_it(sandbox):
    sandbox.an_account(path="/v1/accounts")
    assert sandbox.look("applications")["total"] == 0

    hooks = [sandbox.add_endpoint(account_id=sandbox.account_id("merchant")) for _ in range(2)]
    assert sandbox.add_endpoint()["application_id"] is None
    before = sandbox.look("applications")
    sandbox.reset()

    assert [one["endpoints"] for one in before["applications"]] == [[one["id"] for one in hooks]]
    assert sandbox.look("applications") == before


# --- at most so many: docs/design/webhooks.md -------------------------------------------------


def test_one_endpoint_more_than_may_be_is_refused_until_one_is_deleted(sandbox):
    # tests/state/test_snapshots has a snapshot with too many.
    for number in range(ENDPOINTS_MAX):
        sandbox.add_endpoint(id=f"e{number}")
    sandbox.control("POST", "/worlds", {"id": "other"})
    more = {"url": URL}
    scenario = {"name": "mine", "endpoint": [more | {"name": "mine"}]}

    refused = sandbox.manage("POST", "/endpoints", more)
    by_scenario = sandbox.manage("PUT", "/scenario", scenario)
    elsewhere = sandbox.control("POST", "/worlds/other/endpoints", more)
    changed = sandbox.change_endpoint("e0", description="as before")
    sandbox.manage("DELETE", "/endpoints/e1")
    taken = sandbox.manage("POST", "/endpoints", more)

    assert_refused(refused, 409, "too_many_endpoints")
    assert f"{ENDPOINTS_MAX} endpoints are already in this world" in refused.json()["message"]
    assert by_scenario.status in (400, 409)
    assert f"{ENDPOINTS_MAX} endpoints" in by_scenario.json()["message"]
    assert (elsewhere.status, changed["description"], taken.status) == (201, "as before", 201)


def test_recovering_ends_where_its_endpoint_is_deleted_meanwhile(sandbox):
    sandbox.add_endpoint(id="e", disabled=True)
    for _ in range(3):
        sandbox.emit()
    sandbox.change_endpoint("e", disabled=False)

    recovering = sandbox.get_world().outbox.recover("e", START)
    first = next(recovering)
    sandbox.manage("DELETE", "/endpoints/e")

    assert (first, list(recovering)) == (True, [])


@pytest.mark.proves("spec 6.1.3", "assumed D43")
def test_event_types_choose_and_none_means_all(sandbox):
    some = sandbox.add_endpoint(event_types=["transaction.sale", "batch.opened"])["id"]
    every = sandbox.add_endpoint()["id"]
    # Filters see what the body says at that moment.
    pending = sandbox.add_endpoint(filters={"status": ["pending"]})["id"]
    # Batches have a processor too.
    tsys, other = (
        sandbox.add_endpoint(filters={"processor": [name]})["id"] for name in ("tsys", "other")
    )

    sandbox.pay()

    fired = ["transaction.create", "batch.opened", "transaction.sale"]
    assert sandbox.types_reached(some) == fired[1:]
    assert sandbox.types_reached(every) == sandbox.types_reached(tsys) == fired
    assert sandbox.types_reached(pending) == fired[:1]
    assert sandbox.types_reached(other) == []


SALE = {"transaction_type": "sale", "status": "captured", "processor": "tsys"}

FILTERS = [
    ({"status": ["declined"]}, False),
    ({"status": ["declined", "captured"]}, True),
    ({"transaction_type": ["refund"], "status": ["captured"]}, False),
    ({"transaction_type": ["refund", "sale"], "status": ["error", "captured"]}, True),
    ({"transaction_type": ["sale"], "status": ["captured"], "processor": ["other"]}, False),
    ({}, True),
]


@pytest.mark.proves("spec 6.1.11", "assumed 8.3-filters")
def test_all_filters_have_to_match_each_by_any_of_its_values(sandbox):
    wanting = [
        id
        for filters, passes in FILTERS
        if (id := sandbox.add_endpoint(filters=filters)["id"]) and passes
    ]

    assert list(sandbox.fares(sandbox.emit("transaction.sale", **SALE))) == wanting


@pytest.mark.proves("assumed 8.3-filters")
def test_a_filter_on_a_field_that_the_body_lacks_or_has_as_null_never_matches(sandbox):
    for name in ("transaction_type", "processor"):
        sandbox.add_endpoint(filters={name: ["sale"], "status": ["active"]})
    sandbox.add_endpoint(filters={"status": ["captured", "deleted"]})
    every = sandbox.add_endpoint()["id"]
    location = sandbox.get_world().cast.locations["merchant"]

    for event, status in (("account.updated", "active"), ("transaction.sale", None)):
        assert list(sandbox.fares(sandbox.emit(event, status=status))) == [every]
    # What has a sparse body has no status.
    sandbox.delete(f"/v1/locations/{location}", by="merchant")
    listed = sandbox.look("messages")["messages"][-1]
    assert listed["event_type"] == "location.deleted"
    assert [one["endpoint_id"] for one in listed["deliveries"]] == [every]
