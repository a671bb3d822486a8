"""Running probes against a platform, slowly, and deleting what they created.

A file that outlives the run lists what it creates. Each line is JSON, and is on the disk before the
next request is sent. An intent is written before the request that creates something, so the file
has everything that exists on the platform, even if the run ends between a request and its answer.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sandbox.conformance.clients import HttpAnswer
from sandbox.conformance.probe_table import KINDS, Kind, Missing, Probe, ProbeRequest, Step, fill
from sandbox.webhooks.receivers import parse_retry_after

State = Literal["intended", "made", "deleted"]
"""The state of something that a run creates: it may exist, exists, or no longer exists."""

GONE: Final[State] = "deleted"


class RegisterError(ValueError):
    """The file of a run cannot be used; the message says why."""


class Entry(Struct, frozen=True, kw_only=True):
    """A created thing. `account_id` is its account, and `by` says whose key created it."""

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
        """Note what is about to be created. Raises OSError; then nothing may be sent."""
        number = len(self.entries) + 1
        entry = Entry(number=number, kind=kind.name, name=name, account_id=account_id, by=by)
        self._write(entry)
        return entry

    def note(self, entry: Entry, state: State, id: str | None = None) -> None:
        """Note the new state of a thing, and its id if it is new. Raises OSError."""
        self._write(replace(entry, state=state, id=id or entry.id))

    def list_left(self) -> list[Entry]:
        """List what may still exist, newest first."""
        return [one for one in reversed(self.entries.values()) if one.state != GONE]

    def with_id(self, id: str) -> Entry | None:
        """Return the entry of the thing with this id, or None."""
        return next((one for one in self.entries.values() if one.id == id), None)

    def _write(self, entry: Entry) -> None:
        self.entries[entry.number] = entry
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("ab") as file:
            file.write(msgspec.json.encode(entry) + b"\n")
            file.flush()
            os.fsync(file.fileno())


def register_file(folder: Path, run: str) -> Path:
    """Return the file in which a run notes what it creates."""
    return folder / f"made-{run}.jsonl"


def read_register(folder: Path, run: str) -> Register:
    """Read the file of a run. Raises RegisterError."""
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
            raise RegisterError(f"{file}: line {number} is not an entry") from None
        register.entries[entry.number] = entry
    return register


# --- sending, and stopping when the platform seems to be in trouble -----------------------------

REQUESTS_MAX: Final = 300
FOR_CLEANING: Final = 100
"""How many of these requests are reserved for deleting what the run created."""

INTERVAL_S: Final = 0.5
RETRY_AFTER_S_MAX: Final = 120.0
"""A platform that asks for a longer wait ends the run."""

TOO_MANY_MAX: Final = 2
TROUBLE_MAX: Final = 3
"""How many answers 429 to one request, and how many failures in all, end the run."""

REFUSED_MAX: Final = 3
"""How many refusals, redirects or pages end the run, if the key was never accepted before."""

TOO_MANY: Final = 429
_REFUSED: Final = (401, 403)
_INVALID: Final = (400, 422)


class Stopped(Exception):
    """The run ended early; the message says why."""


Sends = Callable[[ProbeRequest], HttpAnswer]
"""Sends a request. The status of the answer is 0 if there is none, and its text says why."""


@dataclass(slots=True)
class Pace:
    """Spaces out requests. `now` returns the seconds of a clock, and `sleep` waits for seconds."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    sent: int = 0
    _next_s: float = float("-inf")

    def wait(self, *, cleaning: bool = False) -> None:
        """Wait until the next request may be sent. Raises Stopped if no more are allowed."""
        allowed = REQUESTS_MAX if cleaning else REQUESTS_MAX - FOR_CLEANING
        if self.sent >= allowed:
            raise Stopped(f"{allowed} requests were sent, and no more are allowed")
        if (left := self._next_s - self.now()) > 0:
            self.sleep(left)
        self.sent += 1
        self._next_s = self.now() + INTERVAL_S

    def hold(self, seconds: float) -> None:
        """Send nothing for this time."""
        self._next_s = max(self._next_s, self.now() + seconds)


class Finding(NamedTuple):
    """The result of a probe: the value, or None if it cannot tell; then `why` has the reason."""

    probe: Probe
    value: Any
    why: str = ""


