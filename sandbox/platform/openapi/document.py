"""The OpenAPI document of the platform, written from its rows under a profile.

Source: spec 4.4-paths, 6; the assumptions about an endpoint are in its row.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from pydantic_core import from_json

from sandbox.domain import faults, readings
from sandbox.domain.batches import Batch
from sandbox.domain.directory import DIRECTORIES
from sandbox.domain.events import EVENTS, EventRow
from sandbox.domain.faults import Fault, Refusal
from sandbox.domain.keys import ApiKeyEvent
from sandbox.domain.operations import NO_CONTENT
from sandbox.domain.payments.outcomes import OUTCOMES
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.profile import Profile
from sandbox.domain.records import Extended, view_of
from sandbox.domain.transport_faults import TRANSPORT_FAULTS
from sandbox.platform.openapi.examples import VERSION_OF_NAME, Cast, example_of
from sandbox.platform.openapi.schemas import Mode, Schema
from sandbox.platform.openapi.writer import JSON, TEXT, Writer, body_of, in_path, in_query
from sandbox.platform.operation import Example, Row, is_key_path
from sandbox.platform.responses import error_body
from sandbox.platform.routes import OPERATIONS

OK: Final = 200

ANSWERS: Final = Path(__file__).parent / "platform_answers.json"
"""The recorded answers of a demo world, by row."""

BODIES: Final[dict[str, Any]] = {
    "transaction": Transaction,
    "batch": Batch,
    **{one.name: view_of(one.kind) for one in DIRECTORIES},
    "api_key": ApiKeyEvent,
}
"""Category of events to the type of their bodies."""

_ABOUT: Final = (
    "Every endpoint of the platform, as the sandbox serves it under the profile `{}`. A method "
    "that a path does not serve answers 405, and so does a retired endpoint. With a scenario, a "
    "queued outcome or the header `x-sandbox-outcome`, an answer of a payment can also be late, "
    "cut off or missing. A world that has chosen other readings can differ from this document."
)
_ABOUT_PURE: Final = (
    "Every endpoint of the platform. A method that a path does not serve answers 405, and so does "
    "a retired endpoint."
)
_TAGS: Final = {
    "accounts": "Partners and merchants, and their hierarchy",
    "credentials": "Codes with which a merchant's staff signs in",
    "terminals": "Where cards are read",
    "locations": "Where merchants do business",
    "payments": "Sales and authorizations, and the actions on them",
    "refunds": "Refunds of a payment that the body names",
    "transactions": "The records of payments: search, detail, history",
    "batches": "Payments that a terminal settles together",
    "apikeys": "Keys, and what they may do",
    "webhooks": "Events that the platform sends",
}
_DONE: Final = {201: "Created.", NO_CONTENT: "Done, with an empty answer."}
_ABOUT_PAGES: Final = "Which part of a list this is, and how long the list is."
_REQUEST_ID: Final[Schema] = {
    "description": "Finds the request in the journal. Left out with --no-explain-headers.",
    "schema": TEXT,
}
_OUTCOME: Final[Schema] = {
    "description": "The outcome, what chose it, and by which rule.",
    "schema": TEXT,
}
_SIGNATURE: Final = {
    "id": "The same for every attempt at the same message.",
    "timestamp": "Unix seconds of the attempt.",
    "signature": "`v1,` and the base64 of the HMAC-SHA256 of id, timestamp and body, joined by "
    "full stops. While a secret is rotated, one for each secret, separated by spaces.",
}


def document(
    profile: Profile,
    *,
    version: str,
    url: str,
    cast: Cast,
    sample: Callable[[str], str],
    strict: bool = False,
    pure: bool = False,
) -> dict[str, Any]:
    """Return the document. `url` is where the platform is served, `cast` the ids for the examples.

    `sample` gives the body of an event. The `strict` form has every rule that schemas can express,
    for fuzzing. The `pure` form leaves out what only the sandbox adds.
    """
    writer = _Platform(profile, cast=cast, is_strict=strict, is_pure=pure)
    for row in OPERATIONS:
        writer.add_row(row)
    scheme = {
        "type": "apiKey",
        "in": "header",
        "name": profile.api_key_header,
        "description": "Decides the account, what is allowed, and the world.",
    }
    about = _ABOUT_PURE if writer.is_pure else _ABOUT.format(profile.name)
    more: dict[str, Any] = {} if writer.is_pure else {"x-cast": cast}
    return writer.document(
        info={"title": "Card payment platform", "version": version, "description": about},
        url=url,
        tags=_TAGS,
        scheme=("apiKey", scheme),
        webhooks={row.name: {"post": writer.webhook(row, sample)} for row in EVENTS.values()},
        **more,
    )


def _types(profile: Profile) -> Iterator[tuple[Any, Mode]]:
    """Yield the types of all bodies, answers and events."""
    yield from ((row.body(profile), "validation") for row in OPERATIONS if row.body is not None)
    for one in (*BODIES.values(), *(row.response for row in OPERATIONS)):
        parts = (*one.fields.values(), one.record) if isinstance(one, Extended) else (one,)
        yield from ((part, "serialization") for part in parts if part is not None)


def _description(row: Row) -> str:
    sentences = []
    if row.need is not None:
        words = " or ".join(f"`{one}`" for one in row.need.base)
        sentences.append(f"Needs {words}.")
        if row.need.sub:
            sentences.append(f"On the account of a descendant it needs `{row.need.sub}` instead.")
        if row.need.also:
            sentences.append(f"It also needs `{row.need.also}`.")
    if row.needs_besides:
        sentences.append(row.about_besides)
    # The row of which this one is another version. Source: spec 9.3.
    name = VERSION_OF_NAME.sub("", row.name)
    twin = next((one for one in OPERATIONS if one.name == name != row.name), None)
    if twin is not None:
        which = "older" if row.path < twin.path else "newer"
        sentences.append(f"The {which} path of `{twin.method} {twin.path}`; both are served.")
    if row.run is None:
        sentences.append("Retired: it is answered before the key is looked at.")
    sentences.append(f"Source: {row.source}.")
    return " ".join(sentences)


class _Platform(Writer):
    """Writes the platform's document for a profile, whose readings can change answers."""

    def __init__(self, profile: Profile, **more: Any) -> None:
        prefix = profile.key_prefixes.uat
        super().__init__(_types(profile), answers=ANSWERS, key_prefix=prefix, **more)
        self.components["responses"] = {}
        self._profile = profile
        self._readings = readings.in_force(profile.readings, {})

    def add_row(self, row: Row) -> None:
        """Add an operation."""
        example = example_of(row.name)
        more: Schema = {"description": _description(row), "x-source": row.source}
        if row.run is None:
            more |= {"deprecated": True, "security": []}
        if row.need is not None:
            more["x-permissions"] = list(row.need.any_of)
            if row.need.also:
                more["x-also-permission"] = row.need.also
        if row.events:
            more["x-events"] = list(row.events)
        body = None
        if row.body is not None:
            schema = self.read(row.body(self._profile))
            body = body_of(schema, example and self.fill(example.body))
        if example is not None and not self.is_pure:
            more["x-example"] = self._beforehand(example)
        responses = self._responses(row)
        self.add(row, [*self._parameters(row, example)], body, responses, **more)

    def _beforehand(self, example: Example) -> Schema:
        """Return the caller of the example, and the records that it needs."""
        shown: Schema = {"by": example.by}
        if (first := example.first) is not None:
            body = self.fill(first.body)
            shown["first"] = {"operation": first.operation, "by": first.by, "body": body}
            if example.takes:
                shown["takes"] = example.takes
        return shown

    def _parameters(self, row: Row, example: Example | None) -> Iterator[Schema]:
        for one in in_path(row.path):
            yield one | ({"example": self.fill(example.id)} if example and example.id else {})
        fields: Schema = {}
        if row.query is not None:
            fields = self.query_fields(row.query(self._profile))
        if row.target is not None and row.target.where == "query":
            about = {"description": "An account that the caller may see."}
            fields[row.target.name] = fields.get(row.target.name, TEXT) | about
        yield from in_query(fields)
        if not self.is_pure:
            words = {"type": "string", "enum": [*OUTCOMES, *TRANSPORT_FAULTS]}
            forced = {
                "name": "x-sandbox-outcome",
                "in": "header",
                "description": "How the attempt is to end, or a transport fault of any request; a "
                "word for other operations is refused.",
                "schema": self.reference("schemas", "ForcedOutcome", words),
            }
            yield self.reference("parameters", "SandboxOutcome", forced)

    def _responses(self, row: Row) -> dict[str, Schema]:
        """Return the answers by status.

        A reading may give declined attempts another status (D35-decline).
        """
        success, refusals = self._success(row), self._refusals(row)
        declined = str(readings.DECLINE_STATUSES[self._readings["decline_status"]])
        if not row.attempts or declined in success:
            return success | refusals
        shown = success[str(OK)] | {"description": "The attempt was declined."}
        if (refused := refusals.get(declined)) is not None:
            name = refused.get("$ref", "").rpartition("/")[2]
            refused = self.components["responses"].get(name, refused)
            schemas = [one["content"][JSON]["schema"] for one in (refused, shown)]
            shown["content"] = {JSON: {"schema": {"anyOf": schemas}}}
            shown["description"] += f" Or: {refused['description']}"
        return success | refusals | {declined: shown}

    def _success(self, row: Row) -> dict[str, Schema]:
        if row.run is None:
            return {}
        status = row.status_under(self._readings)
        shown: Schema = {"description": _DONE.get(status, "Done.")}
        if not self.is_pure:
            request_id = self.reference("headers", "SandboxRequestId", _REQUEST_ID)
            shown["headers"] = {"x-sandbox-request-id": request_id}
            if row.attempts:
                outcome = self.reference("headers", "SandboxOutcome", _OUTCOME)
                shown["headers"]["x-sandbox-outcome"] = outcome
        if row.response is not None and status != NO_CONTENT:
            shown["content"] = self.success(row.name, self._response(row.response))
        return {str(status): shown}

    def _response(self, response: Any) -> Schema:
        """Return the schema of a success, by the row's response."""
        if not isinstance(response, Extended):
            return self.describe(response)
        fields = {name: self.describe(one) for name, one in response.fields.items()}
        if response.record is None and self.is_strict:
            return self.record(fields)
        if response.record is None:
            (plural, rows), *counts = fields.items()
            page = self.record(dict(counts)) | {"description": _ABOUT_PAGES}
            return {"allOf": [self.reference("schemas", "Page", page), self.record({plural: rows})]}
        # Its further fields are only present on request.
        record = self.schemas[response.record.__name__]
        return {**record, "properties": {**record["properties"], **fields}}

    def webhook(self, row: EventRow, sample: Callable[[str], str]) -> Schema:
        """Return the request that delivers an event to a receiver."""
        body = self.describe(BODIES[row.category])
        if row.sparse:
            body = self.record(dict.fromkeys(row.sparse, TEXT))  # spec 6.1.4
        return {
            "operationId": f"webhook.{row.name}",
            "summary": row.meaning.capitalize(),
            "tags": ["webhooks"],
            "description": f"Source: {row.source}. Bodies have no envelope.",
            "x-source": row.source,
            # No key is sent to a receiver.
            "security": [],
            "parameters": [
                {
                    "name": f"{self._profile.webhook_header_prefix}-{part}",
                    "in": "header",
                    "required": True,
                    "description": about,
                    "schema": TEXT,
                }
                for part, about in _SIGNATURE.items()
            ],
            "requestBody": body_of(body, None if self.is_strict else from_json(sample(row.name))),
            "responses": {
                "2XX": {"description": "Taken."},
                "default": {
                    "description": "The webhook was not accepted, and is sent again later."
                },
            },
        }

    def _refusals(self, row: Row) -> Schema:
        """Return the responses of the row's refusals, by status.

        Those that many rows share are components.
        """
        by_status: dict[int, list[Fault]] = {}
        for fault in (*_refusals_of(row), *self._by_readings(row)):
            by_status.setdefault(fault.status, []).append(fault)
        responses = {}
        for status, found in by_status.items():
            shown = self._refusal(found, row.path)
            codes = {fault.code for fault in found}
            if len(codes) == len(found) <= _FAULTS_OF_A_NAME_MAX:
                name = "Or".join(fault.code.title().replace("_", "") for fault in found)
                name += "OfKeys" if is_key_path(row.path) else ""
                if found == [faults.UNPROCESSABLE]:
                    name = "Unprocessable"
                self.components["responses"][name] = shown
                shown = {"$ref": f"#/components/responses/{name}"}
            responses[str(status)] = shown
        return responses

    def _by_readings(self, row: Row) -> Iterator[Fault]:
        """Yield the faults that the profile's readings add to the row."""
        chosen = self._readings
        is_limited = row.query and chosen["limit_above_maximum"] == "unprocessable"
        is_malformed = chosen["validation_status"] == "unprocessable"
        if row.run is not None and not is_key_path(row.path) and (is_malformed or is_limited):
            yield faults.UNPROCESSABLE
        block = faults.BLOCK_FAULTS[chosen["block_answer"]]
        if row.is_stopped_by(chosen["block_stops"]) and (
            block is not faults.ACCOUNT_BLOCKED or not row.can_be_blocked
        ):
            yield block
        for reading, value, fault in row.refuses_where:
            if chosen[reading] == value:
                yield fault

    def _refusal(self, found: list[Fault], path: str) -> Schema:
        """Return the response with these faults, of one status."""
        bodies = {
            one.code: from_json(error_body(Refusal(one), path, self._profile))
            for one in reversed(found)
        }
        examples = {code: {"value": body} for code, body in bodies.items()}
        schema = self._refusal_schema(found, bodies[found[0].code])
        shown: Schema = {
            "description": " ".join(
                dict.fromkeys(f"`{one.code}`: {one.message} ({one.source})" for one in found)
            ),
            "content": {JSON: {"schema": schema, "examples": examples}},
        }
        if found[0].status == faults.RATE_LIMITED.status:
            after = {"schema": {"type": "string", "const": "1"}, "description": "Seconds."}
            shown["headers"] = {"retry-after": after}
        return shown

    def _refusal_schema(self, found: list[Fault], names: Iterable[str]) -> Schema:
        """Return the schema of the refusals, whose fields have these names.

        A plain document has one schema for all.
        """
        fields: Schema = dict.fromkeys(names, TEXT)
        if "detail" in fields and self._readings["validation_detail"] == "objects":
            mistake = self.record({"type": TEXT, "loc": _PLACE, "msg": TEXT})
            fields["detail"] = {"anyOf": [TEXT, {"type": "array", "items": mistake}]}
        if self.is_strict:
            if "error" in fields:
                fields["error"] = {"enum": list(dict.fromkeys(fault.code for fault in found))}
            return self.record(fields)
        is_of_keys = "message" in fields and self._profile.errors.shape != "error_message_details"
        shown = self.record(fields) | {"description": _ABOUT_REFUSALS}
        return self.reference("schemas", "ApiKeyError" if is_of_keys else "Error", shown)


