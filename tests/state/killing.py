"""Load on a server that is killed in the midst of it, and what must be true afterwards.

Every client notes what was acknowledged to it. After the restart all of that is there, once, with
what was acknowledged at its beginning; money is in order; and what was announced arrives.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import httpx2

from tests.payments.driving_money import (
    check_account,
    check_event_ids,
    check_it_only_grew,
    check_open_batches,
    check_payment,
    shown_sums,
    sums_of,
)
from tests.state.saved_worlds import SavedWorld, serving_saved
from tests.support.payments import PATHS
from tests.webhooks.receiving import Received, Receiver

MERCHANTS = ("merchant", "second_merchant", "tax_merchant", "quiet_surcharge_merchant")
"""Each client has one for itself, so that whatever it knows of its payments is so."""

FOLLOW_UPS = ("capture", "increment", "adjust", "reverse", "refund")
LOAD_S = (0.05, 0.4)
QUIET_S = 60
PAGE = 100


@dataclass
class Numbers:
    """What was done and looked at, for whoever wants to know."""

    kills: int = 0
    acknowledged: int = 0
    unanswered: int = 0
    checked: int = 0
    messages: int = 0


@dataclass
class Client:
    """One client: takes payments and acts on them until the server is gone.

    `answers` are the bodies acknowledged to it; `unanswered` the event_id of the attempt of which
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
    unanswered: str | None = None

    def work(self) -> None:
        with httpx2.Client(base_url=self.url, headers={"x-service-apikey": self.key}) as http:
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
            self.unanswered = event_id
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


