"""Judging the answers to a probe, and scoring all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from sandbox.doctor.probe import HINTS, Probe
from sandbox.doctor.scale import STANDINGS, Severity, Way, grade_of, score_of
from sandbox.doctor.sender import ReceiverAnswer

Verdict = Literal["passed", "failed", "skipped"]

_NAMED_MAX: Final = 5
"""The most requests of a probe to name one by one."""

_WITHOUT_PROOF: Final = frozenset(
    {"bad-signature", "tampered-body", "missing-signature", "unsigned"}
)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one probe. `wrong` are the wrong answers."""

    probe: Probe
    answers: Sequence[ReceiverAnswer] = ()
    wrong: Sequence[ReceiverAnswer] = ()
    is_skipped: bool = False

    @property
    def verdict(self) -> Verdict:
        """The result in a word."""
        if self.is_skipped:
            return "skipped"
        return "failed" if self.wrong else "passed"

    @property
    def worst(self) -> ReceiverAnswer | None:
        """The worst answer; None if nothing is wrong."""
        severity_of = self.probe.severity_of
        return next(
            (one for rank in Severity for one in self.wrong if severity_of(one.way) is rank), None
        )

    @property
    def severity(self) -> Severity | None:
        """The severity; None if nothing is wrong."""
        return self.probe.severity_of(self.worst.way) if self.worst else None

    @property
    def costs_percent(self) -> int:
        """The part of the probe's weight that it costs; a skipped probe earns nothing."""
        if self.severity is not None:
            return STANDINGS[self.severity].costs_percent
        return 100 if self.is_skipped else 0

    @property
    def advice(self) -> str | None:
        """The advice; None if nothing is wrong."""
        if self.worst is None:
            return None
        own = self.probe.advice_on(self.worst.way)
        hint = HINTS.get(self.worst.status_code or 0)
        return f"{hint} {own}" if hint and self.probe.expects == "taken" else own

    @property
    def told(self) -> str:
        """The receiver's reaction in words."""
        if self.is_skipped:
            return "not tried"
        replies = [
            f"{one.label}: {one.summary}" if one.label else one.summary for one in self.wrong
        ]
        more = len(replies) - _NAMED_MAX
        if replies:
            return "; ".join(replies[:_NAMED_MAX]) + (f"; and {more} more" if more > 0 else "")
        statuses = sorted({one.status_code for one in self.answers if one.status_code is not None})
        times = f"{len(self.answers)} times " if len(self.answers) > 1 else ""
        return times + ", ".join(map(str, statuses))

    @property
    def duration_ms(self) -> float | None:
        """The time of the slowest answer; None if nothing was sent."""
        return max((one.duration_ms for one in self.answers), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """All findings. `is_whole`: all probes were sent."""

    findings: Sequence[Finding]
    is_whole: bool

    @property
    def failures(self) -> list[Finding]:
        """What went wrong, the worst first, in the order of the probes."""
        return [one for rank in Severity for one in self.findings if one.severity is rank]

    @property
    def is_healthy(self) -> bool:
        """Whether no required probe failed."""
        return not any(one.severity and STANDINGS[one.severity].is_failure for one in self.findings)

    @property
    def score(self) -> int | None:
        """The score of 100; None if only some probes were sent."""
        if not self.is_whole:
            return None
        costs = ((one.probe.weight, one.costs_percent) for one in self.findings)
        return score_of(costs, [one.severity for one in self.findings if one.severity])

    @property
    def grade(self) -> str | None:
        """The grade from A to F; None without a score."""
        return None if self.score is None else grade_of(self.score)

    @property
    def requests(self) -> int:
        """How many requests were sent."""
        return sum(len(one.answers) for one in self.findings if one.probe.name != "quick")

    @property
    def diagnosis(self) -> str | None:
        """The common cause of several failures, or None."""
        taken = {
            one.probe.name
            for one in self.findings
            if one.worst is not None and one.worst.way == Way.TAKEN
        }
        if taken >= _WITHOUT_PROOF:
            return "It accepts everything: it does not verify signatures at all."
        skipped = sum(one.is_skipped for one in self.findings)
        if skipped:
            return f"It refuses a genuine webhook, so {skipped} probes would prove nothing."
        return None


def judge(probe: Probe, answers: Sequence[ReceiverAnswer]) -> Finding:
    """The finding on the answers to a probe."""
    return Finding(probe, answers, [one for one in answers if not probe.is_met_by(one.way)])


def judge_pace(probe: Probe, findings: Sequence[Finding], slow_after_ms: float) -> Finding:
    """The finding on the time that the receiver took for each accepted webhook."""
    taken = [
        (f"{one.probe.name} {answer.label}".strip(), answer)
        for one in findings
        if not one.probe.is_at_once
        for answer in one.answers
        if answer.way == Way.TAKEN
    ]
    name, slowest = max(taken, key=lambda one: one[1].duration_ms)
    took_ms = slowest.duration_ms
    if took_ms <= slow_after_ms:
        return Finding(probe, [slowest])
    summary = f"took {took_ms:,.0f} ms, more than {slow_after_ms:g}"
    slow = ReceiverAnswer(name, Way.SLOW, summary, slowest.status_code, took_ms)
    return Finding(probe, [slow], [slow])
