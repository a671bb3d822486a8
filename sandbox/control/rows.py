"""The row of the control table for an endpoint, and the request that its function gets."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from msgspec import Struct, field
from starlette.types import Scope

from sandbox.control.sessions import Sessions
from sandbox.control.who import Tokens, Who
from sandbox.domain.text import nearest
from sandbox.platform.inside import Inside
from sandbox.platform.security_headers import AnswerKind
from sandbox.platform.wire import Body
from sandbox.store.fixture import Fixture
from sandbox.worlds.clock import SystemClock
from sandbox.worlds.elsewhere import Elsewhere
from sandbox.worlds.registry import Worlds
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T")

PREFIX = "/_sandbox"
WORLD = f"{PREFIX}/worlds/{{w}}"
JSON = "application/json"
GZIP = "application/gzip"

SNAPSHOT_BYTES_MAX: Final = 256 * 1_048_576
"""A larger snapshot is refused with 413. Source: assumed D25-bodies."""


Document = dict[str, Any]
"""A document with a shape of its own: a snapshot, a JSON Schema, an OpenAPI document."""


class Written(Generic[T]):
    """An answer of the class `T`, already written out as the bytes to send.

    `media_type` is only given where it is not that of the row.
    """

    def __init__(self, body: Body, media_type: str | None = None) -> None:
        self.body = body
        self.media_type = media_type


class Accepted(Generic[T]):
    """An answer of the class `T` with the status 202: the work goes on after it."""

    def __init__(self, content: T) -> None:
        self.content = content


class Proved(Protocol):
    """The result of an example of a scenario: its mistakes, in words."""

    @property
    def number(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def mistakes(self) -> list[str]: ...


class PlayedExchange(Protocol):
    """A request of a step and its answer; without an id if it is one of the control API."""

    request_id: str | None
    method: str
    path: str
    query: str
    body: Any
    status: int | None
    answer: Any


class PlayedStep(Protocol):
    """What came of an example that was played: requests, ids and types of messages, mistakes."""

    number: int
    name: str
    operation: str
    mistakes: list[str]
    events: list[tuple[str, str]]
    shown: dict[str, Any]

    @property
    def exchanges(self) -> Sequence[PlayedExchange]: ...


Act = Callable[[str, Any], Awaitable[tuple[int, Any]]]
"""Carries out a control action of a world, by the end of its path; gives status and answer."""


class Services(Struct, frozen=True, kw_only=True):
    """The services of the control API, given by the composition root.

    `fixtures` reads a fixture by name, `fixture_of` gives the one with which a saved world began,
    and `fixture_names` lists them. `default_fixture` and `default_seed` apply to a world created
    without them. `samples` gives a sample body of an event type. `scenarios` is the library by
    name, `scenario` finds one by name or title, `scenario_text` is the text of its file, and
    `prove` runs the examples of one in a sandbox of its own, `play` some of them in a world.
    `repeat` sends requests that were seen to a sandbox of its own, and tells what differs.
    `why_not_to` tells why webhooks may not go to a host; None if they may. `platform_url` is the
    URL of the platform, seen from the control API, and `needs_token` says whether the control API
    requires a token. `inside` sends requests to the platform. `control_document` writes its OpenAPI
    document. `tokens` tells who uses the control API. `ca` is the certificate of the server's own
    authority as PEM, if it has one. `elsewhere` are the other servers, if worlds are shared.
    """

    worlds: Worlds
    version: str
    store: str
    default_fixture: Fixture
    default_seed: int
    fixtures: Callable[[str], Fixture]
    fixture_of: Callable[[str, Any], Fixture]
    fixture_names: Callable[[], list[str]]
    samples: Callable[[str], str]
    scenarios: Callable[[], dict[str, Any]]
    scenario: Callable[[str], Any]
    scenario_text: Callable[[str], str]
    prove: Callable[[Any], Sequence[Proved]]
    repeat: Callable[
        [Mapping[str, Any], Mapping[str, Mapping[str, str]], Sequence[Any]], str | None
    ]
    play: Callable[[World, Any, range, Act], Awaitable[Sequence[PlayedStep]]]
    why_not_to: Callable[[str], str | None]
    platform_url: str
    needs_token: bool
    inside: Inside
    control_document: Callable[..., dict[str, Any]]
    tokens: Tokens
    system_clock: SystemClock
    ca: bytes | None = None
    elsewhere: Elsewhere | None = None


class ControlRequest(Struct, kw_only=True):
    """One control request: who asks, the world of the path, and the checked query and body.

    `root_path` is the prefix under which the sandbox is mounted in another application, `origin`
    the scheme and host by which the request came: "" where it names none. `answer_headers` go with
    the answer.
    """

    services: Services
    params: dict[str, str]
    root_path: str = ""
    origin: str = ""
    scope: Scope
    sessions: Sessions
    who: Who
    found: World | None = None
    answer_headers: dict[str, str] = field(default_factory=dict)
    query: Any = None
    body: Any = None

    @property
    def world(self) -> World:
        """The world that the path names; only rows with `{w}` use it."""
        assert self.found is not None
        return self.found


Shape = Callable[[], "type[BaseModel]"]
"""Gives the class of a body or a query."""


class ControlRow(Struct, frozen=True, kw_only=True, gc=False):
    """One control endpoint.

    `is_for_default` rows are answered by the server that has the world `default`.
    `is_open` rows need no token, and `is_for_operator` rows that of the operator; `is_raw` rows
    take a body as it is, up to SNAPSHOT_BYTES_MAX.
    A function that returns `Written[A] | Accepted[B]` answers with the one or the other.
    The result of an `is_stream` row is sent piece by piece; all others answer with `media_type`.
    An `ends_with_client` row can take long, and is canceled when the client disconnects.

    `body` and `query` give their classes in `shapes`, which is loaded with the first use. The
    function's return annotation is the class of the answer. `refuses` lists the statuses of the
    function itself. `kind` selects other headers than those that follow from the rest.
    """

    name: str
    method: str
    path: str
    summary: str
    run: Callable[[ControlRequest], Any]
    body: Shape | None = None
    query: Shape | None = None
    status: int = 200
    is_open: bool = False
    is_for_operator: bool = False
    is_for_default: bool = False
    is_raw: bool = False
    is_stream: bool = False
    ends_with_client: bool = False
    media_type: str = JSON
    kind: AnswerKind | None = None
    refuses: tuple[int, ...] = ()

    @property
    def answer_kind(self) -> AnswerKind:
        """Which headers its success has, see `security_headers`."""
        if self.kind is not None:
            return self.kind
        if not self.is_open:
            return AnswerKind.CONTROL
        return AnswerKind.PAGE if self.media_type.startswith("text/") else AnswerKind.OPEN

    @property
    def is_for_programs(self) -> bool:
        """Whether the OpenAPI document has it: the console's page and files are for a browser."""
        return self.kind not in (AnswerKind.CONSOLE, AnswerKind.ASSET)


