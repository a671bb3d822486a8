"""Running the examples of a scenario in their own sandbox, without a socket."""

import asyncio
import selectors
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import Any, Final, NamedTuple

from starlette.types import Message, Receive, Scope, Send

from sandbox.domain.clock import ClockSetting
from sandbox.domain.json_text import fields_of, value_of
from sandbox.domain.webhooks import Sent
from sandbox.http_client import send_json
from sandbox.scenario_examples.runner import Arrived, ExampleAnswer, ExampleRunner, Request, name_of
from sandbox.scenario_examples.running_world import LocalStage
from sandbox.scenarios.scenario import Scenario
from sandbox.settings import Settings
from sandbox.webhooks.receivers import Reply
from sandbox.webhooks.signing import why_not_genuine
from sandbox.worlds.lifecycle import run_scenario

FAR_S: Final = 30 * 24 * 3600.0
"""Longer than any delay in an example, and than almost all of its delays together."""


class _Idle(selectors.DefaultSelector):
    """A selector that only waits for other threads, and skips the time until the next timer."""

    def __init__(self, end_s: float | None) -> None:
        super().__init__()
        self.skipped_s = 0.0
        self._end_s = end_s

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self._end_s is not None and monotonic() >= self._end_s:
            # End whatever is still running: its time limit is reached now.
            self.skipped_s, self._end_s = self.skipped_s + FAR_S, None
        ready = super().select(None if timeout is None else 0)
        if timeout and not ready:
            self.skipped_s += timeout
        return ready


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop that jumps to its next timer as soon as it has nothing else to do.

    At `end_s`, by the `monotonic` clock, everything with the time limit FAR_S ends.
    """

    def __init__(self, end_s: float | None = None) -> None:
        self._idle = _Idle(end_s)
        super().__init__(self._idle)

    def time(self) -> float:
        """Return the seconds of the loop's clock, including skipped ones."""
        return super().time() + self._idle.skipped_s


# --- the stage ----------------------------------------------------------------------------------

RECEIVER: Final = "http://receiver.test"


class Receiver:
    """A sender of webhooks to endpoints that accept everything, without sending anything."""

    async def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Sent:
        """Return a successful attempt."""
        return Sent(status_code=204, duration_ms=0, response="", error=None)

    async def close(self) -> None:
        """Do nothing, since there are no connections."""


Build = Callable[..., Any]
"""Builds a sandbox with an `app` and `worlds`, like `sandbox.app.build`."""

START: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)


class InProcessStage(LocalStage):
    """A sandbox in which the scenario runs, with a clock that is frozen at START.

    Its RECEIVER accepts genuine webhooks and refuses others.
    """

    control = "/_sandbox/worlds/default"
    # The loop skips this time.
    looks_every_s = 60.0

    def __init__(self, scenario: Scenario, build: Build) -> None:
        settings = Settings(clock=ClockSetting(now=START, mode="frozen"))
        self._prefix, self._secret = settings.profile.webhook_header_prefix, ""
        self._sandbox = build(settings, sender=Receiver())
        self._sandbox.receivers.add(RECEIVER, self._receive)
        super().__init__(self._sandbox.worlds.default)
        self.keys = self.world.cast.plaintexts
        run_scenario(self.world, scenario)
        self._receives = bool(scenario.webhook) or any(
            one.expect.received is not None for one in scenario.example
        )
        self._of_step = 0

    def _receive(self, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Note a webhook, and answer it."""
        is_genuine = why_not_genuine(self._prefix, self._secret, body, headers) is None
        status, message_id = fields_of(value_of(body)).get("status"), headers[f"{self._prefix}-id"]
        self.arrived.append(Arrived(message_id, status, is_genuine, self.answered.is_set()))
        return 204 if is_genuine else 401, {}, b""

    def begin_step(self) -> None:
        """Begin a step, to which the next requests belong."""
        self._of_step = self.world.journal.counters.requests

    def near_misses(self) -> list[str]:
        """Return the near misses of the requests of this step."""
        journal = self.world.journal
        count = journal.counters.requests - self._of_step
        entries = [one for one in journal.entries()[-count:] if one.choice] if count else []
        return list(dict.fromkeys(near for one in entries for near in one.near_misses))

    async def listen(self) -> None:
        """Register the receiver for all webhooks of the world, if examples check them."""
        if self._receives:
            key = next(iter(self.keys.values()))
            body = {"url": f"{RECEIVER}/webhooks"}
            made = await self.ask(Request("POST", f"{self.control}/endpoints", key, body))
            self._secret = made.body["secret"]

    async def ask(self, request: Request) -> ExampleAnswer:
        """Return the answer to a request."""

        async def note(scope: Scope, receive: Receive, send: Send) -> None:
            async def send_noted(message: Message) -> None:
                if request.is_awaited and message["type"] == "http.response.start":
                    self.answered.set()
                await send(message)

            await self._sandbox.app(scope, receive, send_noted)

        key = {self.world.profile.api_key_header: request.key, **request.headers}
        answer = await send_json(
            note, request.method, request.path, headers=key, body=request.body, query=request.query
        )
        if answer is None:
            return ExampleAnswer(0, {}, None)
        return ExampleAnswer(answer.status_code, dict(answer.headers), value_of(answer.content))

    def is_busy(self) -> bool:
        """Whether webhooks are due or under way."""
        return not self.world.outbox.is_idle or super().is_busy()


class Step(NamedTuple):
    """The result of an example: its mistakes, in words.

    If there are any, `near_misses` has the rules that nearly decided its requests.
    """

    number: int
    name: str
    mistakes: list[str]
    near_misses: list[str]


def run_examples(
    scenario: Scenario, build: Build, *, within_s: float | None = None
) -> Iterator[Step]:
    """Run the examples in order, and yield each result. Raises ScenarioError for unknown names.

    `build` makes the sandbox. Delays in real time are skipped. `within_s` is the time limit for all
    examples; one that is not done by then is given up, and so are those after it.
    """
    end = None if within_s is None else monotonic() + within_s
    stage = InProcessStage(scenario, build)
    examples = ExampleRunner(stage)
    with asyncio.Runner(loop_factory=partial(SkippingLoop, end)) as runner:
        runner.run(stage.listen())
        for number, example in enumerate(scenario.example, start=1):
            left = FAR_S if end is None or monotonic() < end else 0
            stage.begin_step()
            try:
                mistakes, _ = runner.run(asyncio.wait_for(examples.play(number, example), left))
            except TimeoutError:
                mistakes = [f"was given up: the examples took more than {within_s:g} s in all"]
            near = stage.near_misses() if mistakes else []
            yield Step(number, name_of(number, example), mistakes, near)
