"""Sending the requests of each example on a stage, and checking the results."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from sandbox.domain.json_text import fields_of
from sandbox.platform.responses import in_header
from sandbox.scenarios.scenario import Example, Expect, Received, Send


class ExampleAnswer(NamedTuple):
    """An answer; `status` is 0 if the connection was closed without one."""

    status: int
    headers: dict[str, str]
    body: Any

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the body, none if it is not an object."""
        return fields_of(self.body)


@dataclass(frozen=True, slots=True)
class Request:
    """A request with an API key of the world. With `is_awaited` a client waits for its answer."""

    method: str
    path: str
    key: str
    body: Any = None
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    is_awaited: bool = False


LOOK: Final = {"x-sandbox-outcome": "approved"}
"""The header of requests that only look, which keeps faults of the scenario away from them."""


class Arrived(NamedTuple):
    """A received attempt. `status` is that of the body, or None if it cannot be read."""

    message_id: str
    status: str | None
    is_genuine: bool
    is_answered: bool


# --- comparing the result with what is expected -------------------------------------------------


class ExampleResult(NamedTuple):
    """The result of an example: the answer, its payment, its events and webhooks.

    `received` are the attempts, each with the name of its event.
    """

    answer: ExampleAnswer
    shown: dict[str, Any]
    events: list[str]
    received: Sequence[tuple[str, Arrived]]


def compare(expect: Expect, came: ExampleResult) -> Iterator[str]:
    """Yield everything that differs from what is expected."""
    answer, shown, events = came.answer, came.shown, came.events
    parts = f"outcome={answer.headers.get('x-sandbox-outcome', '')}".split("; ", 2)
    chosen = dict(part.partition("=")[::2] for part in parts)
    if expect.rule is not None and chosen.get("rule") == in_header(expect.rule):
        chosen["rule"] = expect.rule
    found: dict[str, Any] = {
        "error": answer.fields.get("error"),
        "events": events,
        "http": answer.status,
        **{name: chosen.get(name) for name in ("outcome", "rule")},
        **{name: shown.get(name) for name in ("status", "status_reason")},
    }
    for name, value in found.items():
        if (wanted := getattr(expect, name)) is not None:
            yield from _unlike(name, wanted, value)
    if expect.event is not None and expect.event not in events:
        yield f"event: expected {expect.event!r}, got {events!r}"
    for name in expect.null:
        if shown.get(name) is not None:
            yield f"null: {name} is {shown[name]!r}"
    for name, wanted in expect.fields.items():
        value = shown.get(name, (shown.get("additional_details") or {}).get(name))
        yield from _unlike(f"fields.{name}", wanted, value)
    for name, wanted in expect.headers.items():
        yield from _unlike(f"headers.{name}", wanted, answer.headers.get(name.lower()))
    if expect.received is not None:
        yield from _misreceived(expect.received, came.received)


def _unlike(name: str, wanted: Any, value: Any) -> Iterator[str]:
    """Yield the differences from the expected value; of an object only the named fields matter."""
    if isinstance(wanted, dict) and isinstance(value, dict):
        for key, inner in wanted.items():
            yield from _unlike(f"{name}.{key}", inner, value.get(key))
    elif value != wanted:
        yield f"{name}: expected {wanted!r}, got {value!r}"


def _misreceived(
    wanted: Sequence[Received], received: Sequence[tuple[str, Arrived]]
) -> Iterator[str]:
    """Yield the differences in the received webhooks."""
    names, came = [one.event for one in wanted], [event for event, _ in received]
    if names != came:
        yield f"received: expected {names!r}, got {came!r}"
        return
    for number, (one, (event, arrived)) in enumerate(zip(wanted, received, strict=True), start=1):
        for name in ("status", "is_genuine", "is_answered"):
            if (expected := getattr(one, name)) is not None:
                place = f"received: {number}, {event}, {name}"
                yield from _unlike(place, expected, getattr(arrived, name))


# --- running ------------------------------------------------------------------------------------

_BEGIN: Final = {"sale": "/v3/payment", "auth": "/v3/preauth"}
_ACTIONS: Final = {"incremental_auth": "auth", "tip_adjust": "adjust"}
"""The paths of operations that begin a payment, and the last segment of others if it differs."""

BLOCKS: Final = {"block_account": "block", "unblock_account": "unblock"}
_ON_NOTHING: Final = (*_BEGIN, *BLOCKS, "find", "advance")


