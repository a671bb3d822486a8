"""The requests of each example, and what comes of them on a stage."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from sandbox.scenario_examples.comparison import ExampleResult, compare
from sandbox.scenario_examples.receiver import Arrived
from sandbox.scenario_examples.requests import ExampleAnswer, Request
from sandbox.scenarios.scenario import Example, Send

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
_BEGIN: Final = ("sale", "auth")
_ON_NOTHING: Final = (*_BEGIN, "find", "advance")


class Stage(Protocol):
    """A world in which examples play, in this process or on a server.

    `terminals` are those of its cast, `keys` the names of its keys with their values. `control` is
    the path of the world in the control API. `arrived` are the webhooks that its receiver got.
    A tap is looked for at least every `looks_every_s`.
    """

    @property
    def terminals(self) -> Mapping[str, str]: ...

    @property
    def keys(self) -> Mapping[str, str]: ...

    @property
    def control(self) -> str: ...

    @property
    def arrived(self) -> Sequence[Arrived]: ...

    async def ask(self, request: Request, on_answer: Callable[[], None]) -> ExampleAnswer:
        """The answer to a request. `on_answer` is called when it begins to arrive."""

    def set_answered(self, *, is_answered: bool) -> None:
        """Note whether the client has its answer."""

    async def messages(self) -> list[tuple[str, str]]:
        """All messages of the world so far, oldest first: id and event."""

    @property
    def looks_every_s(self) -> float: ...

    async def waiting(self) -> Collection[str]:
        """The payments that wait for a tap."""

    async def quiet(self) -> None:
        """Wait until every due webhook has arrived, and the delayed ones too."""


class ExampleRunner:
    """The examples of a scenario on a stage, and their payments so far."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._payments: dict[str, str] = {}
        self._last = ""

    async def play(
        self, number: int, name: str, example: Example
    ) -> tuple[list[str], ExampleResult | None]:
        """Run one example; returns its mistakes and its result, None if it could not run."""
        send = example.send
        problem = self._problem(send)
        if problem is not None:
            return [problem], None
        on = self._payments.get(send.on or "", self._last)
        seen, arrived = len(await self._stage.messages()), len(self._stage.arrived)
        answer, waited = await self._carry_out(send, number, on)
        await self._stage.quiet()
        messages = await self._stage.messages()
        events = [event for _, event in messages[seen:]]
        if send.operation in (*_BEGIN, "find"):
            on = await self._payment_of(send, number, answer)
            if on:
                self._payments[name], self._last = on, on
        shown = await self._shown(send, on, answer)
        named = dict(messages)
        received = [(named.get(one.message_id, "?"), one) for one in self._stage.arrived[arrived:]]
        result = ExampleResult(answer, shown, events, received)
        return [*waited, *compare(example.expect, result)], result

    def _problem(self, send: Send) -> str | None:
        """The reason why this cannot run, or None."""
        if send.on is not None and send.on not in self._payments:
            return f"send.on: no example before is named {send.on!r}"
        if send.operation not in _ON_NOTHING and not (send.on or self._last):
            return f"send.operation: there is no payment yet to {send.operation}"
        for field_name, named, known in (
            ("terminal", send.terminal, self._stage.terminals),
            ("key", send.key, self._stage.keys),
        ):
            if named not in known:
                return f"send.{field_name}: the demo world has no {named!r}"
        return None

    # --- carrying out

    async def _carry_out(self, send: Send, number: int, on: str) -> tuple[ExampleAnswer, list[str]]:
        """The answer, and the mistakes of the wait for a tap."""
        if send.operation == "advance":
            return await self._advance(send, send.by or "0s"), []
        if send.operation == "find":
            return await self._found(send, send.event_id or "", is_look=False), []
        if send.operation == "close_batch":
            batch_id = (await self._payment(send, on)).get("batch_id")
            if batch_id is None:
                return ExampleAnswer(0, {}, None), ["send.operation: the payment is in no batch"]
            return await self._ask(send, "POST", f"/v1/batches/{batch_id}/close", {}), []
        path = _PATHS[send.operation].format(on)
        self._stage.set_answered(is_answered=False)
        request = asyncio.ensure_future(self._ask(send, "POST", path, self._body(send, number)))
        try:
            wrong = await self._at_tap_desk(send, request)
            return await request, wrong
        finally:
            request.cancel()

    def _note_answer(self) -> None:
        self._stage.set_answered(is_answered=True)

    async def _at_tap_desk(self, send: Send, request: asyncio.Future[ExampleAnswer]) -> list[str]:
        """Tap or cancel as the example says; returns the differences."""
        waiting = await self._waiting(request)
        if waiting is None:
            return ["send.tap: the payment did not wait for a tap"] if send.tap else []
        path = f"{self._stage.control}/taps/{waiting}"
        if send.tap is None:
            await self._ask(send, "POST", path, {"cancel": "merchant"})
            return ["send: the payment waits for a tap; add tap with its result"]
        if send.tap.after is not None:
            await self._advance(send, send.tap.after)
        tap = send.tap.model_dump(include={"card", "outcome", "cancel"}, exclude_none=True)
        if tap:
            tapped = await self._ask(send, "POST", path, tap)
            if tapped.status != 200:
                await self._ask(send, "POST", path, {"cancel": "merchant"})
                return [f"send.tap: {tapped.body['message']}"]
        elif waiting in await self._stage.waiting():
            await self._ask(send, "POST", path, {"cancel": "merchant"})
            return ["send.tap: the payment still waits, and the example does not tap or cancel"]
        return []

    async def _waiting(self, request: asyncio.Future[ExampleAnswer]) -> str | None:
        """The payment that waits for its tap; None once the request is answered without."""
        pause_s = 0.0
        while not request.done():
            for waiting in await self._stage.waiting():
                return waiting
            await asyncio.wait({request}, timeout=pause_s)
            pause_s = min(2 * pause_s + 0.001, self._stage.looks_every_s)
        return None

    async def _advance(self, send: Send, by: str) -> ExampleAnswer:
        return await self._ask(send, "POST", f"{self._stage.control}/clock/advance", {"by": by})

    def _body(self, send: Send, number: int) -> dict[str, Any]:
        body: dict[str, Any] = {"event_id": send.event_id or f"example-{number}"}
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

    async def _payment_of(self, send: Send, number: int, answer: ExampleAnswer) -> str:
        """The id of the new payment, even if its answer was lost."""
        if isinstance(answer.body, dict) and "transaction_id" in answer.body:
            return str(answer.body["transaction_id"])
        body = (await self._found(send, send.event_id or f"example-{number}")).body
        return str(body["transaction_id"]) if isinstance(body, dict) else ""

    async def _found(self, send: Send, event_id: str, *, is_look: bool = True) -> ExampleAnswer:
        """The payment that has the event_id, or an answer without one."""
        query = urlencode({"event_id": event_id})
        path = "/v1/transactions"
        answer = await self._ask(send, "GET", path, query=query, is_look=is_look)
        found = answer.body if isinstance(answer.body, list) else []
        return replace(answer, body=found[0] if found else None)

    async def _payment(self, send: Send, on: str) -> dict[str, Any]:
        body = (await self._ask(send, "GET", f"/v1/transactions/{on}", is_look=True)).body
        return body if isinstance(body, dict) else {}

    async def _shown(self, send: Send, on: str, answer: ExampleAnswer) -> dict[str, Any]:
        """What `status` and the other fields are looked for in."""
        body = answer.body if isinstance(answer.body, dict) else {}
        if send.operation == "close_batch" and "id" in body:
            path = f"/v1/batches/{body['id']}"
            batch = (await self._ask(send, "GET", path, is_look=True)).body
            return batch if isinstance(batch, dict) else body
        if "transaction_id" in body and send.operation != "advance":
            return body
        return await self._payment(send, on) if on else {}

    async def _ask(
        self,
        send: Send,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: str = "",
        is_look: bool = False,
    ) -> ExampleAnswer:
        request = Request(method, path, self._stage.keys[send.key], body, query, is_look)
        is_the_one = path in _PATHS.values() or path.startswith("/v3/")
        return await self._stage.ask(request, self._note_answer if is_the_one else lambda: None)
