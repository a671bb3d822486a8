"""Queries of the rows that look at a world's records. Unknown parameters are refused."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from sandbox.domain.instants import Instant

PAGE_MAX = 500
"""The most items of one answer."""

_Text = Annotated[str, Field(min_length=1, max_length=200)]
_Amount = Annotated[int, Field(ge=0, le=99_999_999)]


class _Page(BaseModel):
    # Query values arrive as text, so numbers must be parsed.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    limit: Annotated[int, Field(ge=1, le=PAGE_MAX)] = 100
    before: Annotated[int, Field(ge=0)] | None = None


class PaymentsQuery(_Page):
    """Which payments, in which order, as rows or whole.

    Words of `status`, `status_reason` and `type` are separated by commas. `account` and `terminal`
    are ids or names of the cast, and amounts are minor units. `before` is the `next` of an answer.
    """

    q: _Text | None = None
    status: _Text | None = None
    status_reason: _Text | None = None
    type: _Text | None = None
    account: _Text | None = None
    terminal: _Text | None = None
    batch: _Text | None = None
    card_brand: _Text | None = None
    amount_min: _Amount | None = None
    amount_max: _Amount | None = None
    since: Instant | None = None
    until: Instant | None = None
    order: Literal["newest", "oldest", "largest", "smallest"] = "newest"
    shape: Literal["row", "full"] = "row"


class BatchesQuery(_Page):
    """Which batches: words of `status` are separated by commas.

    `account` and `terminal` are ids or names of the cast.
    """

    status: _Text | None = None
    account: _Text | None = None
    terminal: _Text | None = None


class MovesQuery(BaseModel):
    """By which key, by its id or name of the cast; without one, rules of payments alone count."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    key: _Text | None = None


class LensBody(BaseModel):
    """Which key, for which operation, on which record: ids, or names of the cast."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    key: _Text
    operation: _Text
    target: _Text | None = None


class DirectoryQuery(_Page):
    """Which records: of a kind, with a text in their names, of an account.

    `parent` is an id or a name of the cast.
    """

    kind: Literal["account", "terminal", "location", "key"] = "account"
    q: _Text | None = None
    parent: _Text | None = None


class WorldsQuery(BaseModel):
    """Worlds with their cast and keys, or rows without them."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    shape: Literal["row", "full"] = "full"


class FindQuery(BaseModel):
    """An id, an event_id, a name of the cast, or the last four digits of a card; in which world."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    q: _Text
    world: _Text | None = None
