"""Replaying a recording in a new world, with the keys and ids of that world."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from sandbox.conformance.clients import Request, Target, control
from sandbox.conformance.differences import Difference, Names, differences
from sandbox.conformance.har import Recorded, Recording
from sandbox.domain.instants import to_wire

NO_KEY: Final = ""
"""Stands for the key of requests whose recording has none, although they were let in."""

_NOT_LET_IN: Final = 401


@dataclass(frozen=True, slots=True)
class Turn:
    """One reading of the spec at one of its values, to be tried alone.

    `switches`, `readings` and `profile` are what a world or a server is given for it.
    """

    name: str
    value: str
    switches: Mapping[str, Any] = field(default_factory=dict)
    readings: Mapping[str, str] = field(default_factory=dict)
    profile: Mapping[str, Any] = field(default_factory=dict)


AS_IT_IS: Final = Turn("", "")

Casting = Mapping[str, tuple[str, str]]
"""A key or id of the recording to a table of the cast and a name in it."""


@dataclass(frozen=True, slots=True)
class Play:
    """How recordings are replayed: where, with which seed, and the header of keys."""

    target: Target
    key_header: str
    seed: int | None = None
    fixture: str | None = None

    def run(self, recording: Recording, casting: Casting, turn: Turn) -> list[Difference]:
        """All differences. Raises TargetError."""
        first = recording.entries[0].at
        world = self._begin(first, turn)
        try:
            names = Names()
            for unknown, (table, name) in casting.items():
                member = world[table][name]
                if table == "keys":
                    # Two keys of a recording may be keys of one account.
                    names.replayed[unknown] = member["key"]
                else:
                    names.learn(unknown, member)
            return list(self._differences(recording, world["id"], names, turn, first))
        finally:
            control(self.target, "DELETE", f"/worlds/{world['id']}", profile=turn.profile)

    def cast(self) -> Mapping[str, Any]:
        """The document of a world that begins like those of the replay."""
        world: Mapping[str, Any] = self._begin(None, AS_IT_IS)
        control(self.target, "DELETE", f"/worlds/{world['id']}")
        return world

    def _begin(self, at: datetime | None, turn: Turn) -> Mapping[str, Any]:
        body: dict[str, Any] = {"name": "compare", "switches": dict(turn.switches)}
        if turn.readings:
            body["readings"] = dict(turn.readings)
        if at is not None:
            body["clock"] = {"now": to_wire(at), "mode": "frozen"}
        if self.seed is not None:
            body["seed"] = self.seed
        if self.fixture is not None:
            body["fixture"] = self.fixture
        world: Mapping[str, Any] = control(
            self.target, "POST", "/worlds", body, profile=turn.profile
        )
        return world

    def _differences(
        self, recording: Recording, world: str, names: Names, turn: Turn, now: datetime
    ) -> Iterator[Difference]:
        for entry in recording.entries:
            if entry.at > now:
                now = entry.at
                path = f"/worlds/{quote(world)}/clock/advance"
                control(self.target, "POST", path, {"to": to_wire(now)}, profile=turn.profile)
            answer = self.target.send(self._request(entry, names), turn.profile)
            if answer is None:
                recorded = str(entry.answer.status)
                yield Difference(entry.number, "status", "status", recorded, "no answer")
            else:
                yield from differences(entry.number, entry.answer, answer, names)

    def _request(self, entry: Recorded, names: Names) -> Request:
        headers = dict(entry.headers)
        key = key_of(entry)
        if key is not None:
            translated = names.translated(key)
            if translated != NO_KEY:
                headers[self.key_header.lower()] = translated
        return Request(
            entry.method,
            "/".join(names.translated(part) for part in entry.path.split("/")),
            [
                # A value may be several with commas between them.
                (name, ",".join(names.translated(part) for part in value.split(",")))
                for name, value in entry.query
            ],
            headers,
            _body(entry.body, names),
        )


def key_of(entry: Recorded) -> str | None:
    """The key of a request; NO_KEY if the recording left it out, None if there was none."""
    if entry.key is None and entry.answer.status != _NOT_LET_IN:
        return NO_KEY
    return entry.key


def _body(body: str | None, names: Names) -> str | None:
    if body is None:
        return None
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return body
    translated = names.translated(document)
    # What needs no translation is sent as it was written.
    return body if translated == document else json.dumps(translated)
