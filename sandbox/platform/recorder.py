"""The record of an answered request: a journal entry, counters, and a line of the log."""

import logging
import re
from functools import lru_cache, partial
from typing import Final
from urllib.parse import unquote

from sandbox.domain import keys
from sandbox.platform.context import RequestContext
from sandbox.platform.operation import Row
from sandbox.platform.security import why_foreign
from sandbox.scenarios.matcher import shorten_near_misses
from sandbox.worlds import journal
from sandbox.worlds.registry import Worlds

log = logging.getLogger("sandbox.platform")
requests_log = logging.getLogger("sandbox.requests")

_OF_A_VALUE: Final = re.compile("%(?=2[56Bb])")
"""The beginning of an encoded `%`, `&` or `+`. Decoded, it would not be a part of its value."""

_PATHS_MAX: Final = 1_000
"""How many masked paths to remember."""

_HEADERS_MAX: Final = 256
"""How many combinations of headers to remember."""


class Recorder:
    """Records the requests of all worlds."""

    def __init__(self, worlds: Worlds, *, log_requests: bool) -> None:
        self._worlds = worlds
        self._log_requests = log_requests
        # Clients send the same ones again and again. Without this, a read takes a fifth longer.
        self._shown_path = lru_cache(_PATHS_MAX)(
            partial(worlds.profile.scrub_start, chars_max=journal.ADDRESS_CHARS_MAX)
        )
        self._shown_headers = lru_cache(_HEADERS_MAX)(partial(journal.show_headers, worlds.profile))

    def record(
        self,
        context: RequestContext,
        status: int,
        body: bytes,
        duration_ms: float,
        *,
        is_journaled: bool,
    ) -> None:
        """Count and log the request, and add it to the journal unless a reset has begun another."""
        incoming, key = context.incoming, context.presented.key
        row = incoming.row
        entry = self._describe(context, row, status, body, duration_ms)
        # Requests of other origins' pages without a key are not journaled (assumed D25-origins).
        is_own = key is not None or why_foreign({"headers": incoming.headers}) is None
        if is_journaled and is_own:
            context.world.journal.add(entry)
        if self._log_requests:
            self._log(entry, context.world.id)
        if context.presented.is_production:
            log.warning("request %s: %s", context.request_id, context.presented.reason)
        if incoming.origin != "console":
            self._count(context, row, status, duration_ms / 1000)

    def _describe(
        self, context: RequestContext, row: Row | None, status: int, body: bytes, duration_ms: float
    ) -> journal.Entry:
        """Return the entry of a request, without secrets."""
        incoming, key = context.incoming, context.presented.key
        profile, path = self._worlds.profile, incoming.path
        if row is None or row.path != path:
            path = self._shown_path(path)
        sent_query = incoming.query_string.decode("latin-1")
        query = self._show_query(sent_query) if sent_query else ""
        if query or context.refusal is not None:
            self._mask_reasons(context)
        # Bodies of requests without a usable key are not stored (assumed D25-bodies).
        sent = incoming.body if context.caller is not None else None
        secrets = frozenset[str]() if row is None else row.secrets
        if context.sent is not None and secrets.isdisjoint(context.sent):
            secrets = frozenset()
        # A body that was not accepted is always searched.
        may_hold_secret = context.may_hold_secret or context.body is None
        state = context.world.state
        return journal.Entry(
            context.request_id,
            context.now,
            incoming.method,
            path,
            None if row is None else row.name,
            None if key is None else keys.mask(key.key_last4),
            None if key is None else key.id,
            None if key is None else key.account_id,
            incoming.origin,
            self._shown_headers(incoming.shown_headers),
            query,
            status,
            duration_ms,
            journal.capture_body(sent, profile, secrets, may_hold_secret=may_hold_secret),
            journal.capture_answer(body, profile),
            tuple(context.decisions),
            tuple(context.events),
            tuple(context.notes),
            context.choice,
            shorten_near_misses(context.near_misses),
            state.scenario,
            state.maintenance_until,
            state.switches,
            state.readings,
        )

    def _show_query(self, sent: str) -> str:
        """Return a query decoded, with secrets masked. What was not masked can be sent again."""
        decoded = unquote(sent)
        shown = self._worlds.profile.scrub_start(decoded, journal.ADDRESS_CHARS_MAX)
        return unquote(_OF_A_VALUE.sub("%25", sent)) if shown == decoded else shown

    def _mask_reasons(self, context: RequestContext) -> None:
        """Mask secrets that reasons and notes quote from the request."""
        scrub = self._worlds.profile.scrub_start
        context.decisions = [
            (step, word, scrub(why, journal.REASON_CHARS_MAX), source)
            for step, word, why, source in context.decisions
        ]
        context.notes = [scrub(note, journal.REASON_CHARS_MAX) for note in context.notes]

    def _count(
        self, context: RequestContext, row: Row | None, status: int, duration_s: float
    ) -> None:
        """Count the request for metrics, and for the coverage of the key's world."""
        world = context.presented.world
        if context.incoming.match is None or world is None:
            self._worlds.measured.count_request(None, status, None)
            self._worlds.coverage.answered(None, status, context.refusal, None)
            return
        name = None if row is None or row.run is None else row.name
        self._worlds.measured.count_request(name, status, duration_s)
        world.coverage.answered(name, status, context.refusal, context.choice)

    def _log(self, entry: journal.Entry, world_id: str) -> None:
        _, _, why, source = entry.decisions[-1]
        requests_log.info(
            "%s %s %d %s %s (%s)",
            entry.method,
            entry.path,
            entry.status,
            entry.id,
            self._worlds.profile.scrub(why),
            source,
            extra={
                "request": {
                    "request_id": entry.id,
                    "world": world_id,
                    "method": entry.method,
                    "path": entry.path,
                    "route": entry.route,
                    "status": entry.status,
                    "duration_ms": round(entry.duration_ms, 3),
                }
            },
        )
