"""The row of the route table that describes an endpoint.

Routing, the permission check, validation, the success status, the error shape, the docs and the
visibility tests all read these rows; nothing about an endpoint is written anywhere else.
"""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from sandbox.domain.access import Need
from sandbox.domain.directory import Account, Relation, relate
from sandbox.domain.faults import Fault
from sandbox.domain.payments.cards import CARD_FIELDS
from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.profile import Profile
from sandbox.platform.operation_context import OperationContext
from sandbox.worlds.journal import Decision

if TYPE_CHECKING:
    from pydantic import BaseModel

Shape = Callable[[Profile], "type[BaseModel]"]
"""Gives the shape of a body or query under a profile. It is loaded on first use."""


Relate = Callable[[Account, Account | None], Relation]


class Target(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """The target of a request, and where the request names it.

    `name` is the parameter or field with the id of a record of this `kind`. Without an account's id
    in the body or the query, the target is the caller's own account, unless it `is_required`.
    `relate` gives the relation of that account to the caller's. `even_deleted` finds deleted
    records too. The body may name `others` as well or instead, and everything that it names must be
    within reach. `aliases` are other places of the body for the id, each a path of fields. An
    `is_repeatable` parameter may be sent several times.
    """

    where: Literal["path", "body", "query"]
    name: str
    kind: type = Account
    relate: Relate = relate
    even_deleted: bool = False
    is_required: bool = False
    is_repeatable: bool = False
    others: "tuple[Target, ...]" = ()
    aliases: tuple[tuple[str, ...], ...] = ()

    def ids_in(self, sent: dict[str, Any]) -> list[Any]:
        """What the body has under the name and its aliases, without nulls."""
        found = [sent.get(self.name)]
        for *path, name in self.aliases:
            part: Any = sent
            for step in path:
                part = part.get(step) if isinstance(part, dict) else None
            found.append(part.get(name) if isinstance(part, dict) else None)
        return [one for one in found if one is not None]

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The fields of the body in which it, or one of the others, is named or is within."""
        names = [(one.name, *(path[0] for path in one.aliases)) for one in self.all]
        return tuple(dict.fromkeys(name for of_one in names for name in of_one))

    @cached_property
    def all(self) -> "tuple[Target, ...]":
        """Itself and the others."""
        return (self, *self.others)


class Listing(Struct, frozen=True, gc=False):
    """A response that is a page of rows, under the name `plural` (assumed 0.5-lists)."""

    plural: str
    of: Any


class Extended(Struct, frozen=True, gc=False):
    """A response that is a record with one more field.

    `texts` are further fields with strings, which it has only where a reading says so.
    """

    of: Any
    name: str
    extra: Any
    texts: tuple[str, ...] = ()


class Row(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """One endpoint. Without `run` it is a retired one: 405, before authentication.

    `narrow` selects the needed permission by the body, if the row leaves it open. `needs_besides`
    are words of the body, each with the permission that it needs besides `need`. `secrets` are
    fields of the body that the journal always masks. With `stops_at_block` a blocked account gets
    423. A row of status 204 has its `response` only where a reading shows what was deleted; then
    the status is 200. `may` checks the target before the body is read. A row that `attempts` an
    operation asks the processor, so its outcome can be forced: the row of a sale attempts an
    authorization too. A row that `shows_key` may answer with the
    plaintext of an API key. `refuses` lists the faults of the operation itself, besides those of
    the pipeline; `refuses_where` those of a reading, with its id and value.
    """

    name: str
    method: str
    path: str
    summary: str
    source: str
    need: Need | None = None
    narrow: Callable[[dict[str, Any]], Need] | None = None
    needs_besides: tuple[tuple[str, str], ...] = ()
    target: Target | None = None
    run: Callable[[OperationContext], Any] | None = None
    body: Shape | None = None
    query: Shape | None = None
    response: Any = None
    status: int = 200
    events: tuple[str, ...] = ()
    secrets: tuple[str, ...] = CARD_FIELDS
    stops_at_block: bool = False
    may: Callable[[OperationContext], None] | None = None
    attempts: Operation | None = None
    shows_key: bool = False
    refuses: tuple[Fault, ...] = ()
    refuses_where: tuple[tuple[str, str, Fault], ...] = ()

    @property
    def is_attempt(self) -> bool:
        """Whether it asks the processor."""
        return self.attempts is not None

    @property
    def about_besides(self) -> str:
        """A sentence on the permissions that depend on the body; empty without any."""
        words = [f"{word} needs {permission}" for word, permission in self.needs_besides]
        return f"By what the body reports, {', '.join(words)}." if words else ""

    @cached_property
    def found(self) -> Decision:
        """The decision that this row serves a request."""
        return ("route", "ok", self.name, self.source)

    @cached_property
    def is_about_one(self) -> bool:
        """Whether the path alone says what a request is about."""
        target = self.target
        is_about_one = target is not None and target.where == "path" and not target.others
        return is_about_one and self.may is None


def is_key_path(path: str) -> bool:
    """Whether the path belongs to API-key management, whose error body the spec fixes."""
    return path == "/v5/apikeys" or path.startswith("/v5/apikeys/")
