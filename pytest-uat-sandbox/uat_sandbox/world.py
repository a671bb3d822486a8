"""The world of a test."""

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from uat_sandbox.control import CLIENT_S, Control
from uat_sandbox.errors import SandboxError, SandboxRefused
from uat_sandbox.plain_client import PlainClient
from uat_sandbox.waiting import is_time_frozen
from uat_sandbox.webhooks import Webhooks, words
from uat_sandbox.world_control import Before, Journal, WorldControl

if TYPE_CHECKING:
    from types import TracebackType

    from httpx2 import ASGITransport, AsyncClient, BaseTransport, Client

    from sandbox.server.embedded import ThreadedApp

__tracebackhide__ = True


class Home(Protocol):
    """The parts of the server that a world uses."""

    @property
    def url(self) -> str:
        """The URL of the platform."""

    @property
    def control(self) -> Control:
        """The client of the control API."""

    @property
    def api_key_header(self) -> str:
        """The header that carries the API key."""

    @property
    def asgi(self) -> "ThreadedApp":
        """The sandbox as an ASGI application. Raises SandboxError if it runs elsewhere."""

    @property
    def transport(self) -> "BaseTransport":
        """The transport of the httpx2 clients of all worlds."""

    @property
    def is_here(self) -> bool:
        """Whether the sandbox runs in this process."""

    @property
    def world(self) -> Callable[..., "World"]:
        """The function that creates a world."""

    def forget(self, world: "World") -> None:
        """Forget a world that is being closed."""

    def unkeyed_count(self) -> int:
        """Return the number of the newest request in `default`, where those without a key are."""

    def unkeyed(self, after: int) -> list[dict[str, Any]]:
        """Return the journal entries of `default` after this number."""

    def note_coverage(self, world_id: str) -> None:
        """Save the coverage of a world that is about to be closed."""


