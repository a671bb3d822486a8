"""Bodies and queries of the control endpoints that act in a world as a client would."""

import re
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from sandbox.domain.clock import EARLIEST
from sandbox.domain.field_types import WebhookSecret, WorldId, WorldName
from sandbox.domain.instants import Instant, parse_duration
from sandbox.domain.teams import TEAM_PATTERN
from sandbox.domain.webhooks import TIMES_MAX
from sandbox.webhooks.inside import ANSWER_MAX, ANSWER_MIN, ANSWERS_MAX, DELAY_MS_MAX

PATH_CHARS_MAX: Final = 8_192
HEADERS_MAX: Final = 50

_HeaderName = Annotated[
    str, StringConstraints(pattern=re.compile(r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$"))
]
_HeaderValue = Annotated[str, StringConstraints(pattern=re.compile(r"^[\x20-\x7e]{0,4096}$"))]
HeaderFields = Annotated[dict[_HeaderName, _HeaderValue], Field(max_length=HEADERS_MAX)]
"""Headers of a request: tokens, and text of printable ASCII."""

PAGE_MAX: Final = 500

_KeyName = Annotated[str, Field(min_length=1, max_length=100)]


_ExampleName = int | Annotated[str, Field(min_length=1, max_length=200)]


class _Act(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class _Ask(BaseModel):
    # Query values arrive as text, so numbers must be parsed.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class TokenBody(_Act):
    """A token for a team. Without `expires_at` or `expires_in` it does not expire."""

    team: Annotated[str, Field(pattern=TEAM_PATTERN)]
    name: WorldName = ""
    expires_at: Instant | None = None
    expires_in: Annotated[str, Field(max_length=100)] | None = None

    @model_validator(mode="after")
    def _ends_once(self) -> "TokenBody":
        if self.expires_at is not None and self.expires_in is not None:
            raise ValueError("expires_at and expires_in: give one of them")
        self.end(EARLIEST)
        return self

    def end(self, now: datetime) -> datetime | None:
        """When it expires. Raises ValueError for a duration that is none."""
        if self.expires_in is None:
            return self.expires_at
        try:
            return now + parse_duration(self.expires_in)
        except (ValueError, OverflowError) as error:
            raise ValueError(f"expires_in: {error}") from None


class SendBody(_Act):
    """A request to the platform.

    The `key` is named by its name in the cast or by its id; without one the request has no key.
    A `body` that is text is sent as it is, anything else as JSON.
    """

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
    path: Annotated[str, Field(pattern=r"^/", max_length=PATH_CHARS_MAX)]
    query: Annotated[str, Field(max_length=PATH_CHARS_MAX)] = ""
    headers: HeaderFields = Field(default_factory=dict)
    body: Any = None
    key: _KeyName | None = None
    wait: bool = True

    @model_validator(mode="after")
    def _has_one_query(self) -> "SendBody":
        if self.query and "?" in self.path:
            raise ValueError("query: the path has one already")
        return self


class ReplayBody(_Act):
    """What to change in a request that is sent again; what is left out stays."""

    key: _KeyName | None = None
    headers: HeaderFields = Field(default_factory=dict)
    body: Any = None
    wait: bool = True


class AgendaQuery(_Ask):
    """Which things that fall due: of a kind, of one record, until an instant.

    `after` is the id of one of them: the list goes on behind it.
    """

    kind: str | None = None
    subject: str | None = None
    until: Instant | None = None
    limit: Annotated[int, Field(ge=1, le=PAGE_MAX)] = 100
    after: str | None = None


class VerifyQuery(_Ask):
    """Which attempt to check: the first is 1, the last one if it is left out."""

    endpoint_id: str | None = None
    attempt: Annotated[int, Field(ge=1)] | None = None


class VerifyBody(_Act):
    """A webhook as it came: its headers, and its body as text, to the byte.

    The secret is given, or is that of an endpoint.
    """

    headers: HeaderFields
    body: str
    secret: WebhookSecret | None = None
    endpoint_id: _KeyName | None = None

    @model_validator(mode="after")
    def _has_one_secret(self) -> "VerifyBody":
        if (self.secret is None) == (self.endpoint_id is None):
            raise ValueError("secret or endpoint_id is required, and not both")
        return self


class SpoilBody(_Act):
    """What to do to the next deliveries that match: `when` and `then` of a webhook rule."""

    then: dict[str, Any]
    when: dict[str, Any] = Field(default_factory=dict)
    times: Annotated[int, Field(ge=1, le=TIMES_MAX)] = 1


class CheckBody(_Act):
    """A scenario to check: the text of its file, or a document."""

    toml: Annotated[str, Field(max_length=500_000)] | None = None
    document: Annotated[dict[str, Any] | None, Field(alias="json")] = None

    @model_validator(mode="after")
    def _is_one_of_them(self) -> "CheckBody":
        if (self.toml is None) == (self.document is None):
            raise ValueError("toml or json is required, and not both")
        return self


class ProveBody(_Act):
    """The scenario whose examples run: the text of its file, else the one that runs."""

    toml: Annotated[str, Field(max_length=500_000)] | None = None


class PlayBody(_Act):
    """Which example of the running scenario to play: its number, from 1, or its name.

    Those before it are played too, since they are its story; `from` names a later beginning.
    """

    example: _ExampleName
    begin: _ExampleName | None = Field(default=None, alias="from")


class RenameBody(_Act):
    """The new name of a world, for people."""

    name: WorldName


class ForkBody(_Act):
    """The id and the name of a copy; without them the next free id, and the name of the world."""

    id: WorldId | None = None
    name: WorldName | None = None


class MarkBody(_Act):
    """What to call a mark."""

    name: WorldName = ""


class ExportBody(_Act):
    """Which requests of the journal to write, and as what; without a choice the newest ones."""

    format: Annotated[Literal["curl", "har", "markdown", "pytest", "scenario"], Field(alias="as")]
    requests: Annotated[list[str], Field(min_length=1, max_length=500)] | None = None
    subject: str | None = None
    since: Instant | None = None


class NewReceiver(_Act):
    """A receiver inside: the status for each attempt at a message, after a delay.

    Later attempts get the last of `answers`. No event types means all of them.
    """

    answers: Annotated[
        list[Annotated[int, Field(ge=ANSWER_MIN, le=ANSWER_MAX)]],
        Field(min_length=1, max_length=ANSWERS_MAX),
    ] = [200]
    delay_ms: Annotated[int, Field(ge=0, le=DELAY_MS_MAX)] = 0
    description: Annotated[str, Field(max_length=255)] | None = None
    event_types: list[str] = []
