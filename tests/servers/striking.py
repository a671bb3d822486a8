"""Load on two servers that share worlds, while they and PostgreSQL are struck one after the other.

Every request is sent again until it is answered. What was answered at one server is read at the
other, and has to be there at the end, once.
"""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Self

import httpx2

from tests.driving import until
from tests.payments.driving_money import check_it_only_grew
from tests.servers.cutting import Cutter
from tests.servers.driving import serving
from tests.servers.postgres import serving_postgres
from tests.state.killing import MERCHANTS, Client, Witness
from tests.state.saved_worlds import SavedWorld
from tests.webhooks.receiving import Receiver
from tests.whole.installing import free_port

WORLDS = ("default", "second", "third")
NAMES = ("1", "2")

BEFORE_S = (0.1, 0.8)
AFTER_S = 1.0
STOPPED_S = 6.5
"""Longer than a silent server is left alone."""

SESSIONS_ENDED = 5
CUTS = 4
ANSWER_S = 45.0
"""No request waits for longer, whatever happens; 503 is an answer."""

MEND_S = 90.0
"""So long it takes at most until something else is answered. Servers may have to start first."""


class Doubtful(Exception):
    """The request may have been carried out, or not."""


@dataclass
class Persistent(Client):
    """A client that sends each request again, to one server after the other, until it is answered.

    `ways` are the addresses of the servers.
    """

    ways: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def work(self) -> None:
        headers = {"x-service-apikey": self.key}
        with httpx2.Client(headers=headers, timeout=ANSWER_S, verify=False) as http:
            for number in count():
                if self.over.is_set():
                    return
                self._act(http, f"{self.name}-{number}")

    def _act(self, http: httpx2.Client, event_id: str) -> None:
        path, body = self._wanted()
        answer, is_repeated = self._insist(http, "POST", path, body | {"event_id": event_id})
        assert answer.status_code in (200, 400, 409, 422), answer.text
        if answer.status_code == 200 and "transaction_id" in (shown := answer.json()):
            self.answers.append(shown)
            self.request_ids.append(answer.headers["x-sandbox-request-id"])
            if self.random.random() < 0.25:
                self._read(http, shown)
        elif is_repeated:
            self.unanswered.append(event_id)
            if path in ("/v3/payment", "/v3/preauth"):
                assert answer.json()["error"] == "duplicate_event", answer.text
                found, _ = self._insist(http, "GET", f"/v1/transactions?event_id={event_id}")
                assert len(found.json()) == 1, found.text

    def _read(self, http: httpx2.Client, shown: dict[str, Any]) -> None:
        found, _ = self._insist(http, "GET", f"/v1/transactions/{shown['transaction_id']}")
        assert found.status_code == 200, found.text
        check_it_only_grew(shown, found.json())

    def _insist(
        self, http: httpx2.Client, method: str, path: str, body: dict[str, Any] | None = None
    ) -> tuple[httpx2.Response, bool]:
        """The answer, and whether it was asked for more than once."""
        began_s = time.monotonic()
        for number in count():
            self.ways.append(self.ways.pop(0))
            with contextlib.suppress(Doubtful):
                return _asked(http, method, self.ways[0] + path, json=body), number > 0
            assert time.monotonic() - began_s < MEND_S, f"{method} {path} is refused"
            threading.Event().wait(0.02)
        raise AssertionError


@dataclass
class Maker(Persistent):
    """A client that makes worlds, reads them and deletes them."""

    def _act(self, http: httpx2.Client, event_id: str) -> None:
        world = f"/_sandbox/worlds/{event_id}"
        made, is_repeated = self._insist(http, "POST", "/_sandbox/worlds", {"id": event_id})
        assert made.status_code == 201 or (is_repeated and made.status_code == 409), made.text
        found, _ = self._insist(http, "GET", world)
        assert found.status_code == 200, found.text
        gone, is_repeated = self._insist(http, "DELETE", world)
        assert gone.status_code == 204 or (is_repeated and gone.status_code == 404), gone.text
        left, _ = self._insist(http, "GET", world)
        assert left.status_code == 404, left.text


def _asked(http: httpx2.Client, method: str, url: str, **more: Any) -> httpx2.Response:
    try:
        answer = http.request(method, url, **more)
    except httpx2.ReadTimeout as error:
        raise AssertionError(f"{method} {url} is not answered") from error
    except httpx2.TransportError as error:
        raise Doubtful from error
    if answer.status_code == 503:
        assert answer.headers["retry-after"], answer.text
        raise Doubtful
    return answer


