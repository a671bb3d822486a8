"""The scale: the kinds of answers, the weights of failures, the grades.

This file has the numbers. The webhooks and the advice are with the probes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Way(StrEnum):
    """How a receiver answered one request."""

    TAKEN = "taken"
    REDIRECTED = "redirected"
    REFUSED = "refused"
    GONE = "gone"
    BROKE = "broke"
    SILENT = "silent"
    CLOSED = "closed"
    NOT_HTTP = "not_http"
    UNREACHABLE = "unreachable"
    SLOW = "slow"


_GONE: Final = 410


def way_of(status_code: int) -> Way:
    """The way of an answer with this status. Source: assumed 8.3-success, D22."""
    if status_code == _GONE:
        return Way.GONE
    ways = {2: Way.TAKEN, 3: Way.REDIRECTED, 4: Way.REFUSED}
    return ways.get(status_code // 100, Way.BROKE)


class Severity(StrEnum):
    """How bad a failure is, from the worst down."""

    CRITICAL = "critical"
    MUST = "must"
    SHOULD = "should"
    ADVICE = "advice"


@dataclass(frozen=True, slots=True)
class SeverityPolicy:
    """What failures of a severity do to the result.

    Each takes `costs_percent` of its probe's weight from the score, which with any of them is
    `score_max` at most. `is_failure`: the receiver is not fit for use.
    """

    costs_percent: int
    score_max: int
    is_failure: bool
    meaning: str


STANDINGS: Final = {
    Severity.CRITICAL: SeverityPolicy(100, 39, True, "forged webhooks get in, or no genuine one"),
    Severity.MUST: SeverityPolicy(100, 69, True, "webhooks are lost, or tried again for a day"),
    Severity.SHOULD: SeverityPolicy(30, 94, False, "works, and will give trouble some day"),
    Severity.ADVICE: SeverityPolicy(0, 100, False, "works"),
}
"""From the worst down. The limits are the highest scores of F, D and B."""

GRADES: Final = (("A", 95), ("B", 85), ("C", 70), ("D", 40), ("F", 0))
"""Grade to the score from which on it is given. From C on the receiver is fit for use."""

SCORE_MAX: Final = 100


def score_of(costs_percent: Iterable[tuple[int, int]], failures: Iterable[Severity]) -> int:
    """The score that is left: of weights, and how much of each is lost in percent.

    Rounded down: the full score is for those who lost nothing.
    """
    lost = sum(weight * percent for weight, percent in costs_percent)
    left = (SCORE_MAX * 100 - lost) // 100
    return max(0, min([left, *(STANDINGS[severity].score_max for severity in failures)]))


def grade_of(score: int) -> str:
    """The grade for a score."""
    return next(grade for grade, least in GRADES if score >= least)
