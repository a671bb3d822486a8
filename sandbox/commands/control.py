"""Asking the control surface of a server that runs somewhere."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from sandbox.commands.ending import EXIT_REFUSED, refuse

if TYPE_CHECKING:
    from httpx2 import Response

PREFIX: Final = "/_sandbox"
CONNECT_S: Final = 5.0
ANSWER_S: Final = 60.0
"""A large world takes a moment to be written or restored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server by its URL, with or without the prefix of its control surface."""

    url: str
    token: str | None

    def ask(self, method: str, path: str, body: bytes | None = None) -> "Response":
        """The answer to one request, which is 2xx; otherwise the command ends with why.

        The server is asked directly, whatever proxies the environment names: mostly it is on this
        machine.
        """
        import httpx2

        address = self.url.rstrip("/").removesuffix(PREFIX) + PREFIX + path
        headers = {"accept": "application/json"}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        if body is not None:
            headers["content-type"] = "application/json"
        try:
            timeout = httpx2.Timeout(ANSWER_S, connect=CONNECT_S)
            with httpx2.Client(timeout=timeout, trust_env=False) as client:
                answer = client.request(method, address, headers=headers, content=body)
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, UnicodeError) as error:
            refuse(f"--url {self.url!r}: {error}; write it like http://127.0.0.1:8080")
        except httpx2.ConnectError as error:
            refuse(
                f"nobody answers at {self.url} ({error}); start a server with `sandbox serve`, or "
                "name another with --url"
            )
        except httpx2.HTTPError as error:
            refuse(f"{self.url}: no answer: {error or type(error).__name__}")
        if not answer.is_success or answer.headers.get("content-type") != "application/json":
            self._refused(answer)
        return answer

    def _refused(self, answer: "Response") -> NoReturn:
        """End the command with what the server said."""
        said = _error(answer)
        if answer.status_code == 401:
            refuse(
                f"{self.url} wants its bearer token, which it printed at its start: give it with "
                "--token or SANDBOX_TOKEN",
                EXIT_REFUSED,
            )
        if said is None:
            refuse(
                f"{self.url} answered {answer.status_code}, and not as a sandbox's control surface "
                "does; if that has a port of its own (--control-port), name it with --url"
            )
        message = str(said["message"])
        if said.get("nearest"):
            message += f"; did you mean {said['nearest']!r}?"
        if said.get("details"):
            message += f" ({said['details']})"
        refuse(message, EXIT_REFUSED)


def _error(answer: "Response") -> Mapping[str, Any] | None:
    """The error in the shape of the control surface; None for anything else."""
    try:
        said = answer.json()
    except ValueError:
        return None
    return said if isinstance(said, dict) and {"error", "message"} <= said.keys() else None


def server_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that asks a server about a world."""
    for option in (
        click.option(
            "--token", envvar="SANDBOX_TOKEN", help="Bearer token of the control surface."
        ),
        click.option(
            "--url",
            default="http://127.0.0.1:8080",
            show_default=True,
            help="The server; with a control port of its own, that one.",
        ),
        click.option(
            "--world", "world_id", default="default", show_default=True, help="Id of the world."
        ),
    ):
        command = option(command)
    return command
