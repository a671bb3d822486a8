"""The refusals of each row, and their bodies. Source: spec 7."""

from collections.abc import Iterable, Iterator
from typing import Final

from pydantic_core import from_json

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
    Refusal,
)
from sandbox.domain.profile import Profile
from sandbox.domain.readings import (
    LIMIT_ABOVE_MAXIMUM,
    VALIDATION_DETAIL,
    VALIDATION_STATUS,
    in_force,
)
from sandbox.domain.transport_faults import TRANSPORT_FAULTS
from sandbox.platform.openapi.schemas import Schema
from sandbox.platform.openapi.writer import JSON, TEXT, Writer
from sandbox.platform.operation import Row, is_key_path
from sandbox.platform.responses import error_body

_ANYWHERE: Final = (
    VALIDATION_ERROR,
    AUTHENTICATION_FAILED,
    PERMISSION_DENIED,
    NOT_FOUND,
    NOT_ACCEPTABLE,
)
_FAULTS_OF_A_NAME_MAX: Final = 2
_ABOUT: Final = "Why a request was refused; `error` is the code for programs."
_PLACE: Final[Schema] = {"type": "array", "items": {"type": ["string", "integer"]}}


def refusals_of(row: Row) -> tuple[Fault, ...]:
    """Everything that the row may refuse with, in the order of its statuses."""
    if row.run is None:
        return (RETIRED,)
    found = [*_ANYWHERE, *row.refuses]
    if row.body is not None:
        found += [BODY_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE]
    if row.stops_at_block:
        found.append(ACCOUNT_BLOCKED)
    found += [fault.answer for fault in TRANSPORT_FAULTS.values() if fault.answer is not None]
    if row.method != "GET":
        found.append(NOT_WRITTEN)
    return tuple(sorted(found, key=lambda fault: fault.status))


def add_refusals(writer: Writer, row: Row, profile: Profile) -> Schema:
    """The responses of the row's refusals, by status.

    What many rows answer is among the components.
    """
    by_status: dict[int, list[Fault]] = {}
    is_for_keys = is_key_path(row.path)
    for fault in (*refusals_of(row), *_by_readings(row, profile)):
        by_status.setdefault(fault.status, []).append(fault)
    found = {}
    for status, faults in by_status.items():
        shown = _response(writer, faults, profile, is_for_keys=is_for_keys)
        codes = {fault.code for fault in faults}
        if len(codes) == len(faults) <= _FAULTS_OF_A_NAME_MAX:
            name = _name(faults, is_for_keys=is_for_keys)
            writer.components["responses"][name] = shown
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


def _response(
    writer: Writer, faults: list[Fault], profile: Profile, *, is_for_keys: bool
) -> Schema:
    examples: Schema = {
        one.code: {"value": from_json(error_body(Refusal(one), profile, is_for_keys=is_for_keys))}
        for one in reversed(faults)
    }
    fields = examples[faults[0].code]["value"]
    shown: Schema = {
        "description": " ".join(f"`{one.code}`: {one.message} ({one.source})" for one in faults),
        "content": {
            JSON: {"schema": _schema(writer, faults, fields, profile), "examples": examples}
        },
    }
    if faults[0].status == RATE_LIMITED.status:
        shown["headers"] = {
            "retry-after": {
                "schema": {"type": "string", "pattern": "^[1-9][0-9]*$"},
                "description": "Seconds.",
            }
        }
    return shown


def _schema(writer: Writer, faults: list[Fault], names: Iterable[str], profile: Profile) -> Schema:
    """The body of the refusals, whose fields have these names; a plain document has one for all."""
    fields: Schema = dict.fromkeys(names, TEXT)
    if "detail" in fields and in_force(profile.readings, {})[VALIDATION_DETAIL] == "objects":
        mistake = writer.record({"type": TEXT, "loc": _PLACE, "msg": TEXT})
        fields["detail"] = {"anyOf": [TEXT, {"type": "array", "items": mistake}]}
    if writer.is_strict and "error" in fields:
        fields["error"] = {"enum": list(dict.fromkeys(fault.code for fault in faults))}
    is_of_keys = "message" in fields and profile.errors.shape != "error_message_details"
    about = {} if writer.is_strict else {"description": _ABOUT}
    return writer.named(
        "schemas", "ApiKeyError" if is_of_keys else "Error", writer.record(fields) | about
    )