class Ordeal:
    """One file, under servers that are killed one after the other."""

    def __init__(self, path: Path, receiver: Receiver, seed: int) -> None:
        self._path = path
        self._receiver = receiver
        self._seed = seed
        self._random = Random(f"{path.suffix} {seed}")
        # Every body that was acknowledged, by transaction, oldest first.
        self._acknowledged: dict[str, list[dict[str, Any]]] = {}
        self._request_ids: list[str] = []
        self._unanswered: list[str] = []
        self._batch_of: dict[str, str] = {}
        self._message_count = 0
        self.numbers = Numbers()

    def run(self, rounds: int) -> None:
        for number in range(rounds):
            with serving_saved(self._path) as server:
                if number == 0:
                    self._register(server)
                else:
                    self._check(server)
                self._load(server, number)
                self.numbers.kills += 1
        with serving_saved(self._path) as server:
            self._check(server)

    def _register(self, server: SavedWorld) -> None:
        # From here on one in five is not taken at the first try.
        def behave(received: Received) -> int:
            return 500 if received.number % 5 == 4 else 200

        self._receiver.behave(behave)
        url = {"url": self._receiver.url}
        answer = server.control("POST", "/worlds/default/endpoints", json=url)
        assert answer.status_code == 201, answer.text

    # --- load

    def _load(self, server: SavedWorld, number: int) -> None:
        ready = threading.Barrier(len(MERCHANTS) + 1)
        clients = [
            Client(
                server.url,
                server.key("partner"),
                server.facts["terminals"][merchant],
                f"{number}-{merchant}",
                Random(f"{self._seed} {number} {merchant}"),
                ready,
            )
            for merchant in MERCHANTS
        ]
        threads = [threading.Thread(target=client.work) for client in clients]
        for thread in threads:
            thread.start()
        ready.wait()
        # The moment is what is tested: nothing is waited for but that it has come.
        threading.Event().wait(self._random.uniform(*LOAD_S))
        server.kill()
        for thread in threads:
            thread.join()
        for client in clients:
            assert client.unanswered is not None, "a client ended before the server did"
            self._unanswered.append(client.unanswered)
            self._request_ids += client.request_ids
            self.numbers.acknowledged += len(client.answers)
            self.numbers.unanswered += 1
            for answer in client.answers:
                self._acknowledged.setdefault(answer["transaction_id"], []).append(answer)

    # --- what must be true

    def _check(self, server: SavedWorld) -> None:
        now = {one["transaction_id"]: one for one in _transactions(server)}
        self._check_what_was_acknowledged(now)
        self._check_money(server, list(now.values()))
        self._check_attempts_by_event_id(server)
        self._check_messages(server)

    def _check_what_was_acknowledged(self, now: dict[str, dict[str, Any]]) -> None:
        for id, answers in self._acknowledged.items():
            begun = [one["history"][0]["event_id"] for one in answers]
            assert set(begun) == {begun[0]}, f"{id} was given twice"
            for answer in answers:
                # All that was said stands at the beginning of what is there now.
                check_it_only_grew(answer, now[id])
                self.numbers.checked += 1
        assert len(set(self._request_ids)) == len(self._request_ids)

    def _check_money(self, server: SavedWorld, transactions: list[dict[str, Any]]) -> None:
        for transaction in transactions:
            check_payment(transaction)
        check_event_ids(transactions)
        batches = list(_pages(server, "/v1/batches", "batches"))
        check_open_batches(batches)
        for batch in batches:
            assert shown_sums(batch) == sums_of(batch["id"], transactions), "M10"
        for account_id in {batch["account_id"] for batch in batches}:
            check_account(
                [one for one in transactions if one["account_id"] == account_id],
                [one for one in batches if one["account_id"] == account_id],
                {},
            )

    def _check_attempts_by_event_id(self, server: SavedWorld) -> None:
        """Each of the last round's attempts is found once, or was never made."""
        for event_id in self._unanswered[-len(MERCHANTS) :]:
            found = _by_event_id(server, event_id)
            assert len(found) <= 1
        for answers in list(self._acknowledged.values())[-20:]:
            id, event_id = answers[-1]["transaction_id"], answers[-1]["history"][-1]["event_id"]
            assert [one["transaction_id"] for one in _by_event_id(server, event_id)] == [id]

    def _check_messages(self, server: SavedWorld) -> None:
        """Whatever was acknowledged was announced once, and arrives or is tried again."""
        # It is answered once all is sent that is to be sent now, however long that takes here.
        wait_idle = server.control(
            "POST", "/worlds/default/clock/advance", json={"by": "0s"}, timeout=QUIET_S
        )
        assert wait_idle.status_code == 200, wait_idle.text
        new = _messages(server, self._message_count)
        self._message_count += len(new)
        self.numbers.messages = self._message_count
        arrived = set(self._receiver.ids())
        for message in new:
            (delivery,) = message["deliveries"]
            assert delivery["status"] != "delivered" or message["id"] in arrived
        assert len({one["id"] for one in new}) == len(new)
        announced = Counter(
            (one["subject"], body["event_id"], body["status"], one["event_type"])
            for one in new
            if "event_id" in (body := one["body"])
        )
        assert set(announced.values()) <= {1}
        told = {key[:3] for key in announced} | self._told
        for id, answers in self._acknowledged.items():
            for answer in answers:
                assert (id, answer["event_id"], answer["status"]) in told
        self._told = told

    _told: frozenset[tuple[str, str, str]] | set[tuple[str, str, str]] = frozenset()


def _messages(server: SavedWorld, offset: int) -> list[dict[str, Any]]:
    """The messages from there on, each of which was tried."""
    found: list[dict[str, Any]] = []
    while True:
        query = {"offset": offset + len(found), "limit": 1000}
        page = server.control("GET", "/worlds/default/messages", params=query).json()
        found += page["messages"]
        if offset + len(found) >= page["total"]:
            break
    # What is due again may be under way at any moment.
    untried = [
        message["id"]
        for message in found
        for one in message["deliveries"]
        if one["status"] == "pending" and not one["next_attempt_at"] and not one["attempts"]
    ]
    assert untried == []
    return found


def _transactions(server: SavedWorld) -> Iterator[dict[str, Any]]:
    return _pages(server, "/v2/transactions", "transactions")


def _pages(server: SavedWorld, path: str, plural: str) -> Iterator[dict[str, Any]]:
    for offset in count(0, PAGE):
        query = {"limit": PAGE, "offset": offset}
        answer = server.ask("GET", path, key="partner", params=query)
        assert answer.status_code == 200, answer.text
        page = answer.json()[plural]
        yield from page
        if len(page) < PAGE:
            return


def _by_event_id(server: SavedWorld, event_id: str) -> list[dict[str, Any]]:
    query = {"event_id": event_id}
    answer = server.ask("GET", "/v1/transactions", key="partner", params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found
