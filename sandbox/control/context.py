"""The context of a control endpoint: the request, and the services of the server."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass, field
from itertools import islice
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace
from starlette.types import Scope

from sandbox.control.identity import Identity, Sessions, Tokens
from sandbox.control.models import ItemPage, OlderListing, PageQuery, View
from sandbox.control.routing import ControlRow
from sandbox.domain.directory import Account, Terminal
from sandbox.domain.keys import ApiKey
from sandbox.domain.text import nearest, suggest_words
from sandbox.platform.internal_client import InternalClient
from sandbox.platform.routing import ROOT_PATH
from sandbox.platform.security import origin_of
from sandbox.store.fixture import Fixture
from sandbox.store.tables import NEWEST_FIRST, Order, Row, Where
from sandbox.worlds.background import select
from sandbox.worlds.elsewhere import Elsewhere, WorldLost
from sandbox.worlds.registry import Worlds
from sandbox.worlds.world import KINDS, World

R = TypeVar("R", bound=Row)
T = TypeVar("T")

Named = Account | Terminal | ApiKey

NOUNS: Final = {kind: noun for noun, kind in KINDS.items()}

COMPARED_MAX: Final = 1_000
"""How many ids of worlds to compare an unknown one with, which takes some milliseconds."""


class PlayedRequest(View):
    """A request of a step, and its answer.

    `request_id` is null for an action of the control API: a tap, or an advance of the clock.
    `status` is null if the connection was closed without an answer.
    """

    request_id: str | None
    method: str
    path: str
    query: str
    body: Any
    status: int | None
    answer: Any


class PlayedMessage(View):
    """A message that a step fired."""

    id: str
    event_type: str


class PlayedExample(View):
    """One step: its requests, its messages, the payment or batch after it, and its mistakes.

    `mistakes` say what differs from what the example expects.
    """

    number: int
    name: str
    operation: str
    mistakes: list[str]
    requests: list[PlayedRequest]
    messages: list[PlayedMessage]
    subject: str | None
    status: str | None
    status_reason: str | None


Act = Callable[[str, Any], Awaitable[tuple[int, Any]]]
"""Carries out a control action of a world by the end of its path; returns status and answer."""


class Services(Struct, frozen=True, kw_only=True):
    """The services of the control API, given by the composition root.

    `default_fixture` and `default_seed` apply to a world created without them. `prove` runs the
    examples of a scenario in a new sandbox and returns the mistakes of each by its number; `play`
    runs some of them in a world. `repeat` sends recorded requests to a new sandbox, and says what
    differs. `why_not_to` says why webhooks may not go to a host; None if they may. `platform_url`
    is the URL of the platform, seen from the control API. `inside` sends requests to the platform.
    `tokens` identifies the users of the control API, and `endpoints` are its rows. `ca` is the
    certificate of the server's own authority as PEM, if it has one. `elsewhere` are the other
    servers, if worlds are shared.
    """

    worlds: Worlds
    version: str
    store: str
    default_fixture: Fixture
    default_seed: int
    prove: Callable[[Any], Mapping[int, list[str]]]
    repeat: Callable[..., str | None]
    play: Callable[[World, Any, range, Act], Awaitable[Sequence[PlayedExample]]]
    why_not_to: Callable[[str], str | None]
    platform_url: str
    inside: InternalClient
    tokens: Tokens
    endpoints: tuple[ControlRow, ...]
    ca: bytes | None = None
    elsewhere: Elsewhere | None = None


@dataclass
class ControlRequest:
    """One control request: its sender, the world of its path, and headers for the answer."""

    services: Services
    params: dict[str, str]
    scope: Scope
    sessions: Sessions
    who: Identity
    found_world: World | None = None
    answer_headers: dict[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The id that the path names; only rows with `{id}` use it."""
        return self.params["id"]

    @property
    def world(self) -> World:
        """The world that the path names; only rows with `{w}` use it."""
        assert self.found_world is not None
        return self.found_world

    @property
    def platform_url(self) -> str:
        """The whole URL of the platform, as this client reaches it."""
        origin, known = origin_of(self.scope), self.services.platform_url
        if known == "/":
            return f"{origin}{self.scope.get(ROOT_PATH, '')}"
        # It has a port of its own, at the host that the client asked for.
        asked = urlsplit(origin)
        if (host := asked.hostname) is None:
            return known
        return f"{asked.scheme}://{f'[{host}]' if ':' in host else host}:{urlsplit(known).port}"

    def find_world(self) -> None:
        """Find the world that the path names, if it names one. Raises ControlFault.

        If servers share worlds, it was found before, so it has moved meanwhile or was deleted:
        raises WorldLost.
        """
        services, name = self.services, self.params.get("w")
        if name is None:
            return
        if (found := services.worlds.get(self.who.meant(name))) is None:
            if services.elsewhere is not None:
                raise WorldLost(name)
            raise unknown_among([world.id for world in services.worlds], name, self.who)
        self.found_world = found

    def get_record(self, kind: type[R], noun: str) -> R:
        """Get the record that the path names. Raises ControlFault if the world has none."""
        return self.require(self.world.store.get(kind, self.id), noun)

    def require(self, value: T | None, noun: str, *, at: str = "", more: str = "") -> T:
        """Return the value that was found by an id of the request.

        Raises ControlFault if there is none.
        """
        if value is None:
            raise not_found(f"{at}the world has no {noun} with this id{more}")
        return value

    def get_named(self, kind: type[R], text: str, field: str = "", is_in_path: bool = False) -> R:
        """Get the account, terminal or key with this id or name of the cast. Raises ControlFault.

        `field` is the field of the request that names it.
        """
        noun = NOUNS[kind]
        cast = self.world.cast.ids_of(noun)
        record = self.world.store.get(kind, cast.get(text, text))
        if record is None:
            why = f"{field or noun}: the world has no {noun} with the id or cast name {text[:80]!r}"
            near = nearest(text, cast)
            raise not_found(why, nearest=near) if is_in_path else invalid(why, near)
        return record

    def find_id(self, kind: type[Named], text: str | None, field: str = "") -> str | None:
        """Find the id for an id or a name of the cast, if one is given. Raises ControlFault."""
        return None if text is None else self.get_named(kind, text, field).id

    def find_page(
        self, kind: type[R], where: Where, query: PageQuery, order: Order = NEWEST_FIRST
    ) -> tuple[list[R], int, int | None]:
        """Find a page of records, their total number, and the cursor of the next page.

        Conditions that are None or an empty list are ignored. The cursor is the number of records
        that are still to come, so records that are added before a page do not move it.
        """
        unit, offset = self.world.store.begin(), 0
        given = {name: value for name, value in where.items() if value not in (None, [])}
        # With a scope, deleted records are left out.
        where = {"scope": None, **given}
        if query.before is not None:
            _, total = unit.find(kind, where, limit=1)
            offset = max(total - query.before, 0)
        rows, total = unit.find(kind, where, limit=query.limit, offset=offset, order=order)
        left = total - offset - len(rows)
        return rows, total, left if left > 0 and rows else None

    async def find_older(
        self, items: Sequence[Any], fits: Callable[[Any], bool], query: OlderListing, unknown: str
    ) -> ItemPage:
        """Find the window on the items that fit, with the number of all that fit.

        Raises ControlFault, which says that the id in `before` is `unknown`.
        """
        ids = [one.id for one in items]
        if query.before not in (None, *ids):
            raise invalid(f"before: {unknown}")
        end = len(ids) if query.before is None else ids.index(query.before)
        older, newer = [await select(part, fits) for part in (items[:end], items[end:])]
        return replace(query.cut(older), total=len(older) + len(newer))


