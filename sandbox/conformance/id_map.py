"""Who is who: the keys and ids of a recording that a new world has under other names.

Nothing in a recording says that a key is the one of a merchant. So each one that no answer made is
given to the member of the cast with which the fewest answers differ.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from sandbox.conformance.differences import looks_like_id
from sandbox.conformance.har import Recorded, Recording
from sandbox.conformance.replay import AS_IT_IS, Casting, Play, key_of

_FIRST: Final = "merchant"
_TABLES: Final = {
    "terminal_id": "terminals",
    "terminals": "terminals",
    "location_id": "locations",
    "locationID": "locations",
    "locations": "locations",
    "account_id": "accounts",
    "parent_id": "accounts",
    "accounts": "accounts",
}
"""Names of fields, and segments of paths before an id, to the table of the cast with such ids."""

_UNKNOWN_MAX: Final = 20
"""More than this are not tried out; those are sent as they were recorded."""


@dataclass(frozen=True, slots=True)
class _Unknown:
    """A key or id that no answer made, its table, and the place of its request, from 0."""

    value: str
    table: str
    place: int


def cast(recording: Recording, play: Play) -> Casting:
    """For each key and id that the recording does not make itself, the member of the cast.

    One that is missing here is sent as it was recorded.
    """
    world = play.cast()
    casting: dict[str, tuple[str, str]] = {}
    waiting = list(_unknown(recording))[:_UNKNOWN_MAX]
    while waiting:
        place = waiting[0].place
        together = [one for one in waiting if one.place == place]
        waiting = waiting[len(together) :]
        # No further than to the next stranger, about whom nothing is known yet.
        end = waiting[0].place if waiting else len(recording.entries)
        seen = Recording(recording.entries[:end], 0)
        casting = _best(seen, play, casting, list(_candidates(world, together, casting)))
        for one in together:
            alone = [{one.value: (one.table, name)} for name in world[one.table]]
            casting = _best(seen, play, casting, alone)
    return casting


def _candidates(
    world: Mapping[str, Any], together: list[_Unknown], casting: Casting
) -> Iterator[Mapping[str, tuple[str, str]]]:
    """Casts of the strangers of one request: those known by value, or all of one merchant.

    Members that nobody has yet come first.
    """
    known = {one.value: member for one in together if (member := _known(world, one.value))}
    names = list(dict.fromkeys(name for one in together for name in world[one.table]))
    taken = {name for _, name in casting.values()}
    for name in sorted(names, key=lambda name: (name in taken, name != _FIRST)):
        fitting = {one.value: (one.table, name) for one in together if name in world[one.table]}
        yield {**fitting, **known}


def _best(
    seen: Recording,
    play: Play,
    casting: Mapping[str, tuple[str, str]],
    candidates: Sequence[Mapping[str, tuple[str, str]]],
) -> dict[str, tuple[str, str]]:
    """The casting with the candidate that fits best; the one as it is if none fits better."""
    best = dict(casting)
    score = _score(seen, play, best)
    for candidate in candidates:
        if score == (0, 0):
            break
        tried = {**casting, **candidate}
        if (its := _score(seen, play, tried)) < score:
            score, best = its, tried
    return best


def _score(recording: Recording, play: Play, casting: Casting) -> tuple[int, int]:
    """How far answers differ: by statuses first, then in everything."""
    found = play.run(recording, casting, AS_IT_IS)
    return sum(one.kind == "status" for one in found), len(found)


def _known(world: Mapping[str, Any], value: str) -> tuple[str, str] | None:
    """The member of the cast that has this id or key already."""
    for table in ("accounts", "terminals", "locations"):
        for name, id in world[table].items():
            if id == value:
                return table, name
    return next(
        (("keys", name) for name, key in world["keys"].items() if key["key"] == value), None
    )


def _unknown(recording: Recording) -> Iterator[_Unknown]:
    """Keys and ids that requests use before any answer has them."""
    made: set[str] = set()
    for place, entry in enumerate(recording.entries):
        key = key_of(entry)
        if key is not None and key not in made:
            made.add(key)
            yield _Unknown(key, "keys", place)
        for name, value in _ids(entry):
            if value not in made and name in _TABLES:
                made.add(value)
                yield _Unknown(value, _TABLES[name], place)
        made.update(value for _, value in _texts("", entry.answer.body))


def _ids(entry: Recorded) -> Iterator[tuple[str, str]]:
    """The ids of a request, each with the name of its field or the segment before it."""
    parts = entry.path.split("/")
    for before, part in pairwise(parts):
        if looks_like_id(part):
            yield before, part
    for name, value in entry.query:
        yield from ((name, part) for part in value.split(",") if looks_like_id(part))
    with suppress(ValueError, RecursionError):
        texts = _texts("", json.loads(entry.body or ""))
        yield from ((name, text) for name, text in texts if looks_like_id(text))


def _texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, with the name of its field."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(name, one)
    elif isinstance(value, dict):
        for inner, one in value.items():
            yield from _texts(inner, one)
