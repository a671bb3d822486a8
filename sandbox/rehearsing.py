"""Rehearsing a scenario: its examples are carried out in a sandbox of their own, step by step."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from sandbox.api.platform import ConnectionClosed
from sandbox.app import Sandbox, build
from sandbox.settings import Settings
from sandbox.world.clock import ClockSetting

if TYPE_CHECKING:
    from sandbox.scenarios.examples import Example, Expect, Send
    from sandbox.scenarios.shapes import Scenario

START: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
_PATHS: Final = {
    "sale": "/v3/payment",
    "auth": "/v3/preauth",
    "capture": "/v3/payments/{}/capture",
    "incremental_auth": "/v3/payments/{}/auth",
    "tip_adjust": "/v3/payments/{}/adjust",
    "refund": "/v3/payments/{}/refund",
    "reverse": "/v3/payments/{}/reverse",
    "confirm": "/v3/payments/{}/confirm",
}
_CONTROL: Final = "/_sandbox/worlds/default"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; `status` 0 where the connection was closed without an answer."""

    status: int
    headers: dict[str, str]
    body: Any


@dataclass(slots=True)
class Step:
    """What came of one example: what was not as it should be, in words."""

    number: int
    name: str
    mistakes: list[str] = field(default_factory=list)


def rehearse(scenario: "Scenario") -> Iterator[Step]:
    """Every example in turn, with what was wrong. Raises ScenarioError for unknown names."""
    stage = _Stage(build(Settings(clock=ClockSetting(now=START, mode="frozen"))))
    stage.sandbox.worlds.default.run_scenario(scenario)
    for number, example in enumerate(scenario.example, start=1):
        name = example.name or f"example {number}"
        yield Step(number, name, list(stage.play(number, name, example)))


@dataclass(slots=True)
class _Stage:
    """The sandbox, and the payments of the examples so far."""

    sandbox: Sandbox
    payments: dict[str, str] = field(default_factory=dict)
    last: str = ""

    def play(self, number: int, name: str, example: "Example") -> Iterator[str]:
        """Carry out one example; what was not as it should be."""
        send = example.send
        world = self.sandbox.worlds.default
        seen = len(world.store.messages())
        if send.on is not None and send.on not in self.payments:
            yield f"send.on: no example before is named {send.on!r}"
            return
        on = self.payments.get(send.on or "", self.last)
        if send.operation not in ("sale", "auth", "find", "advance") and not on:
            yield f"send.operation: there is no payment yet to {send.operation}"
            return
        for field_name, named, known in (
            ("terminal", send.terminal, world.cast.terminals),
            ("key", send.key, world.cast.keys),
        ):
            if named not in known:
                yield f"send.{field_name}: the demo world has no {named!r}"
                return
        answer = self._do(send, number, on)
        events = [one.event_type for one in world.store.messages()[seen:]]
        if send.operation in ("sale", "auth", "find"):
            on = self._payment_of(send, number, answer)
            if on:
                self.payments[name], self.last = on, on
        yield from _compare(example.expect, answer, self._shown(send, on, answer), events)

    def _do(self, send: "Send", number: int, on: str) -> Answer:
        if send.operation == "advance":
            return self._ask("POST", f"{_CONTROL}/clock/advance", send, {"by": send.by or "0s"})
        if send.operation == "find":
            return self._found(send, send.event_id or "")
        if send.operation == "close_batch":
            batch_id = self._payment(send, on)["batch_id"]
            return self._ask("POST", f"/v1/batches/{batch_id}/close", send, {})
        return self._ask("POST", _PATHS[send.operation].format(on), send, self._body(send, number))

    def _body(self, send: "Send", number: int) -> dict[str, Any]:
        body: dict[str, Any] = {"event_id": send.event_id or f"example-{number}"}
        begins = send.operation in ("sale", "auth")
        if send.amount is not None or begins:
            body["amount"] = 1000 if send.amount is None else send.amount
        if begins:
            body["terminal_id"] = self.sandbox.worlds.default.cast.terminals[send.terminal]
            if send.tip_amount is not None:
                subtotal = body["amount"] - send.tip_amount
                body["breakdown"] = {"subtotal": subtotal, "tipAmount": send.tip_amount}
        elif send.tip_amount is not None:
            body["tip_amount"] = send.tip_amount
        if send.card is not None:
            body["card_reader_data"] = {"paymentCardData": send.card}
        if send.operation == "tip_adjust":
            body["type"] = "fixed"
        if send.operation == "confirm":
            body["confirm"] = send.confirm
        return body

    def _payment_of(self, send: "Send", number: int, answer: Answer) -> str:
        """The id of the payment that was begun, also where nobody heard of it."""
        if isinstance(answer.body, dict) and "transaction_id" in answer.body:
            return str(answer.body["transaction_id"])
        body = self._found(send, send.event_id or f"example-{number}").body
        return str(body["transaction_id"]) if isinstance(body, dict) else ""

    def _found(self, send: "Send", event_id: str) -> Answer:
        """The payment that has the event_id, or an answer without one."""
        query = urlencode({"event_id": event_id})
        answer = self._ask("GET", "/v1/transactions", send, query=query)
        found = answer.body if isinstance(answer.body, list) else []
        return replace(answer, body=found[0] if found else None)

    def _payment(self, send: "Send", on: str) -> Any:
        return self._ask("GET", f"/v1/transactions/{on}", send).body

    def _shown(self, send: "Send", on: str, answer: Answer) -> dict[str, Any]:
        """What `status` and the other fields are looked for in."""
        if (
            send.operation == "close_batch"
            and isinstance(answer.body, dict)
            and "id" in answer.body
        ):
            return dict(self._ask("GET", f"/v1/batches/{answer.body['id']}", send).body)
        is_payment = isinstance(answer.body, dict) and "transaction_id" in answer.body
        if is_payment and send.operation != "advance":
            return dict(answer.body)
        return dict(self._payment(send, on)) if on else {}

    def _ask(
        self, method: str, path: str, send: "Send", body: Any = None, *, query: str = ""
    ) -> Answer:
        _, key = self.sandbox.worlds.default.cast.keys[send.key]
        header = self.sandbox.worlds.profile.api_key_header_bytes
        return asyncio.run(_call(self.sandbox, method, path, (header, key.encode()), body, query))


