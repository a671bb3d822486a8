"""Probes: the rows of the files in this folder. Each asks one question with a few requests."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sandbox.domain.profile import Profile
from sandbox.domain.readings import READINGS
from sandbox.domain.switches import SWITCHES
from sandbox.verify.probes.conditions import Condition, ConditionError, parse_condition
from sandbox.verify.probes.steps import Step, StepError, parse_step

_KINDS: Final = ("profile", "switch", "reading")
_FIELDS: Final = {"id", "asks", "clauses", "needs", *_KINDS, "request", "answer"}

PHASES: Final = ("looking", "keys", "directory", "payments")
"""The phases in their order; each is a file in this folder. Only the first is always allowed."""


class ProbeError(ValueError):
    """A file of probes has a mistake; the message names the file, the row and the field."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a reading, and the condition under which it holds."""

    value: Any
    when: Condition


@dataclass(frozen=True, slots=True)
class Probe:
    """One question. `name` is that of a switch, a reading or a field of the profile, by `kind`."""

    id: str
    asks: str
    clauses: tuple[str, ...]
    needs: str
    name: str
    kind: str
    requests: tuple[Step, ...]
    values: tuple[Value, ...]

    def told(self, answers: Sequence[Mapping[str, Any]], own: Any = None) -> Any:
        """The value that the answers tell, or None if they leave it open.

        `own` is the record of the key that asks, or None if it is not known.
        """
        names = {**answers[-1], "answers": list(answers), "own": own}
        held = [one.value for one in self.values if one.when.holds(names)]
        return held[0] if len(held) == 1 else None

    def of_sandbox(self, profile: Profile) -> Any:
        """The value that the sandbox has with this profile."""
        if self.kind == "switch":
            return SWITCHES[self.name].default
        if self.kind == "reading":
            return profile.readings.get(self.name, READINGS[self.name].default)
        part: Any = profile
        for name in self.name.split("."):
            part = getattr(part, name)
        return part


def probes_of(phase: str) -> list[Probe]:
    """The probes of a phase. Raises ProbeError."""
    return read_probes(Path(__file__).with_name(f"{phase}.toml"), reads_only=phase == PHASES[0])


def read_probes(path: Path, *, reads_only: bool = True) -> list[Probe]:
    """The probes of a file; `reads_only` refuses a request that changes something.

    Raises ProbeError.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ProbeError(f"{path.name}: cannot be read: {error}") from None
    probes: list[Probe] = []
    for number, row in enumerate(document.get("probe", []), start=1):
        place = f"{path.name}: probe {number}"
        try:
            probe = _probe(row)
        except ProbeError as error:
            raise ProbeError(f"{place}: {error}") from None
        if probe.id in {one.id for one in probes}:
            raise ProbeError(f"{place}: id: {probe.id!r} is taken")
        if reads_only and any(one.changes for one in probe.requests):
            raise ProbeError(f"{place}: request: method: only GET in a phase that changes nothing")
        probes.append(probe)
    return probes


def _probe(row: Mapping[str, Any]) -> Probe:
    for name in row:
        if name not in _FIELDS:
            raise ProbeError(f"{name}: is no field of a probe")
    kinds = [kind for kind in _KINDS if kind in row]
    if len(kinds) != 1:
        raise ProbeError("profile: one of profile, switch and reading is required")
    kind = kinds[0]
    probe = Probe(
        id=_field(row, "id", str),
        asks=_field(row, "asks", str),
        clauses=tuple(_field(row, "clauses", list)),
        needs=row.get("needs", ""),
        name=_field(row, kind, str),
        kind=kind,
        requests=tuple(_step(one) for one in _field(row, "request", list)),
        values=tuple(_value(one) for one in _field(row, "answer", list)),
    )
    try:
        probe.of_sandbox(Profile())
    except (AttributeError, KeyError):
        raise ProbeError(f"{kind}: {probe.name!r} is unknown") from None
    if kind == "reading":
        for one in probe.values:
            if one.value not in READINGS[probe.name].names:
                raise ProbeError(f"answer: is: {one.value!r} is no value of {probe.name}")
    if not probe.requests or len(probe.values) < 2:
        raise ProbeError("answer: a probe has a request and two values or more")
    return probe


def _step(row: Mapping[str, Any]) -> Step:
    try:
        return parse_step(row)
    except StepError as error:
        raise ProbeError(f"request: {error}") from None


def _value(row: Mapping[str, Any]) -> Value:
    if row.keys() != {"is", "when"}:
        raise ProbeError("answer: has the fields is and when")
    try:
        return Value(row["is"], parse_condition(_field(row, "when", str, "answer: ")))
    except ConditionError as error:
        raise ProbeError(f"answer: when: {error}") from None


def _field(row: Mapping[str, Any], name: str, kind: type, before: str = "") -> Any:
    if not isinstance(row.get(name), kind):
        raise ProbeError(f"{before}{name}: is required, as {kind.__name__}")
    return row[name]
