"""How tests drive a sandbox: in process through its ASGI face, or served on a real socket."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from threading import Event
from time import monotonic
from typing import Any, Self

import httpx2

from sandbox.app import build
from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.keys import KeyUsage
from sandbox.settings import Settings
from tests.in_process import Application, Exchange, Response
from tests.processes import Process
from tests.support.caller import Run
from tests.support.payments import PaymentCaller

NOW = "2026-03-01T12:00:00.000Z"
"""Where the clock of a test's world stands still: before the end of legacy keys."""

FROZEN = ClockSetting(now=parse_rfc3339(NOW), mode="frozen")

UNTIL_S = 60.0
"""So long a test waits at most for something to become so."""


class InProcess(PaymentCaller):
    """Drives a sandbox in this process, and tells what a request did there."""

    def add_world(self, id: str, **more: Any) -> Self:
        """Another world of the same server, ready to be driven with its own cast."""
        self.control("POST", "/worlds", {"id": id, "clock": NOW} | more).expect(201)
        return replace(self, world=id)

    def state(self) -> list[Any]:
        """Every record and every message: what a refusal must leave as it was.

        When a key was last used is left out: a refused request has used its key.
        """
        store = self.get_world().store
        tables = [one for one in store.tables() if one.table.kind is not KeyUsage]
        return [*(dict(one.by_id) for one in tables), store.messages()]

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[None]:
        """What is asked for in the block changes no record and announces nothing."""
        before = self.state()
        yield
        assert self.state() == before

    def saved(self) -> bytes:
        """The snapshot of the world."""
        answer = self.manage("GET", "/snapshot")
        assert answer.status == 200, answer.body
        return answer.body

    def load(self, saved: bytes) -> Response:
        """Put the world of this snapshot in the place of the world."""
        return self.ask("PUT", f"/_sandbox/worlds/{self.world}/snapshot", body=saved)

    # --- messages -----------------------------------------------------------------------------

    def messages(self, **query: Any) -> list[dict[str, Any]]:
        """The messages of the world, oldest first."""
        found: list[dict[str, Any]] = self.look("messages", **query)["messages"]
        return found

    def message_count(self) -> int:
        total: int = self.look("messages", limit=1)["total"]
        return total

    def fired(self, since: int = 0, **query: Any) -> list[str]:
        """The types of the events so far, without the first `since` of them."""
        return [message["event_type"] for message in self.messages(**query)[since:]]

    def events_of(self, answer: Response) -> list[dict[str, Any]]:
        """What the request announced, in order: each with its event_type and body."""
        request_id = answer.headers["x-sandbox-request-id"]
        return [one for one in self.messages(limit=200) if one["request_id"] == request_id]

    def event_types(self, answer: Response) -> list[str]:
        return [one["event_type"] for one in self.events_of(answer)]

    # --- endpoints ----------------------------------------------------------------------------

    def add_endpoint(self, **body: Any) -> dict[str, Any]:
        """A new endpoint, at a port where nobody listens unless told otherwise."""
        wanted = {"url": "http://127.0.0.1:9/hooks"} | body
        return self.manage("POST", "/endpoints", wanted).expect(201)

    def run_rules(self, *rules: dict[str, Any]) -> None:
        """Have a scenario of these rules on webhooks run."""
        self.manage("PUT", "/scenario", {"name": "mine", "webhook": list(rules)}).expect(200)

    def change_endpoint(self, id: str, **changes: Any) -> dict[str, Any]:
        return self.manage("PATCH", f"/endpoints/{id}", changes).expect(200)

    def emit(self, event_type: str = "account.updated", **changes: Any) -> str:
        """The id of a sample message."""
        body = {"event_type": event_type, "changes": changes}
        return str(self.manage("POST", "/messages", body).expect(202)["id"])

    def fares(self, id: str) -> dict[str, str]:
        """How the message fares at each of the endpoints for which it is."""
        return {
            one["endpoint_id"]: one["status"] for one in self.look(f"messages/{id}")["deliveries"]
        }

    def types_reached(self, endpoint_id: str) -> list[str]:
        """The types of all messages that are for the endpoint, in order."""
        return [
            one["event_type"]
            for one in self.messages()
            if endpoint_id in [delivery["endpoint_id"] for delivery in one["deliveries"]]
        ]

    # --- the journal --------------------------------------------------------------------------

    def journal(self, answer: Response) -> dict[str, Any]:
        """The journal entry of an answer of this world."""
        id = answer.headers["x-sandbox-request-id"]
        entry: dict[str, Any] = self.look(f"requests/{id}")
        return entry

    def last_decision(self, answer: Response) -> tuple[str, str, str]:
        """Step, verdict and clause of the last decision on a request."""
        last = self.journal(answer)["decisions"][-1]
        return last["step"], last["verdict"], last["clause"]

    def rows_taken(self, answer: Response) -> set[str]:
        """The clauses that the journal gives for the rule or the change of an answer."""
        decisions = self.journal(answer)["decisions"]
        return {one["clause"] for one in decisions if one["step"] in ("rule", "apply")}

    def refused(
        self,
        answer: Response,
        status: int = 400,
        error: str = "validation_error",
        *,
        clause: str = "",
    ) -> str:
        """What a refusal says, once it has the documented form and the journal says why.

        `clause` is how the clause begins by which it was refused, where the test names one.
        """
        said = answer.detail(status, error)
        entry = self.journal(answer)
        last = entry["decisions"][-1]
        assert entry["status"] == status
        assert last["verdict"] == str(status)
        assert last["reason"]
        assert last["clause"].startswith(clause), last
        return said


