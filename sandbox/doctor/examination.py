"""Examination of a receiver: sending the probes, and judging and scoring its answers."""

import asyncio
import ssl
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Final, Literal

import httpx2
from httpx2 import AsyncClient, HTTPError, InvalidURL

from sandbox.doctor.probe import GRADES, STANDINGS, Probe, ProbeBuilder, Severity, Way, Webhook
from sandbox.doctor.probes import GOOD, PROBES, QUICK
from sandbox.webhooks.receivers import USER_AGENT

CONNECT_S: Final = 5.0
"""Time limit for a connection; after it the receiver counts as unreachable."""

ANSWER_BYTES_MAX: Final = 4_096
"""How many bytes of an answer to read."""

Scrub = Callable[[str], str]
"""Masks secrets in a text."""


@dataclass(frozen=True, slots=True)
class ReceiverAnswer:
    """The result of a request: how the receiver answered, and a summary in words."""

    label: str
    way: Way
    summary: str
    status_code: int | None
    duration_ms: float
    text: str = ""


async def send(
    client: AsyncClient, url: str, timeout_s: float, scrub: Scrub, webhook: Webhook
) -> ReceiverAnswer:
    """Send a request over its own connection, and return the answer. Never raises.

    Separate connections keep leftovers of one probe away from the next. An answer that is not
    complete after `timeout_s` counts as none. Its text is scrubbed, and made one line.
    """
    started, status, text = perf_counter(), None, bytearray()
    request = client.stream(webhook.method, url, content=webhook.body, headers=webhook.headers)
    try:
        async with asyncio.timeout(timeout_s), request as answer:
            status = answer.status_code
            async for part in answer.aiter_raw():
                text += part[: ANSWER_BYTES_MAX - len(text)]
                if len(text) >= ANSWER_BYTES_MAX:
                    break
    except TimeoutError:
        way, summary = Way.SILENT, f"no complete answer within {timeout_s:g} s"
    except (HTTPError, InvalidURL) as problem:
        way, summary = _way_of_problem(problem)
    else:
        way, summary = _way_of(answer.status_code), f"answered {answer.status_code}"
        if answer.is_redirect and (location := answer.headers.get("location")):
            summary += f" to {location}"
    duration_ms = (perf_counter() - started) * 1000
    said = text.decode("utf-8", "replace")
    shown, quoted = (_readable(scrub(one)) for one in (summary, said))
    return ReceiverAnswer(webhook.label, way, shown, status, duration_ms, quoted)


def _readable(text: str) -> str:
    """Return the text in one line, without control characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _client(url: str, timeout_s: float) -> AsyncClient:
    """Return a client for a receiver; with HTTPS it trusts what the server trusts.

    `SSL_CERT_FILE` names the certificate of a receiver's own.
    """
    return AsyncClient(
        # Without HTTPS, the machine's certificates are not read: that takes longer than all probes.
        verify=url.startswith("https:") and ssl.create_default_context(),
        trust_env=False,
        follow_redirects=False,
        # `send` limits each request as a whole; this limit detects connections without any answer.
        timeout=httpx2.Timeout(None, connect=min(CONNECT_S, timeout_s / 2)),
        limits=httpx2.Limits(max_keepalive_connections=0),
        headers={"user-agent": USER_AGENT, "accept-encoding": "identity"},
    )


def _way_of(status_code: int) -> Way:
    """Return the kind of an answer with this status. Source: assumed 8.3-success, D22."""
    ways = {410: Way.GONE, 2: Way.TAKEN, 3: Way.REDIRECTED, 4: Way.REFUSED}
    return ways.get(status_code) or ways.get(status_code // 100, Way.BROKE)


def _way_of_problem(problem: HTTPError | InvalidURL) -> tuple[Way, str]:
    """Return how an attempt without an answer failed, and a summary."""
    why = str(problem)
    if isinstance(problem, httpx2.ConnectTimeout):
        return Way.UNREACHABLE, "cannot be connected to: no program accepts connections there"
    if isinstance(problem, httpx2.ConnectError | InvalidURL | httpx2.LocalProtocolError):
        return Way.UNREACHABLE, f"cannot be connected to: {why}"
    # The client has the same exception for a closed connection and an unreadable answer.
    closed = ("Server disconnected", "peer closed")
    if isinstance(problem, httpx2.RemoteProtocolError) and not why.startswith(closed):
        return Way.NOT_HTTP, "did not answer in HTTP"
    return Way.CLOSED, "closed the connection before there was a complete answer"


# --- findings -----------------------------------------------------------------------------------

_NAMED_MAX: Final = 5
"""How many requests of a probe to name one by one."""

_WITHOUT_PROOF: Final = {"bad-signature", "tampered-body", "missing-signature", "unsigned"}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a probe. `wrong` are the wrong answers."""

    probe: Probe
    answers: Sequence[ReceiverAnswer] = ()
    wrong: Sequence[ReceiverAnswer] = ()
    is_skipped: bool = False

    @property
    def verdict(self) -> Literal["passed", "failed", "skipped"]:
        """The result in a word."""
        return "skipped" if self.is_skipped else "failed" if self.wrong else "passed"

    @property
    def worst(self) -> ReceiverAnswer | None:
        """The worst answer; None if nothing is wrong."""
        ranks, severity_of = list(Severity), self.probe.severity_of
        return min(self.wrong, key=lambda one: ranks.index(severity_of(one.way)), default=None)

    @property
    def severity(self) -> Severity | None:
        """The severity; None if nothing is wrong."""
        return self.probe.severity_of(self.worst.way) if self.worst else None

    @property
    def costs_percent(self) -> int:
        """The percentage of the probe's weight that is lost: all of it for a skipped probe."""
        skipped = 100 if self.is_skipped else 0
        return STANDINGS[self.severity].costs_percent if self.severity else skipped

    @property
    def advice(self) -> str | None:
        """The advice; None if nothing is wrong."""
        worst = self.worst
        return self.probe.advice_on(worst.way, worst.status_code) if worst else None

    @property
    def told(self) -> str:
        """The receiver's reaction in words."""
        if self.is_skipped:
            return "not tried"
        if self.wrong:
            replies = [": ".join(filter(None, (one.label, one.summary))) for one in self.wrong]
            more = len(replies) - _NAMED_MAX
            return "; ".join(replies[:_NAMED_MAX]) + (f"; and {more} more" if more > 0 else "")
        statuses = sorted({one.status_code for one in self.answers if one.status_code is not None})
        times = f"{len(self.answers)} times " if len(self.answers) > 1 else ""
        return times + ", ".join(map(str, statuses))

    @property
    def duration_ms(self) -> float | None:
        """The time of the slowest answer; None if nothing was sent."""
        return max((one.duration_ms for one in self.answers), default=None)


