"""Replaying a recording in a new world, casting its keys and ids, and explaining differences.

A recording does not say whose key is used. So each key that no answer created is matched with the
member of the cast with which the fewest answers differ.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, groupby, islice, pairwise, zip_longest
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from sandbox.conformance.clients import CONTROL, Request, Target, TargetError
from sandbox.conformance.differences import UUID, Difference, Kind, Names, differences
from sandbox.conformance.har import Recorded, Recording
from sandbox.domain.instants import to_wire
from sandbox.domain.json_text import value_of
from sandbox.domain.profile import Profile
from sandbox.domain.readings import READINGS, in_force
from sandbox.domain.switches import SWITCHES

NO_KEY: Final = ""
"""Stands for the key of requests that were recorded without one, although they were accepted."""

_NOT_LET_IN: Final = 401


@dataclass(frozen=True, slots=True)
class Turn:
    """A reading of the spec with one of its values, to be tried alone.

    `name` is `name=value`; `world` and `profile` have the settings of a world and a server for it.
    """

    name: str
    world: Mapping[str, Any] = field(default_factory=dict)
    profile: Mapping[str, Any] = field(default_factory=dict)


AS_IT_IS: Final = Turn("")

Casting = Mapping[str, tuple[str, str]]
"""The table of the cast, and the name in it, for each key or id of the recording."""


@dataclass(frozen=True, slots=True)
class Play:
    """Replays recordings on a target, with a header for keys, a seed, a fixture and a scenario."""

    target: Target
    key_header: str
    seed: int | None = None
    fixture: str | None = None
    scenario: Mapping[str, str] | None = None

    def run(self, recording: Recording, casting: Casting, turn: Turn) -> list[Difference]:
        """Replay a recording, and return all differences. Raises TargetError."""
        now, names, found = recording.entries[0].at, Names(), list[Difference]()
        world = self._begin(now, turn)
        path = f"/worlds/{quote(world['id'])}"
        try:
            for unknown, (table, name) in casting.items():
                if table == "keys":
                    # Two recorded keys may belong to one account.
                    names.replayed[unknown] = world[table][name]
                else:
                    names.learn(unknown, world[table][name])
            for entry in recording.entries:
                if entry.at > now:
                    now, to = entry.at, {"to": to_wire(entry.at)}
                    self._control(turn, "POST", f"{path}/clock/advance", to)
                found += self._repeat(entry, names, turn)
        finally:
            self._control(turn, "DELETE", path)
        return found

    def cast(self) -> Mapping[str, Any]:
        """Return the document of a world like those of the replay, with its cast."""
        world = self._begin(None, AS_IT_IS)
        self._control(AS_IT_IS, "DELETE", f"/worlds/{world['id']}")
        return world

    def _begin(self, at: datetime | None, turn: Turn) -> dict[str, Any]:
        """Return the document of a new world, with the plaintext of each key."""
        given = {
            "name": "compare",
            **turn.world,
            "clock": at and {"now": to_wire(at), "mode": "frozen"},
            "seed": self.seed,
            "fixture": self.fixture,
            "scenario": self.scenario,
        }
        body = {name: value for name, value in given.items() if value is not None}
        world: dict[str, Any] = self._control(turn, "POST", "/worlds", body)
        return world | {"keys": {name: one["key"] for name, one in world["keys"].items()}}

    def _control(self, turn: Turn, method: str, path: str, body: Any = None) -> Any:
        """Return the answer of the control API, parsed. Raises TargetError if it refuses."""
        content = None if body is None else json.dumps(body)
        headers = {"accept": "application/json", "content-type": "application/json"}
        request = Request(method, CONTROL + path, (), headers, content)
        answer = self.target.send(request, turn.profile)
        if answer is None:
            raise TargetError("the control API gave no answer")
        if answer.status >= 400:
            unknown = f"the server answered {answer.status} where its control API should be"
            message = answer.fields.get("message") or unknown
            details = answer.fields.get("details")
            raise TargetError(f"{message} ({details})" if details else message)
        return answer.body

    def _repeat(self, entry: Recorded, names: Names, turn: Turn) -> list[Difference]:
        answer, recorded = self.target.send(self._request(entry, names), turn.profile), entry.answer
        if answer is None:
            status = str(recorded.status)
            return [Difference(entry.number, "status", "status", status, "no answer")]
        found = differences(recorded, answer, names, has_bodies=entry.is_complete)
        return [Difference(entry.number, *one) for one in found]

    def _request(self, entry: Recorded, names: Names) -> Request:
        sent, headers = entry.request, dict(entry.request.headers)
        if key := names.translated(key_of(entry)):
            headers[self.key_header.lower()] = key

        def translate(text: str, separator: str) -> str:
            return separator.join(map(names.translated, text.split(separator)))

        path = translate(sent.path, "/")
        # A value may be a list with commas.
        query = [(name, translate(value, ",")) for name, value in sent.query]
        body = _body(sent.body, names)
        return replace(sent, path=path, query=query, headers=headers, body=body)


def key_of(entry: Recorded) -> str | None:
    """Return the key of a request: NO_KEY if the recording omits it, None if there was none."""
    if entry.key is None and entry.answer.status != _NOT_LET_IN:
        return NO_KEY
    return entry.key


def _body(body: str | None, names: Names) -> str | None:
    document = value_of(body)
    translated = names.translated(document)
    # An unchanged body is sent exactly as it was recorded.
    return body if translated == document else json.dumps(translated)


# --- casting ------------------------------------------------------------------------------------

_TABLES: Final = {
    **dict.fromkeys(("terminal_id", "terminals"), "terminals"),
    **dict.fromkeys(("location_id", "locationID", "locations"), "locations"),
    **dict.fromkeys(("account_id", "parent_id", "accounts"), "accounts"),
}
"""The table of the cast for ids, by the name of their field or the path segment before them."""

_UNKNOWN_MAX: Final = 20
"""How many keys and ids to cast; others are sent as they were recorded."""


class _Unknown(NamedTuple):
    """A key or id that no answer created, its table, and the index of its request."""

    value: str
    table: str
    place: int


def cast(recording: Recording, play: Play) -> Casting:
    """Find a member of the cast for each key and id that the recording does not create itself.

    Those without one are sent as they were recorded.
    """
    world = play.cast()
    casting: Casting = {}
    unknown = islice(_unknown(recording), _UNKNOWN_MAX)
    groups = [list(group) for _, group in groupby(unknown, key=lambda one: one.place)]
    for together, following in zip_longest(groups, groups[1:]):
        # Only up to the request with the next unknown value.
        end = following[0].place if following else len(recording.entries)
        seen = Recording(recording.entries[:end], 0)
        casting = _best(seen, play, casting, _candidates(world, together, casting))
        for one in together:
            alone = ({one.value: (one.table, name)} for name in world[one.table])
            casting = _best(seen, play, casting, alone)
    return casting


def _candidates(
    world: Mapping[str, Any], together: list[_Unknown], casting: Casting
) -> Iterator[Casting]:
    """Yield castings of the unknown values of a request: by equal value, or to one cast name.

    Names that are not taken yet come first.
    """
    members = {
        value: (table, name)
        for table in ("keys", "locations", "terminals", "accounts")
        for name, value in world[table].items()
    }
    known = {one.value: members[one.value] for one in together if one.value in members}
    names = list(dict.fromkeys(name for one in together for name in world[one.table]))
    taken = {name for _, name in casting.values()}
    for name in sorted(names, key=lambda name: (name in taken, name != "merchant")):
        fitting = {one.value: (one.table, name) for one in together if name in world[one.table]}
        yield {**fitting, **known}


def _best(seen: Recording, play: Play, casting: Casting, candidates: Iterable[Casting]) -> Casting:
    """Return the casting with the best candidate added, or unchanged if none is better."""
    best, score = casting, _score(seen, play, casting)
    for candidate in candidates:
        if score == (0, 0):
            break
        tried = {**casting, **candidate}
        if (its := _score(seen, play, tried)) < score:
            score, best = its, tried
    return best


def _score(recording: Recording, play: Play, casting: Casting) -> tuple[int, int]:
    """Return the number of different statuses, and of all differences."""
    found = play.run(recording, casting, AS_IT_IS)
    return sum(one.kind == "status" for one in found), len(found)


def _unknown(recording: Recording) -> Iterator[_Unknown]:
    """Yield the keys and ids that requests use before any answer contains them."""
    made: set[str] = set()
    for place, entry in enumerate(recording.entries):
        ids = ((_TABLES.get(name), value) for name, value in _ids(entry))
        for table, value in (("keys", key_of(entry)), *ids):
            if table is not None and value is not None and value not in made:
                made.add(value)
                yield _Unknown(value, table, place)
        made.update(value for _, value in _texts("", entry.answer.body))


def _ids(entry: Recorded) -> Iterator[tuple[str, str]]:
    """Yield the ids of a request, each with its field name or the path segment before it."""
    sent = entry.request
    listed = ((name, part) for name, value in sent.query for part in value.split(","))
    texts = chain(pairwise(sent.path.split("/")), listed, _texts("", value_of(sent.body)))
    yield from ((name, text) for name, text in texts if UUID.fullmatch(text))


def _texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield every text in a JSON value, with the name of its field."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, list | dict):
        pairs = value.items() if isinstance(value, dict) else ((name, one) for one in value)
        for inner, one in pairs:
            yield from _texts(inner, one)


# --- readings that explain differences ----------------------------------------------------------

SHAPES: Final = ("detail_and_error", "detail", "error_message_details")
"""The shapes of errors that a profile can name."""


Explained = Mapping[Difference, Sequence[str]]
"""The differences, each with the readings that explain it, as `name=value`."""


def turns(profile: Profile | None) -> list[Turn]:
    """Return each other value of switches and readings, and of the profile if it is known."""
    chosen = in_force(profile.readings if profile else {}, {})
    found = [
        Turn(f"{name}={str(value).lower()}", {"switches": {name: value}})
        for name, switch in SWITCHES.items()
        # Some switches are another name of a reading.
        if switch.reading is None
        for value in switch.values
        if value != switch.default
    ]
    found += [
        Turn(f"readings.{id}={value}", {"readings": {id: value}})
        for id, reading in READINGS.items()
        for value in reading.names
        # Without the profile, every value is tried.
        if value != chosen[id] or profile is None
    ]
    if profile is not None:
        found += [
            Turn(f"errors.shape={other}", profile={"errors": {"shape": other}})
            for other in SHAPES
            if other != profile.errors.shape
        ]
    return found


def explain(
    found: list[Difference], recording: Recording, casting: Casting, play: Play, tried: list[Turn]
) -> Explained:
    """Return every difference with its explanations. Each reading is tried in a new world."""
    by: dict[Difference, list[str]] = {one: [] for one in found}
    before = {one[:3] for one in found}
    for turn in tried if found else ():
        left = {one[:3] for one in play.run(recording, casting, turn)}
        new = left - before
        if any(kind == "status" or place == "body.transaction_id" for _, kind, place in new):
            # If an operation is now refused, or an answer is about another transaction, later
            # answers prove nothing.
            continue
        for one, names in by.items():
            # If the status is now right but the body differs, that is not a match.
            if one[:3] not in left and not _is_worse(one, new):
                names.append(turn.name)
    return by


def _is_worse(one: Difference, new: set[tuple[int, Kind, str]]) -> bool:
    """Whether it disappeared only because something else in the answer differs now.

    That is the body instead of the status, the status itself, or the list that contains the part.
    """
    here = [(kind, place) for number, kind, place in new if number == one.number]
    if one.kind == "status":
        return bool(here)
    return ("status", "status") in here or any(
        kind == "shape" and one.place.startswith((f"{place}.", f"{place}[")) for kind, place in here
    )


# --- the report, without secrets ----------------------------------------------------------------


def document(recording: Recording, found: Explained, scrub: Callable[[str], str]) -> dict[str, Any]:
    """Return the result as JSON."""
    sent = {entry.number: entry.request for entry in recording.entries}
    views = [
        {
            "request": one.number,
            "method": sent[one.number].method,
            "path": scrub(sent[one.number].path),
            "kind": one.kind,
            **{name: scrub(getattr(one, name)) for name in ("place", "recorded", "replayed")},
            "explained_by": by,
        }
        for one, by in found.items()
    ]
    return {
        "requests": len(recording.entries),
        "skipped": recording.skipped,
        "without_body": sum(not entry.is_complete for entry in recording.entries),
        "differences": views,
    }


def lines(result: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the result as text."""
    last = None
    for one in result["differences"]:
        if one["request"] != last:
            last = one["request"]
            yield f"{last}. {one['method']} {one['path']}"
        place = f"{one['kind']}: {one['place']}"
        yield f"   {place}: recorded {one['recorded']}, replayed {one['replayed']}"
        if one["explained_by"]:
            yield f"      explained by {' or '.join(one['explained_by'])}"
    if result["without_body"]:
        answers = _count(result["without_body"], "answer has", "answers have")
        yield f"{answers} no body in the file, so only the status was compared"
    requests = _count(result["requests"], "request", "requests")
    differing = len({d["request"] for d in result["differences"]})
    others = _count(result["skipped"], "other was", "others were")
    skipped = f"; {others} not for the platform" if result["skipped"] else ""
    yield f"{requests} replayed, {differing} answered differently{skipped}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
