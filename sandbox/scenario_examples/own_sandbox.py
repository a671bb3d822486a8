"""The stage in this process: a sandbox of its own, without a socket."""

import itertools
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Final

from sandbox.domain.clock import ClockSetting
from sandbox.scenario_examples.receiver import URL, Arrived, Receiver
from sandbox.scenario_examples.requests import Build, ExampleAnswer, Request, ask
from sandbox.scenarios import matcher
from sandbox.scenarios.scenario import Scenario
from sandbox.settings import Settings
from sandbox.worlds.scenarios import run_scenario

START: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)


class InProcessStage:
    """A sandbox in which the scenario runs from START on."""

    def __init__(self, scenario: Scenario, build: Build) -> None:
        settings = Settings(clock=ClockSetting(now=START, mode="frozen"))
        self._receiver = Receiver(settings.profile.webhook_header_prefix)
        self._sandbox = build(settings, sender=self._receiver)
        self._world = self._sandbox.worlds.default
        run_scenario(self._world, scenario)
        self._receives = bool(scenario.webhook) or any(
            one.expect.received is not None for one in scenario.example
        )
        self.terminals = self._world.cast.terminals
        self.keys = {name: key for name, (_, key) in self._world.cast.keys.items()}
        self.control = "/_sandbox/worlds/default"
        self._of_step = 0
        # The time is skipped.
        self.looks_every_s = 60.0

    @property
    def arrived(self) -> list[Arrived]:
        """The webhooks that arrived so far."""
        return self._receiver.arrived

    def begin_step(self) -> None:
        """From here on requests belong to another step."""
        self._of_step = self._world.journal.counters.requests

    def near_misses(self) -> list[str]:
        """The near misses of the requests of this step."""
        journal = self._world.journal
        count = journal.counters.requests - self._of_step
        entries = journal.entries()[-count:] if count else []
        found = (matcher.show_near_misses(one.choice.near_misses) for one in entries if one.choice)
        return list(dict.fromkeys(itertools.chain(*found)))

    async def listen(self) -> None:
        """Have the receiver get every webhook of the world, if examples look at them."""
        if not self._receives:
            return
        key = next(iter(self.keys.values()))
        request = Request("POST", f"{self.control}/endpoints", key, {"url": URL})
        made = await ask(self._sandbox, request)
        self._receiver.secret = made.body["secret"]

    async def ask(self, request: Request, on_answer: Callable[[], None]) -> ExampleAnswer:
        """The answer to a request. `on_answer` is called when its first byte is written."""
        return await ask(self._sandbox, request, on_answer=on_answer)

    def set_answered(self, *, is_answered: bool) -> None:
        """Note whether the client has its answer."""
        self._receiver.is_answered = is_answered

    async def messages(self) -> list[tuple[str, str]]:
        """All messages of the world so far, oldest first: id and event."""
        return [(one.id, one.event_type) for one in self._world.store.messages()]

    async def waiting(self) -> Collection[str]:
        """The payments that wait for a tap."""
        return [one.tap.transaction_id for one in self._world.tap_desk if not one.came.done()]

    async def quiet(self) -> None:
        """Wait until every due webhook has arrived, and the delayed ones too."""
        outbox = self._world.outbox
        while not outbox.is_idle or any(
            one.status == "pending" and one.next_attempt_at is None
            for message in self._world.store.messages()
            for one in outbox.deliveries_of(message.id)
        ):
            await self._world.changed()

    async def close(self) -> None:
        """Cancel all pending work."""
        self._world.tap_desk.close()