def fresh(**settings: Any) -> InProcess:
    """A sandbox with these settings, its clock frozen at NOW."""
    made = build(Settings(**{"clock": FROZEN, **settings}))
    return InProcess(made, header=made.worlds.profile.api_key_header.lower())


def on_loop(loop: asyncio.AbstractEventLoop, timeout_s: float) -> Run:
    """Answers on this loop, which goes on with everything else meanwhile."""

    def run(exchange: Exchange, app: Application) -> Response:
        return loop.run_until_complete(asyncio.wait_for(exchange.run(app), timeout_s))

    return run


def until(is_so: Callable[[], Any], within_s: float = UNTIL_S) -> Any:
    """What the question answers, as soon as that is not nothing."""
    deadline_s = monotonic() + within_s
    while not (found := is_so()):
        assert monotonic() < deadline_s, "it did not become so"
        Event().wait(0.01)
    return found


@dataclass
class Served:
    """A sandbox in a process of its own, as a user starts it."""

    process: Process
    facts: dict[str, Any]
    client: httpx2.Client

    @property
    def url(self) -> str:
        return str(self.facts["url"])

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def key(self, name: str) -> str:
        return str(self.facts["keys"][name])

    def ask(
        self, method: str, path: str, *, key: str | None = None, **more: Any
    ) -> httpx2.Response:
        headers = more.pop("headers", {})
        if key is not None:
            headers["x-service-apikey"] = self.facts["keys"].get(key, key)
        return self.client.request(method, self.url + path, headers=headers, **more)

    def control(self, method: str, path: str, **more: Any) -> httpx2.Response:
        return self.client.request(method, self.facts["control_url"] + path, **more)

    def sale(self, **more: Any) -> dict[str, Any]:
        """The body of a sale at the merchant's terminal."""
        return {"amount": 1000, "terminal_id": self.facts["terminals"]["merchant"]} | more

    def pay(self, **more: Any) -> httpx2.Response:
        """That sale, asked for by the merchant."""
        return self.ask("POST", "/v3/payment", key="merchant", json=self.sale(**more))


@contextlib.contextmanager
def serving(*options: str) -> Iterator[Served]:
    """`sandbox serve` on a free port, ready, until the block ends."""
    process = Process(["serve", "--port", "0", "--log-format", "json", *options])
    try:
        line = process.stdout.readline()
        assert line, f"the server did not start: {process.communicate()[1]}"
        # To read the certificates of authorities takes 40 ms, and nothing is asked over TLS.
        with httpx2.Client(timeout=60, verify=False) as client:
            yield Served(process, json.loads(line), client)
    finally:
        if process.poll() is None:
            process.stop()
        process.close()