@dataclass(frozen=True, slots=True)
class Examination:
    """The findings about the probes that were sent or skipped."""

    findings: Sequence[Finding]

    @property
    def failures(self) -> list[Finding]:
        """The failures, the worst ones first, and otherwise in the order of the probes."""
        return [one for rank in Severity for one in self.findings if one.severity is rank]

    @property
    def is_healthy(self) -> bool:
        """Whether no required probe failed."""
        return not any(one.severity and STANDINGS[one.severity].is_failure for one in self.findings)

    @property
    def score(self) -> int | None:
        """The score of 100; None if only some probes were sent."""
        if len(self.findings) < len(PROBES):
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
        failed = [(one.probe.name, one.worst.way) for one in self.findings if one.worst]
        if {name for name, way in failed if way == Way.TAKEN} >= _WITHOUT_PROOF:
            return "It accepts everything: it does not verify signatures at all."
        if skipped := sum(one.is_skipped for one in self.findings):
            others = "1 probe" if skipped == 1 else f"{skipped} probes"
            return f"It refuses a genuine webhook, so {others} would prove nothing."
        return None


def score_of(costs_percent: Iterable[tuple[int, int]], failures: Iterable[Severity]) -> int:
    """Return the score from pairs of a weight and the percentage of it that is lost.

    It is rounded down, so only a receiver that lost nothing gets the full score.
    """
    lost = sum(weight * percent for weight, percent in costs_percent)
    left = (100 * 100 - lost) // 100
    return max(0, min([left, *(STANDINGS[severity].score_max for severity in failures)]))


def grade_of(score: int) -> str:
    """Return the grade for a score."""
    return next(grade for grade, least in GRADES if score >= least)


def judge_pace(probe: Probe, findings: Sequence[Finding], slow_after_ms: float) -> Finding:
    """Return the finding about the slowest accepted webhook."""
    taken = [
        (f"{one.probe.name} {answer.label}".strip(), answer)
        for one in findings
        if not one.probe.is_at_once
        for answer in one.answers
        if answer.way == Way.TAKEN
    ]
    name, slowest = max(taken, key=lambda one: one[1].duration_ms)
    if slowest.duration_ms <= slow_after_ms:
        return Finding(probe, [slowest])
    summary = f"took {slowest.duration_ms:,.0f} ms, more than {slow_after_ms:g}"
    slow = replace(slowest, label=name, way=Way.SLOW, summary=summary)
    return Finding(probe, [slow], [slow])


# --- the order of probes ------------------------------------------------------------------------


class Unreachable(Exception):
    """The receiver accepts no connections; the message gives the reason."""


async def examine(
    url: str,
    builder: ProbeBuilder,
    probes: Iterable[Probe],
    *,
    timeout_s: float,
    slow_after_ms: float,
    scrub: Scrub,
) -> Examination:
    """Send the probes, the good one first, and judge the answers.

    If the receiver refuses the good one, its other answers mean nothing, and the other probes are
    skipped. Raises Unreachable.
    """
    findings: list[Finding] = []
    async with _client(url, timeout_s) as client:
        ask = partial(send, client, url, timeout_s, scrub)
        for probe in probes:
            if findings and findings[0].wrong:
                findings.append(Finding(probe, is_skipped=True))
            elif probe is QUICK:
                findings.append(judge_pace(probe, findings, slow_after_ms))
            else:
                webhooks = probe.plan(builder)
                if probe.is_at_once:
                    answers = await asyncio.gather(*map(ask, webhooks))
                else:
                    answers = [await ask(webhook) for webhook in webhooks]
                if probe is GOOD and answers[0].way == Way.UNREACHABLE:
                    raise Unreachable(answers[0].summary)
                wrong = [one for one in answers if not probe.is_met_by(one.way)]
                findings.append(Finding(probe, answers, wrong))
    return Examination(findings)
