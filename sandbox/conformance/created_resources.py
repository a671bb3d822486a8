"""What a run has made, in a file that outlives it.

Each line is JSON and is on the disk before the next request is sent. An intent is written before
the request that makes something, so whatever exists on the platform stands in the file, even if
the run ends between the request and its answer.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sandbox.conformance.probes.steps import KINDS, Kind

MADE: Final = "made"
GONE: Final = "deleted"
State = Literal["intended", "made", "deleted"]
"""States of what a run makes: perhaps there, there, no longer there."""


class RegisterError(ValueError):
    """The file of a run cannot be used; the message says why."""


class Entry(Struct, frozen=True, kw_only=True):
    """One thing. `account_id` is the account it was made in, `by` whose key made it."""

    number: int
    kind: str
    name: str
    account_id: str | None
    by: str
    state: State = "intended"
    id: str | None = None


@dataclass(slots=True)
class Register:
    """The entries of a run, by number, and its file."""

    run: str
    file: Path
    entries: dict[int, Entry] = field(default_factory=dict)

    def intend(self, kind: Kind, name: str, account_id: str | None, by: str) -> Entry:
        """Note what is about to be made. Raises OSError; then nothing may be sent."""
        number = len(self.entries) + 1
        entry = Entry(number=number, kind=kind.name, name=name, account_id=account_id, by=by)
        self._write(entry)
        return entry

    def made(self, entry: Entry, id: str) -> None:
        """Note that it is there, under this id. Raises OSError."""
        self._write(replace(entry, state=MADE, id=id))

    def gone(self, entry: Entry) -> None:
        """Note that it is not there. Raises OSError."""
        self._write(replace(self.entries[entry.number], state=GONE))

    def left(self) -> list[Entry]:
        """What may still be there, the last one first."""
        return [one for _, one in sorted(self.entries.items(), reverse=True) if one.state != GONE]

    def with_id(self, id: str) -> Entry | None:
        """The entry of a thing with this id."""
        return next((one for one in self.entries.values() if one.id == id), None)

    def _write(self, entry: Entry) -> None:
        self.entries[entry.number] = entry
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("ab") as file:
            file.write(msgspec.json.encode(entry) + b"\n")
            file.flush()
            os.fsync(file.fileno())


def register_file(folder: Path, run: str) -> Path:
    """Where a run notes what it makes."""
    return folder / f"made-{run}.jsonl"


def read_register(folder: Path, run: str) -> Register:
    """What a run noted. Raises RegisterError."""
    file = register_file(folder, run)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        known = sorted(one.stem.removeprefix("made-") for one in folder.glob("made-*.jsonl"))
        there = f"; there are: {', '.join(known[:10])}" if known else ""
        raise RegisterError(f"{file} cannot be read, so run {run!r} is unknown{there}") from None
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        # A crash cut the last line, and nothing was sent after it.
        file.write_text(whole, encoding="utf-8")
    register = Register(run, file)
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            entry = msgspec.json.decode(line, type=Entry)
            KINDS[entry.kind]
        except (msgspec.MsgspecError, KeyError):
            raise RegisterError(f"{file}: line {number} is no entry") from None
        register.entries[entry.number] = entry
    return register


def as_json(register: Register) -> list[dict[str, Any]]:
    """What the run made, for the report: without ids."""
    return [
        {"kind": one.kind, "name": one.name, "state": one.state}
        for _, one in sorted(register.entries.items())
    ]