# --- refusals ---------------------------------------------------------------------------------

_ANYWHERE: Final = (
    faults.VALIDATION_ERROR,
    faults.AUTHENTICATION_FAILED,
    faults.PERMISSION_DENIED,
    faults.NOT_FOUND,
    faults.NOT_ACCEPTABLE,
)
_FAULTS_OF_A_NAME_MAX: Final = 2
_ABOUT_REFUSALS: Final = "Why a request was refused; `error` is the code for programs."
_PLACE: Final[Schema] = {"type": "array", "items": {"type": ["string", "integer"]}}


def _refusals_of(row: Row) -> tuple[Fault, ...]:
    """Return every fault that the row may refuse with, by status."""
    if row.run is None:
        return (faults.RETIRED,)
    found = [*_ANYWHERE, *row.refuses]
    if row.body is not None:
        found += [faults.BODY_TOO_LARGE, faults.UNSUPPORTED_MEDIA_TYPE]
    if row.can_be_blocked:
        found.append(faults.ACCOUNT_BLOCKED)
    if row.attempts:
        found += [fault.answer for fault in TRANSPORT_FAULTS.values() if fault.answer is not None]
    if row.method != "GET":
        found.append(faults.NOT_WRITTEN)
    return tuple(sorted(found, key=lambda fault: fault.status))