async def _call(
    sandbox: Sandbox, method: str, path: str, key: tuple[bytes, bytes], body: Any, query: str
) -> Answer:
    """One request to the application, without a socket."""
    payload = b"" if body is None else json.dumps(body).encode()
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": payload, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [key, (b"accept", b"application/json"), (b"content-type", b"application/json")],
        "server": ("127.0.0.1", 8080),
    }
    try:
        await sandbox.app(scope, receive, send)
    except ConnectionClosed:
        return Answer(0, {}, None)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    try:
        shown = json.loads(sent[1]["body"] or b"null")
    except ValueError:
        shown = None
    return Answer(sent[0]["status"], headers, shown)


def _compare(
    expect: "Expect", answer: Answer, shown: dict[str, Any], events: list[str]
) -> Iterator[str]:
    """Everything that is not as expected."""
    chosen = dict(
        part.strip().partition("=")[::2]
        for part in f"outcome={answer.headers.get('x-sandbox-outcome', '')}".split(";")
    )
    error = answer.body.get("error") if isinstance(answer.body, dict) else None
    found: dict[str, Any] = {
        "http": answer.status,
        "error": error,
        "status": shown.get("status"),
        "status_reason": shown.get("status_reason"),
        "events": events,
        "outcome": chosen.get("outcome"),
        "rule": chosen.get("rule"),
    }
    for name in sorted(expect.model_fields_set - {"event", "fields", "null"}):
        wanted = getattr(expect, name)
        if wanted is not None and found[name] != wanted:
            yield f"{name}: expected {wanted!r}, came {found[name]!r}"
    if expect.event is not None and expect.event not in events:
        yield f"event: expected {expect.event!r}, came {events!r}"
    for name in expect.null:
        if shown.get(name) is not None:
            yield f"null: {name} is {shown[name]!r}"
    for name, wanted in expect.fields.items():
        value = shown.get(name, (shown.get("additional_details") or {}).get(name))
        yield from _unlike(f"fields.{name}", wanted, value)


def _unlike(name: str, wanted: Any, value: Any) -> Iterator[str]:
    """What is not as wanted; of an object only what is named matters."""
    if isinstance(wanted, dict) and isinstance(value, dict):
        for key, inner in wanted.items():
            yield from _unlike(f"{name}.{key}", inner, value.get(key))
    elif value != wanted:
        yield f"{name}: expected {wanted!r}, came {value!r}"
