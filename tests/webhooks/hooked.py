"""How tests of webhooks drive a world of their own in a served sandbox."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from sandbox.domain.instants import parse_rfc3339, to_wire
from tests.driving import NOW, Served, until
from tests.state.remote import Remote
from tests.webhooks.receiving import Received

START = parse_rfc3339(NOW)


class Hooked(Remote):
    """One world, its clock frozen at START unless it was created otherwise."""

    def delivery(self, message_id: str, endpoint_id: str = "e") -> dict[str, Any]:
        """How the message fares there; nothing where it is not for that endpoint."""
        for one in self.look(f"messages/{message_id}")["deliveries"]:
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

    def resend(self, id: str, **body: Any) -> list[str]:
        """The endpoints to which the message goes once more."""
        return self.manage("POST", f"/messages/{id}/resend", body).expect(202)["endpoints"]

    def recover(self, since: datetime = START) -> int:
        """How many messages go once more to the endpoint `e`."""
        body = {"since": to_wire(since)}
        return self.manage("POST", "/endpoints/e/recover", body).expect(202)["messages"]

    def types_of(self, requests: Iterable[Received]) -> list[str]:
        """Which events they carry, in the order in which they came."""
        type_of = {one["id"]: one["event_type"] for one in self.messages()}
        return [type_of[one.id] for one in requests]

    @property
    def now(self) -> datetime:
        return parse_rfc3339(self.look("clock")["now"])

    def move_to(self, moment: datetime | str) -> None:
        """Set the clock, and let happen what falls due on the way."""
        self.set_clock(moment if isinstance(moment, str) else to_wire(moment))

    def pass_by(self, **span: float) -> None:
        """Let so much time pass: `hours=2`."""
        self.move_to(self.now + timedelta(**span))


def another_world(served: Served, **more: Any) -> Hooked:
    """A fresh world of a served sandbox, its clock frozen at START unless `more` says otherwise."""
    answer = served.control("POST", "/worlds", json={"clock": NOW} | more)
    assert answer.status_code == 201, answer.text
    return Hooked(served, answer.json()["id"])


def waits(delivery: dict[str, Any]) -> list[float]:
    """Seconds of the world between the attempts, one after the other."""
    moments = [parse_rfc3339(one["at"]) for one in delivery["attempts"]]
    return [(later - sooner).total_seconds() for sooner, later in pairwise(moments)]


def planned_wait(delivery: dict[str, Any]) -> float:
    """Seconds of the world from the last attempt to the next."""
    due = parse_rfc3339(delivery["next_attempt_at"])
    return (due - parse_rfc3339(delivery["attempts"][-1]["at"])).total_seconds()


def triggers(delivery):
    return [one["trigger"] for one in delivery["attempts"]]


def rule(*, when: dict | None = None, **then) -> dict:
    return {"when": when or {}, "then": then}
