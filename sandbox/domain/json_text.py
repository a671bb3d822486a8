"""Reading JSON that came from outside, strictly."""

import json
from typing import Any, Final

from pydantic_core import from_json


def parse(content: bytes) -> Any:
    """Parse JSON. Raises ValueError, also for a repeated key and for numbers that JSON has not."""
    value = from_json(content, allow_inf_nan=False)
    # pydantic's parser takes the last of several values for a key. Where an object has as many keys
    # as there are colons, none was dropped.
    if not isinstance(value, dict) or content.count(b":") != len(value):
        _REPEATED_KEYS.decode(content.decode())
    return value


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) == len(pairs):
        return
    names = [name for name, _ in pairs]
    repeated = next(name for name in names if names.count(name) > 1)
    raise ValueError(f"the key {json.dumps(repeated)} occurs more than once")


_REPEATED_KEYS: Final = json.JSONDecoder(object_pairs_hook=_refuse_repeated_keys)
