"""The platform as an ASGI application: bytes in, the pipeline, bytes out, a journal entry."""

import logging
from dataclasses import dataclass
from time import perf_counter
from typing import Final

from starlette.types import Receive, Scope, Send

from sandbox.domain import faults
from sandbox.domain.faults import Refusal
from sandbox.domain.keys import ApiKey, KeyFormat, KeyKind, KeyUsage
from sandbox.domain.operations import NO_CONTENT
from sandbox.platform import gateway, responses, wire
from sandbox.platform.access import usable
from sandbox.platform.context import Answer, Headers, IncomingRequest, PresentedKey, RequestContext
from sandbox.platform.form import OUTCOME_HEADER
from sandbox.platform.forwarding import Forwarder
from sandbox.platform.gateway import Dropped
from sandbox.platform.pipeline import answer_request, methods_of
from sandbox.platform.recorder import Recorder
from sandbox.platform.routing import match_of, path_of
from sandbox.platform.security import HEADERS_OF, AnswerKind
from sandbox.store.files.port import StoreError, Unavailable
from sandbox.worlds.background import Saver
from sandbox.worlds.due_timers import TIMERS_IN_A_ROW, catch_up, fire_due
from sandbox.worlds.elsewhere import Elsewhere, WorldLost
from sandbox.worlds.journal import REASON_CHARS_MAX
from sandbox.worlds.registry import Worlds
from sandbox.worlds.world import World

AGAIN_LATER: Final = (429, 503)
"""Statuses with a Retry-After header."""

log = logging.getLogger("sandbox.platform")

_TWO_KEYS: Final = PresentedKey(reason="two different API keys were sent", source="assumed C4")
_UNKNOWN: Final = PresentedKey(reason="no world of this server has the key that was sent")
_NOT_FOUND: Final = {
    KeyKind.PRODUCTION: PresentedKey(
        reason="a production key was sent to a sandbox; it was not stored",
        source="assumed D5",
        is_production=True,
    ),
    KeyKind.MALFORMED: PresentedKey(
        reason="what was sent does not have the form of an API key", source="spec 2.1-format"
    ),
}
"""Keys of a kind that no world ever has, with the reason."""


KEYS_MAX: Final = 1_000
"""How many recognized keys to remember before all are forgotten."""


