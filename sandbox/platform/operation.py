"""An endpoint is a function: `operation` registers the row that describes it.

Routing, the permission check, validation, the success status, the error shape, the docs and the
visibility tests all read these rows. Nothing else describes an endpoint.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from inspect import getdoc, signature
from typing import Annotated, Any, Final, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel, WithJsonSchema

from sandbox.domain.access import Need, need
from sandbox.domain.directory import Account, Relation, relate, relate_with_admin_reach
from sandbox.domain.faults import Fault
from sandbox.domain.json_text import fields_of
from sandbox.domain.operations import NO_CONTENT, ApiOperation
from sandbox.domain.payments.cards import CARD_FIELDS
from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.profile import Profile
from sandbox.domain.records import Extended
from sandbox.platform.routing import register
from sandbox.platform.wire import BadInput

Shape = Callable[[Profile], type[BaseModel]]
"""Gives the model of a body or query under a profile."""

Run = TypeVar("Run", bound=Callable[..., Any])


class Target(Struct, frozen=True, eq=False, dict=True):
    """The target of a request, and where the request names it.

    `name` is the parameter or field with the id of a record of this `kind`. Without an account's id
    in the body or the query, the target is the caller's own account, unless it `is_required`.
    `relate` gives the relation of that account to the caller's. `may_be_deleted` finds deleted
    records too. The body may name `others` as well or instead, and everything that it names must be
    within reach. `aliases` are other places of the body for the id: an object in it, if any, and a
    field. An `is_repeatable` parameter may be sent several times.
    """

    where: Literal["path", "body", "query"]
    name: str
    kind: type = Account
    relate: Callable[[Account, Account | None], Relation] = relate
    may_be_deleted: bool = False
    is_required: bool = False
    is_repeatable: bool = False
    others: "tuple[Target, ...]" = ()
    aliases: tuple[tuple[str | None, str], ...] = ()

    @property
    def noun(self) -> str:
        """The target in a sentence."""
        return "Transaction" if self.kind is Payment else self.kind.__name__

    @cached_property
    def _places(self) -> "list[tuple[Target, str | None, str]]":
        """Every place of the body for an id: the target, the object around it, the field."""
        return [
            (one, outer, name)
            for one in (self, *self.others)
            for outer, name in ((None, one.name), *one.aliases)
        ]

    def ids_in(self, sent: dict[str, Any]) -> "list[tuple[Target, str]]":
        """Return the ids that the body names, each once with its target, no nulls.

        Raises BadInput.
        """
        found: list[tuple[Target, str]] = []
        for target, outer, name in self._places:
            within = sent if outer is None else fields_of(sent.get(outer))
            id = within.get(name)
            if id is None:
                continue
            if not isinstance(id, str):
                raise BadInput(f"{target.name}: must be a string")
            if (target, id) not in found:
                found.append((target, id))
        return found


ACCOUNT_IN_QUERY: Final = Target("query", "account_id", relate=relate_with_admin_reach)

NOWHERE: Final = "00000000-0000-4000-8000-000000000000"
"""A placeholder for ids that do not exist yet, or that the fixture does not have."""


class Example(Struct, frozen=True, kw_only=True, gc=False):
    """A request that succeeds in a fresh demo world. An id of the cast is `{terminals.merchant}`.

    `by` is the key of the cast that sends it, and `id` the id in its path. `first` is a request
    that creates the record it needs, whose id goes into the path, or into the field of the body
    that `takes` names. What is left out follows from the row, see `openapi.examples`.
    """

    operation: str = ""
    by: str = ""
    id: str = ""
    body: Mapping[str, Any] | None = None
    first: "Example | None" = None
    takes: str = ""


Count = Annotated[int, WithJsonSchema({"type": "integer", "format": "int64", "minimum": 0})]


def listing(plural: str, of: Any) -> Extended:
    """Return a response that is a page of rows, under the name `plural` (assumed 0.5-lists)."""
    counts = dict.fromkeys(("total", "limit", "offset", "page"), Count)
    return Extended(None, {plural: list[of], **counts})


class Row(ApiOperation, frozen=True, kw_only=True, eq=False):
    """One endpoint. Without `run` it is a retired one: 405, before authentication.

    `narrow` selects the needed permission by the body, if the row leaves it open. `needs_besides`
    are words of the body, each with the permission that it needs besides `need`. `secrets` are
    fields of the body that the journal always masks. With `can_be_blocked` a blocked account gets
    423. A row of status 204 has its `response` only where a reading shows what was deleted; then
    the status is 200. `may` checks the target before the body is read. A row that `attempts` an
    operation asks the processor, so its outcome can be forced: the row of a sale attempts an
    authorization too. A row that `is_key_shown` may answer with the plaintext of an API key.
    `refuses` lists the faults of the operation itself, besides those of the pipeline;
    `refuses_where` those of a reading, with its id and value.
    """

    summary: str
    source: str
    need: Need | None = None
    narrow: Callable[[dict[str, Any]], Need] | None = None
    needs_besides: tuple[tuple[str, str], ...] = ()
    target: Target | None = None
    run: Callable[[Any], Any] | None = None
    body: Shape | None = None
    query: Shape | None = None
    response: Any = None
    events: tuple[str, ...] = ()
    secrets: frozenset[str] = CARD_FIELDS
    can_be_blocked: bool = False
    may: Callable[[Any], None] | None = None
    attempts: Operation | None = None
    is_key_shown: bool = False
    refuses: tuple[Fault, ...] = ()
    refuses_where: tuple[tuple[str, str, Fault], ...] = ()
    example: Example = Example()

    def status_under(self, readings: Mapping[str, str]) -> int:
        """Return the status of a success under these readings (assumed D35-deletion)."""
        shows_deleted = readings["delete_answers"] == "resource"
        return 200 if self.status == NO_CONTENT and shows_deleted else self.status

    def is_stopped_by(self, block: str) -> bool:
        """Whether a block stops it, by the reading block_stops (assumed D35-block-stops)."""
        if block == "payments":
            return self.can_be_blocked
        if block == "new_payments":
            return self.attempts is Operation.SALE
        target = self.target
        is_of_account = target is not None and target.kind is Account and target.where == "path"
        return self.method != "GET" and not is_of_account

    @property
    def about_besides(self) -> str:
        """A sentence on the permissions that depend on the body; empty without any."""
        words = [f"{word} needs {permission}" for word, permission in self.needs_besides]
        return f"The status in the body decides: {', '.join(words)}." if words else ""


def operation(
    name: str,
    method: str,
    path: str,
    *,
    needs: str | Need,
    also_needs: str | None = None,
    example: Mapping[str, Any] | Example | None = None,
    **more: Any,
) -> Callable[[Run], Run]:
    """Register the decorated function as an operation of the platform.

    A key needs the permission `needs`, and also `also_needs` if that is given. The function takes
    the context and, by name, what else it needs: `body` and `query` are pydantic models, and any
    other parameter is the record that the request is about. Its docstring begins with the summary
    of the row, and its return type is the answer, unless `response` is given. If the profile
    decides on a model, the argument `body` or `query` returns that model. `example` is a body that
    succeeds in the demo world, or a request. `more` are the other fields of `Row`.
    """
    attempts: Operation | None = more.get("attempts")
    more.setdefault("words", (attempts.value,) if attempts else ())

    def decorate(run: Run) -> Run:
        described = signature(run)
        names = list(described.parameters)[1:]
        fields = [name if name in ("body", "query") else "record" for name in names]
        for one in {"body", "query"}.intersection(names) - more.keys():
            more[one] = _always(described.parameters[one].annotation)
        row = Row(
            name=name,
            method=method,
            path=path,
            need=replace(need(needs) if isinstance(needs, str) else needs, also=also_needs),
            summary=summary_of(run),
            run=lambda context: run(context, *[getattr(context, one) for one in fields]),
            example=example if isinstance(example, Example) else Example(body=example),
            **({"response": described.return_annotation} | more),
        )
        register(run.__module__, row)
        return run

    return decorate


def _always(model: type[BaseModel]) -> Shape:
    return lambda _: model


def summary_of(run: Callable[..., Any]) -> str:
    """Return the first sentence of the docstring."""
    first_line, _, _ = (getdoc(run) or "").partition("\n")
    return first_line.partition(". ")[0].removesuffix(".")


def is_key_path(path: str) -> bool:
    """Whether the path belongs to API-key management, whose error body the spec fixes."""
    return path == "/v5/apikeys" or path.startswith("/v5/apikeys/")
