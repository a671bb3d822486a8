"""A way to PostgreSQL that breaks after a commit was sent, before its answer comes."""

import contextlib
import re
import socket
import threading
from collections.abc import Iterator
from typing import Self

DONE = re.compile(rb"SELECT [1-9]\d*\0")
"""What ends a commit that was carried out: the number of its worlds."""


class Cutter:
    """Passes bytes on between servers and PostgreSQL, and cuts a connection when it was told to.

    `leads_to` is the port of PostgreSQL, which may change. While it `is_armed`, the answer to the
    next commit is lost, and its connection with it; `cuts` counts them.
    """

    def __init__(self, port: int) -> None:
        self.leads_to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.is_armed = False
        self._is_open = threading.Event()
        self._is_open.set()
        self.cuts = 0
        # A statement is sent by its name after the first time: connections that ever sent one.
        self._committing: set[socket.socket] = set()

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        """Have nothing pass in either direction, and nobody told, until the block ends."""
        self._is_open.clear()
        try:
            yield
        finally:
            self._is_open.set()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *args: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._is_open.wait()
                try:
                    server = socket.create_connection(("127.0.0.1", self.leads_to))
                except OSError:
                    _close(client)
                    continue
                threading.Thread(target=self._up, args=(client, server), daemon=True).start()
                threading.Thread(target=self._down, args=(client, server), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while sent := client.recv(65_536):
                # Only a commit carries documents, which hold the id of a payment.
                if self.is_armed and b"transaction_id" in sent:
                    self._committing.add(client)
                self._is_open.wait()
                server.sendall(sent)
        _close(client, server)

    def _down(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while got := server.recv(65_536):
                if client in self._committing and DONE.search(got) and self.is_armed:
                    self.is_armed = False
                    self.cuts += 1
                    break
                self._is_open.wait()
                client.sendall(got)
        _close(client, server)


def _close(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
