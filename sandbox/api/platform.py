"""The platform as an ASGI application: bytes in, the pipeline, bytes out, a journal entry."""

import logging
from collections.abc import Iterable
from time import perf_counter
from urllib.parse import unquote

from starlette.types import Receive, Scope, Send

from sandbox.api.errors import error_body
from sandbox.api.pipeline import NO_CONTENT, carry_out, methods_of
from sandbox.api.router import Router
from sandbox.api.routes import OPERATIONS
from sandbox.api.rows import Row, is_key_path
from sandbox.api.trip import Answer, Asked, Presented, Trip
from sandbox.api.wire import BadInput, ClientGone, header, read_body
from sandbox.domain import keys
from sandbox.domain.faults import INTERNAL_ERROR, METHOD_NOT_ALLOWED, Refusal
from sandbox.domain.keys import KeyKind
from sandbox.world.journal import ADDRESS_CHARS_MAX, Entry, captured
from sandbox.world.registry import Worlds

log = logging.getLogger("sandbox.api")
requests_log = logging.getLogger("sandbox.requests")

_NO_KEY = Presented(None, None, "no API key was sent", "spec 5.1")
_TWO_KEYS = Presented(None, None, "two different API keys were sent", "assumed C4")
_MALFORMED = Presented(
    None, None, "what was sent does not have the form of an API key", "spec 2.1-format"
)
_UNKNOWN = Presented(None, None, "no world of this server has the key that was sent", "spec 5.1")
_PRODUCTION = Presented(
    None,
    None,
    "a production key was sent to a sandbox; nothing of it was kept",
    "assumed D5",
    is_production=True,
)


class Platform:
    """Answers every request of the platform's surface, for all worlds."""

    def __init__(
        self,
        worlds: Worlds,
        *,
        rows: Iterable[Row] = OPERATIONS,
        explain_headers: bool = True,
        log_requests: bool = False,
    ) -> None:
        self._worlds = worlds
        self._router = Router(rows)
        self._key_header = worlds.profile.api_key_header_bytes
        self._key_format = worlds.profile.key_format
        self._key_hint = worlds.profile.key_format.hint.encode()
        self._explain_headers = explain_headers
        self._log_requests = log_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. Only HTTP is spoken here."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        match = self._router.match(scope["method"], scope["path"])
        body: bytes | None = b""
        if match is not None and match.row is not None and match.row.body is not None:
            try:
                body = await read_body(receive)
            except ClientGone:
                return
        answer = self.answer(
            Asked(
                scope["method"],
                scope["path"],
                scope["query_string"],
                scope["headers"],
                body,
                match,
            )
        )
        await send(
            {
                "type": "http.response.start",
                "status": answer.status,
                "headers": answer.headers,
            }
        )
        await send({"type": "http.response.body", "body": answer.body})

    def answer(self, asked: Asked) -> Answer:
        """The answer to a request. Never raises; a defect of ours is a logged 500."""
        started = perf_counter()
        presented = self._identify(asked)
        # What comes without a known key stands in the journal of `default` (assumed D25).
        world = presented.world or self._worlds.default
        trip = Trip(
            unit=world.store.begin(),
            now=world.clock.now(),
            request_id=world.journal.next_id(),
            world=world,
            asked=asked,
            presented=presented,
        )
        try:
            status, body = carry_out(trip, self._worlds)
        except Refusal as refusal:
            status, body = self._refused(trip, refusal)
        except Exception as error:
            log.exception("request %s failed: a defect of the sandbox", trip.request_id)
            reason = f"{type(error).__name__}; the log has the traceback"
            status, body = self._refused(trip, Refusal(INTERNAL_ERROR, reason=reason))
        self._record(trip, status, body, (perf_counter() - started) * 1000)
        return Answer(status, body, self._headers(trip, status, body))

    def _identify(self, asked: Asked) -> Presented:
        """The world and key that the request's key names, whether or not it may be used."""
        try:
            value = header(asked.headers, self._key_header)
        except BadInput:
            return _TWO_KEYS
        if not value:
            return _NO_KEY
        parsed = self._key_format.parse(value.decode("latin-1"))
        if parsed.kind is KeyKind.PRODUCTION:
            return _PRODUCTION
        if parsed.kind is KeyKind.MALFORMED:
            return _MALFORMED
        holder = self._worlds.holder(parsed)
        return Presented(*holder) if holder else _UNKNOWN

    def _refused(self, trip: Trip, refusal: Refusal) -> tuple[int, bytes]:
        step = refusal.step or trip.step
        trip.decided(step, str(refusal.fault.status), refusal.reason, refusal.source)
        trip.events.clear()
        body = error_body(refusal, self._worlds.profile, is_for_keys=is_key_path(trip.asked.path))
        return refusal.fault.status, body

    def _headers(self, trip: Trip, status: int, body: bytes) -> list[tuple[bytes, bytes]]:
        headers = []
        if status != NO_CONTENT:
            headers.append((b"content-type", b"application/json"))
            headers.append((b"content-length", b"%d" % len(body)))
        if self._explain_headers:
            headers.append((b"x-sandbox-request-id", trip.request_id.encode()))
        if status == METHOD_NOT_ALLOWED.status and trip.asked.match:
            methods = methods_of(trip.asked.match)
            if methods:
                headers.append((b"allow", methods.encode()))
        return headers

    def _record(self, trip: Trip, status: int, body: bytes, duration_ms: float) -> None:
        asked, key = trip.asked, trip.presented.key
        scrub = self._key_format.scrub
        row = asked.match.row if asked.match else None
        query = unquote(asked.query_string.decode("latin-1")) if asked.query_string else ""
        entry = Entry(
            trip.request_id,
            trip.now,
            asked.method,
            scrub(asked.path)[:ADDRESS_CHARS_MAX],
            scrub(query)[:ADDRESS_CHARS_MAX],
            row.name if row else None,
            keys.mask(key.key_last4) if key else None,
            key.account_id if key else None,
            status,
            duration_ms,
            captured(asked.body, scrub, self._key_hint, row.secrets if row else ()),
            captured(body, scrub, self._key_hint),
            trip.decisions,
            tuple(trip.events),
            tuple(trip.notes),
        )
        trip.world.journal.add(entry)
        if self._log_requests:
            last = trip.decisions[-1]
            requests_log.info(
                "%s %s %d %s %s (%s)",
                asked.method,
                entry.path,
                status,
                trip.request_id,
                scrub(last[2]),
                last[3],
            )
        if trip.presented.is_production:
            log.warning("request %s: %s", trip.request_id, trip.presented.reason)
