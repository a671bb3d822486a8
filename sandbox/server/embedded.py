"""Starting and ending a sandbox inside another process.

The test kit is a distribution of its own and needs exactly this module of the package.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Final

from msgspec import structs

from sandbox.app import USER_AGENT, Sandbox, build
from sandbox.domain.events import EVENTS
from sandbox.scenarios.parser import ScenarioError
from sandbox.server.run import bound, serving_sandbox
from sandbox.server.thread import LoopThread
from sandbox.server.threaded_app import RawHeaders, ThreadedApp, answer
from sandbox.settings import Settings, SettingsError
from sandbox.store.files.port import StoreError
from sandbox.store.fixture import FixtureError
from sandbox.webhooks.local_receivers import LocalReceivers

START_ERRORS: Final = (SettingsError, FixtureError, ScenarioError, StoreError)
"""What `embedded` raises for settings with which no sandbox can start."""

_LOOPBACK: Final = "127.0.0.1"
ANSWER_S: Final = 60.0


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """A sandbox that answers at `url`; `token` is the bearer token of its control API, if any.

    Webhooks to one of its `receivers` are handed over without a connection.
    """

    url: str
    control_url: str
    token: str | None
    api_key_header: str
    built: Sandbox
    asgi: ThreadedApp
    background: LoopThread
    receivers: LocalReceivers

    def ask(
        self,
        method: str,
        url: str,
        headers: RawHeaders,
        content: bytes = b"",
        *,
        timeout_s: float | None = ANSWER_S,
    ) -> tuple[int, RawHeaders, bytes]:
        """Carry out a request on the loop that serves the sandbox, without a socket.

        Names of headers are in lower case. Returns status, headers and body of the answer. Raises
        TimeoutError, and ConnectionClosed if the answer is cut off.
        """
        work = self.background.start(answer(self.built.app, method, url, headers, content))
        try:
            return work.result(timeout_s)
        except TimeoutError:
            # The client hangs up.
            work.cancel()
            raise

    @property
    def event_types(self) -> list[str]:
        """The names of all events."""
        return list(EVENTS)

    def message(self, world_id: str, id: str) -> tuple[str, str] | None:
        """The event type and the subject of a message; None if the world has none of this id."""
        world = self.built.worlds.get(world_id)
        found = None if world is None else world.store.message(id)
        return None if found is None else (found.event_type, found.subject)

    def unkeyed_count(self) -> int:
        """The number of requests so far whose key belongs to no world."""
        return self.built.worlds.default.store.counters.requests


@contextmanager
def embedded(settings: Settings | None = None) -> Iterator[Embedded]:
    """A sandbox on a free port of 127.0.0.1, whatever the settings say, until the block ends.

    It holds its worlds until they are closed. Raises one of START_ERRORS, like any start.
    """
    settings = settings or Settings()
    if settings.watch:
        raise SettingsError("watch: is for `sandbox serve`; a test runs its scenario anew")
    private = replace(
        settings,
        host=_LOOPBACK,
        port=0,
        control_port=None if settings.control_port is None else 0,
        # A test that freezes time at a later day must not make the others' worlds old.
        limits=structs.replace(settings.limits, unused_after_s=float("inf")),
    )
    with ExitStack() as stack:
        settings, sockets = stack.enter_context(bound(private))
        receivers = LocalReceivers(USER_AGENT, mask=settings.profile.scrub)
        built = build(settings, local_receivers=receivers)
        background = LoopThread()
        stack.callback(background.close)
        background.serve(serving_sandbox(built, settings, sockets))
        yield Embedded(
            url=f"http://{_LOOPBACK}:{settings.port}",
            control_url=f"http://{_LOOPBACK}:{settings.control_port or settings.port}",
            token=built.token,
            api_key_header=settings.profile.api_key_header,
            built=built,
            asgi=ThreadedApp(built.app, background),
            background=background,
            receivers=receivers,
        )
