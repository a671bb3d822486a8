"""Step 5 of the way of a request: what was sent, held against the row's shape.

Bodies and queries are read here, and nowhere else; what was ignored in them is noted, and what
must never be kept is refused.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import ValidationError

from sandbox.api import wire
from sandbox.api.rows import Row
from sandbox.api.trip import Trip
from sandbox.api.wire import BadInput
from sandbox.domain.faults import (
    BODY_TOO_LARGE,
    NOT_ACCEPTABLE,
    UNSUPPORTED_MEDIA_TYPE,
    VALIDATION_ERROR,
    Refusal,
)
from sandbox.domain.payments import pans
from sandbox.domain.payments.pans import CARD_FIELD, READER_FIELD
from sandbox.domain.words import did_you_mean
from sandbox.scenarios.choosing import UnknownOutcome, check_word
from sandbox.world.journal import unescaped

if TYPE_CHECKING:
    from pydantic import BaseModel

OUTCOME_HEADER: Final = b"x-sandbox-outcome"
"""Chooses an outcome in a request, and names the one chosen in an answer (assumed D3, 6.3)."""

UNKNOWN_NOTED_MAX: Final = 5
"""So many unknown fields of a request are noted; the rest are counted."""


def check_form(trip: Trip, row: Row) -> None:
    """Body and query in the row's shapes, and what the headers demand. Fills `trip`."""
    try:
        accept = trip.asked.list_header(b"accept")
        if accept and not wire.accepts_json(accept):
            raise Refusal(NOT_ACCEPTABLE)
        if accept is None:
            _missing_header(trip, "Accept")
        if row.is_attempt:
            trip.forced = _forced_outcome(trip)
        if row.query is not None:
            trip.query = _query(trip, row.query(trip.world.profile))
        if row.body is not None:
            trip.body = _body(trip, row.body(trip.world.profile))
    except BadInput as error:
        raise Refusal(VALIDATION_ERROR, str(error)) from None
    except ValidationError as error:
        raise Refusal(VALIDATION_ERROR, wire.mistakes(error)) from None


def _body(trip: Trip, shape: "type[BaseModel]") -> "BaseModel":
    """The body in the row's shape, and no key in it where none belongs."""
    sent, body = read_object(trip), trip.asked.body or b""
    checked = shape.model_validate_json(body)
    has_escapes = b"\\u" in body
    if has_escapes or trip.world.profile.key_format.hint_bytes in body:
        _refuse_misplaced_key(trip, body, sent)
    trip.may_hold_cards = has_escapes or pans.may_mention(body)
    if trip.may_hold_cards:
        _refuse_misplaced_card(sent, shape)
    _note_unknown(trip, sent, shape, "body field")
    return checked


def _query(trip: Trip, shape: "type[BaseModel]") -> "BaseModel":
    """The query in the row's shape. A parameter that it holds once must not be sent twice."""
    sent = wire.parse_query(trip.asked.query_string)
    repeatable: frozenset[str] = getattr(shape, "repeatable", frozenset())
    for name, values in sent.items():
        if len(values) > 1 and name not in repeatable and name in wire.field_names(shape):
            raise BadInput(f"{name}: must be given once")
    _note_unknown(trip, sent, shape, "query parameter")
    return shape.model_validate(
        {name: values if name in repeatable else values[0] for name, values in sent.items()}
    )


def _note_unknown(trip: Trip, sent: Mapping[str, Any], shape: "type[BaseModel]", what: str) -> None:
    """Say in the journal what was ignored (assumed C8): most likely it is misspelt."""
    known = wire.field_names(shape)
    if known.issuperset(sent):
        return
    unknown = [name for name in sent if name not in known]
    for name in unknown[:UNKNOWN_NOTED_MAX]:
        hint = did_you_mean(name[:80], known)
        trip.notes.append(f"the {what} {name[:80]!r} is unknown and was ignored{hint}")
    if len(unknown) > UNKNOWN_NOTED_MAX:
        trip.notes.append(f"and {len(unknown) - UNKNOWN_NOTED_MAX} more, of {what}s")


def read_object(trip: Trip) -> dict[str, Any]:
    """The body as an object, parsed once; all that can be wrong with its form is refused."""
    if trip.sent is not None:
        return trip.sent
    body = trip.asked.body
    if body is None:
        raise Refusal(BODY_TOO_LARGE)
    content_type = trip.asked.header(b"content-type")
    if body and content_type and not wire.is_json(content_type):
        raise Refusal(UNSUPPORTED_MEDIA_TYPE)
    if body and not content_type:
        _missing_header(trip, "Content-Type")
    trip.sent = wire.parse_object(body)
    if b"\\u" in body or trip.world.profile.key_format.hint_bytes in body:
        _refuse_production_key(trip, body)
    return trip.sent


def _refuse_production_key(trip: Trip, body: bytes) -> None:
    """Nothing of a production key is kept, wherever in a body it stands (assumed D5)."""
    if trip.world.profile.key_format.mentions_production(unescaped(body)):
        note = "a production key was sent to a sandbox, in a body; nothing of it was kept"
        trip.notes.append(note)
        raise Refusal(
            VALIDATION_ERROR,
            "a production key must never be sent to a sandbox",
            reason=note,
            source="assumed D5",
        )


def _refuse_misplaced_key(trip: Trip, body: bytes, sent: dict[str, Any]) -> None:
    """No key is kept as part of a name or a note: as such it would be shown (decision 8)."""
    profile = trip.world.profile
    if profile.key_format.mentions_whole_key(unescaped(body)):
        # The one place in a body where a key belongs.
        others = {name: sent[name] for name in sent if name != profile.supplied_key_field}
        if profile.key_format.mentions_whole_key(str(others)):
            raise Refusal(VALIDATION_ERROR, "an API key stands where none belongs")


def _refuse_misplaced_card(sent: dict[str, Any], shape: "type[BaseModel]") -> None:
    """Card numbers stand in the one field for them, which takes those of test cards alone.

    Source: assumed 6.4.
    """
    others = dict(sent)
    if READER_FIELD in wire.field_names(shape):
        reader = others.get(READER_FIELD)
        if isinstance(reader, dict):
            others[READER_FIELD] = reader | {CARD_FIELD: None}
        others.pop(CARD_FIELD, None)
    if pans.mentions(str(others)):
        raise Refusal(
            VALIDATION_ERROR,
            "a card number stands where none belongs",
            source="assumed 6.4-unknown",
        )


def _forced_outcome(trip: Trip) -> str | None:
    """The outcome that the client asks for by header, a known one (assumed 6.3, D4)."""
    sent = trip.asked.header(OUTCOME_HEADER)
    if not sent:
        return None
    try:
        return check_word(sent.decode("latin-1").strip())
    except UnknownOutcome as error:
        raise Refusal(
            VALIDATION_ERROR, f"{OUTCOME_HEADER.decode()}: {error}", source="assumed D4"
        ) from None


def _missing_header(trip: Trip, name: str) -> None:
    """Missing headers are forgiven, unless the world's switch says otherwise (assumed C7)."""
    if trip.world.switches["strict_headers"]:
        raise Refusal(VALIDATION_ERROR, f"the {name} header is required", source="spec 5")
    trip.notes.append(f"the {name} header is missing; the spec demands it (spec 5)")
