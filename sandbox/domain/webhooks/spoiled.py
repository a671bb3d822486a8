"""A next delivery to spoil, which an operator or a test queues."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from msgspec import Struct, field
from pydantic import Field

TIMES_MAX: Final = 1_000
"""The most deliveries that one entry applies to."""


class Spoiled(Struct, frozen=True, kw_only=True, gc=False):
    """An entry of the queue: which deliveries, what is done to them, and to how many more.

    `when` and `then` are those of a webhook rule, without `times`. Source: assumed D24.
    """

    id: str
    when: Mapping[str, Any] = field(default_factory=dict)
    then: Mapping[str, Any]
    left: Annotated[int, Field(strict=True, ge=1, le=TIMES_MAX)] = 1
