"""Verification of a real UAT: what it is allowed to do, its plan, the run, and its files.

The files are a profile, the switches, the differences, and the evidence without data.
"""

import json
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from sandbox.conformance import probe_runner
from sandbox.conformance.probe_runner import INTERVAL_S, Finding, Register, Run, Stopped
from sandbox.conformance.probe_table import PHASES, Probe, ProbeRequest, Step, describe, probes_of
from sandbox.domain.json_text import fields_of
from sandbox.domain.keys import LOOKUP_CHARS, SECRET_CHARS
from sandbox.domain.profile import Profile
from sandbox.domain.switches import SWITCHES
from sandbox.scenarios.parser import to_toml

KEY_LIFE: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a run is allowed to do. `tx` are the user's transactions by kind, such as `auth`."""

    run: str = field(default_factory=lambda: secrets.token_hex(4))
    allowed: Sequence[str] = ()
    account: str | None = None
    tx: Mapping[str, str] = field(default_factory=dict)

    def phases(self) -> Iterator[tuple[str, list[Probe]]]:
        """Yield the allowed phases in order, with their probes."""
        for phase in PHASES:
            if phase == PHASES[0] or phase in self.allowed:
                yield phase, probes_of(phase)

    def fill_in(self, text: str) -> str:
        """Fill in the account and the named transactions, which are known before the run."""
        for name, id in self.tx.items():
            text = text.replace(f"{{tx.{name}}}", id)
        return text.replace("{account}", self.account or "{account}")

    def steps(self) -> Iterator[tuple[str, str, Step]]:
        """Yield every request, with its phase and its probe."""
        if self.account is not None:
            yield "account", "account", Step(path=_KEYS, query={"account_id": self.account})
        for phase, probes in self.phases():
            yield from ((phase, probe.id, step) for probe in probes for step in probe.requests)


_KEYS: Final = "/v5/apikeys"


def requests(wanted: Wanted) -> list[dict[str, Any]]:
    """Return every request of the run, as JSON."""
    return [
        {
            "phase": phase,
            "probe": probe,
            "method": step.method,
            "path": wanted.fill_in(step.path),
            "query": [[name, wanted.fill_in(value)] for name, value in step.parameters],
            "key": step.key or "own",
            "body": step.body,
            "makes": step.makes.name if step.makes else None,
        }
        for phase, probe, step in wanted.steps()
    ]


def plan_lines(wanted: Wanted, base: str) -> Iterator[str]:
    """Yield the plan as text."""
    asked = requests(wanted)
    made = Counter(one["makes"] for one in asked if one["makes"])
    yield f"{len(asked)} requests to {base}, one at a time, at least {INTERVAL_S:g} s apart."
    if not wanted.allowed:
        yield "They only read. Nothing is created, changed or deleted."
    if made:
        things = ", ".join(f"{n} {kind}{'s' if n > 1 else ''}" for kind, n in made.items())
        yield f"They create: {things}."
        yield "All of these are deleted at the end, even if the run fails or is interrupted."
        yield f"Their names begin with verify-{wanted.run}-; a real run has another name."
        yield "Requests to delete them are additional: one each, more if one has to be repeated."
        yield "The run fills in texts in braces: {made.key.id} is the id of the key it created."
    if "payments" in wanted.allowed:
        yield "They change the transactions that you named. That is not undone."
    yield "A request that is answered with 429 is repeated once, after the time that it asks for."
    yield f"No more than {probe_runner.REQUESTS_MAX} requests are sent."
    if wanted.account is not None:
        why = (
            "account: Whether the key belongs to the account that you named. If not, the run ends."
        )
        yield from ("", why, f"  GET {_KEYS}?account_id={wanted.account}")
    for phase, probes in wanted.phases():
        yield from ("", f"Phase {phase}. {describe(phase)}")
        for probe in probes:
            yield from ("", f"{probe.id}: {probe.asks}")
            if probe.needs:
                yield f"  needs {probe.needs}"
            for step in probe.requests:
                yield from _step_lines(step, wanted)


