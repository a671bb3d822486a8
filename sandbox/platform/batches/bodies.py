"""Bodies and queries of batches. Source: assumed 1.11."""

from typing import Annotated, ClassVar

from pydantic import Field, field_validator

from sandbox.domain.batches import BATCH_STATUSES
from sandbox.domain.field_types import ProcessorBatchId, Text
from sandbox.domain.text import OneOf, did_you_mean
from sandbox.platform.fields import CreateBody, Offset, Query, WholeNumber

LIMIT_MAX = 500


class OpenBatch(CreateBody):
    """Body of the opening of a batch. Source: assumed 1.11-open."""

    terminal_id: Text
    processor_batch_id: ProcessorBatchId | None = None


class EditBatch(CreateBody):
    """Body of the edit of a batch. Source: assumed B7."""

    added_transactions: list[Text] = Field(default_factory=list)
    removed_transactions: list[Text] = Field(default_factory=list)
    processor_batch_id: ProcessorBatchId | None = None


class ListBatches(Query):
    """Which batches. Source: assumed 1.11-list."""

    repeatable: ClassVar[frozenset[str]] = frozenset({"statuses"})

    account_id: str | None = None
    terminal_id: Annotated[str, Field(min_length=1)] | None = None
    statuses: list[Annotated[str, OneOf(BATCH_STATUSES)]] = Field(default_factory=list)
    processor_config_id: Annotated[str, Field(min_length=1)] | None = None
    limit: Annotated[WholeNumber, Field(ge=1, le=LIMIT_MAX)] = 50
    offset: Offset = 0

    @field_validator("statuses")
    @classmethod
    def _are_statuses(cls, words: list[str]) -> list[str]:
        for word in words:
            if word not in BATCH_STATUSES:
                hint = did_you_mean(word, BATCH_STATUSES)
                raise ValueError(f"{word[:80]!r} is not a status of batches{hint}")
        return words


class ReadBatch(Query):
    """Whether to show the members too. Source: assumed 1.11-members."""

    include_transactions: bool = False
