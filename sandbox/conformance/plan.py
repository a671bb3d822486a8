"""The plan of a run: every request, for somebody who has to allow it."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sandbox.conformance.probe_runner import INTERVAL_S, REQUESTS_MAX
from sandbox.conformance.probes.steps import Step
from sandbox.conformance.probes.table import PHASES, Probe, probes_of

ABOUT: Final[Mapping[str, str]] = {
    "looking": "Requests that only read.",
    "keys": "Makes API keys in your account. They expire in an hour and are deleted at the end. "
    "Each holds one permission, but for one that asks for all: if the platform makes it, it is "
    "deleted at once.",
    "directory": "Makes a merchant under the partner's account, with what belongs to it. Blocks "
    "and unblocks it. All of it is deleted at the end.",
    "payments": "Changes the transactions that you named, by one minor unit at a time. A refund "
    "cannot be taken back, and the last probe captures the hold and releases most of it.",
}
"""What each phase does, in the order of `PHASES`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a run may do. `tx` are transactions of the user by what they are, such as `auth`."""

    run: str
    allowed: Sequence[str] = ()
    account: str | None = None
    tx: Mapping[str, str] = field(default_factory=dict)

    def phases(self) -> Iterator[tuple[str, list[Probe]]]:
        """The phases that are allowed, in order, with their probes."""
        for phase in PHASES:
            if phase == PHASES[0] or phase in self.allowed:
                yield phase, probes_of(phase)


def requests(wanted: Wanted) -> list[dict[str, Any]]:
    """Every request of the run, as JSON."""
    found: list[dict[str, Any]] = []
    if wanted.account is not None:
        own = Step(path="/v5/apikeys", query={"account_id": wanted.account})
        found.append(_request("account", "account", own, wanted))
    for phase, probes in wanted.phases():
        found += [
            _request(phase, probe.id, step, wanted) for probe in probes for step in probe.requests
        ]
    return found


def _request(phase: str, probe: str, step: Step, wanted: Wanted) -> dict[str, Any]:
    return {
        "phase": phase,
        "probe": probe,
        "method": step.method,
        "path": _known(step.path, wanted),
        "query": [[name, _known(value, wanted)] for name, value in step.query],
        "key": step.key or "own",
        "body": step.body,
        "makes": step.makes.name if step.makes else None,
    }


def lines(wanted: Wanted, base: str) -> Iterator[str]:
    """The plan as text."""
    asked = requests(wanted)
    made = Counter(one["makes"] for one in asked if one["makes"])
    yield f"{len(asked)} requests to {base}, one at a time, at least {INTERVAL_S:g} s apart."
    if not wanted.allowed:
        yield "All of them read. Nothing is created, changed or deleted."
    if made:
        things = ", ".join(f"{n} {kind}{'s' if n > 1 else ''}" for kind, n in made.items())
        yield f"They make: {things}."
        yield "All of these are deleted at the end, also if the run fails or is interrupted."
        yield f"Their names begin with verify-{wanted.run}-; a real run has another name."
        yield "Requests to delete them come in addition: one each, more if one has to be repeated."
        yield "Texts in braces are filled in by the run: {made.key.id} is the id of what it made."
    if "payments" in wanted.allowed:
        yield "They change transactions that you named. That is not undone."
    yield "A request that is answered with 429 is repeated once, after the time that it asks for."
    yield f"No more than {REQUESTS_MAX} requests are sent."
    if wanted.account is not None:
        yield ""
        yield "account: Whether the key is one of the account that you named. If not, the run ends."
        yield f"  GET /v5/apikeys?account_id={wanted.account}"
    for phase, probes in wanted.phases():
        yield ""
        yield f"Phase {phase}. {ABOUT[phase]}"
        for probe in probes:
            yield ""
            yield f"{probe.id}: {probe.asks}"
            if probe.needs:
                yield f"  needs {probe.needs}"
            for step in probe.requests:
                yield from _step_lines(step, wanted)


def _step_lines(step: Step, wanted: Wanted) -> Iterator[str]:
    query = "&".join(f"{name}={_known(value, wanted)}" for name, value in step.query)
    path = _known(step.path, wanted)
    without = "  (without Accept)" if step.without_accept else ""
    by = {"": "", "none": "  (without a key)", "partner": "  (partner's key)"}.get(
        step.key, f"  (key {{{step.key}}})"
    )
    only = "  (only if the one before is refused)" if step.if_refused else ""
    yield f"  {step.method} {path}{'?' + query if query else ''}{without}{by}{only}"
    if step.body is not None:
        yield f"    {_known(json.dumps(step.body), wanted)}"
    if step.makes is not None:
        yield f"    makes a {step.makes.name}, deleted at the end: {{made.{step.name_of_made}}}"


def _known(text: str, wanted: Wanted) -> str:
    """The text with what is known before the run: the account, and the named transactions."""
    known = {f"tx.{name}": id for name, id in wanted.tx.items()}
    if wanted.account is not None:
        known["account"] = wanted.account
    for name, value in known.items():
        text = text.replace(f"{{{name}}}", value)
    return text