@dataclass(slots=True)
class Run:
    """A run, which sends one request at a time, and stops to leave the platform alone.

    `names` fill the holes of steps; `own` is the record of the user's key. `stopped` says why the
    run ended early, if it did.
    """

    send: Sends
    pace: Pace
    register: Register
    names: dict[str, Any] = field(default_factory=dict)
    own: Any = None
    findings: list[Finding] = field(default_factory=list)
    evidence: list[dict[str, Any]] = field(default_factory=list)
    stopped: str | None = None
    trouble: int = 0
    refused: int = 0
    is_let_in: bool = False

    def ask(self, probes: Sequence[Probe]) -> None:
        """Run the probes of a phase. Raises Stopped and OSError of the register."""
        for probe in probes:
            self.findings.append(self._find(probe))

    def _find(self, probe: Probe) -> Finding:
        answers: list[HttpAnswer] = []
        for step in probe.requests:
            if step.is_after_refusal and not (answers and 400 <= answers[-1].status < 500):
                continue
            try:
                answers.append(self._take(step, probe.id))
            except Missing as missing:
                if step.method == "DELETE":
                    # It was not created.
                    continue
                return Finding(probe, None, f"{missing} is missing")
        value = probe.read_value([one.facts for one in answers], self.own)
        told = ", ".join(str(one.status or "none") for one in answers)
        return Finding(probe, value, "" if value is not None else f"answers: {told}")

    def _take(self, step: Step, probe: str) -> HttpAnswer:
        """Send the request of a step. If it creates something, that is noted before."""
        name = f"verify-{self.register.run}-{len(self.register.entries) + 1}"
        request = fill(step, {**self.names, "name": name})
        if step.makes is None:
            answer = self.answer(request, probe)
            if step.method == "DELETE" and answer.is_success and answer.is_json:
                entry = self.register.with_id(request.path.rpartition("/")[2])
                if entry is not None:
                    self.register.note(entry, GONE)
            return answer
        account = (request.body or {}).get("account_id")
        entry = self.register.intend(step.makes, name, account, "partner" if step.key else "own")
        answer = self.answer(request, probe)
        made = answer.fields
        id = made.get(step.makes.id_field)
        if answer.is_success and isinstance(id, str | int):
            self.register.note(entry, "made", str(id))
            self.names.setdefault("made", {})[step.name_of_made] = {**made, "id": str(id)}
        elif 400 <= answer.status < 500 and answer.is_json:
            self.register.note(entry, GONE)
        return answer

    def answer(self, request: ProbeRequest, probe: str) -> HttpAnswer:
        """Return the answer to a request. Raises Stopped."""
        for _ in range(TOO_MANY_MAX):
            self.pace.wait()
            answer = self.send(request)
            if isinstance(total := answer.fields.get("total_amount"), int):
                self.names["one_more"] = total + 1
            self.evidence.append(
                {"probe": probe, "method": request.method, "path": request.path}
                | {"query": request.query, "status": answer.status, "body": answer.body}
            )
            if answer.status != TOO_MANY:
                self._note(answer, is_own=request.key is None)
                return answer
            self.pace.hold(retry_after(answer))
        raise Stopped(f"the platform answered 429 {TOO_MANY_MAX} times to {request.path}")

    def _note(self, answer: HttpAnswer, *, is_own: bool) -> None:
        status = answer.status
        why = f"status {status}" if status else answer.text
        if status == 0 or status >= 500:
            self.trouble += 1
            if self.trouble >= TROUBLE_MAX:
                raise Stopped(f"the platform failed {TROUBLE_MAX} times, the last time with {why}")
        if self.is_let_in or not is_own:
            return
        # A key may be refused for one operation and accepted for others.
        is_served = answer.is_success or status in _INVALID
        self.is_let_in = is_served and answer.body is not None
        self.refused += not self.is_let_in and 0 < status < 500
        if self.refused < REFUSED_MAX:
            return
        if status in _REFUSED:
            raise Stopped(f"the platform does not accept the key ({why})")
        raise Stopped(
            f"no platform answers at this address, or its key may not read anything ({why})"
        )


