"""Makes values that fit a schema of a document, mostly from words that the sandbox knows."""

import re
from random import Random
from typing import Any

from sandbox.domain.events import EVENTS
from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.outcomes import OUTCOMES, TRANSPORT_FAULTS
from sandbox.domain.permissions import CONCRETE

KEPT_MAX = 60
DEPTH_MAX = 7

RESOURCES = {
    "accounts": "account_id",
    "credentials": "credential_id",
    "terminals": "terminal_id",
    "locations": "location_id",
    "payments": "transaction_id",
    "transactions": "transaction_id",
    "taps": "transaction_id",
    "batches": "batch_id",
    "apikeys": "key_id",
    "keys": "key_id",
    "messages": "message_id",
    "endpoints": "endpoint_id",
    "requests": "request_id",
}
"""What the id of one of these is called elsewhere."""

ALIASES = {
    "tid": "terminal_id",
    "mid": "account_id",
    "subject": "transaction_id",
    "added_transactions": "transaction_id",
    "removed_transactions": "transaction_id",
    "rejected": "transaction_id",
    "after": "message_id",
    "parent_id": "account_id",
    "owner_id": "account_id",
}

AMOUNTS = [
    *(1, 2, 10, 99, 100, 333, 500, 999, 1000, 1000, 1000, 2500, 5000, 99_999_999),
    *(900_051, 900_100, 900_201, 900_203, 900_401, 900_402, 900_404, 900_405, 900_409),
]

WORDS: dict[str, list[Any]] = {
    "amount": AMOUNTS,
    "authorized_amount": AMOUNTS,
    "approved_amount": [1, 100, 500, 999],
    "subtotal": AMOUNTS,
    "tip_amount": [0, 1, 100, 250, 2000],
    "tipAmount": [0, 1, 100, 250, 2000],
    "taxAmount": [0, 1, 80],
    "refunded": [0, 1, 100, 1000],
    "reversed": [0, 1, 100, 1000],
    "delay_ms": [0, 0, 1, 500, 60_000, 3_600_000],
    "paymentCardData": list(CARDS),
    "card": list(CARDS),
    "currency": ["USD", "USD", "CAD", "EUR"],
    "currency_code": ["USD", "USD", "CAD"],
    "url": ["http://hooks.example/a", "https://hooks.example/b?c=d", "http://127.0.0.1:9/x"],
    "secret": ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_" + "QUJD" * 12],
    "clock": ["2026-03-01T12:00:00.000Z", "2026-03-09T00:00:00.000Z"],
    "now": ["2026-03-01T12:00:00.000Z", "2026-03-02T12:00:00Z", "2026-05-01T00:00:00Z"],
    "to": ["2026-03-01T12:00:01.000Z", "2026-03-03T12:00:00Z", "2026-07-01T00:00:00Z"],
    "since": ["2026-03-01T11:00:00.000Z", "2026-03-01T12:00:00.000Z"],
    "by": ["0s", "1s", "30s", "5m", "2h", "3d", "40d", "PT36H"],
    "rate": [0.5, 1.0, 10, 3600, 86_400],
    "event_type": list(EVENTS),
    "event_types": list(EVENTS),
    "permissions": [*CONCRETE, "all"],
    "kinds": ["request", "message,attempt", "clock", "request,message,attempt,clock"],
    "timeout_s": [0, 0.5, 5, 300],
    "fixture": ["demo", "demo", "empty"],
    "merchants": [0, 1, 3, 20],
    "terminals_per_merchant": [0, 1, 2],
    "locations_per_merchant": [0, 1, 2],
    "outcome": list(OUTCOMES),
    "fault": list(TRANSPORT_FAULTS),
    "reason": ["duplicate batch", "a reason of my own"],
    "route": ["payments.create", "apikeys.list"],
    "mcc": ["5812", "7011"],
    "search": ["a", "Merchant", "M1"],
    "event_id": ["once", "twice", "3F2504E0-4F89-41D3-9A0C-0305E82C3301"],
}
"""What is likely to be meant by a name, where no answer has told a better word. What is made in
numbers is kept few: how long much of it takes is measured by the benchmarks."""


class Known:
    """The words that answers have told so far, by the name under which they are asked for."""

    def __init__(self) -> None:
        self._words: dict[str, list[str]] = {}
        self.snapshots: list[bytes] = []

    def learn(self, name: str, word: str) -> None:
        """This word can be meant by that name; the oldest makes room."""
        words = self._words.setdefault(name, [])
        if name == "key" and not word.startswith("svc_"):
            return
        if word and len(word) <= 200 and word not in words:
            words.append(word)
            del words[:-KEPT_MAX]

    def read(self, value: Any, resource: str = "") -> None:
        """Learn from an answer; `resource` is what a bare `id` in it is the id of."""
        if isinstance(value, list):
            for one in value[:30]:
                self.read(one, resource)
        elif isinstance(value, dict):
            for name, inner in list(value.items())[:60]:
                if isinstance(inner, str):
                    named = RESOURCES.get(resource, "id") if name == "id" else name
                    self.learn(named, inner)
                else:
                    self.read(inner, name if name in RESOURCES else resource)

    def of(self, name: str) -> list[str]:
        """The words for that name."""
        return self._words.get(ALIASES.get(name, name), [])


