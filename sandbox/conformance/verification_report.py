"""What a run will do, for the person who has to allow it, and what it leaves.

It leaves a profile, the switches, the differences, and the evidence without data.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from sandbox.conformance.probe_runner import (
    INTERVAL_S,
    REQUESTS_MAX,
    Finding,
    Register,
    Run,
    as_json,
)
from sandbox.conformance.probes.table import PHASES, Probe, Step, probes_of
from sandbox.domain.profile import Profile
from sandbox.scenarios.parser import to_toml

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
        """Yield the phases that are allowed, in order, with their probes."""
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
        "path": _fill_in(step.path, wanted),
        "query": [[name, _fill_in(value, wanted)] for name, value in step.query],
        "key": step.key or "own",
        "body": step.body,
        "makes": step.makes.name if step.makes else None,
    }


def plan_lines(wanted: Wanted, base: str) -> Iterator[str]:
    """Yield the plan as text."""
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
    query = "&".join(f"{name}={_fill_in(value, wanted)}" for name, value in step.query)
    path = _fill_in(step.path, wanted)
    without = "" if step.has_accept else "  (without Accept)"
    by = {"": "", "none": "  (without a key)", "partner": "  (partner's key)"}.get(
        step.key, f"  (key {{{step.key}}})"
    )
    only = "  (only if the one before is refused)" if step.is_after_refusal else ""
    yield f"  {step.method} {path}{'?' + query if query else ''}{without}{by}{only}"
    if step.body is not None:
        yield f"    {_fill_in(json.dumps(step.body), wanted)}"
    if step.makes is not None:
        yield f"    makes a {step.makes.name}, deleted at the end: {{made.{step.name_of_made}}}"


def _fill_in(text: str, wanted: Wanted) -> str:
    """Fill in what is known before the run: the account, and the named transactions."""
    known = {f"tx.{name}": id for name, id in wanted.tx.items()}
    if wanted.account is not None:
        known["account"] = wanted.account
    for name, value in known.items():
        text = text.replace(f"{{{name}}}", value)
    return text


# --- what it leaves -----------------------------------------------------------------------------

Verdict = Literal["same", "other reading", "cannot tell"]

_TEXT_MAX: Final = 300


def verdict(finding: Finding, profile: Profile) -> Verdict:
    """Return what the finding says of the sandbox with this profile."""
    if finding.value is None:
        return "cannot tell"
    return "same" if finding.value == finding.probe.of_sandbox(profile) else "other reading"


def document(run: Run, profile: Profile, day: str, register: Register) -> dict[str, Any]:
    """Return the differences as JSON: one entry for each probe, and what the run made."""
    return {
        "run": register.run,
        "verified": day,
        "requests": len(run.evidence),
        "stopped": run.stopped,
        "probes": [
            {
                "id": finding.probe.id,
                "asks": finding.probe.asks,
                "clauses": list(finding.probe.clauses),
                "sandbox": finding.probe.of_sandbox(profile),
                "uat": finding.value,
                "verdict": verdict(finding, profile),
                "why": finding.why,
            }
            for finding in run.findings
        ],
        "made": as_json(register),
    }


def markdown(result: Mapping[str, Any]) -> str:
    """Return the same as a page."""
    parts = [
        "# The platform against the sandbox",
        f"Asked on {result['verified']}, with {result['requests']} requests.",
    ]
    if result["stopped"]:
        parts.append(f"The run stopped early: {result['stopped']}.")
    probes = (
        (
            one["id"],
            ", ".join(one["clauses"]),
            _word(one["sandbox"]),
            _word(one["uat"]),
            one["verdict"] + (f" ({one['why']})" if one["why"] else ""),
        )
        for one in result["probes"]
    )
    parts.append(_table("probe clauses sandbox platform verdict", probes))
    if result["deliveries"]:
        rows = _rows_of(result["deliveries"])
        parts.append(_table("delivery event place sandbox platform", rows))
    if result["made"]:
        parts.append("The run made these. A platform may keep the records of what was deleted.")
        parts.append(_table("kind name state", (one.values() for one in result["made"])))
    return "\n\n".join(parts) + "\n"


def _table(headers: str, rows: Iterable[Iterable[str]]) -> str:
    first, *others = [f"| {' | '.join(row)} |" for row in (headers.split(), *rows)]
    return "\n".join([first, "|" + "---|" * len(headers.split()), *others])


def _rows_of(deliveries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    for one in deliveries:
        event = one["event"] if one["is_event_known"] else f"{one['event']} (by its fields)"
        yield one["file"], event, "signature", "genuine", one["signature"]
        for unlike in one["differences"]:
            yield one["file"], event, unlike["place"], unlike["sandbox"], unlike["platform"]


def lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the same for a terminal."""
    for one in result["probes"]:
        said = f"{one['id']}: {one['verdict']}"
        if one["verdict"] == "other reading":
            said += f": the platform has {_word(one['uat'])}, the sandbox {_word(one['sandbox'])}"
        elif one["why"]:
            said += f" ({one['why']})"
        yield said
    for one in result["deliveries"]:
        yield f"{one['file']}: {one['event']}, signature {one['signature']}"
        for unlike in one["differences"]:
            place, ours, theirs = unlike["place"], unlike["sandbox"], unlike["platform"]
            yield f"  {place}: the platform has {theirs}, the sandbox {ours}"


def profile_toml(run: Run, profile: Profile, day: str) -> str:
    """Return the profile with what was learnt and when, for `sandbox serve --profile`."""
    whole = asdict(profile)
    told = [finding.probe for finding in run.findings if finding.value is not None]
    ids = [id for probe in told for id in probe.clauses]
    ids += [probe.name for probe in told if probe.kind == "reading"]
    whole["verified"] = dict(sorted({**whole["verified"], **dict.fromkeys(ids, day)}.items()))
    for finding in run.findings:
        if finding.value is None or finding.probe.kind == "switch":
            continue
        if finding.probe.kind == "reading":
            learnt = {**whole["readings"], finding.probe.name: finding.value}
            whole["readings"] = dict(sorted(learnt.items()))
        else:
            *sections, name = finding.probe.name.split(".")
            part = whole
            for section in sections:
                part = part[section]
            part[name] = finding.value
    tables = {name: part for name, part in whole.items() if isinstance(part, dict)}
    plain = {name: part for name, part in whole.items() if name not in tables}
    parts = [f"[{name}]\n{to_toml(table)}" for name, table in tables.items()]
    return "\n".join([to_toml(plain), *parts])


def switches(run: Run) -> dict[str, Any]:
    """Return the switches that were learnt.

    `PUT /_sandbox/worlds/{world}/switches` takes them in this form.
    """
    return {
        finding.probe.name: finding.value
        for finding in run.findings
        if finding.probe.kind == "switch" and finding.value is not None
    }


def evidence(run: Run, profile: Profile) -> str:
    """One line of JSON for each request. Only refusals keep their words; data is left out."""
    shown = []
    for one in run.evidence:
        keeps = profile.scrub if one["status"] >= 400 else None
        shown.append(json.dumps({**one, "body": _outline(one["body"], keeps)}))
    return "".join(f"{line}\n" for line in shown)


def _outline(value: Any, keeps: Any) -> Any:
    """Return the shape of a body: names, types, and one item of each list."""
    if isinstance(value, dict):
        return {name: _outline(inner, keeps) for name, inner in value.items()}
    if isinstance(value, list):
        return [_outline(inner, keeps) for inner in value[:1]]
    if isinstance(value, str):
        return keeps(value[:_TEXT_MAX]) if keeps else "text"
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else value


def _word(value: Any) -> str:
    return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