def retry_after(answer: HttpAnswer) -> float:
    """Return the seconds to wait. Raises Stopped if they are too many."""
    text = answer.headers.get("retry-after") or "1"
    seconds: float | None
    try:
        seconds = float(text)
    except ValueError:
        seconds = parse_retry_after(text)
    if seconds is None or not 0 <= seconds <= RETRY_AFTER_S_MAX:
        raise Stopped(f"the platform asks to wait, with Retry-After: {text}")
    return max(seconds, INTERVAL_S)


# --- deleting, with patience --------------------------------------------------------------------

TRIES_MAX: Final = 8
WAIT_S_MAX: Final = 60.0
"""How often to try a request, and the longest of the waits of 1, 2, 4 seconds and so on."""

_PAGE: Final = 100
_THERE_NO_MORE: Final = (404, 410)


class _NoAnswer(Exception):
    """The platform gave no usable answer in all tries."""


@dataclass(slots=True)
class Cleaner:
    """Deletes what is left according to the register. `keys` are named `own` and `partner`."""

    register: Register
    send: Sends
    pace: Pace
    keys: Mapping[str, str | None] = field(repr=False)

    def clean(self) -> list[Entry]:
        """Delete everything, and return what the platform did not delete."""
        with suppress(Stopped, OSError):
            for entry in self.register.list_left():
                with suppress(_NoAnswer):
                    self._end(entry)
        return self.register.list_left()

    def _end(self, entry: Entry) -> None:
        """Delete a thing, whose id is looked up by its name if the answer with it was lost."""
        ids = [entry.id] if entry.id is not None else list(self._find_ids(entry))
        at = KINDS[entry.kind].made_at
        answers = [self._patient("DELETE", f"{at}/{id}", entry.by) for id in ids]
        if all(one.is_success or one.status in _THERE_NO_MORE for one in answers):
            self.register.note(entry, GONE)

    def _find_ids(self, entry: Entry) -> Iterator[str]:
        """Yield the ids of things with the name of the entry. Raises _NoAnswer."""
        kind = KINDS[entry.kind]
        if not kind.has_name and not self._is_ours(entry.account_id):
            return
        for offset in count(0, _PAGE):
            query = {"limit": str(_PAGE), "offset": str(offset)}
            if entry.account_id is not None:
                query["account_id"] = entry.account_id
            if kind.has_name and kind.listed_in is not None:
                query["search"] = entry.name
            answer = self._patient("GET", kind.made_at, entry.by, **query)
            if answer.status in _THERE_NO_MORE and self._is_ours(entry.account_id):
                return
            items = _items(answer, kind)
            yield from (
                str(one.get(kind.id_field))
                for one in items
                if not kind.has_name or one.get("name") == entry.name
            )
            # The list of keys has no pages.
            if kind.listed_in is None or len(items) < _PAGE:
                return

    def _is_ours(self, account_id: str | None) -> bool:
        """Whether the run created the account, and so everything in it."""
        made = self.register.with_id(account_id) if account_id else None
        return made is not None and made.kind == "merchant"

    def _patient(self, method: str, path: str, by: str, **query: str) -> HttpAnswer:
        """Return an answer that is neither a failure nor 429. Raises _NoAnswer and Stopped."""
        request = ProbeRequest(method=method, path=path, query=query, key=self.keys.get(by))
        for attempt in range(TRIES_MAX):
            self.pace.wait(cleaning=True)
            answer = self.send(request)
            is_trouble = answer.status == 0 or answer.status >= 500 or answer.status == TOO_MANY
            # A page in place of JSON comes from a proxy before the platform.
            if not is_trouble and answer.is_json:
                return answer
            wait_s = min(2.0**attempt, WAIT_S_MAX)
            if answer.status == TOO_MANY:
                try:
                    wait_s = max(retry_after(answer), wait_s)
                except Stopped:
                    wait_s = WAIT_S_MAX
            self.pace.hold(wait_s)
        raise _NoAnswer


def _items(answer: HttpAnswer, kind: Kind) -> list[dict[str, Any]]:
    """Return the items of a list. Raises _NoAnswer if the answer is not a list."""
    items = answer.body if kind.listed_in is None else answer.fields.get(kind.listed_in)
    if answer.status != 200 or not isinstance(items, list):
        raise _NoAnswer
    return [one for one in items if isinstance(one, dict)]
