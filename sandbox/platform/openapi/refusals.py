"""The refusals of each row, and their bodies. Source: spec 7."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from sandbox.domain.faults import (
    ACCOUNT_BLOCKED,
    AUTHENTICATION_FAILED,
    BODY_TOO_LARGE,
    NOT_ACCEPTABLE,
    NOT_FOUND,
    NOT_WRITTEN,
    PERMISSION_DENIED,
    RATE_LIMITED,
    RETIRED,
    UNPROCESSABLE,
    UNSUPPORTED_MEDIA_TYPE,
    VALIDATION_ERROR,
    Fault,
)
from sandbox.domain.payments.outcomes import TRANSPORT_FAULTS
from sandbox.domain.profile import Profile
from sandbox.domain.readings import (
    LIMIT_ABOVE_MAXIMUM,
    VALIDATION_DETAIL,
    VALIDATION_STATUS,
    in_force,
)
from sandbox.platform.openapi.schemas import Schema, record
from sandbox.platform.operation import Row, is_key_path

_ANYWHERE: Final = (
    VALIDATION_ERROR,
    AUTHENTICATION_FAILED,
    PERMISSION_DENIED,
    NOT_FOUND,
    NOT_ACCEPTABLE,
)
_FAULTS_OF_A_NAME_MAX: Final = 2
_TEXT: Final[Schema] = {"type": "string"}
_PLACE: Final[Schema] = {"type": "array", "items": {"type": ["string", "integer"]}}
_MISTAKE: Final[Schema] = record({"type": _TEXT, "loc": _PLACE, "msg": _TEXT})


def refusals_of(row: Row) -> tuple[Fault, ...]:
    """Everything that the row may refuse with, in the order of its statuses."""
    if row.run is None:
        return (RETIRED,)
    found = [*_ANYWHERE, *row.refuses]
    if row.body is not None:
        found += [BODY_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE]
    if row.stops_at_block:
        found.append(ACCOUNT_BLOCKED)
    if row.is_attempt:
        found += [fault.answer for fault in TRANSPORT_FAULTS.values() if fault.answer is not None]
    if row.method != "GET":
        found.append(NOT_WRITTEN)
    return tuple(sorted(found, key=lambda fault: fault.status))


def responses_of(row: Row, profile: Profile, shared: Schema) -> Schema:
    """The responses of the row's refusals, by status; what many rows answer goes into `shared`."""
    by_status: dict[int, list[Fault]] = {}
    is_for_keys = is_key_path(row.path)
    for fault in (*refusals_of(row), *_by_readings(row, profile)):
        by_status.setdefault(fault.status, []).append(fault)
    found = {}
    for status, faults in by_status.items():
        shown = _response(faults, profile, is_for_keys=is_for_keys)
        name = _name(faults, is_for_keys=is_for_keys)
        codes = {fault.code for fault in faults}
        if len(codes) == len(faults) <= _FAULTS_OF_A_NAME_MAX:
            shared[name] = shown
            shown = {"$ref": f"#/components/responses/{name}"}
        found[str(status)] = shown
    return found


def _by_readings(row: Row, profile: Profile) -> Iterator[Fault]:
    """What the row refuses with besides, because of the profile's readings."""
    readings = in_force(profile.readings, {})
    is_limited = row.query is not None and readings[LIMIT_ABOVE_MAXIMUM] == "unprocessable"
    is_malformed = readings[VALIDATION_STATUS] == "unprocessable"
    if row.run is not None and not is_key_path(row.path) and (is_malformed or is_limited):
        yield UNPROCESSABLE
    for reading, value, fault in row.refuses_where:
        if readings[reading] == value:
            yield fault


def _name(faults: list[Fault], *, is_for_keys: bool) -> str:
    if faults == [UNPROCESSABLE]:
        return "Unprocessable"
    words = "Or".join(fault.code.title().replace("_", "") for fault in faults)
    return words + ("OfKeys" if is_for_keys else "")


def _response(faults: list[Fault], profile: Profile, *, is_for_keys: bool) -> Schema:
    is_same = {"is_for_keys": is_for_keys}
    codes = dict.fromkeys(fault.code for fault in faults)
    examples = {one.code: {"value": _example(one, profile, **is_same)} for one in reversed(faults)}
    content = {"schema": _schema(codes, profile, **is_same), "examples": examples}
    shown: Schema = {
        "description": " ".join(f"`{one.code}`: {one.message} ({one.source})" for one in faults),
        "content": {"application/json": content},
    }
    if faults[0].status == RATE_LIMITED.status:
        shown["headers"] = {
            "retry-after": {"schema": {"type": "string", "const": "1"}, "description": "Seconds."}
        }
    return shown


def _schema(codes: Iterable[str], profile: Profile, *, is_for_keys: bool) -> Schema:
    """As `error_body` writes it: three fields for API keys, elsewhere those of the profile."""
    code: Schema = {"enum": list(codes)}
    detail = _TEXT
    if in_force(profile.readings, {})[VALIDATION_DETAIL] == "objects":
        detail = {"anyOf": [_TEXT, {"type": "array", "items": _MISTAKE}]}
    if is_for_keys or profile.errors.shape == "error_message_details":
        return record({"error": code, "message": _TEXT, "details": _TEXT})
    if profile.errors.shape == "detail":
        return record({"detail": detail})
    return record({"detail": detail, "error": code})


def _example(fault: Fault, profile: Profile, *, is_for_keys: bool) -> Any:
    if is_for_keys or profile.errors.shape == "error_message_details":
        return {"error": fault.code, "message": fault.message, "details": ""}
    if profile.errors.shape == "detail":
        return {"detail": fault.message}
    return {"detail": fault.message, "error": fault.code}
