"""A connection without a socket: bytes in, bytes out, through the protocol that serves sockets.

What is left is the work of the server itself, the same in every run. A program of its own, so it
can be run under a counter of instructions: `python -m benchmarks.driving ours sale 100`.
"""

import asyncio
import gc
import json
import os
import sys
from importlib import reload
from typing import Any, Final, Literal

import uvicorn
from sandbox.http.connections import ConnectionPool
from uvicorn.server import ServerState

from benchmarks import bare
from benchmarks.serving import BenchmarkError, request
from sandbox.app import build
from sandbox.server import config_of, new_loop
from sandbox.settings import Settings

What = Literal["read", "sale"]
WHATS: Final[tuple[What, ...]] = ("read", "sale")

Side = Literal["ours", "bare"]
SIDES: Final[tuple[Side, ...]] = ("ours", "bare")

_ADDRESS: Final = ("127.0.0.1", 8080)


class _Written(asyncio.Transport):
    """The other end of a connection, which keeps what is written."""

    def __init__(self) -> None:
        super().__init__({"sockname": _ADDRESS, "peername": ("127.0.0.1", 5)})
        self.data = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.data += data

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None: ...

    def abort(self) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0


class Connection:
    """One connection to an application in this process."""

    def __init__(self, config: uvicorn.Config) -> None:
        state = ServerState()
        self._protocol: Any = config.http_protocol_class(  # type: ignore[operator]
            config=config, server_state=state, app_state={}
        )
        self._written = _Written()
        self._protocol.connection_made(self._written)

    async def ask(self, sent: bytes) -> bytes:
        """The body of the answer, which has one. Raises BenchmarkError unless it is a 200."""
        written = self._written
        written.data = b""
        self._protocol.data_received(sent)
        # An application that is a task answers when the loop comes round, the head first.
        while not (body := written.data.partition(b"\r\n\r\n")[2]):
            await asyncio.sleep(0)
        if not written.data.startswith(b"HTTP/1.1 200 "):
            raise BenchmarkError(f"a 200 was expected, not {written.data[:200]!r}")
        return body

    async def ask_again(self, sent: bytes, size: int) -> None:
        """Wait for an answer of that many bytes; nothing else is done that could be counted."""
        written = self._written
        written.data = b""
        self._protocol.data_received(sent)
        while len(written.data) < size:
            await asyncio.sleep(0)

    @property
    def size(self) -> int:
        """The bytes of the last answer."""
        return len(self._written.data)


class Driven:
    """The sandbox with its demo world, or a bare application, and the request that is measured."""

    def __init__(self, side: Side, what: What) -> None:
        self._sandbox = build(Settings())
        self.sent = self._request(what)
        self._config = config_of(self._sandbox.app, ConnectionPool())
        if side == "bare":
            self._config = self._bare(what, asyncio.run(self._answer()))

    def _request(self, what: What) -> bytes:
        cast = self._sandbox.worlds.default.cast
        id, key = cast.keys["merchant"]
        headers = {"x-service-apikey": key, "user-agent": "benchmarks"}
        if what == "read":
            return request("GET", f"/v5/apikeys/{id}", headers=headers)
        body = {"amount": 4200, "terminal_id": cast.ids_of("terminal")["merchant"]}
        return request("POST", "/v3/payment", headers=headers, body=json.dumps(body).encode())

    async def _answer(self) -> bytes:
        return await self.connect().ask(self.sent)

    def _bare(self, what: What, answer: bytes) -> uvicorn.Config:
        shown = {
            "path": self.sent.split()[1].decode(),
            "body": answer.decode(),
            "headers": {"content-type": "application/json"},
            "checks_payments": what == "sale",
        }
        os.environ[bare.ANSWER_VARIABLE] = json.dumps(shown)
        # It reads its answer when it is loaded.
        app = reload(bare).app
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, date_header=False
        )
        config.load()
        return config

    def connect(self) -> Connection:
        """A connection, on the loop that runs."""
        return Connection(self._config)

    async def ask(self, times: int) -> None:
        """Ask so many times over one connection, without collecting garbage."""
        connection, sent = self.connect(), self.sent
        # The first sale opens the batch; from the second on all answers have one length.
        await connection.ask(sent)
        await connection.ask(sent)
        size = connection.size
        gc.freeze()
        gc.disable()
        for _ in range(times):
            await connection.ask_again(sent, size)


def main() -> None:
    """Ask one side so many times: for a program that counts."""
    side, what, times = sys.argv[1:]
    assert side in SIDES
    assert what in WHATS
    # On the loop that serves both, since a part of a bare application's work is the loop's.
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(Driven(side, what).ask(int(times)))  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
