"""The golden bodies of the events, and the samples that are sent of them."""

import json
from typing import Any

import pytest

from sandbox import library
from sandbox.domain.events import EVENTS
from tests.driving import InProcess
from tools import golden_events

MERCHANT = "64e24377-b0e9-4882-9386-a4e53c72c012"
"""The account that the golden bodies are about, in the demo world."""

NEW_ACCOUNT = "account.created"
"""The one that cannot be about an account which was there before."""


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


def accounts_of(bodies: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The account that each body is about."""
    return {event: body.get("account_id", body.get("id")) for event, body in bodies.items()}


@pytest.fixture
def other_world(sandbox):
    """The same sandbox, speaking of a world with other ids."""
    answer = sandbox.control("POST", "/worlds", {"id": "other", "seed": 7})
    assert answer.status == 201, answer.body
    return InProcess(sandbox.sandbox, world="other")


# --- the files --------------------------------------------------------------------------------


@pytest.mark.proves("spec 6.1.8")
def test_the_golden_bodies_are_what_the_code_writes_now():
    written = golden_events.bodies()
    old = [one for one in EVENTS if library.sample(one) != written[one]]

    assert old == [], "run `make golden` and commit"
    names = sorted(path.name for path in golden_events.FOLDER.iterdir())
    assert names == sorted(f"{event_type}.json" for event_type in EVENTS)


def test_all_golden_bodies_but_that_of_a_new_account_are_about_the_demo_merchant():
    about = accounts_of({event_type: golden(event_type) for event_type in EVENTS})

    assert [event_type for event_type, id in about.items() if id != MERCHANT] == [NEW_ACCOUNT]
    assert golden(NEW_ACCOUNT)["parent_account_ids"] == [
        "24cd7adb-444e-4736-8200-e0c74f9e31e3",
        "9c6d497b-3cfe-42ea-aa1b-a4659f735be2",
    ]


# --- samples ----------------------------------------------------------------------------------

SUBJECTS = {"transaction": "transaction_id", "terminal": "terminal_id"}


def test_every_sample_has_the_golden_body_of_its_event_and_is_about_its_resource(sandbox):
    sent = [send(sandbox, event_type) for event_type in EVENTS]

    kept = sandbox.control("GET", "/worlds/default/messages").json()["messages"]
    assert sent == kept
    for event_type, message in zip(EVENTS, kept, strict=True):
        assert (message["event_type"], message["body"]) == (event_type, golden(event_type))
        subject = SUBJECTS.get(event_type.partition(".")[0], "id")
        assert message["subject"] == message["body"][subject], event_type
        assert message["request_id"] is None
    assert {one["account_id"] for one in kept if one["event_type"] != NEW_ACCOUNT} == {MERCHANT}


@pytest.mark.parametrize(
    ("event_type", "changes"),
    [
        ("transaction.sale", {"status": "declined", "status_reason": "lost_card", "tid": None}),
        ("location.deleted", {"seen_by": {"nobody": ["yet"]}}),
    ],
)
def test_what_is_to_be_different_is_merged_and_the_rest_stays(sandbox, event_type, changes):
    first, second = (send(sandbox, event_type, **changes) for _ in range(2))

    assert first["body"] == second["body"] == golden(event_type) | changes
    assert first["id"] != second["id"]


def test_a_sample_about_another_resource_is_found_by_that(sandbox):
    message = send(sandbox, "transaction.refund", transaction_id="tx-of-mine")

    found = sandbox.control("GET", "/worlds/default/messages", query="subject=tx-of-mine").json()
    assert [one["id"] for one in found["messages"]] == [message["id"]]


def test_a_sample_without_an_account_falls_back_on_its_own_id(sandbox):
    message = send(sandbox, "batch.opened", account_id=None)

    assert message["account_id"] == message["body"]["id"]


def test_samples_of_another_world_name_its_cast_and_nothing_of_this_one(sandbox, other_world):
    bodies = {event_type: send(other_world, event_type)["body"] for event_type in EVENTS}
    here, there = (sandbox.control("GET", f"/worlds/{id}").json() for id in ("default", "other"))

    ids = {id for kind in ("accounts", "terminals", "locations") for id in here[kind].values()}
    for event_type, body in bodies.items():
        assert [id for id in ids if id in json.dumps(body)] == [], event_type
        assert set(body) == set(golden(event_type)), event_type
    about = accounts_of(bodies)
    merchant = there["accounts"]["merchant"]
    assert [event_type for event_type, id in about.items() if id != merchant] == [NEW_ACCOUNT]
    sale = bodies["transaction.sale"]
    assert sale["tid"] == there["terminals"]["merchant"]
    assert sale["location_id"] == there["locations"]["merchant"]
    assert sale["parent_account_ids"] == [there["accounts"]["psp"], there["accounts"]["partner"]]


def test_a_change_is_kept_as_it_is_in_another_world(other_world):
    message = send(other_world, "batch.opened", terminal_id=MERCHANT)

    assert message["body"]["terminal_id"] == MERCHANT


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

    assert audience(send(other_world, "account.deleted")) == ["merchant"]


def test_a_sample_that_is_made_about_another_account_is_for_that_one(sandbox):
    listen(sandbox, "merchant", "second_merchant", "partner")

    message = send(sandbox, "terminal.blocked", account_id=sandbox.account("second_merchant"))

    assert audience(message) == ["second_merchant", "partner"]


def test_a_sample_arrives_signed_with_the_body_that_its_message_shows(hooked, receiver):
    id = hooked.emit("transaction.sale", total_amount=451)
    (request,) = receiver.wait_for(1)

    request.verify(hooked.shown("e")["secret"])
    assert (request.id, request.json()["total_amount"]) == (id, 451)
    assert request.json() == hooked.ask("GET", f"/messages/{id}").json()["body"]