class Maker:
    """Makes values for the schemas of one document."""

    def __init__(self, document: dict[str, Any], known: Known, dice: Random) -> None:
        self._document = document
        self._known = known
        self._dice = dice

    def value(self, schema: dict[str, Any], name: str = "", depth: int = 0) -> Any:
        """A value that fits, most likely; what only a whole body shows is left to chance."""
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"]
        for choice in ("anyOf", "oneOf"):
            if choice in schema:
                one = self._one_of(schema[choice])
                if "properties" not in schema:
                    return self.value(one, name, depth)
                # It says no more than which of the fields are needed.
                needed = [*schema.get("required", ()), *one.get("required", ())]
                schema = schema | {"required": needed}
        if "enum" in schema:
            return self._dice.choice(schema["enum"])
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = self._dice.choice(kind)
        if kind == "object" or "properties" in schema:
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, name, depth)
        return self._plain(kind, schema, name, depth)

    def _plain(self, kind: str | None, schema: dict[str, Any], name: str, depth: int) -> Any:
        if kind in ("integer", "number"):
            return self._number(schema, name, whole=kind == "integer")
        if kind == "boolean":
            return self._dice.random() < 0.5
        if kind == "null":
            return None
        if kind == "string":
            return self._text(schema, name)
        return self.anything(depth)

    def _resolved(self, schema: Any) -> dict[str, Any]:
        if not isinstance(schema, dict):
            return {}
        while "$ref" in schema:
            found: Any = self._document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found[part.replace("~1", "/").replace("~0", "~")]
            schema = found
        return schema

    def _one_of(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        """Null, where it is one of them, is hardly ever what is meant."""
        full = [one for one in choices if one.get("type") != "null"]
        return self._dice.choice(full if full and self._dice.random() < 0.95 else choices)

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        fields, required = schema.get("properties", {}), schema.get("required", ())
        likely = self._dice.choice([0.0, 0.15, 0.3, 0.6]) if depth < DEPTH_MAX else 0.0
        made = {
            name: self.value(inner, name, depth + 1)
            for name, inner in fields.items()
            if name in required or self._dice.random() < likely
        }
        if not fields and schema.get("additionalProperties", True) is not False:
            for _ in range(self._dice.randrange(3) if depth < DEPTH_MAX else 0):
                made[self._dice.choice(["a", "name", "status", "amount", "x y", "é"])] = (
                    self.anything(depth + 1)
                )
        return made

    def _array(self, schema: dict[str, Any], name: str, depth: int) -> list[Any]:
        least = schema.get("minItems", 0)
        most = min(schema.get("maxItems", 3), max(3, least))
        count = self._dice.randint(least, most) if depth < DEPTH_MAX else least
        return [self.value(schema.get("items", {}), name, depth + 1) for _ in range(count)]

    def _number(self, schema: dict[str, Any], name: str, *, whole: bool) -> float:
        least = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        most = schema.get("maximum", max(least, 10_000))
        numbers = [one for one in WORDS.get(name, []) if not isinstance(one, str)]
        words = [one for one in numbers if least <= one <= most]
        if words and self._dice.random() < 0.9:
            return float(self._dice.choice(words)) if not whole else self._dice.choice(words)
        if self._dice.random() < 0.3 and name not in WORDS:
            return self._dice.choice([least, most])
        upper = min(most, least + 100)
        return (
            self._dice.randint(int(least), int(upper))
            if whole
            else round(self._dice.uniform(least, upper), 2)
        )

    def _text(self, schema: dict[str, Any], name: str) -> str:
        known = self._known.of(name)
        if known and self._dice.random() < 0.9:
            return self._dice.choice(known)
        if name in WORDS:
            return str(self._dice.choice(WORDS[name]))
        if schema.get("format") == "date-time":
            return str(self._dice.choice(WORDS["now"]))
        if "pattern" in schema:
            return self._fitting(schema["pattern"])
        if known:
            return self._dice.choice(known)
        word = self._dice.choice(["a", "Corner Shop", "x-1", "Ünïcødé", "00", "merchant"])
        return (word * schema.get("minLength", 1))[: schema.get("maxLength", 40)]

    def _fitting(self, pattern: str) -> str:
        """A text for a pattern of the plain kind that documents have: classes and counts."""
        first = pattern.split("|")[0].strip("^$")
        parts = re.findall(r"(\[[^\]]+\]|\\?.)(\{\d+(?:,\d+)?\}|[*+?])?", first)
        made = ""
        for what, count in parts:
            low, _, high = (
                count.strip("{}").partition(",") if count.startswith("{") else ("1", "", "")
            )
            least = int(low)
            many = self._dice.randint(least, min(int(high or least), least + 8))
            letters = _letters(what)
            made += "".join(self._dice.choice(letters) for _ in range(many))
        return made

    def anything(self, depth: int = 0) -> Any:
        """A small JSON value of any kind."""
        kinds = ["text", "number", "true", "null"] + (["list", "object"] if depth < 3 else [])
        kind = self._dice.choice(kinds)
        if kind == "list":
            return [self.anything(depth + 1) for _ in range(self._dice.randrange(3))]
        if kind == "object":
            return {str(number): self.anything(depth + 1) for number in range(2)}
        return {"text": "a b", "number": self._dice.randrange(1000), "true": True, "null": None}[
            kind
        ]


def _letters(what: str) -> str:
    if not what.startswith("["):
        return what[-1]
    found = ""
    for low, high, alone in re.findall(r"(\w)-(\w)|(.)", what[1:-1]):
        found += alone or "".join(map(chr, range(ord(low), ord(high) + 1)))
    return found
