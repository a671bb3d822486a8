"""A soak plays rounds: each begins from nothing and from its own random numbers.

So a finding is played again by its seed, its part and the number of its round, whatever was played
before it and however quick the machine was.
"""

import logging
import shutil
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

from sandbox.app import build
from tests.soak.loop import TooSlow
from tests.soak.report import Finding, Found, Report
from tests.soak.served import Target, started
from tests.state.killing import Ordeal

EXCHANGES_SHOWN = 3
FRAMES_SHOWN = 6
SAYS_EVERY_S = 60


@dataclass(frozen=True)
class Means:
    """What is soaked. A test of the soak itself puts something else in its place.

    `build` makes a sandbox in process, `serving` starts one in a process of its own, `ordeal` is
    what servers go through that are killed.
    """

    build: Callable[..., Any] = build
    serving: Callable[..., AbstractContextManager[Target]] = started
    ordeal: type[Ordeal] = Ordeal


@dataclass
class Round:
    """One round of a part: its random numbers, its counts, and what was asked last."""

    seed: int
    part: str
    number: int
    folder: Path
    means: Means
    counts: Counter[str] = field(default_factory=Counter)
    step: int = 0
    exchanges: deque[str] = field(default_factory=lambda: deque(maxlen=EXCHANGES_SHOWN))

    def __post_init__(self) -> None:
        self.random = self.dice("round")

    def dice(self, purpose: str) -> Random:
        """Random numbers of their own for a purpose, the same whenever this round is played."""
        return Random(f"{self.seed}/{self.part}/{self.number}/{purpose}")

    def steps(self, count: int) -> Iterator[int]:
        """So many steps, counted."""
        for step in range(count):
            self.step = step
            self.counts["steps"] += 1
            yield step


@dataclass(frozen=True)
class Part:
    """A kind of round. `share` is how much of the time it gets, compared with others."""

    about: str
    play: Callable[[Round], None]
    share: float


class Ears(logging.Handler):
    """Takes what the sandbox logs as an error: none is ever expected."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            said += "\n" + "".join(traceback.format_exception(record.exc_info[1]))
        self._records.append(said)

    def check(self) -> None:
        """Raises Found where something was logged since."""
        records, self._records = self._records, []
        if records:
            raise Found("the sandbox logged an error: " + "\n".join(records))


EARS = Ears()


@contextmanager
def listening() -> Iterator[None]:
    """Errors in the log of this process are findings until the block ends."""
    loggers = [logging.getLogger(name) for name in ("sandbox", "asyncio")]
    before = [one.propagate for one in loggers]
    for one in loggers:
        one.addHandler(EARS)
        one.propagate = False
    try:
        yield
    finally:
        for one, propagate in zip(loggers, before, strict=True):
            one.removeHandler(EARS)
            one.propagate = propagate


@dataclass(frozen=True)
class Wanted:
    """Which rounds to play: for so long, or so many of each part."""

    seed: int
    minutes: float
    parts: tuple[str, ...]
    first: int = 0
    rounds: int | None = None


def soak(
    wanted: Wanted,
    parts: Mapping[str, Part],
    folder: Path,
    *,
    means: Means | None = None,
    say: Callable[[str], None] = print,
) -> Report:
    """Play rounds of the parts by turns until the time is over, or somebody stops it."""
    report = Report()
    turns = _Turns(wanted, parts)
    said = turns.began
    with listening(), suppress(KeyboardInterrupt):
        for name, number in turns:
            at = folder / f"{name}-{number}"
            at.mkdir()
            round = Round(wanted.seed, name, number, at, means or Means())
            finding = _play(parts[name], round, report)
            shutil.rmtree(at, ignore_errors=True)
            if finding is not None and report.add(finding):
                say(str(finding))
            if monotonic() - said >= SAYS_EVERY_S:
                said = monotonic()
                say(f"{(said - turns.began) / 60:.0f} min: {_so_far(report)}")
    return report


class _Turns:
    """Which round of which part is next: of the part that had least of its share so far."""

    def __init__(self, wanted: Wanted, parts: Mapping[str, Part]) -> None:
        self._wanted = wanted
        self._shares = {name: parts[name].share for name in wanted.parts}
        self._spent = dict.fromkeys(wanted.parts, 0.0)
        self._played = dict.fromkeys(wanted.parts, 0)
        self.began = monotonic()

    def __iter__(self) -> Iterator[tuple[str, int]]:
        wanted = self._wanted
        while left := [name for name in wanted.parts if self._played[name] != wanted.rounds]:
            start = monotonic()
            if wanted.rounds is None and start - self.began >= wanted.minutes * 60:
                return
            name = min(left, key=self._had)
            yield name, wanted.first + self._played[name]
            self._played[name] += 1
            self._spent[name] += monotonic() - start

    def _had(self, name: str) -> tuple[float, float]:
        return self._spent[name] / self._shares[name], -self._shares[name]


def _so_far(report: Report) -> str:
    total: Counter[str] = sum(report.counts.values(), Counter())
    names = ("rounds", "requests", "findings")
    return ", ".join(f"{total[name]:,} {name}" for name in names)


def _play(part: Part, round: Round, report: Report) -> Finding | None:
    """Play one round; what it found, if anything."""
    error: BaseException | None = None
    try:
        part.play(round)
        EARS.check()
    except (Exception, TooSlow) as raised:
        error = raised
    round.counts["rounds"] += 1
    report.of(round.part).update(round.counts)
    if error is None:
        return None
    kind, what = _described(error)
    return Finding(
        round.seed, round.part, round.number, round.step, kind, what, tuple(round.exchanges)
    )


def _described(error: BaseException) -> tuple[str, str]:
    """The kind of a finding, and all that there is to say of it."""
    said = str(error) or type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    own = [one for one in frames if "/tests/" in one.filename] or frames
    place = f"{Path(own[-1].filename).name}:{own[-1].lineno}"
    first = said.splitlines()[0]
    if isinstance(error, Found):
        return first[:120], said
    shown = "".join(traceback.format_list(frames[-FRAMES_SHOWN:]))
    line = own[-1].line or ""
    name = type(error).__name__
    return f"{place} {line}"[:120], f"{name}: {said}\n{shown}"