def _step_lines(step: Step, wanted: Wanted) -> Iterator[str]:
    query = "&".join(f"{name}={value}" for name, value in step.parameters)
    path = step.path + (f"?{query}" if query else "")
    without = "" if step.has_accept else "  (without Accept)"
    known = {"": "", "none": "  (without a key)", "partner": "  (partner's key)"}
    by = known.get(step.key, f"  (key {{{step.key}}})")
    only = "  (only if the request before is refused)" if step.is_after_refusal else ""
    yield f"  {step.method} {wanted.fill_in(path)}{without}{by}{only}"
    if step.body is not None:
        yield f"    {wanted.fill_in(json.dumps(step.body))}"
    if step.makes is not None:
        yield f"    creates a {step.makes.name}, deleted at the end: {{made.{step.name_of_made}}}"


# --- the run -------------------------------------------------------------------------------------


def ask(
    send: probe_runner.Sends,
    profile: Profile,
    wanted: Wanted,
    pace: probe_runner.Pace,
    folder: Path,
    keys: Mapping[str, str | None],
    deliveries: Sequence[Mapping[str, Any]] = (),
) -> tuple[dict[str, Any], Mapping[str, str]]:
    """Run the probes, and return the differences and the files by name, without keys.

    `deliveries` are the results of comparing webhooks. `keys` are the user's, named `own` and
    `partner`. Everything that the run creates is noted in `folder` before, and deleted before this
    returns, even if the run is interrupted.
    """
    register = Register(wanted.run, probe_runner.register_file(folder, wanted.run))
    run = Run(send, pace, register, _names(profile, wanted, keys))
    try:
        if wanted.account is not None:
            run.own = _own_record(run, wanted.account, keys["own"] or "")
        for _, probes in wanted.phases():
            run.ask(probes)
    except Stopped as stopped:
        run.stopped = str(stopped)
    except OSError as error:
        run.stopped = f"{register.file} cannot be written: {error.strerror}"
    except KeyboardInterrupt:
        run.stopped = "it was interrupted"
    finally:
        try:
            probe_runner.Cleaner(register, send, pace, keys).clean()
        except KeyboardInterrupt:
            run.stopped = "it was interrupted while it deleted what it had created"
    # Probes that were not run, or only in part, have no result.
    asked = {finding.probe.id for finding in run.findings}
    missed = [one for _, probes in wanted.phases() for one in probes if one.id not in asked]
    run.findings += [Finding(probe, None, "the run ended before") for probe in missed]
    day = datetime.now(UTC).date().isoformat()
    result = view_run(run, profile, day) | {"deliveries": list(deliveries)}
    files = {
        "uat.toml": profile_toml(run, profile, day),
        # A body for `PUT /_sandbox/worlds/{world}/switches`.
        "uat-switches.json": json.dumps(switches_found(run), indent=2) + "\n",
        "differences.md": markdown(result),
        "differences.json": json.dumps(result, indent=2) + "\n",
        "evidence.jsonl": evidence(run, profile),
    }
    for key in filter(None, keys.values()):
        files = {name: text.replace(key, "***") for name, text in files.items()}
    return result, files


def _own_record(run: Run, account: str, key: str) -> Any:
    """Return the record of the user's key. Raises Stopped if it belongs to another account."""
    request = ProbeRequest(path=_KEYS, query={"account_id": account})
    answer = run.answer(request, "account")
    for one in map(fields_of, answer.body if isinstance(answer.body, list) else []):
        last4 = one.get("key_last4")
        if one.get("account_id") == account and last4 and key.endswith(str(last4)):
            return one
    raise Stopped(
        f"the key does not belong to account {account} (GET /v5/apikeys answered "
        f"{answer.status}); no probe was run"
    )


