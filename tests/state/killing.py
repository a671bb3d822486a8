"""Load on a server that is killed in the midst of it, and what must be true afterwards.

Every client notes what was acknowledged to it. After the restart all of that is there, once, with
what was acknowledged at its beginning; money is in order; and what was announced arrives.
"""

import threading
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import httpx2

from tests.driving import until
from tests.payments.driving_money import check_batches, check_it_only_grew, check_payments
from tests.state.remote import Remote
from tests.state.saved_worlds import SavedWorld, serving_saved
from tests.support.payments import PATHS
from tests.webhooks.receiving import Received, Receiver

MERCHANTS = ("merchant", "second_merchant", "tax_merchant", "quiet_surcharge_merchant")
"""Each client has one for itself, so that whatever it knows of its payments is so."""

FOLLOW_UPS = ("capture", "increment", "adjust", "reverse", "refund")
LOAD_S = (0.05, 0.4)
LATEST = 20
LONG = "4d"
"""After that, whatever is tried again was tried for the last time."""


@dataclass
class Client:
    """One client: takes payments and acts on them until the server is gone.

    `answers` are the bodies acknowledged to it; `unanswered` the event_ids of the attempts of which
    it never heard.
    """

    url: str
    key: str
    terminal_id: str
    name: str
    random: Random
    ready: threading.Barrier
    answers: list[dict[str, Any]] = field(default_factory=list)
    request_ids: list[str] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)

    def work(self) -> None:
        headers = {"x-service-apikey": self.key}
        with httpx2.Client(base_url=self.url, headers=headers, verify=False) as http:
            http.get("/_sandbox/health")
            self.ready.wait()
            for number in count():
                if not self._attempt(http, f"{self.name}-{number}"):
                    return

    def _attempt(self, http: httpx2.Client, event_id: str) -> bool:
        path, body = self._wanted()
        try:
            answer = http.post(path, json=body | {"event_id": event_id}, timeout=10)
        except httpx2.TransportError:
            self.unanswered.append(event_id)
            return False
        # What is not possible in the state of the payment is refused, and is nothing.
        assert answer.status_code in (200, 400, 409, 422), answer.text
        if answer.status_code == 200 and "transaction_id" in (shown := answer.json()):
            self.answers.append(shown)
            self.request_ids.append(answer.headers["x-sandbox-request-id"])
        return True

    def _wanted(self) -> tuple[str, dict[str, Any]]:
        """Path and body of the next request."""
        amount = self.random.randint(100, 9_000)
        if not self.answers or self.random.random() < 0.5:
            path = self.random.choice(["/v3/payment", "/v3/preauth"])
            return path, {"amount": amount, "terminal_id": self.terminal_id}
        if self.random.random() < 0.03:
            batches = {one["batch_id"] for one in self.answers} - {None}
            if batches:
                return f"/v1/batches/{self.random.choice(sorted(batches))}/close", {}
        operation = self.random.choice(FOLLOW_UPS)
        path = PATHS[operation].format(id=self.random.choice(self.answers)["transaction_id"])
        if operation == "adjust":
            return path, {"type": "fixed", "amount": amount // 50}
        return path, {"amount": amount // 3} if operation != "capture" else {}


class Witness:
    """What was acknowledged in one world, and whether that is still so.

    `partner` is a key that sees all payments of the world.
    """

    def __init__(self, receiver: Receiver, partner: str, world: str = "default") -> None:
        self.world = world
        self.partner = partner
        self._receiver = receiver
        # Every body that was acknowledged, by transaction, oldest first.
        self._acknowledged: dict[str, list[dict[str, Any]]] = {}
        self._request_ids: list[str] = []
        self._unanswered: list[str] = []
        self._messages: dict[str, dict[str, Any]] = {}
        self._told: set[tuple[str, str, str]] = set()
        # What was done and looked at, for whoever wants to know.
        self.numbers = Counter[str]()

    def register(self, server: SavedWorld) -> None:
        """Have the webhooks of the world go to the receiver, which does not take all at once."""

        def behave(received: Received) -> int:
            return 500 if received.number % 5 == 4 else 200

        self._receiver.behave(behave)
        Remote(server, self.world).add_endpoint(url=self._receiver.url)

    def note(self, client: Client) -> None:
        """Learn what a client was told."""
        self._unanswered += client.unanswered
        self._request_ids += client.request_ids
        self.numbers["acknowledged"] += len(client.answers)
        self.numbers["unanswered"] += len(client.unanswered)
        for answer in client.answers:
            self._acknowledged.setdefault(answer["transaction_id"], []).append(answer)

    # --- what must be true

    def check(self, server: SavedWorld) -> None:
        """Check all of it."""
        world = Remote(server, self.world)
        transactions = world.list_all("/v2/transactions", "transactions", by=self.partner)
        self._check_what_was_acknowledged({one["transaction_id"]: one for one in transactions})
        check_payments(transactions)
        check_batches(transactions, world.list_all("/v1/batches", "batches", by=self.partner))
        self._check_attempts_by_event_id(world)
        self._check_messages(world)

    def check_all_arrived(self, server: SavedWorld) -> None:
        """Check that every message arrives, however often it was refused, and with one body."""
        self._receiver.behave(200)
        world = Remote(server, self.world)
        world.advance(LONG)
        self._check_messages(world)
        arrived: dict[str, set[bytes]] = {}
        for received in list(self._receiver.requests):
            arrived.setdefault(received.id, set()).add(received.body)
        assert self._messages.keys() <= arrived.keys()
        twofold = [arrived[id] for id in self._messages if len(arrived[id]) > 1]
        assert twofold == [], twofold[0]

    @property
    def message_ids(self) -> set[str]:
        """The ids of all messages of the world."""
        return set(self._messages)

    def _check_what_was_acknowledged(self, now: dict[str, dict[str, Any]]) -> None:
        for id, answers in self._acknowledged.items():
            begun = [one["history"][0]["event_id"] for one in answers]
            assert set(begun) == {begun[0]}, f"{id} was given twice"
            for answer in answers:
                # All that was said stands at the beginning of what is there now.
                check_it_only_grew(answer, now[id])
                self.numbers["checked"] += 1
        assert len(set(self._request_ids)) == len(self._request_ids)

    def _check_attempts_by_event_id(self, world: Remote) -> None:
        """Each of the last attempts is found once, or was never made."""
        for event_id in self._unanswered[-LATEST:]:
            assert len(world.found(f"event_id={event_id}", by=self.partner)) <= 1
        for answers in list(self._acknowledged.values())[-LATEST:]:
            id, event_id = answers[-1]["transaction_id"], answers[-1]["history"][-1]["event_id"]
            assert world.found(f"event_id={event_id}", by=self.partner) == [id]

    def _check_messages(self, world: Remote) -> None:
        """Whatever was acknowledged was announced once, and arrives or is tried again."""
        # It is answered once all is sent that is to be sent now, however long that takes here.
        world.advance("0s")
        new = self._new_messages(world)
        arrived = set(self._receiver.ids())
        for message in new:
            (delivery,) = message["deliveries"]
            assert delivery["status"] != "delivered" or message["id"] in arrived
        assert len({one["id"] for one in new} - self._messages.keys()) == len(new)
        self._messages |= {one["id"]: one for one in new}
        self.numbers["messages"] = len(self._messages)
        announced = Counter(
            (one["subject"], body["event_id"], body["status"], one["event_type"])
            for one in new
            if "event_id" in (body := one["body"])
        )
        assert set(announced.values()) <= {1}
        self._told |= {key[:3] for key in announced}
        for id, answers in self._acknowledged.items():
            for answer in answers:
                assert (id, answer["event_id"], answer["status"]) in self._told

    def _new_messages(self, world: Remote) -> list[dict[str, Any]]:
        """The messages that were not seen before, each of which was tried."""
        found: list[dict[str, Any]] = []
        while len(self._messages) + len(found) < world.message_count():
            found += world.messages(offset=len(self._messages) + len(found), limit=1000)
        # What is due again may be under way at any moment.
        untried = [
            message["id"]
            for message in found
            for one in message["deliveries"]
            if one["status"] == "pending" and not one["next_attempt_at"] and not one["attempts"]
        ]
        assert untried == []
        return found


def run_ordeal(path: Path, receiver: Receiver, *, rounds: int, seed: int) -> Counter[str]:
    """Have servers on one file be killed one after the other, under load; check after each."""
    random = Random(f"{path.suffix} {seed}")
    witness: Witness | None = None
    for number in range(rounds):
        with serving_saved(path) as server:
            if witness is None:
                witness = Witness(receiver, server.key("partner"))
                witness.register(server)
            else:
                witness.check(server)
            for client in _load(server, Random(f"{seed} {number}"), f"{number}", random):
                assert client.unanswered, "a client ended before the server did"
                witness.note(client)
            witness.numbers["kills"] += 1
    assert witness is not None
    with serving_saved(path) as server:
        witness.check(server)
    return witness.numbers


def _load(server: SavedWorld, choices: Random, name: str, moments: Random) -> list[Client]:
    ready = threading.Barrier(len(MERCHANTS) + 1)
    clients = [
        Client(
            server.url,
            server.key("partner"),
            server.facts["terminals"][merchant],
            f"{name}-{merchant}",
            Random(choices.random()),
            ready,
        )
        for merchant in MERCHANTS
    ]
    threads = [threading.Thread(target=client.work) for client in clients]
    for thread in threads:
        thread.start()
    ready.wait()
    # On a busy machine the first answers take a while, and there has to be something to lose.
    until(lambda: any(client.answers for client in clients))
    # The moment is what is tested: nothing is waited for but that it has come.
    threading.Event().wait(moments.uniform(*LOAD_S))
    server.kill()
    for thread in threads:
        thread.join()
    return clients