class Stage(ABC):
    """A world in which examples run: a new one, or one in use.

    `accounts`, `terminals` and `keys` are those of its cast, by name. `control` is the path of the
    world in the control API. `arrived` has the attempts that its receiver got. `answered` is set
    unless a client waits for its answer. `looks_every_s` is the longest pause between two looks for
    a payment that waits for a tap.
    """

    accounts: Mapping[str, str]
    terminals: Mapping[str, str]
    keys: Mapping[str, str]
    control: str
    looks_every_s: float

    def __init__(self) -> None:
        self.arrived: list[Arrived] = []
        self.answered = Event()
        self.answered.set()

    @abstractmethod
    async def ask(self, request: Request) -> ExampleAnswer:
        """Send a request and return the answer.

        If `is_awaited`, `answered` is set when the answer begins.
        """

    @abstractmethod
    def messages(self) -> list[tuple[str, str]]:
        """Return all messages of the world so far, oldest first: id and event."""

    @abstractmethod
    def list_waiting(self) -> Collection[str]:
        """Return the payments that wait for a tap."""

    @abstractmethod
    async def quiet(self) -> None:
        """Wait until all due and delayed webhooks were tried."""


def name_of(number: int, example: Example) -> str:
    """Return the name of an example, or else its number as a name."""
    return example.name or f"example {number}"


