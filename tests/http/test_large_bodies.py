"""Large bodies take turns: to be read, and to be parsed. Source: decision 43."""

import asyncio
import json
from contextlib import ExitStack

import pytest

from sandbox.http.connections import ConnectionPool
from sandbox.http.limits import READERS_AT_ONCE_MAX
from sandbox.platform.wire import LARGE_BODY_BYTES
from tests.http.talking import Client, serving

COUNT = 3 * READERS_AT_ONCE_MAX + 1


class Reader:
    """A connection that notes in which round of the loop it may read on."""

    def __init__(self, rounds: list[int], now: list[int]) -> None:
        self._rounds, self._now = rounds, now

    def read_on(self) -> None:
        self._rounds.append(self._now[0])


def test_few_connections_read_on_in_one_round_of_the_loop():
    rounds: list[int] = []

    async def story() -> None:
        pool, now = ConnectionPool(), [0]
        for _ in range(COUNT):
            pool.read_in_turn(Reader(rounds, now))
        while len(rounds) < COUNT:
            await asyncio.sleep(0)
            now[0] += 1

    asyncio.run(story())

    assert len(rounds) == COUNT
    assert max(rounds.count(number) for number in set(rounds)) == READERS_AT_ONCE_MAX


@pytest.mark.parametrize("size", [LARGE_BODY_BYTES + 1, 900_000])
def test_large_bodies_that_come_together_are_all_read_whole(size):
    with serving() as sandbox, ExitStack() as clients:
        key = sandbox.key().decode()
        terminal = sandbox.sandbox.worlds.default.cast.terminals["merchant"]
        sale = json.dumps({"amount": 100, "terminal_id": terminal}).encode()
        body = sale[:-1] + b" " * (size - len(sale)) + b"}"
        head = (
            f"POST /v3/payment HTTP/1.1\r\nhost: localhost\r\nx-service-apikey: {key}\r\n"
            f"content-type: application/json\r\ncontent-length: {size}\r\n\r\n"
        ).encode()
        asking = [clients.enter_context(Client(sandbox.port)) for _ in range(COUNT)]
        for client in asking:
            client.send(head + body[:-1])
        for client in asking:
            client.send(body[-1:])

        answers = [client.answer() for client in asking]
        # The connection goes on after it.
        again = asking[0].ask(head + body)

    assert [answer.status for answer in (*answers, again)] == [200] * (COUNT + 1)
