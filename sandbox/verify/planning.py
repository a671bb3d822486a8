"""The plan of a run: every request, for somebody who has to allow it."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sandbox.verify.probes.steps import Step
from sandbox.verify.probes.table import PHASES, Probe, probes_of
from sandbox.verify.running import INTERVAL_S, REQUESTS_MAX

ABOUT: Final[Mapping[str, str]] = {
    "looking": "Requests that only read.",
    "keys": "Makes API keys in your account. Each holds one permission and expires in an hour. "
    "They are deleted at the end.",
    "directory": "Makes a merchant under the partner's account, with what belongs to it. "
    "All of it is deleted at the end.",
    "payments": "Changes the transactions that you named, by one minor unit at a time. A refund "
    "cannot be taken back.",
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
        found.append(_own_account(wanted.account))
    for phase, probes in wanted.phases():
        for probe in probes:
            for step in probe.requests:
                one: dict[str, Any] = {"phase": phase, "probe": probe.id, "method": step.method}
                one |= {"path": _with_tx(step.path, wanted.tx), "query": dict(step.query)}
                one |= {"key": step.key or "own", "body": step.body}
                found.append(one | {"makes": step.makes.name if step.makes else None})
    return found


def _own_account(account: str) -> dict[str, Any]:
    one = {"phase": "account", "probe": "account", "method": "GET", "path": "/v5/apikeys"}
    return one | {"query": {"account_id": account}, "key": "own", "body": None, "makes": None}


def plan(wanted: Wanted, base: str) -> Iterator[str]:
    """The plan as text."""
    count = len(requests(wanted))
    made = Counter(one["makes"] for one in requests(wanted) if one["makes"])
    yield f"{count} requests to {base}, one at a time, at least {INTERVAL_S:g} s apart."
    if not wanted.allowed:
        yield "All of them read. Nothing is created, changed or deleted."
    if made:
        things = ", ".join(f"{number} {kind}" for kind, number in made.items())
        yield f"They make: {things}. All of these are deleted at the end, also if the run fails"
        yield f"or is interrupted. Their names begin with verify-{wanted.run}-."
        yield "Requests to delete them come in addition: one each, more if one has to be repeated."
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
                yield from _lines(step, wanted)


def _lines(step: Step, wanted: Wanted) -> Iterator[str]:
    query = "&".join(f"{name}={value}" for name, value in step.query)
    path = _with_tx(step.path, wanted.tx)
    without = "  (without Accept)" if step.without_accept else ""
    by = {"": "", "none": "  (without a key)", "partner": "  (partner's key)"}.get(
        step.key, f"  (key {{{step.key}}})"
    )
    yield f"  {step.method} {path}{'?' + query if query else ''}{without}{by}"
    if step.body is not None:
        yield f"    {json.dumps(step.body)}"
    if step.makes is not None:
        yield f"    makes a {step.makes.name}, deleted at the end: {{made.{step.called}}}"


def _with_tx(path: str, tx: Mapping[str, str]) -> str:
    """The path with the transactions that the user named."""
    for name, id in tx.items():
        path = path.replace(f"{{tx.{name}}}", id)
    return path
