"""A way to PostgreSQL that breaks after a commit was sent, before its answer comes."""

import contextlib
import socket
import threading
from typing import Self


class Cutter:
    """Passes bytes on between servers and PostgreSQL, and cuts a connection when it was told to."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._is_armed = False
        self.cuts = 0
        # A statement is sent by its name after the first time: connections that ever sent one.
        self._committing: set[socket.socket] = set()

    def cut_after_next_commit(self) -> None:
        """Have the answer to the next commit be lost, and its connection with it."""
        self._is_armed = True

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *args: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._to))
                threading.Thread(target=self._up, args=(client, server), daemon=True).start()
                threading.Thread(target=self._down, args=(client, server), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while sent := client.recv(65_536):
                # Only a commit carries documents, which hold the id of a payment.
                if self._is_armed and b"transaction_id" in sent:
                    self._committing.add(client)
                server.sendall(sent)
        _close(client, server)

    def _down(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while got := server.recv(65_536):
                # What ends a statement that was carried out begins with its command.
                if client in self._committing and b"SELECT 1\x00" in got and self._is_armed:
                    self._is_armed = False
                    self.cuts += 1
                    break
                client.sendall(got)
        _close(client, server)


def _close(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
