"""Step 5 of the pipeline: the body and the query, checked against the row's shape.

Bodies and queries are read only here. Ignored fields are noted, and secrets that must never be
stored are refused.
"""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from sandbox.domain import faults
from sandbox.domain.faults import Fault, Mistake, Refusal
from sandbox.domain.instants import from_ms, with_offset
from sandbox.domain.keys import KeyFormat
from sandbox.domain.payments.cards import CARD_FIELD, READER_FIELD
from sandbox.domain.payments.outcomes import APPROVED, why_not_for
from sandbox.domain.secrets import PRODUCTION_KEY, find_misplaced, may_hold_secret, write_out
from sandbox.domain.text import UnknownWord, nearest
from sandbox.domain.transport_faults import TRANSPORT_FAULTS
from sandbox.platform import wire
from sandbox.platform.context import RequestContext
from sandbox.platform.operation import Row, is_key_path
from sandbox.scenarios.outcome_choice import check_word

OUTCOME_HEADER: Final = b"x-sandbox-outcome"
"""Chooses an outcome in a request, and names the one chosen in an answer (assumed D3, 6.3)."""

_SECONDS_BELOW: Final = 100_000_000_000
"""Smaller values are seconds: as milliseconds they lie in 1970 to 1973."""

UNKNOWN_NOTED_MAX: Final = 5
"""How many unknown fields of a request to name; the rest are counted."""


def check_form(context: RequestContext, row: Row) -> None:
    """Parse the body and query into the row's models, and check the headers. Fills `context`."""
    context.step, where = "body", "header"
    try:
        accept = context.incoming.list_header(b"accept")
        if accept and not wire.accepts_json(accept):
            raise Refusal(faults.NOT_ACCEPTABLE)
        if accept is None:
            _missing_header(context, "Accept")
        context.forced = _forced_outcome(context, row)
        if row.query is not None:
            where = "query"
            context.query = _query(context, row.query(context.world.profile))
        if row.body is not None:
            where = "body"
            context.body = _body(context, row.body(context.world.profile))
    except (wire.BadInput, ValidationError) as error:
        raise malformed(context, error, where) from None


def malformed(
    context: RequestContext,
    error: wire.BadInput | ValidationError,
    where: str,
    fault: Fault = faults.VALIDATION_ERROR,
) -> Refusal:
    """Return the refusal of a malformed part of the request, as the readings show it.

    The spec fixes the form of errors about API keys. Source: assumed D35-validation, D35-detail.
    """
    text = wire.mistakes(error) if isinstance(error, ValidationError) else str(error)
    chosen = context.world.readings
    if is_key_path(context.incoming.path):
        return Refusal(faults.VALIDATION_ERROR, text)
    if chosen["validation_status"] == "unprocessable":
        fault = faults.UNPROCESSABLE
    if chosen["validation_detail"] == "text":
        return Refusal(fault, text)
    if isinstance(error, ValidationError):
        return Refusal(fault, text, mistakes=wire.list_mistakes(error, where))
    name, _, message = text.partition(": ")
    mistake: Mistake = {"type": "value_error", "loc": [where], "msg": text}
    if message and name.isidentifier():
        mistake |= {"loc": [where, name], "msg": message}
    return Refusal(fault, text, mistakes=[mistake])


def _body(context: RequestContext, shape: type[BaseModel]) -> BaseModel:
    """Return the body in the row's shape, without secrets outside the fields for them."""
    sent = _without_known_blanks(context, read_object(context))
    is_for_key = is_key_path(context.incoming.path)
    checked = shape.model_validate(_of_key(context, sent, shape) if is_for_key else sent)
    if context.may_hold_secret:
        _refuse_misplaced(context, sent, shape)
    _note_unknown(context, sent, shape, "body field")
    return checked


def _without_known_blanks(context: RequestContext, sent: dict[str, Any]) -> dict[str, Any]:
    """Return the body of an update without nulls and empty strings that change nothing.

    A client may send back the record that it read. Source: assumed D42.
    """
    record = context.record
    if record is None or context.incoming.method != "PUT":
        return sent
    given = {
        name: value
        for name, value in sent.items()
        if value not in (None, "") or getattr(record, name, True) not in (None, value)
    }
    address, present = given.get("address"), getattr(record, "address", None)
    if isinstance(address, dict):
        # A part that is left out is unset.
        given["address"] = {
            part: value
            for part, value in address.items()
            if value != "" or getattr(present, part, None) is not None
        }
    return given