def _names(profile: Profile, wanted: Wanted, keys: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the values that fill the holes of steps."""
    now = datetime.now(UTC).replace(tzinfo=None)
    later, ago = (one.isoformat(timespec="seconds") for one in (now + KEY_LIFE, now - KEY_LIFE))
    letters = secrets.token_hex(LOOKUP_CHARS + SECRET_CHARS)
    return {
        "run": wanted.run,
        "account": wanted.account,
        "tx": dict(wanted.tx),
        "partner": keys.get("partner"),
        "in_an_hour": f"{later}Z",
        "in_an_hour_without_offset": later,
        "an_hour_ago": f"{ago}Z",
        "event_id": str(uuid4()),
        "supplied_key_field": profile.supplied_key_field,
        "new_key": profile.key_format.write(letters[:LOOKUP_CHARS], letters[-SECRET_CHARS:]),
        "made": {},
    }


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files into the folder, which is created if it is missing. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


# --- results ------------------------------------------------------------------------------------

_TEXT_MAX: Final = 300


def view_run(run: Run, profile: Profile, day: str) -> dict[str, Any]:
    """Return the result as JSON: an entry for each probe, and what the run created."""
    probes = []
    for probe, value, why in run.findings:
        ours = probe.of_sandbox(profile)
        told = "cannot tell" if value is None else "same" if value == ours else "other reading"
        about = {"id": probe.id, "asks": probe.asks, "clauses": list(probe.clauses)}
        probes.append(about | {"sandbox": ours, "uat": value, "verdict": told, "why": why})
    return {
        "run": run.register.run,
        "verified": day,
        "requests": len(run.evidence),
        "stopped": run.stopped,
        "probes": probes,
        "made": [
            {"kind": one.kind, "name": one.name, "state": one.state}
            for one in run.register.entries.values()
        ],
    }


def markdown(result: Mapping[str, Any]) -> str:
    """Return the result as a Markdown page."""
    parts = [
        "# The platform against the sandbox",
        f"Asked on {result['verified']}, with {result['requests']} requests.",
    ]
    if result["stopped"]:
        parts.append(f"The run stopped early: {result['stopped']}.")
    parts.append(_table("probe clauses sandbox platform verdict", map(_row, result["probes"])))
    if result["deliveries"]:
        unlike = _rows_of(result["deliveries"])
        parts.append(_table("delivery event place sandbox platform", unlike))
    if result["made"]:
        parts.append("The run created these. A platform may keep records of what was deleted.")
        parts.append(_table("kind name state", (one.values() for one in result["made"])))
    return "\n\n".join(parts) + "\n"


def _table(headers: str, rows: Iterable[Iterable[str]]) -> str:
    first, *others = [f"| {' | '.join(row)} |" for row in (headers.split(), *rows)]
    return "\n".join([first, "|" + "---|" * len(headers.split()), *others])


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    told = one["verdict"] + (f" ({one['why']})" if one["why"] else "")
    clauses = ", ".join(one["clauses"])
    return one["id"], clauses, _word(one["sandbox"]), _word(one["uat"]), told


def _rows_of(deliveries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    for one in deliveries:
        event = one["event"] if one["is_event_known"] else f"{one['event']} (by its fields)"
        yield one["file"], event, "signature", "genuine", one["signature"]
        for unlike in one["differences"]:
            yield one["file"], event, unlike["place"], unlike["sandbox"], unlike["platform"]


def lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the result for a terminal."""
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
    """Return the profile with the values that were found and when, for `serve --profile`."""
    whole = asdict(profile)
    readings, verified = dict(whole["readings"]), dict(whole["verified"])
    for probe, value, _ in run.findings:
        if value is None:
            continue
        verified |= dict.fromkeys(probe.clauses, day)
        if probe.reading is not None:
            verified[probe.reading], readings[probe.reading] = day, value
        else:
            *sections, name = probe.profile.split(".")
            reduce(getitem, sections, whole)[name] = value
    whole["readings"], whole["verified"] = (dict(sorted(m.items())) for m in (readings, verified))
    tables = {name: part for name, part in whole.items() if isinstance(part, dict)}
    plain = {name: part for name, part in whole.items() if name not in tables}
    parts = [f"[{name}]\n{to_toml(table)}" for name, table in tables.items()]
    return "\n".join([to_toml(plain), *parts])


def switches_found(run: Run) -> dict[str, Any]:
    """Return the values of the switches that set a reading which was found."""
    found = {probe.reading: value for probe, value, _ in run.findings if value is not None}
    return {
        switch.name: switch.value_for(found[switch.reading.id])
        for switch in SWITCHES.values()
        if switch.reading is not None and switch.reading.id in found
    }


def evidence(run: Run, profile: Profile) -> str:
    """Return a line of JSON for each request. Only refusals keep their texts, without data."""
    outlined = (
        one | {"body": _outline(one["body"], profile.scrub if one["status"] >= 400 else None)}
        for one in run.evidence
    )
    return "".join(json.dumps(one) + "\n" for one in outlined)


def _outline(value: Any, keeps: Any) -> Any:
    """Return the outline of a body: names, types, and one item of each list."""
    if isinstance(value, dict):
        return {name: _outline(inner, keeps) for name, inner in value.items()}
    if isinstance(value, list):
        return [_outline(inner, keeps) for inner in value[:1]]
    if isinstance(value, str):
        return keeps(value[:_TEXT_MAX]) if keeps else "text"
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else value


def _word(value: Any) -> str:
    return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