@dataclass(eq=False)
class ControlFault(Exception):
    """The refusal of a control request.

    `nearest` is the known word closest to a misspelt one; `more` are further fields of the body.
    """

    status: int
    error: str
    message: str
    _: KW_ONLY
    details: str = ""
    nearest: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)


def invalid(message: str, nearest: str | None = None) -> ControlFault:
    """Return the refusal of an invalid body or query."""
    return ControlFault(400, "validation_error", message, nearest=nearest)


def not_found(message: str, **more: Any) -> ControlFault:
    """Return the refusal of a path that names something that does not exist."""
    return ControlFault(404, "not_found", message, **more)


def conflict(error: str, message: str, **more: Any) -> ControlFault:
    """Return the refusal of a request that conflicts with the current state."""
    return ControlFault(409, error, message, **more)


def unknown_among(ids: Iterable[str], id: str, who: Identity) -> ControlFault:
    """Return the refusal of an unknown id of a world, with the nearest one within reach."""
    near = nearest(id, islice(filter(who.can_reach, ids), COMPARED_MAX))
    return ControlFault(404, "unknown_world", f"there is no world {id!r}", nearest=near)


def must_be_known(field: str, word: str | None, known: Iterable[str]) -> None:
    """Raise ControlFault for an unknown word, with the nearest known one or else a few of them."""
    if word is not None and word not in known:
        refusal = invalid(f"{field}: there is no {word[:80]!r}", nearest(word, known))
        if refusal.nearest is None:
            refusal.details = suggest_words(word, known).removeprefix("; ")
        raise refusal


@asynccontextmanager
async def exclusive_world(request: ControlRequest) -> AsyncIterator[World]:
    """Yield the world of the path, once no other request saves, loads, resets or deletes it.

    Raises ControlFault if it is gone by then.
    """
    async with request.services.worlds.lock_of(request.world.id):
        request.find_world()
        yield request.world


def parse_words(name: str, text: str | None, known: Iterable[str]) -> list[str]:
    """Return the words of a parameter, which are separated by commas.

    Raises ControlFault for an unknown word.
    """
    words = [] if text is None else [word.strip() for word in text.split(",")]
    for word in words:
        must_be_known(name, word, known)
    return list(dict.fromkeys(words))


def cast_names(world: World, kind: str) -> dict[str, str]:
    """Return the names in the cast by id, for one kind of record."""
    return {id: name for name, id in world.cast.ids_of(kind).items()}
