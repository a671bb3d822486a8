"""The report of an examination: lines for people, and the same as JSON."""

import textwrap
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

from sandbox.doctor.examination import Examination, Finding
from sandbox.doctor.probe import GRADES, STANDINGS, Probe, Severity, Way

Tone = Literal["good", "bad", "doubtful", "faint", "strong"]
Paint = Callable[[str, Tone], str]

TEXT_CHARS_MAX: Final = 200
"""Characters shown of a receiver's answer."""

_TONES: Final[dict[Severity | None, Tone]] = {
    None: "good",
    Severity.CRITICAL: "bad",
    Severity.MUST: "bad",
    Severity.SHOULD: "doubtful",
    Severity.ADVICE: "doubtful",
}

_TELLING: Final = (Way.REFUSED, Way.GONE, Way.BROKE)
"""The ways of answering whose body may explain the failure."""


def lines(
    examination: Examination, url: str, *, width: int, paint: Paint, scrub: Callable[[str], str]
) -> Iterator[str]:
    """Yield the report, line by line. `scrub` masks secrets in a receiver's answer."""
    sent = _count(len(examination.findings), "probe")
    yield f"{url}: {sent}, {_count(examination.requests, 'request')}"
    yield ""
    name_width = max(len(one.probe.name) for one in examination.findings)
    for one in examination.findings:
        yield _line(one, name_width, width, paint, scrub)
    if examination.failures:
        yield ""
        yield paint("What to change, the worst first:", "strong")
    shown: dict[str | None, str] = {}
    for one in examination.failures:
        name = shown.setdefault(one.advice, one.probe.name)
        advice = one.advice if name == one.probe.name else f"As for {name}."
        yield ""
        yield from _change(one, advice or "", width, paint, scrub)
    yield ""
    if examination.diagnosis:
        yield paint(examination.diagnosis, "strong")
    yield _result(examination, paint)


def _result(examination: Examination, paint: Paint) -> str:
    """Return the last line, which a terminal still shows after a long report."""
    if examination.grade is None:
        failed = len(examination.failures)
        result = f"{failed} failed" if failed else "passed"
        return f"{paint(result, 'bad' if failed else 'good')}; a grade takes all probes"
    tone: Tone = "good" if examination.grade == GRADES[0][0] else "doubtful"
    if not examination.is_healthy:
        tone = "bad"
    return paint(f"grade {examination.grade}, {examination.score} of 100", tone)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")


def _line(
    one: Finding, name_width: int, width: int, paint: Paint, scrub: Callable[[str], str]
) -> str:
    tone: Tone = "faint" if one.is_skipped else _TONES[one.severity]
    word = {"passed": "ok", "failed": str(one.severity), "skipped": "-"}[one.verdict]
    told = readable(scrub(one.told))
    if one.duration_ms is not None and one.severity is None:
        told = f"{told}, {one.duration_ms:,.0f} ms"
    room = max(20, width - name_width - 14)
    return f"  {paint(f'{word:<8}', tone)}  {one.probe.name:<{name_width}}  {told[:room]}".rstrip()


def _change(
    one: Finding, advice: str, width: int, paint: Paint, scrub: Callable[[str], str]
) -> Iterator[str]:
    yield f"  {paint(one.probe.name, _TONES[one.severity])}  {one.severity}"
    said = _replies(one, scrub)
    quoted = [f"it said: {said}"] if said else []
    for text in (f"{one.probe.sends}: {readable(scrub(one.told))}", *quoted, advice):
        yield from textwrap.wrap(
            text, width - 4, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
        )
    yield paint(f"    rule: {one.probe.source}", "faint")


def _replies(one: Finding, scrub: Callable[[str], str]) -> str | None:
    if one.worst is None or one.worst.way not in _TELLING:
        return None
    return readable(scrub(one.worst.text))[:TEXT_CHARS_MAX] or None


def readable(text: str) -> str:
    """Return the text in one line, without control characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def document(examination: Examination, url: str, *, scrub: Callable[[str], str]) -> dict[str, Any]:
    """Return the report as JSON."""
    return {
        "url": url,
        "ok": examination.is_healthy,
        "grade": examination.grade,
        "score": examination.score,
        "requests": examination.requests,
        "diagnosis": examination.diagnosis,
        "probes": [_view(one, scrub) for one in examination.findings],
    }


def _view(one: Finding, scrub: Callable[[str], str]) -> dict[str, Any]:
    worst, duration_ms = one.worst, one.duration_ms
    return {
        "name": one.probe.name,
        "verdict": one.verdict,
        "severity": one.severity,
        "way": worst and worst.way,
        "status_code": worst and worst.status_code,
        "told": readable(scrub(one.told)),
        "said": _replies(one, scrub),
        "duration_ms": None if duration_ms is None else round(duration_ms, 1),
        "costs": one.probe.weight * one.costs_percent / 100,
        "advice": one.advice,
        "source": one.probe.source,
    }


_LISTED: Final = ("name", "sends", "wants", "severity", "weight", "source")


def row(probe: Probe) -> dict[str, Any]:
    """Return a probe as `--list` shows it."""
    return {name: getattr(probe, name) for name in _LISTED}


def scale() -> Iterator[str]:
    """Yield what severities and grades mean, line by line."""
    for severity, one in STANDINGS.items():
        costs = f"costs {one.costs_percent} % of the weight, score {one.score_max} at most"
        yield f"  {severity:<8}  {one.meaning}; {costs}"
    yield "  " + ", ".join(f"{grade} from {least}" for grade, least in GRADES)
