"""Running examples in a world that is in use, with its payments, clock and endpoints."""

import asyncio
import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any, Final

from sandbox.control.context import Act, PlayedExample, PlayedMessage, PlayedRequest
from sandbox.domain.json_text import value_of
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.transactions import Payment
from sandbox.platform.internal_client import InternalClient, build_request
from sandbox.scenario_examples.runner import ExampleAnswer, ExampleRunner, Request, Stage, name_of
from sandbox.scenarios.scenario import Example
from sandbox.worlds.world import World

_QUIET_S: Final = 5.0
"""How long to wait for due webhooks, since a receiver may hang."""


async def play_in_world(
    stage: "WorldStage", examples: Sequence[Example], numbers: range, *, within_s: float
) -> list[PlayedExample]:
    """Play the examples with these numbers in a world, in order.

    Received webhooks are not compared, because they go to the world's own endpoints. `within_s` is
    the time limit for all steps; one that is not done by then is given up, and so are those after.
    """
    runner = ExampleRunner(stage)
    end = asyncio.get_running_loop().time() + within_s
    steps = []
    for one in numbers:
        example = examples[one - 1]
        stage.begin_step()
        result = None
        try:
            async with asyncio.timeout_at(end):
                mistakes, result = await runner.play(one, stage.own(one, example))
        except TimeoutError:
            mistakes = [f"was given up: the steps took more than {within_s:g} s in all"]
        shown = {} if result is None else result.shown
        steps.append(
            PlayedExample(
                number=one,
                name=name_of(one, example),
                operation=example.send.operation,
                mistakes=mistakes,
                requests=stage.exchanges,
                messages=stage.new_messages(),
                subject=shown.get("transaction_id") or shown.get("id"),
                status=shown.get("status"),
                status_reason=shown.get("status_reason"),
            )
        )
    return steps


class LocalStage(Stage):
    """A world in this process."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        self.accounts, self.terminals = world.cast.accounts, world.cast.terminals
        self._before = len(world.store.messages())

    def messages(self) -> list[tuple[str, str]]:
        """Return the messages of the world since this play began, oldest first: id and event.

        Earlier ones are skipped, since a busy world has very many.
        """
        new = self.world.store.messages()[self._before :]
        return [(one.id, one.event_type) for one in new]

    def list_waiting(self) -> Collection[str]:
        """Return the payments that wait for a tap."""
        return [one.tap.transaction_id for one in self.world.tap_desk]

    def is_busy(self) -> bool:
        """Whether a webhook of this play is still due."""
        return any(
            one.status == "pending" and one.next_attempt_at is None
            for id, _ in self.messages()
            for one in self.world.outbox.deliveries_of(id)
        )

    async def quiet(self) -> None:
        """Wait until all due webhooks were tried."""
        while self.is_busy():
            await self.world.wait_for_change()


class WorldStage(LocalStage):
    """A world in use, which may have other clients. It has no receiver for the examples."""

    control = "/_sandbox"
    looks_every_s = 0.01

    def __init__(self, world: World, inside: InternalClient, act: Act) -> None:
        super().__init__(world)
        self._inside = inside
        self._act = act
        self._of_step = 0
        # Unique for each play, since every play sends requests, and they are counted.
        self._tag = world.journal.counters.requests + 1
        self._own_events: set[str] = set()
        self.exchanges: list[PlayedRequest] = []
        self.keys = world.cast.ids_of("key")

    def own(self, number: int, example: Example) -> Example:
        """Return the example with an event_id for this play, since the usual one may be used."""
        event_id = f"{example.send.event_id or f'example-{number}'}-{self._tag}"
        self._own_events.add(event_id)
        send = example.send.model_copy(update={"event_id": event_id})
        fields = example.expect.fields
        if "event_id" in fields:
            fields = fields | {"event_id": event_id}
        expect = example.expect.model_copy(update={"received": None, "fields": fields})
        return example.model_copy(update={"send": send, "expect": expect})

    def begin_step(self) -> None:
        """Begin a step, to which the next exchanges and messages belong."""
        self.exchanges = []
        self._of_step = len(self.messages())

    def new_messages(self) -> list[PlayedMessage]:
        """Return the messages of this step."""
        new = self.messages()[self._of_step :]
        return [PlayedMessage(id=id, event_type=event) for id, event in new]

    async def ask(self, request: Request) -> ExampleAnswer:
        """Send a request and return the answer.

        Its journal entry shows that it did not come from a client.
        """
        if request.path.startswith(self.control):
            path = request.path.removeprefix(self.control)
            status, shown = await self._act(path, request.body)
            self._note(request, request_id=None, path=path, status=status, answer=shown)
            return ExampleAnswer(status, {}, shown)
        payload = b"" if request.body is None else json.dumps(request.body).encode()
        asked = build_request(request.method, request.path, request.query, request.headers, payload)
        key = self.world.store.get(ApiKey, request.key)
        answer = await self._inside.send(self.world, asked, key)
        shown = value_of(answer.body)
        self._note(request, request_id=answer.request_id, status=answer.status, answer=shown)
        return ExampleAnswer(answer.status or 0, answer.headers, shown)

    def _note(self, request: Request, **came: Any) -> None:
        self.exchanges.append(PlayedRequest.of(request, **came))

    def list_waiting(self) -> Collection[str]:
        """Return the payments of these examples that wait for a tap."""
        waiting = super().list_waiting()
        found = filter(None, (self.world.store.get(Payment, id) for id in waiting))
        return [one.id for one in found if one.transaction.event_id in self._own_events]

    async def quiet(self) -> None:
        """Wait until all due webhooks were tried, for a few seconds at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_QUIET_S):
                await super().quiet()