def _of_key(
    context: RequestContext, sent: dict[str, Any], shape: type[BaseModel]
) -> dict[str, Any]:
    """Return the body about an API key, adapted to the readings.

    Source: assumed D35-fields, D35-offset.
    """
    chosen = context.world.readings
    if chosen["unknown_key_fields"] == "ignored":
        known = wire.fields_by_name(shape)
        sent = {name: value for name, value in sent.items() if name in known}
    expiry = sent.get("expires_at")
    if isinstance(expiry, str) and chosen["expiry_without_offset"] == "utc":
        sent = {**sent, "expires_at": with_offset(expiry)}
    return sent


def _query(context: RequestContext, shape: type[BaseModel]) -> BaseModel:
    """Return the query in the row's shape.

    A parameter must be sent once, unless it is repeatable.
    """
    sent, known = wire.parse_query(context.incoming.query_string), wire.fields_by_name(shape)
    repeatable: frozenset[str] = getattr(shape, "repeatable", frozenset())
    for name, values in sent.items():
        if len(values) > 1 and name in known.keys() - repeatable:
            raise wire.BadInput(f"{name}: must be given once")
    _note_unknown(context, sent, shape, "query parameter")
    for name in wire.name_filters(shape).intersection(sent):
        named = [value for value in sent[name] if not wire.is_unset(value)]
        if len(named) < len(sent[name]):
            context.note(f"the query parameter {name} is empty or null, as if it was not sent")
        sent[name] = named
        if not named:
            del sent[name]
    if context.foreign:  # assumed D35-foreign
        sent["account_id"] = [id for id in sent["account_id"] if id not in context.foreign]
    _clamp_limit(context, sent, shape)
    given = {name: values if name in repeatable else values[0] for name, values in sent.items()}
    query = shape.model_validate(given)
    for name in ("start_ms", "end_ms"):
        moment = getattr(query, name, None)
        if isinstance(moment, int) and 0 < moment < _SECONDS_BELOW:
            why = "were seconds sent instead of milliseconds?"
            context.note(f"the time {moment} is in {from_ms(moment):%B %Y}; {why}")
    return query


def _clamp_limit(
    context: RequestContext, sent: dict[str, list[str]], shape: type[BaseModel]
) -> None:
    """Lower a limit above the maximum of the list, or refuse it. Source: assumed D35-limit."""
    reading = context.world.readings["limit_above_maximum"]
    field, (limit, *_) = shape.model_fields.get("limit"), sent.get("limit", [""])
    if reading == "refused" or field is None or not limit.isdecimal():
        return
    maximum = min(bound.le for bound in field.metadata if hasattr(bound, "le"))
    if len(limit.lstrip("0")) <= len(str(maximum)) and int(limit) <= maximum:
        return
    if reading == "unprocessable":
        error = wire.BadInput(f"limit: must be at most {maximum}")
        raise malformed(context, error, "query", faults.UNPROCESSABLE)
    sent["limit"] = [str(maximum)]


def _note_unknown(
    context: RequestContext, sent: Mapping[str, Any], shape: type[BaseModel], what: str
) -> None:
    """Note ignored fields in the journal: they are probably misspelt. Source: assumed C8."""
    unknown = _find_unknown(sent, shape)
    for place, name, beside in unknown[:UNKNOWN_NOTED_MAX]:
        meant = _nearest_path(name[:80], beside)
        hint = f"; did you mean {place + meant!r}?" if meant else ""
        context.note(f"the {what} {place + name[:80]!r} is unknown and was ignored{hint}")
    if (more := len(unknown) - UNKNOWN_NOTED_MAX) > 0:
        context.note(f"and {more} more, of {what}s")


def _find_unknown(
    sent: Mapping[str, Any], shape: type[BaseModel], place: str = ""
) -> list[tuple[str, str, type[BaseModel]]]:
    """Return each field that the model ignores, also in its objects: place, name and model."""
    known, found = wire.fields_by_name(shape), []
    for name, value in sent.items():
        if name not in known:
            found.append((place, name, shape))
        elif (inner := known[name]) is not None and isinstance(value, dict):
            found += _find_unknown(value, inner, f"{place}{name}.")
    return found


def _nearest_path(name: str, shape: type[BaseModel]) -> str | None:
    """Return the field of the model, or of one of its objects, that was probably meant."""
    paths: dict[str, str] = {}
    for outer, inner in wire.fields_by_name(shape).items():
        if inner is not None:
            paths |= {part: f"{outer}.{part}" for part in wire.fields_by_name(inner)}
    paths |= {outer: outer for outer in wire.fields_by_name(shape)}
    meant = nearest(name, paths)
    return meant and paths[meant]


