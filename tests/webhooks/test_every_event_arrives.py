"""Every event of spec 6.3 is seen arriving: one server, one receiver, one story.

Each is fired by an operation that names it, and has the body that the spec describes.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from sandbox.domain.events import EVENTS
from sandbox.platform.routes import OPERATIONS
from tests.driving import NOW, serving
from tests.state.remote import Remote
from tests.webhooks.receiving import Received, overtakers, receiving
from tools.golden_events import FOLDER, tell

SECRET = "whsec_c3Rvcnktc3Rvcnktc3Rvcnktc3Rvcnktc3RvcnktMQ=="

BY_THEMSELVES = {"batch.accepted", "batch.partially_accepted", "batch.rejected"}


@dataclass(frozen=True)
class Story:
    """What was emitted and what arrived, in order, and the operation of each request."""

    messages: list[dict[str, Any]]
    requests: list[Received]
    routes: dict[str, str]

    def first_of_each(self) -> Iterator[tuple[str, dict[str, Any], Received]]:
        """The first message of each event, as it is kept and as it arrived."""
        arrived = {one.id: one for one in self.requests}
        for event_type in EVENTS:
            message = next(one for one in self.messages if one["event_type"] == event_type)
            yield event_type, message, arrived[message["id"]]


@pytest.fixture(scope="module")
def story():
    with serving("--clock", NOW) as server, receiving() as receiver:
        world = Remote(server)
        world.add_endpoint(id="everything", url=receiver.url, secret=SECRET)

        def ask(method, path, body=..., *, by="merchant", outcome=None):
            answer = world.ask(method, path, key=by, json_body=body, outcome=outcome)
            assert answer.status < 300, (method, path, answer.body)
            return answer.json() if answer.body else {}

        places = (world.terminal_id("merchant"), world.location_id("merchant"))
        tell(ask, world.account_id("merchant"), *places)
        world.look("wait", event_type="account.deleted", delivered="true")
        routes = {one["id"]: one["route"] for one in world.look("requests")["requests"]}
        return Story(world.messages(), receiver.requests, routes)


@pytest.mark.proves("spec 6.1.10")
def test_every_message_arrives_once_at_its_first_attempt_and_in_order(story):
    tried = []
    for message in story.messages:
        (delivery,) = message["deliveries"]
        (attempt,) = delivery["attempts"]
        assert (delivery["status"], attempt["status_code"]) == ("delivered", 200), message
        tried.append((message["id"], attempt["duration_ms"]))
    arrived = [one.id for one in story.requests]
    assert sorted(arrived) == sorted(id for id, _ in tried)
    assert overtakers(tried, arrived) == []


@pytest.mark.proves("spec 6.1.2, 6.1.12", "assumed 8.3-signature")
def test_an_event_arrives_signed_so_that_both_libraries_take_it(story):
    # Imported here because it takes half a second.
    import svix

    for event_type, message, request in story.first_of_each():
        request.verify(SECRET)
        svix.Webhook(SECRET).verify(request.body, request.headers)
        assert not request.is_signed_by("whsec_" + "b3RoZXItb3RoZXItb3RoZXItb3RoZXItMQ==")
        assert request.headers["webhook-id"] == message["id"], event_type
        assert request.headers["content-type"] == "application/json"
        assert request.method == "POST"


@pytest.mark.proves("spec 3.4-events, 6, 6.3, 6.3-categories", "assumed 8.4")
def test_every_event_is_fired_by_an_operation_that_names_it(story):
    for event_type, message, _ in story.first_of_each():
        route = story.routes.get(message["request_id"])
        naming = {row.name for row in OPERATIONS if event_type in row.events}
        assert route in ({None} if event_type in BY_THEMSELVES else naming), event_type
    assert {one["event_type"] for one in story.messages} == set(EVENTS)


@pytest.mark.proves(
    "spec 2.1, 2.4, 2.4-money, 2.4-created-at, 2.4-card, 2.5, 2.5-times, 2.6, 2.7, 2.8, 2.9, 5.3",
    "spec 6.1.1, 6.1.2, 6.1.4, 6.1.5, 6.1.6, 6.1.7, 6.1.8, 6.3-shapes",
    "spec 6.3-transaction.authorize, 6.3-transaction.sale, 6.3-transaction.capture",
    "spec 6.3-transaction.cancel, 6.3-transaction.create, 6.3-transaction.reverse",
    "spec 6.3-transaction.refund, 6.3-transaction.increment, 6.3-transaction.tip_adjust",
    "spec 6.3-batch.opened, 6.3-batch.rejected, 6.3-batch.accepted",
    "spec 6.3-batch.partially_accepted, 6.3-batch.edited, 6.3-batch.submitted",
    "spec 6.3-account.created, 6.3-account.updated, 6.3-account.blocked",
    "spec 6.3-account.unblocked, 6.3-account.deleted, 6.3-terminal.created",
    "spec 6.3-terminal.updated, 6.3-terminal.blocked, 6.3-terminal.unblocked",
    "spec 6.3-terminal.deleted, 6.3-location.created, 6.3-location.updated",
    "spec 6.3-location.blocked, 6.3-location.unblocked, 6.3-location.deleted",
    "spec 6.3-api_key.created, 6.3-api_key.revoked, 6.3-api_key.reinstated",
    "spec 6.3-api_key.deleted, 6.3-api-key-body, 6.3-credential.created, 6.3-credential.blocked",
    "spec 6.3-credential.unblocked, 6.3-credential.deleted",
)
def test_an_event_arrives_with_the_body_that_the_spec_describes(story):
    """The golden bodies were compared with the spec by hand. No event is without one."""
    assert {path.stem for path in FOLDER.iterdir()} == set(EVENTS)
    for event_type, message, request in story.first_of_each():
        body = request.json()
        assert body == message["body"], event_type
        # The same seed and the same requests, in a process of its own: the same body.
        assert body == json.loads((FOLDER / f"{event_type}.json").read_text(encoding="utf-8"))
    assert [one.id for one in story.requests if b"svc_uat_" in one.body] == []
