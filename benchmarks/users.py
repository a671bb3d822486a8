"""A user of a server who has a world of their own."""

import json
from typing import Any, Final

from benchmarks.serving import Answer, BenchmarkError, Connection, Server, request

WITHIN_S: Final = 120.0
WORLD: Final = "busy"


class User:
    """A user with a world of their own."""

    def __init__(self, server: Server, **how: Any) -> None:
        self.port = server.port
        made = self.control("POST", "/_sandbox/worlds", {"id": WORLD, **how}, status=201).json()
        self.keys = {name: key["key"] for name, key in made["keys"].items()}
        self.terminals = made["terminals"]

    def control(self, method: str, path: str, body: Any = None, status: int = 200) -> Answer:
        """A request to the control API. Raises BenchmarkError for any other status."""
        sent = b"" if body is None else json.dumps(body).encode()
        answer = self.ask(request(method, path, body=sent))
        if status and answer.status != status:
            raise BenchmarkError(f"{method} {path}: {answer.status} {answer.body[:200]!r}")
        return answer

    def ask(self, sent: bytes) -> Answer:
        """One request on a connection of its own."""
        with Connection(self.port, within_s=WITHIN_S) as connection:
            return connection.ask(sent)

    def get(self, path: str, key: str = "admin") -> bytes:
        """A question to the platform."""
        return request("GET", path, headers={"x-service-apikey": self.keys[key]})

    def payment(self, amount: int = 1000, operation: str = "payment") -> bytes:
        """One more payment."""
        body = json.dumps({"amount": amount, "terminal_id": self.terminals["merchant"]}).encode()
        headers = {"x-service-apikey": self.keys["merchant"]}
        return request("POST", f"/v3/{operation}", headers=headers, body=body)

    def take(self, count: int, operation: str = "payment") -> None:
        """Take so many payments."""
        sent = [self.payment(100 + number % 900, operation) for number in range(count)]
        with Connection(self.port, within_s=WITHIN_S) as connection:
            for answer in connection.ask_all(sent):
                if answer.status != 200:
                    raise BenchmarkError(f"a payment was answered {answer.status}")
