"""The client of the control API that the commands use."""

import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, NoReturn
from urllib.parse import quote, urlencode

import click
import httpx2
from click.core import ParameterSource
from httpx2 import Client, EventSource, Response

from sandbox import __version__
from sandbox.cli.arguments import HintedType, TokenCommand, Words
from sandbox.cli.output import EXIT_REFUSED, EXIT_UNUSABLE, Options, Refused, refuse, refusing
from sandbox.domain.json_text import fields_of, value_of
from sandbox.domain.text import suggest_words
from sandbox.http_client import EVENT_BYTES_MAX, Unending, fetch, read_whole, within
from sandbox.server.tls import CertificateError, trusting_context
from sandbox.tokens import TokenError, check_characters, read_token

PREFIX: Final = "/_sandbox"
CONNECT_S: Final = 5.0
ANSWER_S: Final = 60.0
"""Saving or loading a large world takes a moment."""

COMPLETES_S: Final = 0.5
"""A completion at a shell takes no longer than this."""

DEFAULT_URL: Final = "http://127.0.0.1:8080"
DEFAULT_WORLD: Final = "default"

SILENCE_S: Final = 45.0
"""A stream without data for this long is broken: a server sends something every 15 s."""


Body = Mapping[str, Any] | bytes | None
"""The body of a request: fields, which are sent as JSON, or its bytes."""


class Unanswered(Refused):
    """A request that failed, which ends the command unless it is caught."""


class Away(Unanswered):
    """No server answered, or none could; a later request may succeed."""


class Dropped(Away):
    """A connection that ended without an answer."""


def world_path(world_id: str, *rest: str) -> str:
    """Return the path of a world, or of something in it, below the prefix."""
    return "/".join(["/worlds", *(quote(part, safe="") for part in (world_id, *rest))])


