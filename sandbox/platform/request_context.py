"""The context of one request: the request itself, and the results of the steps so far."""

from typing import Any

from msgspec import Struct

from sandbox.domain.payments.outcomes import TransportFault
from sandbox.platform.operation_context import OperationContext
from sandbox.platform.routing import Match
from sandbox.platform.rows import Row
from sandbox.platform.wire import Body, header, list_header
from sandbox.worlds.journal import CLIENT, Origin
from sandbox.worlds.presented import PresentedKey
from sandbox.worlds.world import World

Headers = list[tuple[bytes, bytes]]


class IncomingRequest(Struct):
    """An incoming request. `body` is None if it was too large to read.

    `fields` are the headers by name, or None if one of them was sent more than once. `match` is
    what the route table has for the path. `origin` says who sent it, see `Entry`.
    """

    method: str
    path: str
    query_string: bytes
    headers: Headers
    body: bytes | None
    fields: dict[bytes, bytes] | None
    match: Match[Row] | None = None
    origin: Origin = CLIENT

    def header(self, name: bytes) -> bytes | None:
        """The value of a header, as `wire.header` finds it. Raises BadInput."""
        return header(self.headers, name) if self.fields is None else self.fields.get(name)

    @property
    def shown_headers(self) -> tuple[bytes | None, ...]:
        """The values of the journal's SHOWN_HEADERS: of one that was sent twice, the last."""
        fields = dict(self.headers) if self.fields is None else self.fields
        # Written out, because this is done for every request.
        return fields.get(b"user-agent"), fields.get(b"accept"), fields.get(b"content-type")

    def list_header(self, name: bytes) -> bytes | None:
        """The value of a header that is a list, as `wire.list_header` finds it."""
        return list_header(self.headers, name) if self.fields is None else self.fields.get(name)


class RequestContext(OperationContext, kw_only=True):
    """The state of a request in the pipeline; each step fills in what the next ones need.

    `foreign` are accounts of a filter that are out of reach and that a reading ignores.
    """

    world: World
    request_id: str
    incoming: IncomingRequest
    presented: PresentedKey
    step: str = "route"
    fault: TransportFault | None = None
    refusal: str | None = None
    notes: tuple[str, ...] = ()
    sent: dict[str, Any] | None = None
    foreign: frozenset[str] = frozenset()

    def note(self, note: str) -> None:
        """Add a note for the journal."""
        self.notes += (note,)

    def begin(self) -> None:
        """A unit of work of its own, in the world's present."""
        self.unit = self.world.store.begin()
        self.now = self.world.clock.now()

    def begin_again(self) -> None:
        """As if it had come now: nothing that was found out about the world counts any more."""
        self.begin()
        self.record = self.account = None
        self.foreign = frozenset()
        self.decisions, self.notes = self.decisions[:1], ()


class Answer(Struct):
    """The answer: status, body, headers. `fault` applies to its transport (assumed 5.3)."""

    status: int
    body: Body
    headers: Headers
    fault: TransportFault | None = None
    delay_ms: int = 0
