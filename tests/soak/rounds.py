"""A soak plays rounds: each begins from nothing and from its own random numbers.

So a finding is played again by its seed, its part and the number of its round, whatever was played
before it and however quick the machine was.
"""

import logging
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

from sandbox.app import build
from tests.soak.loop import TooSlow
from tests.soak.report import Finding, Found, Report
from tests.state.killing import Ordeal

EXCHANGES_SHOWN = 3
FRAMES_SHOWN = 6


@dataclass(frozen=True)
class Means:
    """What is soaked. A test of the soak itself puts something else in its place.

    `build` makes a sandbox in process. `command` comes before the arguments of the command that
    serves one. `ordeal` is what is killed.
    """

    build: Callable[..., Any] = build
    serving: Callable[..., Any] | None = None
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
    """Play rounds of the parts by turns until the time is over, each part as its share has it."""
    report = Report()
    began = said = monotonic()
    spent = dict.fromkeys(wanted.parts, 0.0)
    played = dict.fromkeys(wanted.parts, 0)
    with listening():
        while left := [name for name in wanted.parts if played[name] != wanted.rounds]:
            name = min(left, key=lambda one: (spent[one] / parts[one].share, -parts[one].share))
            start = monotonic()
            if wanted.rounds is None and start - began >= wanted.minutes * 60:
                break
            number = wanted.first + played[name]
            at = folder / f"{name}-{number}"
            at.mkdir()
            finding = _play(parts[name], Round(wanted.seed, name, number, at, means or Means()), report)
            if finding is not None and report.add(finding):
                say(str(finding))
            played[name] += 1
            now = monotonic()
            spent[name] += now - start
            if now - said >= 60:
                said = now
                say(f"{(now - began) / 60:.0f} min: {_so_far(report)}")
    return report


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