def read_object(context: RequestContext) -> dict[str, Any]:
    """Return the body as an object, parsed once. Raises Refusal or BadInput if it is malformed."""
    if context.sent is not None:
        return context.sent
    body = context.incoming.body
    if body is None:
        raise Refusal(faults.BODY_TOO_LARGE)
    coding = (context.incoming.header(b"content-encoding") or b"identity").lower()
    if body and coding != b"identity":
        what = f"Content-Encoding: {wire.quote(coding)}"
        context.note(f"{what} is not supported")
        why = f"{what}: send the body without an encoding"
        raise Refusal(faults.UNSUPPORTED_MEDIA_TYPE, why, source="assumed D46")
    content_type = context.incoming.header(b"content-type")
    if body and content_type and not wire.is_json(content_type):
        raise Refusal(faults.UNSUPPORTED_MEDIA_TYPE)
    if body and not content_type:
        _missing_header(context, "Content-Type")
    sent = wire.parse_object(body)
    key_format = context.world.profile.key_format
    context.may_hold_secret = may_hold_secret(body, key_format)
    if context.may_hold_secret and key_format.has_production_key(write_out(sent)):
        # Nothing of the body is stored (assumed D5).
        note = "a production key was sent to a sandbox, in a body; it was not stored"
        context.note(note)
        text, source = PRODUCTION_KEY.sentence, PRODUCTION_KEY.source
        raise Refusal(faults.VALIDATION_ERROR, text, reason=note, source=source)
    # Set only after the check, so that a second call refuses it again.
    context.sent = sent
    return sent


def _refuse_misplaced(
    context: RequestContext, sent: dict[str, Any], shape: type[BaseModel]
) -> None:
    """Refuse keys and card numbers outside the fields for them (assumed 6.4-everywhere).

    The row's shape names these fields. The operation checks their values.
    """
    profile, known, others = context.world.profile, wire.fields_by_name(shape), dict(sent)
    if profile.supplied_key_field in known:
        others.pop(profile.supplied_key_field, None)
    if READER_FIELD in known:
        _set_card_data_apart(others, profile.key_format)
    found = find_misplaced(others, profile.key_format)
    if found is not None:
        raise Refusal(faults.VALIDATION_ERROR, str(found), source=found.secret.source)


def _set_card_data_apart(fields: dict[str, Any], key_format: KeyFormat) -> None:
    """Take the reader's card data, which the operation checks, out of the body.

    Keys stay in. If two card fields differ, the operation checks the reader's own, and the other
    stays in.
    """
    reader = fields.get(READER_FIELD)
    reader = reader if isinstance(reader, dict) else {}
    within = reader.get(CARD_FIELD)
    data = within or fields.get(CARD_FIELD)
    if not isinstance(data, str) or key_format.has_whole_key(data):
        return
    if within:
        fields[READER_FIELD] = {**reader, CARD_FIELD: None}
    if fields.get(CARD_FIELD) == data:
        del fields[CARD_FIELD]


def _forced_outcome(context: RequestContext, row: Row) -> str | None:
    """Return the outcome that the client asks for by header: a known one (assumed 6.3, D4).

    It must be possible for what the row attempts (assumed D41). `approved` is accepted anywhere and
    changes nothing.
    """
    sent = context.incoming.header(OUTCOME_HEADER)
    if not sent:
        return None
    try:
        word = check_word(sent.decode("latin-1").strip())
    except UnknownWord as error:
        raise _refuse_outcome(str(error), "assumed D4") from None
    why_not: str | None = None
    if word in TRANSPORT_FAULTS:
        why_not = context.world.why_not(word, [row])
    elif row.attempts is not None:
        why_not = why_not_for(word, row.attempts)
    elif word != APPROVED.key:
        why_not = (
            f"{word} cannot happen here: no processor is asked; only a transport fault can: "
            f"{', '.join(TRANSPORT_FAULTS)}"
        )
    if why_not is not None:
        raise _refuse_outcome(why_not, "assumed D41")
    return word


def _refuse_outcome(why: str, source: str) -> Refusal:
    return Refusal(faults.VALIDATION_ERROR, f"{OUTCOME_HEADER.decode()}: {why}", source=source)


def _missing_header(context: RequestContext, name: str) -> None:
    """Note a missing header, or refuse it if a reading says so (assumed C7, D35-headers)."""
    if context.world.readings["missing_headers"] == "refused":
        raise Refusal(faults.VALIDATION_ERROR, f"the {name} header is required", source="spec 5")
    context.note(f"the {name} header is missing; the spec demands it (spec 5)")
