"""What a run leaves: a profile, the switches, the differences, and the evidence without data."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, Literal

from sandbox.conformance.probe_runner import Finding, Register, Run, as_json
from sandbox.domain.profile import Profile
from sandbox.scenarios.parser import written_toml

Verdict = Literal["same", "other reading", "cannot tell"]

_TEXT_MAX: Final = 300


def verdict(finding: Finding, profile: Profile) -> Verdict:
    """What the finding says of the sandbox with this profile."""
    if finding.value is None:
        return "cannot tell"
    return "same" if finding.value == finding.probe.of_sandbox(profile) else "other reading"


def document(run: Run, profile: Profile, day: str, register: Register) -> dict[str, Any]:
    """The differences as JSON: one entry for each probe, and what the run made."""
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
    """The same as a page."""
    lines = [
        "# The platform against the sandbox",
        "",
        f"Asked on {result['verified']}, with {result['requests']} requests.",
    ]
    if result["stopped"]:
        lines += ["", f"The run stopped early: {result['stopped']}."]
    lines += ["", "| probe | clauses | sandbox | platform | verdict |", "|---|---|---|---|---|"]
    for one in result["probes"]:
        cells = (
            one["id"],
            ", ".join(one["clauses"]),
            _word(one["sandbox"]),
            _word(one["uat"]),
            one["verdict"] + (f" ({one['why']})" if one["why"] else ""),
        )
        lines.append(f"| {' | '.join(cells)} |")
    if result["deliveries"]:
        lines += ["", "| delivery | event | place | sandbox | platform |", "|---|---|---|---|---|"]
        lines += [f"| {' | '.join(row)} |" for row in _rows_of(result["deliveries"])]
    if result["made"]:
        lines += ["", "The run made these. A platform may keep the records of what was deleted."]
        lines += ["", "| kind | name | state |", "|---|---|---|"]
        lines += [f"| {one['kind']} | {one['name']} | {one['state']} |" for one in result["made"]]
    return "\n".join(lines) + "\n"


def _rows_of(deliveries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    for one in deliveries:
        event = one["event"] if one["is_event_known"] else f"{one['event']} (by its fields)"
        yield one["file"], event, "signature", "genuine", one["signature"]
        for unlike in one["differences"]:
            yield one["file"], event, unlike["place"], unlike["sandbox"], unlike["platform"]


def lines(result: Mapping[str, Any]) -> Iterator[str]:
    """The same for a terminal."""
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
    """The profile with what was learnt and when, for `sandbox serve --profile`."""
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
    parts = [f"[{name}]\n{written_toml(table)}" for name, table in tables.items()]
    return "\n".join([written_toml(plain), *parts])


def switches(run: Run) -> dict[str, Any]:
    """The switches that were learnt, as `PUT /_sandbox/worlds/{world}/switches` takes them."""
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
    """The shape of a body: names, types, and one item of each list."""
    if isinstance(value, dict):
        return {name: _outline(inner, keeps) for name, inner in value.items()}
    if isinstance(value, list):
        return [_outline(inner, keeps) for inner in value[:1]]
    if isinstance(value, str):
        return keeps(value[:_TEXT_MAX]) if keeps else "text"
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else value


def _word(value: Any) -> str:
    return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