class ExampleRunner:
    """The examples of a scenario on a stage, and their payments so far."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._payments: dict[str, str] = {}
        self._last = ""

    async def play(self, number: int, example: Example) -> tuple[list[str], ExampleResult | None]:
        """Run an example; return its mistakes and its result, which is None if it could not run."""
        event_id = example.send.event_id or f"example-{number}"
        send = example.send.model_copy(update={"event_id": event_id})
        if (problem := self._problem(send)) is not None:
            return [problem], None
        on = self._payments.get(send.on or "", self._last)
        seen, arrived = len(self._stage.messages()), len(self._stage.arrived)
        answer, waited = await self._carry_out(send, on)
        await self._stage.quiet()
        messages = self._stage.messages()
        events = [event for _, event in messages[seen:]]
        if send.operation in (*_BEGIN, "find"):
            on = await self._payment_of(send, answer)
            if on:
                self._payments[name_of(number, example)] = self._last = on
        shown = await self._find_shown(send, on, answer)
        named = dict(messages)
        received = [(named.get(one.message_id, "?"), one) for one in self._stage.arrived[arrived:]]
        result = ExampleResult(answer, shown, events, received)
        return [*waited, *compare(example.expect, result)], result

    def _problem(self, send: Send) -> str | None:
        """Return the reason why this cannot run, or None."""
        if send.on is not None and send.on not in self._payments:
            return f"send.on: no earlier example has the name {send.on!r}"
        if send.operation not in _ON_NOTHING and not (send.on or self._last):
            return f"send.operation: there is no payment yet to {send.operation}"
        for name in ("account", "terminal", "key"):
            named = getattr(send, name)
            if named not in getattr(self._stage, f"{name}s"):
                return f"send.{name}: the demo world has no {named!r}"
        return None

    # --- sending

    async def _carry_out(self, send: Send, on: str) -> tuple[ExampleAnswer, list[str]]:
        """Return the answer, and the mistakes about a tap."""
        if send.operation == "advance":
            return await self._advance(send, send.by or "0s"), []
        if send.operation == "find":
            return await self._payment_with(send), []
        if send.operation == "close_batch":
            batch_id = (await self._payment(send, on)).get("batch_id")
            if batch_id is None:
                return ExampleAnswer(0, {}, None), ["send.operation: the payment is in no batch"]
            return await self._ask(send, "POST", f"/v1/batches/{batch_id}/close", {}), []
        if send.operation == "add_to_batch":
            return await self._add_to_batch(send, on)
        if send.operation in BLOCKS:
            path = f"/v1/accounts/{self._stage.accounts[send.account]}"
            return await self._ask(send, "POST", f"{path}/{BLOCKS[send.operation]}"), []
        action = _ACTIONS.get(send.operation, send.operation)
        path = _BEGIN.get(send.operation, f"/v3/payments/{on}/{action}")
        self._stage.answered.clear()
        request = asyncio.ensure_future(self._ask(send, "POST", path, self._body(send)))
        try:
            wrong = await self._at_tap_desk(send, request)
            return await request, wrong
        finally:
            request.cancel()

    async def _add_to_batch(self, send: Send, on: str) -> tuple[ExampleAnswer, list[str]]:
        """Add the payment to the open batch of its terminal."""
        terminal_id = (await self._payment(send, on)).get("tid", "")
        query = urlencode({"terminal_id": terminal_id, "statuses": "open"})
        found = await self._ask(send, "GET", "/v1/batches", query=query)
        if not (batches := found.fields.get("batches")):
            wrong = "send.operation: the terminal of the payment has no open batch"
            return ExampleAnswer(0, {}, None), [wrong]
        path = f"/v1/batches/{batches[0]['id']}/edit"
        return await self._ask(send, "PUT", path, {"added_transactions": [on]}), []

    async def _at_tap_desk(self, send: Send, request: asyncio.Future[ExampleAnswer]) -> list[str]:
        """Tap or cancel as the example says, and return the mistakes."""
        waiting = await self._find_waiting(request)
        if waiting is None:
            return ["send.tap: the payment did not wait for a tap"] if send.tap else []
        path, wrong = f"{self._stage.control}/taps/{waiting}", ""
        if send.tap is None:
            wrong = "send: the payment waits for a tap; add tap with its result"
        else:
            if send.tap.after is not None:
                await self._advance(send, send.tap.after)
            tap = send.tap.model_dump(include={"card", "outcome", "cancel"}, exclude_none=True)
            if tap:
                tapped = await self._ask(send, "POST", path, tap)
                wrong = "" if tapped.status == 200 else f"send.tap: {tapped.body['message']}"
            elif waiting in self._stage.list_waiting():
                wrong = "send.tap: the payment still waits, and the example does not tap or cancel"
        if wrong:
            await self._ask(send, "POST", path, {"cancel": "merchant"})
        return [wrong] if wrong else []

    async def _find_waiting(self, request: asyncio.Future[ExampleAnswer]) -> str | None:
        """Return the payment that waits for its tap; None if the request is answered without."""
        pause_s = 0.0
        while not request.done():
            for waiting in self._stage.list_waiting():
                return waiting
            await asyncio.wait({request}, timeout=pause_s)
            pause_s = min(2 * pause_s + 0.001, self._stage.looks_every_s)
        return None

    async def _advance(self, send: Send, by: str) -> ExampleAnswer:
        return await self._ask(send, "POST", f"{self._stage.control}/clock/advance", {"by": by})

    def _body(self, send: Send) -> dict[str, Any]:
        body: dict[str, Any] = {"event_id": send.event_id}
        begins = send.operation in _BEGIN
        if send.amount is not None or begins:
            body["amount"] = 1000 if send.amount is None else send.amount
        if begins:
            body["terminal_id"] = self._stage.terminals[send.terminal]
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

    # --- looking

    async def _payment_of(self, send: Send, answer: ExampleAnswer) -> str:
        """Return the id of the new payment, even if its answer was lost."""
        if "transaction_id" not in answer.fields:
            answer = await self._payment_with(send, headers=LOOK)
        return str(answer.fields.get("transaction_id", ""))

    async def _payment_with(self, send: Send, **more: Any) -> ExampleAnswer:
        """Return an answer with the payment that has the event_id, or without one."""
        query = urlencode({"event_id": send.event_id})
        answer = await self._ask(send, "GET", "/v1/transactions", query=query, **more)
        found = answer.body if isinstance(answer.body, list) else []
        return answer._replace(body=found[0] if found else None)

    async def _payment(self, send: Send, on: str) -> dict[str, Any]:
        return (await self._ask(send, "GET", f"/v1/transactions/{on}", headers=LOOK)).fields

    async def _find_shown(self, send: Send, on: str, answer: ExampleAnswer) -> dict[str, Any]:
        """Return the object with which `status` and other fields are compared."""
        body = answer.fields
        if send.operation == "close_batch" and "id" in body:
            look = await self._ask(send, "GET", f"/v1/batches/{body['id']}", headers=LOOK)
            return look.fields or body
        if "transaction_id" in body and send.operation != "advance":
            return body
        return await self._payment(send, on) if on else {}

    async def _ask(
        self, send: Send, method: str, path: str, body: Any = None, **more: Any
    ) -> ExampleAnswer:
        """Send a request and return the answer; `more` are further fields of the request."""
        more["is_awaited"] = path.startswith("/v3/")
        key = self._stage.keys[send.key]
        return await self._stage.ask(Request(method, path, key, body, **more))
