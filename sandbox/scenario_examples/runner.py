"""The sandbox in which examples run, and the requests of each example."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from sandbox.app import build
from sandbox.domain.clock import ClockSetting
from sandbox.scenario_examples.comparison import ExampleResult, compare
from sandbox.scenario_examples.receiver import URL, Receiver
from sandbox.scenario_examples.requests import ExampleAnswer, Request, ask
from sandbox.settings import Settings

if TYPE_CHECKING:
    from sandbox.scenarios.examples import Example, Send
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
_BEGIN: Final = ("sale", "auth")
_ON_NOTHING: Final = (*_BEGIN, "find", "advance")
_CONTROL: Final = "/_sandbox/worlds/default"


class ExampleRunner:
    """A sandbox with the scenario running, and the payments of the examples so far."""

    def __init__(self, scenario: "Scenario") -> None:
        settings = Settings(clock=ClockSetting(now=START, mode="frozen"))
        self._receiver = Receiver(settings.profile.webhook_header_prefix)
        self._sandbox = build(settings, sender=self._receiver)
        self._world = self._sandbox.worlds.default
        self._world.run_scenario(scenario)
        self._receives = bool(scenario.webhook) or any(
            one.expect.received is not None for one in scenario.example
        )
        self._payments: dict[str, str] = {}
        self._last = ""

    async def play(self, number: int, name: str, example: "Example") -> list[str]:
        """Run one example; returns its mistakes."""
        send = example.send
        if self._receives and not self._receiver.secret:
            await self._listen(send)
        problem = self._problem(send)
        if problem is not None:
            return [problem]
        on = self._payments.get(send.on or "", self._last)
        seen, arrived = len(self._world.store.messages()), len(self._receiver.arrived)
        answer, waited = await self._carry_out(send, number, on)
        await self._quiet()
        events = [one.event_type for one in self._world.store.messages()[seen:]]
        if send.operation in (*_BEGIN, "find"):
            on = await self._payment_of(send, number, answer)
            if on:
                self._payments[name], self._last = on, on
        shown = await self._shown(send, on, answer)
        received = [(self._event(one.message_id), one) for one in self._receiver.arrived[arrived:]]
        return [*waited, *compare(example.expect, ExampleResult(answer, shown, events, received))]

    async def close(self) -> None:
        """Cancel all pending work."""
        self._sandbox.worlds.default.tap_desk.close()

    def _problem(self, send: "Send") -> str | None:
        """The reason why this cannot run, or None."""
        if send.on is not None and send.on not in self._payments:
            return f"send.on: no example before is named {send.on!r}"
        if send.operation not in _ON_NOTHING and not (send.on or self._last):
            return f"send.operation: there is no payment yet to {send.operation}"
        for field_name, named, known in (
            ("terminal", send.terminal, self._world.cast.terminals),
            ("key", send.key, self._world.cast.keys),
        ):
            if named not in known:
                return f"send.{field_name}: the demo world has no {named!r}"
        return None

    # --- carrying out

    async def _carry_out(
        self, send: "Send", number: int, on: str
    ) -> tuple[ExampleAnswer, list[str]]:
        """The answer, and the mistakes of the wait for a tap."""
        if send.operation == "advance":
            return await self._advance(send, send.by or "0s"), []
        if send.operation == "find":
            return await self._found(send, send.event_id or ""), []
        if send.operation == "close_batch":
            batch_id = (await self._payment(send, on))["batch_id"]
            return await self._ask(send, "POST", f"/v1/batches/{batch_id}/close", {}), []
        path = _PATHS[send.operation].format(on)
        self._receiver.is_answered = False
        request = asyncio.ensure_future(self._ask(send, "POST", path, self._body(send, number)))
        wrong = await self._at_tap_desk(send, request)
        return await request, wrong

    def _note_answer(self) -> None:
        self._receiver.is_answered = True

    async def _at_tap_desk(
        self, send: "Send", request: "asyncio.Future[ExampleAnswer]"
    ) -> list[str]:
        """Tap or cancel as the example says; returns the differences."""
        waiting = await self._waiting(request)
        if waiting is None:
            return ["send.tap: the payment did not wait for a tap"] if send.tap else []
        path = f"{_CONTROL}/taps/{waiting}"
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
        elif self._world.tap_desk.get(waiting) is not None:
            await self._ask(send, "POST", path, {"cancel": "merchant"})
            return ["send.tap: the payment still waits, and the example does not tap or cancel"]
        return []

    async def _waiting(self, request: "asyncio.Future[ExampleAnswer]") -> str | None:
        """The payment that waits for its tap; None once the request is answered without."""
        while not request.done():
            for waiting in self._world.tap_desk:
                return waiting.tap.transaction_id
            await asyncio.sleep(0)
        return None

    async def _advance(self, send: "Send", by: str) -> ExampleAnswer:
        return await self._ask(send, "POST", f"{_CONTROL}/clock/advance", {"by": by})

    def _body(self, send: "Send", number: int) -> dict[str, Any]:
        body: dict[str, Any] = {"event_id": send.event_id or f"example-{number}"}
        begins = send.operation in _BEGIN
        if send.amount is not None or begins:
            body["amount"] = 1000 if send.amount is None else send.amount
        if begins:
            body["terminal_id"] = self._world.cast.terminals[send.terminal]
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

    async def _payment_of(self, send: "Send", number: int, answer: ExampleAnswer) -> str:
        """The id of the new payment, even if its answer was lost."""
        if isinstance(answer.body, dict) and "transaction_id" in answer.body:
            return str(answer.body["transaction_id"])
        body = (await self._found(send, send.event_id or f"example-{number}")).body
        return str(body["transaction_id"]) if isinstance(body, dict) else ""

    async def _found(self, send: "Send", event_id: str) -> ExampleAnswer:
        """The payment that has the event_id, or an answer without one."""
        query = urlencode({"event_id": event_id})
        answer = await self._ask(send, "GET", "/v1/transactions", query=query)
        found = answer.body if isinstance(answer.body, list) else []
        return replace(answer, body=found[0] if found else None)

    async def _payment(self, send: "Send", on: str) -> Any:
        return (await self._ask(send, "GET", f"/v1/transactions/{on}")).body

    async def _shown(self, send: "Send", on: str, answer: ExampleAnswer) -> dict[str, Any]:
        """What `status` and the other fields are looked for in."""
        body = answer.body if isinstance(answer.body, dict) else {}
        if send.operation == "close_batch" and "id" in body:
            return dict((await self._ask(send, "GET", f"/v1/batches/{body['id']}")).body)
        if "transaction_id" in body and send.operation != "advance":
            return body
        return dict(await self._payment(send, on)) if on else {}

    # --- webhooks

    async def _listen(self, send: "Send") -> None:
        """Have the receiver get every webhook of the world."""
        made = await self._ask(send, "POST", f"{_CONTROL}/endpoints", {"url": URL})
        self._receiver.secret = made.body["secret"]

    async def _quiet(self) -> None:
        """Wait until every due webhook has arrived, and the delayed ones too."""
        outbox = self._world.outbox
        while any(
            one.status == "pending" and one.next_attempt_at is None
            for message in self._world.store.messages()
            for one in outbox.deliveries_of(message.id)
        ):
            await self._world.changed()

    def _event(self, message_id: str) -> str:
        message = self._world.store.message(message_id)
        return message.event_type if message is not None else "?"

    async def _ask(
        self, send: "Send", method: str, path: str, body: Any = None, *, query: str = ""
    ) -> ExampleAnswer:
        _, key = self._world.cast.keys[send.key]
        request = Request(method, path, key, body, query)
        is_the_one = path in _PATHS.values() or path.startswith("/v3/")
        on_answer = self._note_answer if is_the_one else lambda: None
        return await ask(self._sandbox, request, on_answer=on_answer)