def drop_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields without those that are None."""
    return {name: value for name, value in fields.items() if value is not None}


def add_query(path: str, **query: Any) -> str:
    """Return the path with a query of the values that are not None."""
    given = drop_none(query)
    return path + (f"?{urlencode(given)}" if given else "")


def _with_host(address: str) -> httpx2.URL:
    """Return the URL at this address. Raises InvalidURL if it has no host."""
    url = httpx2.URL(address)
    if not url.host:
        raise httpx2.InvalidURL("it has no host")
    return url


_FOR_NOW: Final = (502, 503, 504)
"""The statuses of a server without its database, and of a proxy without a server."""

_MEDIA_TYPES = ("application/json", "application/gzip", "text/csv; charset=utf-8")
"""The media types of the control API's answers, except streams."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """A server by its URL, that of its control API, or that of a page of its console.

    A URL without a scheme means plain HTTP.
    """

    url: str
    token: str | None = field(repr=False)
    answer_s: float = ANSWER_S
    connect_s: float = CONNECT_S

    def __post_init__(self) -> None:
        scheme = "" if "://" in self.url else "http://"
        url = scheme + self.url.partition("#")[0].rstrip("/").removesuffix(PREFIX).rstrip("/")
        object.__setattr__(self, "url", url)

    @property
    def control_url(self) -> str:
        """The address of its control API, and of its console."""
        return self.url + PREFIX

    def read(self, method: str, path: str, body: Body = None, **query: Any) -> Any:
        """Return the JSON of the answer to one request, None without a body. Raises Unanswered."""
        answer = self.ask(method, add_query(path, **query), body)
        return answer.json() if answer.content else None

    def ask(self, method: str, path: str, body: Body = None) -> Response:
        """Return the answer to one request. Raises Unanswered if it is not 2xx."""
        answer = self.send(method, path, body)
        is_ours = answer.headers.get("content-type") in _MEDIA_TYPES
        if not answer.is_success or not (is_ours or answer.status_code == 204):
            self._raise_refused(answer)
        return answer

    def send(self, method: str, path: str, body: Body = None, **headers: str) -> Response:
        """Return the answer to one request with JSON, whatever its status. Raises Unanswered.

        The path is below the prefix, or a whole URL.
        """
        sent = {"accept": "application/json", **headers}
        if body is not None:
            sent["content-type"] = "application/json"
        # Outside of the client, which blames the URL for text that cannot be encoded.
        if body is None or isinstance(body, bytes):
            content = body
        else:
            content = json.dumps(body, ensure_ascii=False).encode()
        with self.client(self.answer_s) as client:
            built = client.build_request(method, path, headers=sent, content=content)
            return fetch(client, built, within_s=self.answer_s + self.connect_s)

    @contextmanager
    def stream(self, path: str) -> Iterator[EventSource]:
        """Yield the events of a stream from now on. Raises Unanswered, also when it breaks."""
        with (
            self.client(SILENCE_S) as client,
            client.sse(path, max_event_size=EVENT_BYTES_MAX) as events,
        ):
            kind = events.response.headers.get("content-type", "").partition(";")[0]
            if not events.response.is_success or kind != "text/event-stream":
                self._raise_refused(within(SILENCE_S, partial(read_whole, events.response)))
            yield events

    @contextmanager
    def client(self, answer_s: float) -> Iterator[Client]:
        """Yield a client of the server. Every failure on the way is raised as Unanswered.

        It ignores the proxies of the environment, because the server is usually on this machine.
        """
        timeout = httpx2.Timeout(answer_s, connect=self.connect_s)
        try:
            # Reading all certificates takes a tenth of a second.
            verify = trusting_context() if self.url.startswith("https:") else False
            if (context := click.get_current_context(silent=True)) is not None:
                context.meta[_ASKED] = self.url
            with httpx2.Client(
                base_url=_with_host(self.control_url),
                headers={"authorization": f"Bearer {self.token}"} if self.token else None,
                timeout=timeout,
                trust_env=False,
                verify=verify,
            ) as client:
                yield client
        except CertificateError as error:
            raise Unanswered(str(error)) from None
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, UnicodeError) as error:
            raise Unanswered(
                f"--url {self.url!r}: {error}; write it like http://127.0.0.1:8080"
            ) from None
        except Unending as error:
            raise Unanswered(f"{self.url}: {error}; is it a sandbox?") from None
        except httpx2.SSEError as error:
            raise Unanswered(f"{self.url}: its stream cannot be read: {error}") from None
        except httpx2.ConnectError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise Unanswered(
                    f"{self.url}: its certificate is not trusted ({error}); name the certificate "
                    "of its authority with SANDBOX_CA, which it serves at /_sandbox/ca.pem"
                ) from None
            raise Away(
                f"no server answers at {self.url} ({error}); start one with `sandbox serve`, or "
                "name another with --url"
            ) from None
        except httpx2.HTTPError as error:
            raise Dropped(f"{self.url}: no answer: {error or type(error).__name__}") from None

    def _raise_refused(self, answer: Response) -> NoReturn:
        """Raise the error that the server sent."""
        refusal = fields_of(value_of(answer.content))
        status = answer.status_code
        kind = Away if status in _FOR_NOW else Unanswered
        if status == 401:
            raise Unanswered(
                f"{self.url} needs its bearer token, which you gave it or it printed at startup: "
                "give it with SANDBOX_TOKEN, --token-file or --token",
                EXIT_REFUSED,
            )
        if not {"error", "message"} <= refusal.keys():
            raise kind(
                f"{self.url} answered {status}, but not as a sandbox's control API "
                "does; if that has its own port (--control-port), name it with --url"
            )
        hint = f"; did you mean {refusal['nearest']!r}?" if refusal.get("nearest") else ""
        message = str(refusal["message"]).removesuffix(hint) + hint
        if refusal.get("details"):
            message += f" ({refusal['details']})"
        error = str(refusal["error"])
        if error == "unknown_world" and not hint:
            message += f"{self._worlds_there()}; `sandbox world new --id ID` makes one"
        # A misspelt word is unusable input, wherever it is noticed, and so is too large a file.
        is_unusable = status in (400, 413) or error.startswith("unknown_")
        code = EXIT_UNUSABLE if is_unusable else EXIT_REFUSED
        raise kind(message, code)

    def _worlds_there(self) -> str:
        """Return a few of the worlds, in words; nothing if they cannot be listed."""
        try:
            listed = self.ask("GET", "/worlds").json()["worlds"]
            return suggest_words("", [str(one["id"]) for one in listed])
        except (Unanswered, LookupError, TypeError, ValueError):
            return ""


def read_for_completion(ctx: click.Context, path: str | None = None) -> Any:
    """Return the server's answer for the path, or the world, to complete words at a shell.

    None if it does not answer at once. Server, token and world are those of the command line so
    far, or of the environment.
    """
    url, file = ctx.params.get("url") or DEFAULT_URL, ctx.params.get("token_file")
    path = path or world_path(ctx.params.get("world_id") or DEFAULT_WORLD)
    with suppress(TokenError, Unanswered):
        token = ctx.params.get("token") if file is None else read_token(file)
        server = Remote(url=url, token=token, answer_s=COMPLETES_S, connect_s=COMPLETES_S)
        return value_of(server.ask("GET", path).content)
    return None


def _worlds(ctx: click.Context) -> Words:
    listed = read_for_completion(ctx, "/worlds") or {"worlds": []}
    return dict.fromkeys((world["id"] for world in listed["worlds"]), "")


def _endpoints(ctx: click.Context) -> Words:
    path = world_path(ctx.params.get("world_id") or DEFAULT_WORLD, "endpoints")
    listed = read_for_completion(ctx, path) or {"endpoints": []}
    return {one["id"]: one["url"] for one in listed["endpoints"]}


class _WorldType(HintedType):
    """The id of a world. An empty one, as of a variable that is not set, is refused."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the id as it is."""
        if not value:
            self.fail("the id of the world is empty", param, ctx)
        return value


