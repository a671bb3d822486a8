"""The golden bodies of the events, and the samples that are sent of them."""

import json
from functools import cache
from typing import Any

import pytest

from sandbox import library
from sandbox.domain.events import EVENTS
from tests.driving import InProcess
from tests.webhooks.receiving import receiving
from tools import golden_events

MERCHANT = "64e24377-b0e9-4882-9386-a4e53c72c012"
"""The account that the golden bodies are about, in the demo world."""

NEW_ACCOUNT = "account.created"
"""The one that cannot be about an account which was there before."""


@cache
def written_now() -> dict[str, str]:
    return golden_events.bodies()


def golden(event_type: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(library.sample(event_type))
    return body


def send(sandbox: InProcess, event_type: str, **changes: Any) -> dict[str, Any]:
    """The message of a sample."""
    body = {"event_type": event_type, "changes": changes}
    answer = sandbox.control("POST", f"/worlds/{sandbox.world}/messages", body)
    assert answer.status == 202, answer.body
    message: dict[str, Any] = answer.json()
    return message


def listen(sandbox: InProcess, *owners: str) -> None:
    """An endpoint of each of these accounts of the cast, which is its id too."""
    for owner in owners:
        body = {"id": owner, "url": "http://127.0.0.1:9/", "account_id": sandbox.account(owner)}
        answer = sandbox.control("POST", f"/worlds/{sandbox.world}/endpoints", body)
        assert answer.status == 201, answer.body


def audience(message: dict[str, Any]) -> list[str]:
    return [one["endpoint_id"] for one in message["deliveries"]]


@pytest.fixture
def other_world(sandbox):
    """The same sandbox, speaking of a world with other ids."""
    answer = sandbox.control("POST", "/worlds", {"id": "other", "seed": 7})
    assert answer.status == 201, answer.body
    return InProcess(sandbox.sandbox, world="other")


# --- the files --------------------------------------------------------------------------------


@pytest.mark.proves("spec 6.1.8")
@pytest.mark.parametrize("event_type", EVENTS)
def test_a_golden_body_is_what_the_code_writes_now(event_type):
    assert library.sample(event_type) == written_now()[event_type], (
        f"fixtures/events/{event_type}.json is old: run `make golden` and commit"
    )


def test_there_is_one_golden_body_for_every_event_and_nothing_else():
    names = sorted(path.name for path in golden_events.FOLDER.iterdir())

    assert names == sorted(f"{event_type}.json" for event_type in EVENTS)


def test_all_golden_bodies_but_that_of_a_new_account_are_about_the_demo_merchant():
    bodies = {event_type: golden(event_type) for event_type in EVENTS}

    others = [
        event_type
        for event_type, body in bodies.items()
        if body.get("account_id", body.get("id")) != MERCHANT
    ]
    assert others == [NEW_ACCOUNT]


def test_the_golden_body_of_a_new_account_is_under_the_demo_partner():
    assert golden(NEW_ACCOUNT)["parent_account_ids"] == [
        "24cd7adb-444e-4736-8200-e0c74f9e31e3",
        "9c6d497b-3cfe-42ea-aa1b-a4659f735be2",
    ]


# --- samples ----------------------------------------------------------------------------------


def test_every_sample_has_the_golden_body_of_its_event(sandbox):
    sent = [send(sandbox, event_type) for event_type in EVENTS]

    kept = sandbox.control("GET", "/worlds/default/messages").json()["messages"]
    assert sent == kept
    assert [(one["event_type"], one["body"]) for one in kept] == [
        (event_type, golden(event_type)) for event_type in EVENTS
    ]
    assert {one["request_id"] for one in kept} == {None}


@pytest.mark.parametrize(
    ("event_type", "field"),
    [
        ("transaction.sale", "transaction_id"),
        ("batch.opened", "id"),
        ("account.deleted", "id"),
        ("terminal.deleted", "terminal_id"),
        ("location.updated", "id"),
        ("api_key.revoked", "id"),
        ("credential.created", "id"),
    ],
)
def test_a_sample_is_about_the_resource_of_its_body(sandbox, event_type, field):
    message = send(sandbox, event_type)

    assert message["subject"] == message["body"][field]
    assert message["account_id"] == MERCHANT


def test_what_is_to_be_different_is_merged_and_the_rest_stays(sandbox):
    message = send(
        sandbox, "transaction.sale", status="declined", status_reason="lost_card", batch_id=None
    )

    assert message["body"] == golden("transaction.sale") | {
        "status": "declined",
        "status_reason": "lost_card",
        "batch_id": None,
    }


def test_what_is_to_be_different_may_be_a_field_that_no_body_has(sandbox):
    message = send(sandbox, "location.deleted", seen_by={"nobody": ["yet"]})

    assert message["body"] == golden("location.deleted") | {"seen_by": {"nobody": ["yet"]}}


def test_a_sample_about_another_resource_is_found_by_that(sandbox):
    message = send(sandbox, "transaction.refund", transaction_id="tx-of-mine")

    found = sandbox.control("GET", "/worlds/default/messages", query="subject=tx-of-mine").json()
    assert [one["id"] for one in found["messages"]] == [message["id"]]


def test_a_sample_without_an_account_falls_back_on_its_own_id(sandbox):
    message = send(sandbox, "batch.opened", account_id=None)

    assert message["account_id"] == message["body"]["id"]


def test_two_samples_are_two_messages(sandbox):
    first, second = send(sandbox, "batch.opened"), send(sandbox, "batch.opened")

    assert first["id"] != second["id"]
    assert first["body"] == second["body"]


def test_no_sample_of_another_world_names_anything_of_the_cast_of_this_one(sandbox, other_world):
    bodies = {event_type: send(other_world, event_type)["body"] for event_type in EVENTS}

    here = sandbox.control("GET", "/worlds/default").json()
    ids = {id for kind in ("accounts", "terminals", "locations") for id in here[kind].values()}
    wrong = {
        event_type
        for event_type, body in bodies.items()
        if any(id in json.dumps(body) for id in ids) or set(body) != set(golden(event_type))
    }
    assert wrong == set()


def test_the_samples_of_another_world_are_about_its_merchant(other_world):
    bodies = {event_type: send(other_world, event_type)["body"] for event_type in EVENTS}

    merchant = other_world.account("merchant")
    others = [
        event_type
        for event_type, body in bodies.items()
        if body.get("account_id", body.get("id")) != merchant
    ]
    assert others == [NEW_ACCOUNT]


def test_a_sample_of_another_world_has_terminal_location_and_parents_of_that_world(
    sandbox, other_world
):
    body = send(other_world, "transaction.sale")["body"]

    there = sandbox.control("GET", "/worlds/other").json()
    assert body["tid"] == there["terminals"]["merchant"]
    assert body["location_id"] == there["locations"]["merchant"]
    assert body["parent_account_ids"] == [there["accounts"]["psp"], there["accounts"]["partner"]]


def test_a_change_is_kept_as_it_is_in_another_world(other_world):
    message = send(other_world, "batch.opened", terminal_id=MERCHANT)

    assert message["body"]["terminal_id"] == MERCHANT


@pytest.mark.parametrize(
    ("event_type", "meant"),
    [("transaction.sales", "transaction.sale"), ("acount.created", "account.created")],
)
def test_an_event_that_does_not_exist_is_refused_with_the_one_that_is_meant(
    sandbox, event_type, meant
):
    answer = sandbox.control("POST", "/worlds/default/messages", {"event_type": event_type})

    assert answer.status == 400
    assert answer.json() == {
        "error": "validation_error",
        "message": f"event_type: there is no '{event_type}'",
        "details": "",
        "nearest": meant,
    }
    assert sandbox.control("GET", "/worlds/default/messages").json()["total"] == 0


# --- who gets one -----------------------------------------------------------------------------


def test_every_sample_is_for_its_account_and_those_above(sandbox):
    listen(sandbox, "merchant", "second_merchant", "partner", "other_partner", "psp")

    heard = {event_type: audience(send(sandbox, event_type)) for event_type in EVENTS}

    assert heard.pop(NEW_ACCOUNT) == ["partner", "psp"]
    assert {tuple(each) for each in heard.values()} == {("merchant", "partner", "psp")}


@pytest.mark.parametrize("above", [None, "psp", [], [{"id": "psp"}]])
def test_a_sample_of_a_new_account_that_names_nothing_above_it_is_for_the_whole_world(
    sandbox, above
):
    listen(sandbox, "psp")
    everything = {"id": "everything", "url": "http://127.0.0.1:9/"}
    sandbox.control("POST", "/worlds/default/endpoints", everything)

    message = send(sandbox, NEW_ACCOUNT, parent_account_ids=above)

    assert audience(message) == ["everything"]


def test_a_sample_of_another_world_is_for_the_accounts_of_that_world(sandbox, other_world):
    listen(sandbox, "merchant")
    listen(other_world, "merchant", "second_merchant")

    message = send(other_world, "account.deleted")

    assert audience(message) == ["merchant"]


def test_a_sample_that_is_made_about_another_account_is_for_that_one(sandbox):
    listen(sandbox, "merchant", "second_merchant", "partner")

    message = send(sandbox, "terminal.blocked", account_id=sandbox.account("second_merchant"))

    assert audience(message) == ["second_merchant", "partner"]


# --- for real ---------------------------------------------------------------------------------


def test_a_sample_arrives_signed_with_the_body_that_its_message_shows(served):
    world = served.control("POST", "/worlds", json={"seed": 7}).json()
    path = f"/worlds/{world['id']}"
    owner = {"account_id": world["accounts"]["merchant"]}
    sample = {"event_type": "transaction.sale", "changes": {"total_amount": 451}}

    with receiving() as receiver:
        endpoint = served.control("POST", f"{path}/endpoints", json={"url": receiver.url} | owner)
        sent = served.control("POST", f"{path}/messages", json=sample)
        (request,) = receiver.wait_for(1)

    message = sent.json()
    request.verify(endpoint.json()["secret"])
    assert request.id == message["id"]
    assert request.json() == message["body"]
    assert request.json()["account_id"] == world["accounts"]["merchant"]
    assert request.json()["total_amount"] == 451
    served.control("DELETE", path)