class ControlFault(Exception):
    """A control request that is refused.

    `nearest` is the known word closest to a misspelt one; `more` are further fields of the body.
    """

    def __init__(
        self,
        status: int,
        error: str,
        message: str,
        *,
        details: str = "",
        nearest: str | None = None,
        headers: dict[str, str] | None = None,
        more: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.message = message
        self.details = details
        self.nearest = nearest
        self.headers = headers or {}
        self.more = more or {}


def invalid(message: str, nearest: str | None = None) -> ControlFault:
    """A body or query that cannot be."""
    return ControlFault(400, "validation_error", message, nearest=nearest)


def unknown_world(worlds: Worlds, id: str, who: Who) -> ControlFault:
    """No world within reach has this id, or none any more."""
    return unknown_among([world.id for world in worlds], id, who)


def unknown_among(ids: Iterable[str], id: str, who: Who) -> ControlFault:
    """No world of these that is within reach has this id."""
    known = [one for one in ids if who.reaches(one)]
    return ControlFault(
        404, "unknown_world", f"there is no world {id!r}", nearest=nearest(id, known)
    )


def must_be_known(field: str, word: str | None, known: Iterable[str]) -> None:
    """Raises ControlFault, with the nearest known word, for a word that is none of them."""
    if word is not None and word not in known:
        raise invalid(f"{field}: there is no {word[:80]!r}", nearest(word, known))


class ItemPage(Struct, frozen=True, gc=False):
    """A window on a long list: the items in it, and how many there are in all."""

    items: Sequence[Any]
    total: int
    limit: int
    offset: int


def window(items: Sequence[Any], limit: int, offset: int | None) -> ItemPage:
    """The window of a list that is oldest first.

    `offset` counts from the oldest. Without it the window has the newest `limit` items. Both are
    oldest first.
    """
    start = max(len(items) - limit, 0) if offset is None else offset
    return ItemPage(items[start : start + limit], len(items), limit, start)
