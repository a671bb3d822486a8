"""Every place of a request in which a client can write a text, by the document of its surface."""

import copy
import json
from collections.abc import Iterator
from typing import Any

Place = tuple[str, ...]
"""Names of fields from the outside in; `[]` is an element of a list, NAME the name of a field."""

ELEMENT = "[]"
NAME = "(name)"
FREE = "note"
"""A field that no schema knows."""

PRODUCTION = "svc_live_PlantLookup0_PlAnTeDpRoDuCtIoNsEcReToFtHiRtY000"
WHOLE = "svc_uat_PlantLookup0_PlAnTeDsAnDbOxSeCrEtOfThIrTyTwO0"
LIVE = "4532015112830366"

KEYS = {
    "a production key": PRODUCTION,
    "a production key within a sentence": f"my key:\n{PRODUCTION}!",
    "a whole key": WHOLE,
    "a whole key within a sentence": f"key {WHOLE}, thanks",
}


CARDS = {
    "plain": LIVE,
    "with spaces": "4532 0151 1283 0366",
    "with line breaks": "4532\n0151\n1283\n0366",
    "in full-width digits": "".join(chr(0xFF10 + int(digit)) for digit in LIVE),
    "as a stripe has it": f"%B{LIVE}^DOE/JANE^25121010000?",
    "of another brand": "6759649826438453",
}
"""Spellings of card numbers; tests/domain/test_secrets.py has more."""

SECRETS = KEYS | {f"a card number {spelling}": text for spelling, text in CARDS.items()}


class Places:
    """The places of a body, by its schema in a document."""

    def __init__(self, document: dict[str, Any], schema: dict[str, Any]) -> None:
        self._document = document
        self.all = sorted({*self._of(schema, ()), (FREE,), (NAME,)})

    def _of(self, schema: dict[str, Any], place: Place) -> Iterator[Place]:
        if "$ref" in schema:
            found: Any = self._document
            for part in schema["$ref"].split("/")[1:]:
                found = found[part]
            yield from self._of(found, place)
        for several in ("anyOf", "oneOf", "allOf"):
            for one in schema.get(several, ()):
                yield from self._of(one, place)
        yield from self._here(schema, place)

    def _here(self, schema: dict[str, Any], place: Place) -> Iterator[Place]:
        kinds = schema.get("type", ())
        kinds = {kinds} if isinstance(kinds, str) else set(kinds)
        is_anything = not kinds and not {"$ref", "anyOf", "oneOf", "allOf", "const", "not"} & set(
            schema
        )
        for name, inner in schema.get("properties", {}).items():
            yield from self._of(inner, (*place, name))
        if "object" in kinds and schema.get("additionalProperties", True) is not False and place:
            yield (*place, FREE)
            yield (*place, NAME)
        if "array" in kinds:
            yield from self._of(schema.get("items", {}), (*place, ELEMENT))
        if place and ("string" in kinds or (is_anything and "properties" not in schema)):
            yield place


def planted(body: Any, place: Place, text: str) -> Any:
    """The body with the text at the place, all else as it was."""
    if not place:
        return text
    first, *rest = place
    if first == ELEMENT:
        return [planted(body[0] if isinstance(body, list) and body else None, tuple(rest), text)]
    fields = copy.copy(body) if isinstance(body, dict) else {}
    if first == NAME:
        return fields | {text: 1}
    return fields | {first: planted(fields.get(first), tuple(rest), text)}


def spelt(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()
