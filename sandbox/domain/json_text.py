"""Parse JSON that came from outside: strictly, or leniently."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from math import isinf
from typing import Any, Final

from pydantic_core import from_json

DEPTH_MAX: Final = 100
"""How many levels of objects and lists a body or a scenario may have. Source: assumed D46.

Parsers of JSON take 200 levels, and a stored or saved document holds a body some levels down.
"""


def parse_finite(content: bytes) -> Any:
    """Parse JSON. Raises ValueError, also for NaN, infinity, and numbers that become infinite."""
    value = from_json(content, allow_inf_nan=False)
    _FINITE.decode(content.decode())
    return value


def parse(content: bytes) -> Any:
    """Parse JSON. Raises ValueError, also for a repeated key and as `parse_finite` does."""
    value = from_json(content, allow_inf_nan=False)
    _STRICT.decode(content.decode())
    return value


def depth_of(value: Any) -> int:
    """Return how many objects and lists lie within one another in a JSON value."""
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


def value_of(text: str | bytes | None) -> Any:
    """Return the value of a JSON text, or None if it is not JSON."""
    try:
        return json.loads(text or "null")
    except (ValueError, RecursionError):
        return None


def fields_of(value: Any) -> dict[str, Any]:
    """Return a JSON value if it is an object, or else an empty object."""
    return value if isinstance(value, dict) else {}


def map_texts(value: Any, change: Callable[[str], Any]) -> Any:
    """Return a JSON value with every text in it changed, except names of fields."""
    if isinstance(value, Mapping):
        return {name: map_texts(one, change) for name, one in value.items()}
    if isinstance(value, list):
        return [map_texts(one, change) for one in value]
    return change(value) if isinstance(value, str) else value


# Pydantic's parser says best what is wrong with a text. But it keeps the last of several values for
# a key, and reads a number that is too large as infinity. The standard library lets us refuse both.


def _parse_float(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise ValueError(f"the number {text[:20]} is too large")
    return number


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) == len(pairs):
        return
    counts = Counter(name for name, _ in pairs)
    repeated = next(name for name, count in counts.items() if count > 1)
    raise ValueError(f"the key {json.dumps(repeated)} occurs more than once")


_FINITE: Final = json.JSONDecoder(parse_float=_parse_float)
_STRICT: Final = json.JSONDecoder(parse_float=_parse_float, object_pairs_hook=_refuse_repeated_keys)
