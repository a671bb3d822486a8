"""How tests of webhooks drive a world of their own in a served sandbox."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import httpx2

from sandbox.domain.instants import parse_rfc3339, to_wire
from tests.control.refusals import assert_refused
from tests.driving import NOW, Served, until
from tests.in_process import Response
from tests.webhooks.receiving import Received

START = parse_rfc3339(NOW)


@dataclass(frozen=True)
class Hooked:
    """One world, its clock frozen at START unless it was created otherwise."""

    served: Served
    id: str
    cast: dict[str, Any]

    def ask(
        self, method: str, path: str, body: Any = None, *, status: int | None = None
    ) -> httpx2.Response:
        """One request to the control API on this world, which is answered with the status."""
        more = {} if body is None else {"json": body}
        answer = self.served.control(method, f"/worlds/{self.id}{path}", **more)
        assert status in (None, answer.status_code), answer.text
        return answer

    def pay(self, amount: int = 1000, merchant: str = "merchant") -> httpx2.Response:
        """A sale by the partner."""
        body = {"amount": amount, "terminal_id": self.cast["terminals"][merchant]}
        key = self.cast["keys"]["partner"]["key"]
        return self.served.ask("POST", "/v3/payment", key=key, json=body)

    def run(self, *rules: dict[str, Any]) -> None:
        """Have a scenario of these rules on webhooks run."""
        self.ask("PUT", "/scenario", {"name": "mine", "webhook": list(rules)}, status=200)

    def endpoint(self, url: str, **more: Any) -> str:
        """The id of a new endpoint."""
        return str(self.ask("POST", "/endpoints", {"url": url} | more, status=201).json()["id"])

    def shown(self, endpoint_id: str) -> Any:
        return self.ask("GET", f"/endpoints/{endpoint_id}", status=200).json()

    def emit(self, event_type: str = "account.updated", **changes: Any) -> str:
        """The id of a new message."""
        body = {"event_type": event_type, "changes": changes}
        return str(self.ask("POST", "/messages", body, status=202).json()["id"])

    def delivery(self, message_id: str, endpoint_id: str = "e") -> dict[str, Any]:
        """How the message fares there; nothing where it is not for that endpoint."""
        message = self.ask("GET", f"/messages/{message_id}", status=200).json()
        for one in message["deliveries"]:
            if one["endpoint_id"] == endpoint_id:
                return dict(one)
        return {}

    def tried(self, message_id: str, endpoint_id: str = "e", *, times: int = 1) -> dict[str, Any]:
        """The delivery, once so many attempts at it were made."""

        def enough() -> dict[str, Any] | None:
            found = self.delivery(message_id, endpoint_id)
            return found if len(found.get("attempts", ())) >= times else None

        found: dict[str, Any] = until(enough)
        return found

    @property
    def now(self) -> datetime:
        return parse_rfc3339(self.ask("GET", "/clock").json()["now"])

    def move_to(self, moment: datetime | str) -> None:
        """Set the clock, and let happen what falls due on the way."""
        now = moment if isinstance(moment, str) else to_wire(moment)
        self.ask("PUT", "/clock", {"now": now}, status=200)

    def pass_by(self, **span: float) -> None:
        """Let so much time pass: `hours=2`."""
        self.move_to(self.now + timedelta(**span))

    def switch(self, **settings: Any) -> None:
        named = {name.replace("__", "."): value for name, value in settings.items()}
        self.ask("PUT", "/switches", named, status=200)


def another_world(served: Served, **more: Any) -> Hooked:
    """A fresh world of a served sandbox, its clock frozen at START unless `more` says otherwise."""
    answer = served.control("POST", "/worlds", json={"clock": NOW} | more)
    assert answer.status_code == 201, answer.text
    return Hooked(served, answer.json()["id"], answer.json())


def waits(delivery: dict[str, Any]) -> list[float]:
    """Seconds of the world between the attempts, one after the other."""
    moments = [parse_rfc3339(one["at"]) for one in delivery["attempts"]]
    return [(later - sooner).total_seconds() for sooner, later in pairwise(moments)]


def planned_wait(delivery: dict[str, Any]) -> float:
    """Seconds of the world from the last attempt to the next."""
    due = parse_rfc3339(delivery["next_attempt_at"])
    return (due - parse_rfc3339(delivery["attempts"][-1]["at"])).total_seconds()


def resend(hooked: Hooked, id: str, **body) -> list[str]:
    """The endpoints to which the message goes once more."""
    return hooked.ask("POST", f"/messages/{id}/resend", body, status=202).json()["endpoints"]


def recover(hooked: Hooked, since: datetime = START) -> int:
    """How many messages go once more to the endpoint `e`."""
    body = {"since": to_wire(since)}
    return hooked.ask("POST", "/endpoints/e/recover", body, status=202).json()["messages"]


def triggers(delivery):
    return [one["trigger"] for one in delivery["attempts"]]


def rule(*, when: dict | None = None, **then) -> dict:
    return {"when": when or {}, "then": then}


def types(hooked: Hooked, requests: Iterable[Received]) -> list[str]:
    """Which events they carry, in the order in which they came."""
    listed = hooked.ask("GET", "/messages").json()["messages"]
    type_of = {one["id"]: one["event_type"] for one in listed}
    return [type_of[one.id] for one in requests]


def refused(answer, status, error, nearest=None):
    body = Response(answer.status_code, dict(answer.headers), answer.content)
    assert_refused(body, status, error, nearest)
