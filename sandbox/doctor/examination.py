"""The examination: the order of probes, and skipping the rest if the first one fails."""

from collections.abc import Callable, Collection, Sequence

from sandbox.doctor.builder import ProbeBuilder
from sandbox.doctor.findings import Examination, Finding, judge, judge_pace
from sandbox.doctor.probe import Probe
from sandbox.doctor.probes import GOOD, PROBES, QUICK
from sandbox.doctor.scale import Way
from sandbox.doctor.sender import ProbeSender, ReceiverAnswer


class Unreachable(Exception):
    """The receiver takes no connections; the message gives the reason."""


def wanted(names: Collection[str]) -> list[Probe]:
    """The probes of these names, all when there are none. The good one is always among them."""
    return [one for one in PROBES.values() if not names or one.name in names or one is GOOD]


async def examine(
    sender: ProbeSender,
    builder: ProbeBuilder,
    probes: Sequence[Probe],
    *,
    slow_after_ms: float,
    told: Callable[[], None],
) -> Examination:
    """Send the probes, the good one first, and grade the answers.

    If a receiver refuses the good one, its other answers mean nothing, and the other probes are
    skipped. `told` is called after each probe. Raises Unreachable.
    """
    findings: list[Finding] = []
    for probe in probes:
        if findings and findings[0].wrong:
            findings.append(Finding(probe, is_skipped=True))
        elif probe is QUICK:
            findings.append(judge_pace(probe, findings, slow_after_ms))
        else:
            findings.append(judge(probe, await _send(sender, probe, builder)))
        told()
    return Examination(findings=findings, is_whole=len(probes) == len(PROBES))


async def _send(sender: ProbeSender, probe: Probe, builder: ProbeBuilder) -> list[ReceiverAnswer]:
    webhooks = probe.plan(builder)
    if probe.is_at_once:
        return await sender.send(webhooks)
    answers: list[ReceiverAnswer] = []
    for webhook in webhooks:
        answers += await sender.send([webhook])
        if probe is GOOD and answers[0].way == Way.UNREACHABLE:
            raise Unreachable(answers[0].summary)
    return answers