class World(WorldControl):
    """An isolated world with its own accounts, keys, terminals, clock, journal and webhooks.

    Refusals of the control API are raised as SandboxRefused.
    """

    def __init__(
        self,
        server: Home,
        view: Mapping[str, Any],
        webhooks: Webhooks | None,
        why_no_webhooks: str | None = None,
    ) -> None:
        super().__init__(server.control, str(view["id"]))
        self._server = server
        self._view = view
        self._clients: list[Client | PlainClient] = []
        self._others: list[World] = []
        self._webhooks = webhooks
        self._why_no_webhooks = why_no_webhooks
        self._is_closed = False
        self._has_warned = False
        self._unkeyed_before = server.unkeyed_count()
        self.notes_coverage = False
        self.before = Before()
        if webhooks is not None:
            webhooks.world_id = self.id

    def __repr__(self) -> str:
        return f"<World {self.id} at {self.url}>"

    # --- the cast

    @property
    def url(self) -> str:
        """The base URL for the application under test; the API key leads to this world."""
        return self._server.url

    @property
    def view(self) -> Mapping[str, Any]:
        """The world at its creation: seed, fixture, and the whole cast."""
        return self._view

    def key(self, name: str = "merchant") -> str:
        """Return the plaintext of a key of the cast."""
        return str(self._of_cast("keys", name)["key"])

    def account(self, name: str = "merchant") -> str:
        """Return the id of an account of the cast."""
        return str(self._of_cast("accounts", name))

    def terminal(self, name: str = "merchant") -> str:
        """Return the id of a terminal of the cast, by its merchant's name."""
        return str(self._of_cast("terminals", name))

    def location(self, name: str = "merchant") -> str:
        """Return the id of a location of the cast, by its merchant's name."""
        return str(self._of_cast("locations", name))

    def _of_cast(self, kind: str, name: str) -> Any:
        cast = self._view[kind]
        if name not in cast:
            from uat_sandbox.words import did_you_mean

            raise SandboxError(
                f"the cast has no {kind.removesuffix('s')} {name!r}{did_you_mean(name, cast)} "
                f"(there are: {', '.join(cast)})"
            )
        return cast[name]

    # --- clients of the platform

    def headers(
        self, key: str | None = "merchant", *, plaintext: str | None = None
    ) -> dict[str, str]:
        """Return the headers of a request with a key of the cast, or with the key in `plaintext`.

        With neither of them they contain no key.
        """
        self._warn_if_time_is_frozen()
        headers = {"accept": "application/json"}
        if plaintext is None and key is not None:
            plaintext = self.key(key)
        if plaintext is not None:
            headers[self._server.api_key_header] = plaintext
        return headers

    def client(self, key: str | None = "merchant", *, plaintext: str | None = None) -> "Client":
        """Return a client with base URL and headers, closed together with the world.

        It is an `httpx2.Client` if httpx2 is installed (the server needs it), and uses no
        connection for a sandbox in this process. Otherwise it is the kit's own client, which has
        the same methods with `params`, `json`, `content` and `headers`.
        """
        self._warn_if_time_is_frozen()
        headers = self.headers(key, plaintext=plaintext)
        client: Client | PlainClient
        try:
            import httpx2
        except ImportError:
            client = PlainClient(self.url, headers, CLIENT_S)
        else:
            client = httpx2.Client(
                base_url=self.url,
                headers=headers,
                timeout=CLIENT_S,
                trust_env=False,
                transport=self._server.transport,
            )
        self._clients.append(client)
        return cast("Client", client)

    def transport(self) -> "ASGITransport":
        """Return a transport for an httpx2.AsyncClient without a socket. Raises SandboxError."""
        asgi = self._server.asgi
        _httpx2()
        from uat_sandbox.connections import asyncio_transport

        return asyncio_transport(asgi)

    def async_client(
        self, key: str | None = "merchant", *, plaintext: str | None = None
    ) -> "AsyncClient":
        """Return a client like `client` for asyncio, without a socket if the sandbox is here.

        The caller closes it, best with an `async with` block. Raises SandboxError without httpx2.
        """
        self._warn_if_time_is_frozen()
        httpx2 = _httpx2()
        from uat_sandbox.connections import context_for

        client = httpx2.AsyncClient(
            base_url=self.url,
            headers=self.headers(key, plaintext=plaintext),
            timeout=CLIENT_S,
            trust_env=False,
            verify=context_for(self.url),
            transport=self.transport() if self._server.is_here else None,
        )
        return cast("AsyncClient", client)

    def _warn_if_time_is_frozen(self) -> None:
        """Warn once if freezegun froze the test's time, which a running world elsewhere ignores."""
        if self._has_warned or self._server.is_here or not is_time_frozen():
            return
        if self.clock["mode"] == "running":
            self._has_warned = True
            warnings.warn(
                "freezegun freezes this test, but not the sandbox, which runs in another process; "
                "give the world its own clock with "
                "@pytest.mark.sandbox(clock=..., switches={'webhooks.timestamp': 'world'}), and "
                "after each frozen.move_to(...) call sandbox.advance(to=...)",
                stacklevel=3,
            )

    # --- history

    def begin_test(self) -> None:
        """Note what has happened so far; reports are about everything after it."""
        with suppress(SandboxError):
            self.before = self._so_far()
            self._unkeyed_before = self._server.unkeyed_count()

    @property
    def unkeyed(self) -> Journal:
        """Requests since this world began that have an unknown key or none.

        They are in the journal of the world `default`. Those of a shared server are not visible.
        """
        return Journal(self._server.unkeyed(self._unkeyed_before))

    @property
    def others(self) -> "tuple[World, ...]":
        """The worlds that `new_world` created."""
        return tuple(self._others)

    @property
    def webhooks(self) -> Webhooks:
        """The webhooks at the test's own receiver. Raises SandboxError if none can reach it."""
        if self._webhooks is None:
            raise SandboxError(f"webhooks cannot be received: {self._why_no_webhooks}")
        self._warn_if_time_is_frozen()
        return self._webhooks

    @property
    def receives_webhooks(self) -> bool:
        """Whether webhooks of this world reach this process."""
        return self._webhooks is not None

    def endpoint(
        self,
        url: str,
        *,
        event_types: Iterable[str] = (),
        account: str | None = None,
        secret: str | None = None,
        id: str | None = None,
        description: str | None = None,
        **filters: Iterable[str],
    ) -> dict[str, Any]:
        """Also send webhooks to the application under test, and return the endpoint's `secret`.

        With `account`, a name of the cast, only events of that account and accounts below it are
        sent. `secret` can be one that the application already knows (`whsec_...`). `filters` are as
        for `Webhooks.listen`.
        """
        given = {"secret": secret, "id": id, "description": description}
        body = {
            "url": url,
            "event_types": words(event_types),
            "account_id": None if account is None else self.account(account),
            "filters": {name: words(values) for name, values in filters.items()},
            **{name: value for name, value in given.items() if value is not None},
        }
        return self._object("POST", "/endpoints", body)

    # --- the world as a whole

    def save(self) -> bytes:
        """Return the whole world as one document, for `load` or a file."""
        if self._webhooks is not None:
            # Otherwise a world that loads this would send webhooks in flight a second time.
            self._webhooks.settle_for("save")
        return super().save()

    def reset(self) -> None:
        """Reset the world to its fixture, with the same keys, and forget received webhooks."""
        self._note_coverage()
        if self._webhooks is not None:
            # Otherwise webhooks in flight would arrive later, with ids that may be used again.
            self._webhooks.settle_for("reset")
        self.control("POST", "/reset")
        self.before = Before()
        if self._webhooks is not None:
            self._webhooks.forget()
            self._webhooks.register_after_reset()

    def load(self, saved: bytes | str | Mapping[str, Any] | Path) -> None:
        """Replace the world by a saved one, but keep its id and the keys of its cast.

        `saved` is the result of `save` as bytes, text or parsed JSON, or a file with it. A text
        that ends in `.json` is the path of a file. Received webhooks are forgotten.
        """
        if isinstance(saved, str) and saved.endswith(".json"):
            saved = Path(saved)
        if isinstance(saved, Path):
            content = saved.read_bytes()
        elif isinstance(saved, Mapping):
            content = json.dumps(saved).encode()
        else:
            content = saved.encode() if isinstance(saved, str) else saved
        self._note_coverage()
        if self._webhooks is not None:
            self._webhooks.settle_for("load")
        path = f"/worlds/{self.id}/snapshot"
        self._view = self._server.control.ask("PUT", path, content=content)
        # The journal begins again; messages are those of the saved world.
        self.before = self._so_far()
        if self._webhooks is not None:
            self._webhooks.forget()
            self._webhooks.register_anew()
            # The receiver depends on some of them, and they are those of the saved world now.
            self.switches()

    def switches(self, changes: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """Change switches of the world, if any are given, and return them all.

        Changes look like `{"batch.settlement": "manual"}`.
        """
        found = super().switches(changes, **more)
        self.note_switches(found)
        return found

    def note_switches(self, switches: Mapping[str, Any]) -> None:
        """Tell the receiver the switches on which it depends."""
        if self._webhooks is not None:
            self._webhooks.note_switches(switches)

    def new_world(self, **options: Any) -> "World":
        """Create another world, which is closed with this one. Options as for `Server.world`."""
        other = self._server.world(**options)
        other.notes_coverage = self.notes_coverage
        self._others.append(other)
        return other

    def close(self) -> None:
        """Delete the world, and close its clients and other worlds. Can be called again."""
        if self._is_closed:
            return
        self._is_closed = True
        self._server.forget(self)
        for other in self._others:
            other.close()
        for client in self._clients:
            client.close()
        try:
            # The test may have deleted it already.
            with suppress(SandboxRefused):
                self._note_coverage()
                self.control("DELETE", "")
        finally:
            if self._webhooks is not None:
                self._webhooks.close()

    def __enter__(self) -> "World":
        return self

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: BaseException | None,
        traceback: "TracebackType | None",
    ) -> None:
        self.close()

    def _note_coverage(self) -> None:
        if self.notes_coverage:
            self._server.note_coverage(self.id)


def _httpx2() -> Any:
    """Return the package httpx2. Raises SandboxError if it is not installed."""
    try:
        import httpx2
    except ImportError:
        raise SandboxError(
            "an asyncio client needs httpx2: install it with `pip install httpx2`"
        ) from None
    return httpx2
