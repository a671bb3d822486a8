"""Probes: the rows of the files in this folder. Each asks one question with a few requests."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, Field, PlainValidator, ValidationError, model_validator

from sandbox.conformance.probes.conditions import Condition, holds, parse_condition
from sandbox.conformance.probes.steps import Step
from sandbox.domain.profile import Profile
from sandbox.domain.readings import READINGS
from sandbox.domain.switches import SWITCHES
from sandbox.settings import mistakes

_KINDS: Final = ("profile", "switch", "reading")

PHASES: Final = ("looking", "keys", "directory", "payments")
"""The phases in their order; each is a file in this folder. Only the first is always allowed."""


class ProbeError(ValueError):
    """A file of probes has a mistake; the message names the file, the row and the field."""


class Value(BaseModel, extra="forbid", frozen=True):
    """One value of a reading, and the condition under which it holds."""

    value: Any = Field(alias="is")
    when: Annotated[Condition, PlainValidator(parse_condition)]


class Probe(BaseModel, extra="forbid", frozen=True):
    """One question about a field of the profile, a switch or a reading."""

    id: str
    asks: str
    clauses: tuple[str, ...]
    needs: str = ""
    profile: str | None = None
    switch: str | None = None
    reading: str | None = None
    requests: tuple[Step, ...] = Field(alias="request", min_length=1)
    values: tuple[Value, ...] = Field(alias="answer", min_length=2)

    @property
    def kind(self) -> str:
        """What it asks about: `profile`, `switch` or `reading`."""
        return next(kind for kind in _KINDS if getattr(self, kind) is not None)

    @property
    def name(self) -> str:
        """The name of the field, the switch or the reading."""
        return str(getattr(self, self.kind))

    @model_validator(mode="after")
    def _asks_about_one_known_thing(self) -> Self:
        if sum(getattr(self, kind) is not None for kind in _KINDS) != 1:
            raise ValueError("one of profile, switch and reading is required")
        try:
            self.of_sandbox(Profile())
        except (AttributeError, KeyError):
            raise ValueError(f"{self.kind}: {self.name!r} is unknown") from None
        if self.reading and (
            wrong := {one.value for one in self.values} - set(READINGS[self.reading].names)
        ):
            raise ValueError(f"answer: {wrong!r} are no values of {self.reading}")
        return self

    def told(self, answers: Sequence[Mapping[str, Any]], own: Any = None) -> Any:
        """The value that the answers tell, or None if they leave it open.

        `own` is the record of the key that asks, or None if it is not known.
        """
        names = {**answers[-1], "answers": list(answers), "own": own}
        held = [one.value for one in self.values if holds(one.when, names)]
        return held[0] if len(held) == 1 else None

    def of_sandbox(self, profile: Profile) -> Any:
        """The value that the sandbox has with this profile."""
        if self.switch is not None:
            return SWITCHES[self.switch].default
        if self.reading is not None:
            return profile.readings.get(self.reading, READINGS[self.reading].default)
        part: Any = profile
        for name in self.name.split("."):
            part = getattr(part, name)
        return part


class _File(BaseModel, extra="forbid"):
    probe: list[Probe]


def probes_of(phase: str) -> list[Probe]:
    """The probes of a phase. Raises ProbeError."""
    return read_probes(Path(__file__).with_name(f"{phase}.toml"), reads_only=phase == PHASES[0])


def read_probes(path: Path, *, reads_only: bool = True) -> list[Probe]:
    """The probes of a file; `reads_only` refuses a request that changes something.

    Raises ProbeError.
    """
    try:
        probes = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).probe
    except ValidationError as error:
        raise ProbeError(f"{path.name}: {mistakes(error)}") from None
    except (OSError, ValueError) as error:
        raise ProbeError(f"{path.name}: cannot be read: {error}") from None
    for number, probe in enumerate(probes):
        if probe.id in {one.id for one in probes[:number]}:
            raise ProbeError(f"{path.name}: probe.{number}.id: {probe.id!r} is taken")
        if reads_only and any(one.changes for one in probe.requests):
            raise ProbeError(f"{path.name}: probe.{number}: only GET where nothing may change")
    return probes
