"""Answers that are ready in one round of the event loop are sent one right after the other."""

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

import pytest
from uvicorn.server import ServerState

from sandbox.app import build
from sandbox.http.connections import ConnectionPool
from sandbox.http.transport import BATCH_MAX
from sandbox.server import config_of, new_loop
from sandbox.settings import Settings

ADDRESS = ("127.0.0.1", 8080)


class Wire(asyncio.Transport):
    """The other end of a connection, which notes what is written and when it is closed."""

    def __init__(self, number: int, written: list[tuple[int, bytes]]) -> None:
        super().__init__({"sockname": ADDRESS, "peername": ("127.0.0.1", 5)})
        self._number, self._written = number, written
        self._is_closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self._is_closing
        self._written.append((self._number, bytes(data)))

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        self._is_closing = True

    abort = close

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0


class Talk:
    """Connections to a sandbox in this process, and what was written on them, in order."""

    def __init__(self, connections: int) -> None:
        sandbox = build(Settings())
        self.world = sandbox.worlds.default
        self.written: list[tuple[int, bytes]] = []
        id, key = self.world.cast.keys["merchant"]
        self.read = (
            f"GET /v5/apikeys/{id} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-service-apikey: {key}\r\n\r\n"
        ).encode()
        body = json.dumps(
            {"amount": 100, "terminal_id": self.world.cast.ids_of("terminal")["merchant"]}
        )
        self.sale = (
            f"POST /v3/payment HTTP/1.1\r\nhost: 127.0.0.1\r\nx-service-apikey: {key}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}"
        ).encode()
        config = config_of(sandbox.app, ConnectionPool())
        self.protocols: list[Any] = [
            config.http_protocol_class(  # type: ignore[operator]
                config=config, server_state=ServerState(), app_state={}
            )
            for _ in range(connections)
        ]
        for number, one in enumerate(self.protocols):
            one.connection_made(Wire(number, self.written))
        # The first request makes the Host known, which only ASGI can do.
        self.ask(0)
        self.written.clear()

    def ask(self, *connections: int) -> None:
        """A request of each of these connections has come in this round."""
        for number in connections:
            self.protocols[number].data_received(self.read)

    @property
    def answered(self) -> list[int]:
        """The connections that were answered, in order."""
        assert all(data.startswith(b"HTTP/1.1 200 ") for _, data in self.written)
        return [number for number, _ in self.written]


def run(story: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(story)


def test_answers_of_a_round_are_sent_at_its_end_in_the_order_of_their_requests():
    async def story() -> None:
        talk = Talk(3)
        for _ in range(3):
            talk.written.clear()
            talk.ask(2, 0, 1)
            assert talk.answered == []
            await asyncio.sleep(0)
            assert talk.answered == [2, 0, 1]

    run(story())


def test_no_more_than_some_answers_are_held_back():
    async def story() -> None:
        talk = Talk(BATCH_MAX + 1)
        everybody = list(range(BATCH_MAX + 1))

        talk.ask(*everybody)

        assert talk.answered == everybody[:-1]
        await asyncio.sleep(0)
        assert talk.answered == everybody

    run(story())


def test_a_second_answer_of_a_connection_follows_the_one_that_is_held():
    async def story() -> None:
        talk = Talk(1)

        talk.protocols[0].data_received(talk.read + talk.read.replace(b"127.0.0.1", b"localhost"))
        await asyncio.sleep(0)

        answers = b"".join(data for _, data in talk.written).split(b"HTTP/1.1 200 OK")
        numbers = [one.partition(b"req_")[2][:10] for one in answers[1:]]
        assert numbers == [b"0000000002", b"0000000003"]

    run(story())


@pytest.mark.parametrize("end", ["shutdown", "make_room", "_abort"])
def test_an_answer_that_is_held_is_sent_before_its_connection_is_closed(end: str):
    async def story() -> None:
        talk = Talk(1)
        talk.ask(0)

        getattr(talk.protocols[0], end)()

        assert talk.written[0][1].startswith(b"HTTP/1.1 200 ")
        await asyncio.sleep(0)
        assert talk.protocols[0].transport.is_closing()

    run(story())


def test_an_answer_to_a_client_that_has_gone_is_dropped():
    async def story() -> None:
        talk = Talk(2)
        talk.ask(0, 1)

        talk.protocols[0].connection_lost(None)
        await asyncio.sleep(0)

        assert talk.answered == [1]

    run(story())


async def with_an_endpoint(connections: int) -> Talk:
    """A world whose webhooks go to a receiver inside the process, and a first sale."""
    talk = Talk(connections)
    endpoint = b'{"url": "http://receiver.invalid/"}'
    talk.protocols[0].data_received(
        b"POST /_sandbox/worlds/default/endpoints HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(endpoint) + endpoint
    )
    while not talk.written:
        await asyncio.sleep(0)
    talk.written.clear()
    return talk


def test_an_answer_is_sent_before_an_attempt_at_its_webhook_begins():
    async def story() -> None:
        talk = await with_an_endpoint(1)

        talk.protocols[0].data_received(talk.sale)

        # The attempt begins when the loop comes round (assumed D21).
        assert talk.answered == [0]

    run(story())


def test_answers_of_a_turn_are_sent_together_while_webhooks_are_sent():
    async def story() -> None:
        talk = await with_an_endpoint(4)
        talk.protocols[0].data_received(talk.sale)
        talk.written.clear()

        talk.ask(3, 1, 2)
        assert talk.answered == []
        while not talk.written:
            await asyncio.sleep(0)

        assert talk.answered == [3, 1, 2]

    run(story())