class Campaign:
    """Two servers, each with a way of its own to PostgreSQL, and three worlds under load."""

    def __init__(self, folder: Path, receiver: Receiver, seed: int) -> None:
        self._folder = folder
        self._receiver = receiver
        self._seed = seed
        self._random = Random(seed)
        self._ports = {name: free_port() for name in NAMES}
        self._running: dict[str, tuple[contextlib.ExitStack, SavedWorld]] = {}
        self._terminals: dict[str, dict[str, str]] = {}
        self.witnesses: dict[str, Witness] = {}
        self.strikes: list[tuple[str, float]] = []
        """What was struck, and the seconds until all worlds were answered for again."""

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            self._postgres = stack.enter_context(serving_postgres())
            self._url = self._postgres.new_database()
            self._ways = {name: stack.enter_context(Cutter(self._postgres.port)) for name in NAMES}
            self._http = stack.enter_context(httpx2.Client(timeout=ANSWER_S, verify=False))
            stack.callback(lambda: [one.close() for one, _ in self._running.values()])
            self._start()
            self._make_worlds()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _start(self) -> None:
        """Have both servers run, each at its address."""
        for name, way in self._ways.items():
            if name in self._running and self._running[name][1].process.poll() is None:
                continue
            url = self._url.replace(f":{self._postgres.port}/", f":{way.port}/")
            self._running[name] = self._started(url, name)

    def _started(self, url: str, name: str) -> tuple[contextlib.ExitStack, SavedWorld]:
        """A server that is ready, started again, as by a supervisor, while PostgreSQL is away."""
        began_s, port = time.monotonic(), str(self._ports[name])
        while True:
            stack = contextlib.ExitStack()
            try:
                return stack, stack.enter_context(serving(url, self._folder, name, "--port", port))
            except AssertionError as error:
                is_away = "cannot be reached" in str(error)
                if not is_away or time.monotonic() - began_s > MEND_S:
                    raise
                threading.Event().wait(0.1)

    def _make_worlds(self) -> None:
        for number, world in enumerate(WORLDS):
            server = self._server(NAMES[number % 2])
            # Worlds with the same seed have messages with the same ids.
            facts = {"id": world, "seed": 100 + number}
            if world == "default":
                made = server.control("GET", "/worlds/default").json()
            else:
                made = server.control("POST", "/worlds", json=facts).json()
            self._terminals[world] = made["terminals"]
            witness = Witness(self._receiver, made["keys"]["partner"]["key"], world)
            witness.register(server)
            self.witnesses[world] = witness

    def _server(self, name: str) -> SavedWorld:
        return self._running[name][1]

    # --- load

    def strike(self, kind: str) -> None:
        """Have clients work, strike, and wait until both servers answer for all worlds again."""
        self._start()
        with self._load():
            threading.Event().wait(self._random.uniform(*BEFORE_S))
            living = STRIKES[kind](self)
            self.strikes.append((kind, self._until_all_answer(living)))
            threading.Event().wait(AFTER_S)
        self._start()
        self._until_all_answer(NAMES)

    def _until_all_answer(self, names: Iterable[str]) -> float:
        """Wait until these servers answer for every world; returns how long it took."""
        began_s = time.monotonic()
        for name in names:
            while not self._answers(name):
                log = self._server(name).log.read_text()[-3_000:]
                ended = self._server(name).process.poll()
                assert ended is None, f"the server {name} has ended with {ended}: {log}"
                assert time.monotonic() - began_s < MEND_S, f"{name} does not answer: {log}"
                threading.Event().wait(0.02)
        return time.monotonic() - began_s

    @contextlib.contextmanager
    def _load(self) -> Iterator[None]:
        """Have clients work until the block ends, and learn what they were told."""
        over = threading.Event()
        clients = list(self._clients(over))
        with ThreadPoolExecutor(len(clients)) as threads:
            working: list[Future[None]] = [threads.submit(client.work) for _, client in clients]
            try:
                yield
            finally:
                over.set()
            for future in working:
                future.result()
        for world, client in clients:
            if world is not None:
                self.witnesses[world].note(client)

    def _clients(self, over: threading.Event) -> Iterator[tuple[str | None, Persistent]]:
        number, ready = len(self.strikes), threading.Barrier(1)
        ways = [server.url for _, server in self._running.values()]
        for world in WORLDS:
            for merchant in MERCHANTS[:2]:
                name = f"{number}-{merchant}"
                key, terminal = self.witnesses[world].partner, self._terminals[world][merchant]
                random = Random(f"{self._seed} {world} {name}")
                yield (
                    world,
                    Persistent("", key, terminal, name, random, ready, ways=ways[:], over=over),
                )
        yield None, Maker("", "", "", f"made-{number}", Random(), ready, ways=ways, over=over)

    def _answers(self, name: str) -> bool:
        """Whether a server answers for every world."""
        url = self._server(name).url + "/v2/transactions?limit=1"
        for witness in self.witnesses.values():
            try:
                headers = {"x-service-apikey": witness.partner}
                if self._http.get(url, headers=headers).status_code != 200:
                    return False
            except httpx2.TransportError:
                return False
        return True

    # --- what must be true

    def check(self, *, is_over: bool = False) -> None:
        """Check that what was acknowledged is there once, at either server."""
        server = self._server(self._random.choice(NAMES))
        for witness in self.witnesses.values():
            witness.check(server)
        if is_over:
            for witness in self.witnesses.values():
                witness.check_all_arrived(server)
            known = set[str]().union(*(one.message_ids for one in self.witnesses.values()))
            assert set(self._receiver.ids()) <= known, "a message was sent that is not there"

    # --- strikes: each returns the servers that have to answer at once

    def _owner(self) -> str:
        """The server that has `default`, or the one that had it last."""
        asked = (
            "SELECT s.name FROM uat_sandbox.worlds w JOIN uat_sandbox.sessions s "
            "ON s.number = w.session WHERE w.id = 'default'"
        )
        return self._postgres.asked(self._url, asked) or NAMES[0]

    def _other(self, name: str) -> str:
        return NAMES[1 - NAMES.index(name)]

    def _kill_owner(self) -> list[str]:
        owner = self._owner()
        self._server(owner).kill()
        return [self._other(owner)]

    def _kill_entry(self) -> list[str]:
        owner = self._owner()
        self._server(self._other(owner)).kill()
        return [owner]

    def _kill_both(self) -> list[str]:
        for name in NAMES:
            self._server(name).kill()
        self._start()
        return list(NAMES)

    def _end_owner(self) -> list[str]:
        owner = self._owner()
        self._server(owner).end()
        return [self._other(owner)]

    def _stop_owner(self) -> list[str]:
        owner = self._owner()
        process = self._server(owner).process
        process.send_signal(signal.SIGSTOP)
        threading.Timer(STOPPED_S, process.send_signal, [signal.SIGCONT]).start()
        return [self._other(owner)]

    def _crash_postgres(self) -> list[str]:
        self._postgres.crash()
        self._postgres.start()
        return list(NAMES)

    def _restart_postgres(self) -> list[str]:
        self._postgres.restart()
        return list(NAMES)

    def _promote_standby(self) -> list[str]:
        standby = self._stack.enter_context(self._postgres.standby())
        self._postgres.wait_for_standby()
        self._postgres.crash()
        standby.promote()
        self._url = self._url.replace(f":{self._postgres.port}/", f":{standby.port}/")
        self._postgres = standby
        for way in self._ways.values():
            way.leads_to = standby.port
        return list(NAMES)

    def _end_sessions(self) -> list[str]:
        for _ in range(SESSIONS_ENDED):
            self._postgres.end_sessions(self._url)
            threading.Event().wait(self._random.uniform(0.1, 0.4))
        return list(NAMES)

    def _cut_replies(self) -> list[str]:
        ways = self._ways.values()
        for _ in range(CUTS):
            before = sum(way.cuts for way in ways)
            # Worlds may move to the other server when a session is lost.
            for way in ways:
                way.is_armed = True
            until(lambda before=before: sum(way.cuts for way in ways) > before, within_s=ANSWER_S)
        for way in ways:
            way.is_armed = False
        return list(NAMES)

    def _cut_off_owner(self) -> list[str]:
        owner = self._owner()
        way = self._ways[owner]
        stack = contextlib.ExitStack()
        stack.enter_context(way.holding())
        threading.Timer(STOPPED_S, stack.close).start()
        return [self._other(owner)]


STRIKES: dict[str, Callable[[Campaign], list[str]]] = {
    "the owner is killed": Campaign._kill_owner,
    "the entry is killed": Campaign._kill_entry,
    "both are killed": Campaign._kill_both,
    "the owner ends": Campaign._end_owner,
    "the owner is stopped": Campaign._stop_owner,
    "PostgreSQL crashes": Campaign._crash_postgres,
    "PostgreSQL restarts": Campaign._restart_postgres,
    "a standby is promoted": Campaign._promote_standby,
    "sessions are ended": Campaign._end_sessions,
    "replies to commits are cut": Campaign._cut_replies,
    "nothing passes to PostgreSQL": Campaign._cut_off_owner,
}