@dataclass(eq=False, repr=False)
class Platform:
    """Answers every request of the platform, for all worlds."""

    worlds: Worlds
    explain_headers: bool
    body_bytes_max: int
    log_requests: bool
    elsewhere: Elsewhere | None

    def __post_init__(self) -> None:
        self._key_header = self.worlds.profile.api_key_header_bytes
        self._key_format = self.worlds.profile.key_format
        self._forwarder = None
        if self.elsewhere is not None:
            self._forwarder = Forwarder(self.elsewhere, self.worlds, self.body_bytes_max)
        self._known: dict[bytes, tuple[PresentedKey, World, ApiKey]] = self.worlds.recognized
        self._recorder = Recorder(self.worlds, log_requests=self.log_requests)

    async def respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whether or not its path leads to an operation."""
        match, headers = match_of(scope), scope["headers"]
        incoming = IncomingRequest(
            scope["method"], path_of(scope), scope["query_string"], headers, b"", match=match
        )
        incoming.fields, row = wire.by_name(headers), incoming.row
        incoming.has_unread_body = row is not None and row.body is not None
        try:
            presented = await self._find_world(incoming, scope, receive, send)
        except wire.ClientGone:
            return
        if presented is None:
            return
        # A request without a known key goes into the journal of `default` (assumed D25).
        world = presented.world or self.worlds.default
        answer = await self.answer(incoming, presented, world)
        if incoming.reserved_keys and self.elsewhere is not None:
            await self.elsewhere.free_keys(incoming.reserved_keys)
        await responses.send_answer(answer, scope, receive, send)
        # Immediate follow-ups come after the answer: a batch has its result now (assumed D21).
        if world.store.timers.soonest is not world.watched:
            await catch_up(world)

    async def _find_world(
        self, incoming: IncomingRequest, scope: Scope, receive: Receive, send: Send
    ) -> PresentedKey | None:
        """Return the key of a request whose world is here, and read the body if the key is usable.

        Returns None once another server has answered. Raises ClientGone. A body is read only if the
        key is usable; otherwise the request is refused at once, and the pipeline applies the same
        rule again. Source: assumed D25-bodies.
        """
        if (forwarder := self._forwarder) is not None:
            await forwarder.take_turn()
        while True:
            presented = self._identify(incoming)
            if forwarder is not None and (presented.world is None or forwarder.has_keys(incoming)):
                if await forwarder.forward(incoming, scope, receive, send):
                    return None
                presented = self._identify(incoming)
            if not (incoming.has_unread_body and self._is_usable(presented)):
                return presented
            # While it was read, the key may have moved to another world or server, or be deleted.
            await incoming.read_body(receive, self.body_bytes_max)

    async def refuse(self, scope: Scope, send: Send, refusal: Refusal) -> None:
        """Answer a request outside all worlds, without a journal entry."""
        answer = responses.render_refusal(refusal, path_of(scope), self.worlds.profile)
        await responses.send_whole(send, answer.status, answer.headers, answer.body)

    async def answer(
        self, incoming: IncomingRequest, presented: PresentedKey, world: World, id: str = ""
    ) -> Answer:
        """Return the answer to a request, once due timers fired and its changes are written.

        Never raises: a defect of the sandbox is logged and answered with 500.
        """
        now = world.clock.now()
        if fired := fire_due(world, now):
            if len(fired) == TIMERS_IN_A_ROW:
                await catch_up(world)
            now = world.clock.now()
        started, journal = perf_counter(), world.journal
        counters = journal.counters
        context = RequestContext(
            unit=world.store.begin(),
            now=now,
            request_id=id or journal.next_id(),
            world=world,
            incoming=incoming,
            presented=presented,
        )
        try:
            status, body = await answer_request(context, self.worlds)
        except Dropped:
            context.events = []
            # The status of a connection that was closed without an answer.
            status, body = 0, b""
        except Refusal as refusal:
            status, body = self._refuse(context, refusal)
        except Exception as error:
            log.exception("request %s failed: a defect of the sandbox", context.request_id)
            reason = f"{type(error).__name__}; the log has the traceback"
            status, body = self._refuse(context, Refusal(faults.INTERNAL_ERROR, reason=reason))
        if (late := context.fault) is not None and late.when == "after" and late.answer is not None:
            # Changes and events stay.
            why = f"{late.key} was requested"
            lost = Refusal(late.answer, reason=why, step="outcome", is_recorded=True)
            status, body = self._refuse(context, lost)
        if context.caller is not None and context.unit.is_open:
            # Nothing else was changed, but the key was used.
            world.store.put(KeyUsage(key_id=context.caller.key.id, last_used_at=context.now))
        headers = self._headers(context, status, body)
        answer = Answer(status, body, headers, context.fault, context.late_ms)
        if (fault := context.fault) is not None:
            context.note(f"transport fault {fault.key}: {fault.effect}")
        duration_ms = (perf_counter() - started) * 1000
        # A reset clears the journal, and numbers the requests after it from 1 again.
        is_journaled = journal.counters is counters
        self._recorder.record(context, status, body, duration_ms, is_journaled=is_journaled)
        # A scenario may have webhooks of this request come before its answer (assumed D22).
        while context.request_id in world.outbox.pre_answer.values():
            await world.wait_for_change()
        saver = self.worlds.saver
        return answer if saver is None else await self._once_saved(answer, saver, incoming, world)

    async def _once_saved(
        self, answer: Answer, saver: Saver, incoming: IncomingRequest, world: World
    ) -> Answer:
        """Return the answer once its changes are written, or a refusal if they cannot be.

        Reads still work while a file cannot be written. If another server may own the world by now,
        the answer is 503, and the client has to ask again to learn whether anything changed.
        """
        try:
            await saver.saved(world)
        except (WorldLost, Unavailable) as error:
            if isinstance(error, WorldLost) and world is self.worlds.likeness:
                return answer
            fault = faults.UNAVAILABLE
        except StoreError:
            # The log has the reason; the client must not learn about files.
            if incoming.is_read:
                return answer
            fault = faults.NOT_WRITTEN
        else:
            return answer
        return responses.render_refusal(Refusal(fault), incoming.path, self.worlds.profile)

    def _identify(self, incoming: IncomingRequest) -> PresentedKey:
        """Return the world and key that the request's key names, whether or not it may be used."""
        try:
            value = incoming.header(self._key_header)
        except wire.BadInput:
            return _TWO_KEYS
        if not value:
            hint = _key_hint(incoming.headers, self._key_format)
            return PresentedKey(reason=f"no API key was sent{hint}")
        # Whitespace around a value is not part of it (RFC 9110, 5.5); keys are pasted from files.
        return self._recognize(value.rstrip(b" \t"))

    def _recognize(self, sent: bytes) -> PresentedKey:
        """Return the key that was sent, with its world, or the reason why it has none.

        It is remembered while its world has it. Whether it may be used is checked every time.
        """
        if (known := self._known.get(sent)) is not None:
            presented, world, key = known
            if world.store.get(ApiKey, key.id) is key and self.worlds.get(world.id) is world:
                return presented
            del self._known[sent]
        parsed = self._key_format.parse(sent.decode("latin-1"))
        if (holder := self.worlds.holder(parsed)) is None:
            return _NOT_FOUND.get(parsed.kind, _UNKNOWN)
        if len(self._known) >= KEYS_MAX:
            self._known.clear()
        presented = PresentedKey(*holder)
        self._known[sent] = presented, *holder
        return presented

    def _is_usable(self, presented: PresentedKey) -> bool:
        world = presented.world
        if world is None:
            return False
        now = world.clock.now()
        fire_due(world, now)
        try:
            usable(presented, world.store, now)
        except Refusal:
            return False
        return True

    def _refuse(self, context: RequestContext, refusal: Refusal) -> tuple[int, bytes]:
        step = refusal.step or context.step
        reason = refusal.reason[:REASON_CHARS_MAX]
        context.explain(step, str(refusal.fault.status), reason, refusal.source)
        if not refusal.is_recorded:
            context.events = []
        context.refusal = refusal.fault.code
        was_sent = (b"transfer-encoding", b"content-length")
        if step == "authenticate" and any(
            name in was_sent and value != b"0" for name, value in context.incoming.headers
        ):
            context.note("the body was neither read nor stored: the key is checked first")
        body = responses.error_body(refusal, context.incoming.path, self.worlds.profile)
        return refusal.fault.status, body

    def _headers(self, context: RequestContext, status: int, body: bytes) -> Headers:
        headers = [] if status == NO_CONTENT else responses.headers_of(body)
        if self.explain_headers:
            headers.append((b"x-sandbox-request-id", context.request_id.encode()))
            if context.choice is not None:
                headers.append((OUTCOME_HEADER, responses.explain(context.choice)))
        match, row = context.incoming.match, context.incoming.row
        if row is not None and row.is_key_shown:
            headers += HEADERS_OF[AnswerKind.KEY]
        if context.quota is not None:
            headers += gateway.headers_of(context, context.quota)
        if status in AGAIN_LATER:
            headers.append((b"retry-after", b"%d" % context.retry_after_s))
        if status == faults.UNSUPPORTED_MEDIA_TYPE.status:
            # RFC 9110, 15.5.16
            headers.append((b"accept-encoding", b"identity"))
        if status == faults.METHOD_NOT_ALLOWED.status and match and (allow := methods_of(match)):
            headers.append((b"allow", allow.encode()))
        return headers


def _key_hint(headers: Headers, form: KeyFormat) -> str:
    """Return a hint like ` in its header, but authorization has one`, or nothing."""
    for name, value in headers:
        if form.hint_bytes in value and form.has_key(value.decode("latin-1")):
            return f" in its header, but {name.decode('latin-1')} has one"
    return ""
