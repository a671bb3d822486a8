"""Load on two servers that share worlds, of which one or both are killed in its midst."""

import contextlib
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

import httpx2

from tests.servers.postgres import Postgres
from tests.servers.serving import serving
from tests.state.killing import LOAD_S, MERCHANTS, Client, Ordeal
from tests.state.saved_worlds import SavedWorld
from tests.webhooks.receiving import Receiver

KILLED = ("owner", "entry", "both", "stopped", "ended", "postgres", "restarted", "sessions")
"""Who is killed: the server that has the world, the one that is asked, both, or PostgreSQL itself.
Who is stopped goes on later, when another has its worlds; who is ended hands them over. PostgreSQL
is also restarted politely, and made to end its sessions."""

SESSIONS_ENDED = 5
"""How often all sessions are ended in a round."""

AFTER_S = 1.5
STOPPED_S = 6.5
ANSWER_S = 20


@dataclass
class FleetClient(Client):
    """A client that goes on at the next server when one does not answer."""

    urls: tuple[str, ...] = ()
    over: threading.Event | None = None
    first_after: float = 0.0

    def work(self) -> None:
        assert self.over is not None
        self.gone: list[str] = []
        self.ready.wait()
        number = 0
        while not self.over.is_set():
            url = self.urls[number % len(self.urls)]
            with httpx2.Client(base_url=url, headers={"x-service-apikey": self.key}) as http:
                while not self.over.is_set():
                    number += 1
                    if not self._tried(http, f"{self.name}-{number}"):
                        break

    def _tried(self, http: httpx2.Client, event_id: str) -> bool:
        path, body = self._wanted()
        try:
            answer = http.post(path, json=body | {"event_id": event_id}, timeout=ANSWER_S)
        except httpx2.TransportError:
            self.gone.append(event_id)
            time.sleep(0.02)
            return False
        if answer.status_code == 503:
            # It may have been carried out, or not.
            assert answer.headers["retry-after"]
            self.gone.append(event_id)
            time.sleep(0.05)
            return True
        assert answer.status_code in (200, 400, 409, 422), answer.text
        if answer.status_code == 200 and "transaction_id" in (shown := answer.json()):
            self.answers.append(shown)
            self.request_ids.append(answer.headers["x-sandbox-request-id"])
        return True


class FleetOrdeal(Ordeal):
    """One database, under two servers of which some are killed again and again."""

    def __init__(self, postgres: Postgres, folder: Path, receiver: Receiver, seed: int) -> None:
        super().__init__(folder, receiver, seed)
        self._postgres = postgres
        self._url = postgres.new_database()
        self._folder = folder
        self.longest_s = 0.0

    def run_fleet(self, rounds: int, killed: str) -> None:
        with contextlib.ExitStack() as stack:
            running: dict[str, tuple[contextlib.ExitStack, SavedWorld]] = {}
            stack.callback(lambda: [one.close() for one, _ in running.values()])
            for number in range(rounds):
                self._start(running)
                if number == 0:
                    self._register(running["1"][1])
                else:
                    self._check(self._random.choice(list(running.values()))[1])
                self._load_fleet(running, number, killed)
                self.numbers.kills += 1
            self._start(running)
            self._check(running["2"][1])

    def _start(self, running: dict[str, tuple[contextlib.ExitStack, SavedWorld]]) -> None:
        """Have both servers run."""
        for name in ("1", "2"):
            if name in running and running[name][1].process.poll() is None:
                continue
            stack = contextlib.ExitStack()
            running[name] = stack, stack.enter_context(serving(self._url, self._folder, name))

    def _owner(self) -> str:
        asked = "SELECT name FROM uat_sandbox.owned WHERE id = 'default'"
        return self._postgres.asked(self._url, asked)

    def _load_fleet(
        self,
        running: dict[str, tuple[contextlib.ExitStack, SavedWorld]],
        number: int,
        killed: str,
    ) -> None:
        ready, over = threading.Barrier(len(MERCHANTS) + 1), threading.Event()
        one = running["1"][1]
        urls = tuple(server.url for _, server in running.values())
        clients = [
            FleetClient(
                one.url,
                one.key("partner"),
                one.facts["terminals"][merchant],
                f"{number}-{merchant}",
                Random(f"{self._seed} {number} {merchant}"),
                ready,
                urls=urls if place % 2 else urls[::-1],
                over=over,
            )
            for place, merchant in enumerate(MERCHANTS)
        ]
        threads = [threading.Thread(target=client.work) for client in clients]
        for thread in threads:
            thread.start()
        ready.wait()
        # On a busy machine the first answers take a while, and there has to be something to lose.
        deadline_s = time.monotonic() + ANSWER_S
        while not any(client.answers for client in clients):
            assert time.monotonic() < deadline_s, "nothing was answered"
            threading.Event().wait(0.005)
        threading.Event().wait(self._random.uniform(*LOAD_S))
        self._strike(running, killed)
        threading.Event().wait(AFTER_S)
        over.set()
        for thread in threads:
            thread.join()
        for client in clients:
            self._unanswered += client.gone
            self._request_ids += client.request_ids
            self.numbers.acknowledged += len(client.answers)
            self.numbers.unanswered += len(client.gone)
            for answer in client.answers:
                self._acknowledged.setdefault(answer["transaction_id"], []).append(answer)

    def _strike(
        self, running: dict[str, tuple[contextlib.ExitStack, SavedWorld]], killed: str
    ) -> None:
        owner = self._owner()
        other = "2" if owner == "1" else "1"
        if killed == "postgres":
            self._postgres.crash()
            self._postgres.start()
        elif killed == "restarted":
            self._postgres.restart()
        elif killed == "sessions":
            for _ in range(SESSIONS_ENDED):
                self._postgres.end_sessions(self._url)
                threading.Event().wait(self._random.uniform(0.1, 0.4))
        elif killed == "stopped":
            running[owner][1].process.send_signal(signal.SIGSTOP)
            threading.Event().wait(STOPPED_S)
            running[owner][1].process.send_signal(signal.SIGCONT)
        elif killed == "ended":
            running[owner][1].end()
        else:
            names = {"owner": [owner], "entry": [other], "both": [owner, other]}[killed]
            for name in names:
                running[name][1].kill()
