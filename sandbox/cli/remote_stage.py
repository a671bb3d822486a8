"""The stage of `sandbox scenario play`: a world of a running server, and a receiver beside it."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
from httpx2 import AsyncClient
from starlette.types import ASGIApp

from sandbox.cli.control_client import Remote, Unanswered
from sandbox.cli.limited_client import Unending, fetch_on_loop
from sandbox.cli.webhook_receiver import received_with
from sandbox.scenario_examples.receiver import Arrived
from sandbox.scenario_examples.requests import ExampleAnswer, Request
from sandbox.server.run import server_of, serving

_LOOPBACK: Final = "127.0.0.1"
_MESSAGES_MAX: Final = 1_000
_LOOKS_EVERY_S: Final = 0.02
_QUIET_S: Final = 20.0
"""So long webhooks that are due are waited for; a receiver that does not answer takes longest."""

_BEFORE_S: Final = 0.25
"""So long an answer may follow a webhook that was sent after it: both are on their way at once. A
webhook that the platform sends before the answer keeps that waiting until it is received."""

_REFUSED: Final = 401
_ANSWER_S: Final = 600.0


class RemoteStage:
    """A world of a server in which examples play.

    `world` is the world as the control API shows it, `platform_url` and `key_header` are those of
    the platform.
    """

    def __init__(
        self, server: Remote, world: Mapping[str, Any], platform_url: str, key_header: str
    ) -> None:
        self._server = server
        self._platform_url = platform_url
        self._key_header = key_header
        self._secret = ""
        self._client: AsyncClient
        self._is_answered = asyncio.Event()
        self._is_answered.set()
        self.terminals: Mapping[str, str] = world["terminals"]
        self.keys = {name: one["key"] for name, one in world["keys"].items()}
        self.control = f"/_sandbox/worlds/{world['id']}"
        self.arrived: list[Arrived] = []

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Keep connections to the server, and receive every webhook of the world on loopback.

        Raises Unanswered.
        """
        bound = socket.create_server((_LOOPBACK, 0))
        url = f"http://{_LOOPBACK}:{bound.getsockname()[1]}/"
        timeout = httpx2.Timeout(_ANSWER_S, connect=5.0)
        async with (
            serving(server_of(self._receiver()), [bound]),
            httpx2.AsyncClient(
                timeout=timeout, trust_env=False, verify=self._server.trust()
            ) as self._client,
        ):
            made = await self._control("POST", "/endpoints", {"url": url})
            self._secret = made["secret"]
            yield

    async def ask(self, request: Request, on_answer: Callable[[], None]) -> ExampleAnswer:
        """The answer to a request; status 0 if the connection was closed without one."""
        is_control = request.path.startswith("/_sandbox/")
        address = (self._server.url if is_control else self._platform_url) + request.path
        headers = {"accept": "application/json"}
        if is_control:
            if self._server.token:
                headers["authorization"] = f"Bearer {self._server.token}"
        else:
            headers[self._key_header] = request.key
        content = None if request.body is None else json.dumps(request.body).encode()
        if content is not None:
            headers["content-type"] = "application/json"
        if request.query:
            address += f"?{request.query}"
        try:
            built = self._client.build_request(
                request.method, address, headers=headers, content=content
            )
            answer = await fetch_on_loop(self._client, built, within_s=_ANSWER_S)
        except (httpx2.ConnectError, Unending) as error:
            raise Unanswered(f"{self._server.url}: no answer: {error}") from None
        except httpx2.HTTPError:
            return ExampleAnswer(0, {}, None)
        finally:
            on_answer()
        try:
            shown = json.loads(answer.content or b"null")
        except ValueError:
            shown = None
        return ExampleAnswer(answer.status_code, dict(answer.headers), shown)

    def set_answered(self, *, is_answered: bool) -> None:
        """Note whether the client has its answer."""
        if is_answered:
            self._is_answered.set()
        else:
            self._is_answered.clear()

    async def messages(self) -> list[tuple[str, str]]:
        """All messages of the world so far, oldest first: id and event."""
        listed = await self._listed()
        return [(one["id"], one["event_type"]) for one in listed]

    @property
    def looks_every_s(self) -> float:
        """How long to wait at most before looking for a tap again."""
        return _LOOKS_EVERY_S

    async def waiting(self) -> Collection[str]:
        """The payments that wait for a tap."""
        return [one["transaction_id"] for one in (await self._control("GET", "/taps"))["taps"]]

    async def quiet(self) -> None:
        """Wait until every due webhook has arrived, and the delayed ones too."""
        loop = asyncio.get_running_loop()
        end = loop.time() + _QUIET_S
        while loop.time() < end and any(
            one["status"] == "pending" and one["next_attempt_at"] is None
            for message in await self._listed()
            for one in message["deliveries"]
        ):
            await asyncio.sleep(_LOOKS_EVERY_S)

    async def now(self) -> str:
        """The world's clock, in UTC."""
        return str((await self._control("GET", "/clock"))["now"])

    async def why(self, answer: ExampleAnswer) -> str | None:
        """The reason in the journal for a refusal; None for an answer that is none."""
        request_id = answer.headers.get("x-sandbox-request-id")
        if answer.status < 400 or request_id is None:
            return None
        entry = await self._control("GET", f"/requests/{request_id}")
        refused = [one for one in entry["decisions"] if one["verdict"] != "ok"]
        return str(refused[-1]["reason"]) if refused else None

    async def _listed(self) -> list[Any]:
        return list((await self._control("GET", f"/messages?limit={_MESSAGES_MAX}"))["messages"])

    async def _control(self, method: str, path: str, body: Any = None) -> Any:
        request = Request(method, self.control + path, "", body)
        answer = await self.ask(request, lambda: None)
        if not 200 <= answer.status < 300:
            said = answer.body["message"] if isinstance(answer.body, dict) else "no JSON"
            raise Unanswered(f"{self._server.url} answered {answer.status}: {said}", 1)
        return answer.body

    def _receiver(self) -> ASGIApp:
        """A receiver that accepts genuine webhooks and refuses others."""

        async def receive(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                return
            body = b""
            while True:
                part = await receive()
                body += part.get("body", b"")
                if not part.get("more_body"):
                    break
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            status = 200 if await self._note(body, headers) else _REFUSED
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        return receive

    async def _note(self, body: bytes, headers: Mapping[str, str]) -> bool:
        """Whether a webhook is genuine; remembers it."""
        received = received_with(self._secret, body, headers)
        status = received.body.get("status") if isinstance(received.body, dict) else None
        # Not `wait_for`: the first step of a request runs outside a task.
        await asyncio.wait([asyncio.ensure_future(self._is_answered.wait())], timeout=_BEFORE_S)
        is_answered = self._is_answered.is_set()
        took = received.is_genuine
        self.arrived.append(Arrived(received.message_id, status, took, is_answered))
        return took
