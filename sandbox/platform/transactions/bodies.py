"""Queries and the one body of transactions. Source: spec 4.3-search; details assumed 1.7."""

from functools import cache
from typing import Annotated, ClassVar, Literal

from pydantic import Field, create_model, field_validator

from sandbox.domain.field_types import Amount, PositiveAmount, Text
from sandbox.domain.payments.transactions import STATUS_REASONS, STATUSES, TRANSACTION_TYPES
from sandbox.domain.profile import Profile
from sandbox.domain.text import OneOf, did_you_mean
from sandbox.platform.fields import Body, Offset, PageQuery, Query, WholeNumber
from sandbox.platform.payments.bodies import BreakdownBody

V1_PAGE = 100
V1_PAGE_MAX = 500
"""The older list. Source: spec 9.6; the maximum assumed D20."""

MOMENT_MS_MAX = 253_402_300_799_999
"""The end of the year 9999."""

Moment = Annotated[WholeNumber, Field(ge=0, le=MOMENT_MS_MAX)]
Word = Annotated[str, Field(min_length=1)]


def _all_known(words: list[str], known: tuple[str, ...]) -> list[str]:
    for word in words:
        if word not in known:
            raise ValueError(f"{word[:80]!r} is not one of them{did_you_mean(word, known)}")
    return words


class SearchTransactions(PageQuery):
    """Which transactions, and in which order. Dates have the names of the profile.

    `repeatable` are the parameters that may be sent several times: any of their values will do.
    """

    repeatable: ClassVar[frozenset[str]] = frozenset({"account_id", "status", "transaction_type"})

    account_id: list[Word] = Field(default_factory=list)
    status: list[Annotated[str, OneOf(STATUSES)]] = Field(default_factory=list)
    transaction_type: list[Annotated[str, OneOf(TRANSACTION_TYPES)]] = Field(default_factory=list)
    min_amount: Annotated[WholeNumber, Field(ge=0)] | None = None
    max_amount: Annotated[WholeNumber, Field(ge=0)] | None = None
    start_ms: Moment | None = None
    end_ms: Moment | None = None
    event_id: Word | None = None
    batch_id: Word | None = None
    location_id: Word | None = None
    terminal_id: Word | None = None
    tid: Word | None = None
    mid: Word | None = None
    processor_mid: Word | None = None
    processor_tid: Word | None = None
    owner_id: Word | None = None
    card_brand: Word | None = None
    card_number: Annotated[str, Field(pattern=r"^[0-9]{4}$|^[0-9]{6}\**[0-9]{0,4}$")] | None = None
    payment_method: Word | None = None
    reader_identifier: Word | None = None
    gateway_transaction_id: Word | None = None
    transaction_id: Word | None = None
    search_term: Word | None = None
    sort_by: Literal["created_at", "total_amount"] = "created_at"
    sort_order: Literal["asc", "desc"] = "desc"

    @field_validator("status")
    @classmethod
    def _are_statuses(cls, words: list[str]) -> list[str]:
        return _all_known(words, STATUSES)

    @field_validator("transaction_type")
    @classmethod
    def _are_types(cls, words: list[str]) -> list[str]:
        return _all_known(words, TRANSACTION_TYPES)


@cache
def search_query(profile: Profile) -> type[SearchTransactions]:
    """The search under a profile, which names the date filters. Source: assumed 1.7-dates."""
    names = profile.date_filters
    return create_model(
        "SearchTransactions",
        __base__=SearchTransactions,
        start_ms=(Moment | None, Field(default=None, validation_alias=names.start)),
        end_ms=(Moment | None, Field(default=None, validation_alias=names.end)),
    )


class ListTransactions(Query):
    """The older list, which remains available. Source: spec 4.3-search-v1; assumed 1.7-v1."""

    mid: Word | None = None
    tid: Word | None = None
    location_id: Word | None = None
    account_id: Word | None = None
    event_id: Word | None = None
    reader_identifier: Word | None = None
    gateway_transaction_id: Word | None = None
    limit: Annotated[WholeNumber, Field(ge=1, le=V1_PAGE_MAX)] = V1_PAGE
    offset: Offset = 0


class EditTransaction(Body):
    """Body of the edit of a passthrough transaction; null changes nothing (assumed 1.7-edit).

    Only a batch settles a payment, and no payment becomes pending again.
    """

    authorized_amount: PositiveAmount | None = None
    breakdown: BreakdownBody | None = None
    refunded: Amount | None = None
    reversed: Amount | None = None
    status: (
        Literal[
            "pending",
            "authorized",
            "captured",
            "refunded",
            "reversed",
            "declined",
            "error",
            "canceled",
        ]
        | None
    ) = None
    status_reason: Annotated[Text, OneOf(STATUS_REASONS)] | None = None

    @field_validator("status_reason")
    @classmethod
    def _is_a_reason(cls, word: str | None) -> str | None:
        if word is not None:
            _all_known([word], STATUS_REASONS)
        return word