WORLD: Final = _WorldType(_worlds)
ENDPOINT: Final = HintedType(_endpoints)


@dataclass(frozen=True, slots=True)
class RemoteWorld:
    """A world of a server, by its id."""

    server: Remote
    id: str

    def path(self, *rest: str, **query: Any) -> str:
        """Return the path of the world, or of something in it.

        Values that are None are left out of the query.
        """
        return add_query(world_path(self.id, *rest), **query)

    def read(self, method: str, *rest: str, body: Body = None, **query: Any) -> Any:
        """Return the JSON of the answer to a request about the world. Raises Unanswered."""
        return self.server.read(method, self.path(*rest, **query), body)

    def with_timeout(self, answer_s: float) -> "RemoteWorld":
        """Return the same world with this time limit for answers."""
        return RemoteWorld(replace(self.server, answer_s=answer_s), self.id)


# --- commands


def with_options(command: str) -> str:
    """Return a further command with the `--url` and `--world` that the running one was given."""
    context = click.get_current_context()
    for option, name in (("--url", "url"), ("--world", "world_id")):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            command += f" {option} {shlex.quote(context.params[name])}"
    return command


_ASKED: Final = "sandbox.asked"
"""The key in a command's context for the URL of the server that it has asked."""

_MISREAD: Final = (AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""The errors of reading JSON that has another shape."""


class ServerCommand(TokenCommand):
    """A command that talks to a server, which it gets as `server`."""

    added: Options = (
        click.Option(
            ["--url"],
            envvar="SANDBOX_URL",
            default=DEFAULT_URL,
            help="Server URL (env SANDBOX_URL). If --control-port is used, give that port.",
        ),
        *TokenCommand.added,
    )

    def value_for(self, ctx: click.Context) -> dict[str, Any]:
        """Return the arguments of its function."""
        given = super().value_for(ctx)
        with refusing(TokenError, before="--token: "):
            check_characters(given["token"] or "")
        return given | {"server": Remote(url=given.pop("url"), token=given.pop("token"))}

    def invoke(self, ctx: click.Context) -> None:
        """Run the command. An argument or an answer that cannot be used ends it with a sentence."""
        try:
            super().invoke(ctx)
        except UnicodeEncodeError as error:
            if error.encoding != "utf-8":
                raise
            refuse(f"an argument is not UTF-8: {error.object[error.start : error.end]!r}")
        except _MISREAD as error:
            if (url := ctx.meta.get(_ASKED)) is None:
                # No server is to blame: it is a defect of the command.
                raise
            refuse(
                f"{url} gave an answer that this command cannot read ({type(error).__name__}: "
                f"{str(error)[:200]}); is it a sandbox of version {__version__}?"
            )


class WorldCommand(ServerCommand):
    """A command about a world of a server, which it gets as `world`.

    If it has an argument `named`, that takes precedence over the option.
    """

    added: Options = (
        click.Option(
            ["--world", "world_id"],
            envvar="SANDBOX_WORLD",
            default=DEFAULT_WORLD,
            type=WORLD,
            help="Id of the world (env SANDBOX_WORLD).",
        ),
        *ServerCommand.added,
    )

    def value_for(self, ctx: click.Context) -> dict[str, Any]:
        """Return the arguments of its function."""
        given = super().value_for(ctx)
        id = given.pop("world_id")
        return given | {"world": RemoteWorld(given.pop("server"), given.pop("named", None) or id)}
