"""Steps of probes: requests as they stand in a row, and filled with what earlier steps made.

Texts of a row may hold names in braces: `{made.key.id}` is the field `id` of the key that an
earlier step made. A step that changes anything is checked when it is read: it makes something with
a name of this run, or its path names something that this run made or that the user gave.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

METHODS: Final = ("GET", "POST", "PUT", "DELETE")
NAME: Final = "{name}"
"""What a thing that a run makes is called: `verify-`, the run and a number."""

EXPIRIES: Final = ("{in_an_hour}", "{in_an_hour_without_offset}", "{an_hour_ago}")
"""When a key that a run makes may expire."""

NO_KEY: Final = "none"
_FIELDS: Final = {"method", "path", "query", "body", "without_accept", "makes", "called", "key"}
_HOLE: Final = re.compile(r"\{([a-z_0-9.]+)\}")
_OURS: Final = re.compile(r"\{(made|tx)\.[a-z_0-9.]+\}")


class StepError(ValueError):
    """A step has a mistake; the message names the field."""


class Missing(Exception):
    """Something that an earlier step should have made is not there; the message names it."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Something that a run can make: where it is made, its id, and where it is listed."""

    name: str
    made_at: str
    id_field: str
    listed_in: str | None
    """The field of the list's body with the items; None where the body is the list."""

    has_name: bool = True


KINDS: Final[Mapping[str, Kind]] = {
    kind.name: kind
    for kind in (
        Kind("key", "/v5/apikeys", "id", None),
        Kind("merchant", "/v1/accounts", "id", "accounts"),
        Kind("terminal", "/v2/terminals", "terminal_id", "terminals"),
        Kind("location", "/v1/locations", "id", "locations"),
        Kind("credential", "/v1/accounts/credentials", "id", "credentials", has_name=False),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A request of a row. `key` is empty for the user's own, or partner, made.<name> or none."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Mapping[str, Any] | None = None
    without_accept: bool = False
    makes: Kind | None = None
    called: str = ""
    key: str = ""

    @property
    def changes(self) -> bool:
        """Whether it may change something."""
        return self.method != "GET"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRequest:
    """A request as it is sent. `key` is None for the user's own key, and empty for no key."""

    method: str = "GET"
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Mapping[str, Any] | None = field(default=None, repr=False)
    without_accept: bool = False
    key: str | None = field(default=None, repr=False)


def parse_step(row: Mapping[str, Any]) -> Step:
    """The step in a row. Raises StepError."""
    for name in row:
        if name not in _FIELDS:
            raise StepError(f"{name}: is no field of a request")
    path = row.get("path")
    if not isinstance(path, str):
        raise StepError("path: is required, as str")
    if not path.startswith("/v"):
        raise StepError(f"path: {path!r} must begin with the platform's version")
    makes = row.get("makes")
    if makes is not None and makes not in KINDS:
        raise StepError(f"makes: {makes!r} is none of {', '.join(KINDS)}")
    step = Step(
        method=row.get("method", "GET"),
        path=path,
        query=tuple(
            (name, str(one))
            for name, value in row.get("query", {}).items()
            for one in (value if isinstance(value, list) else [value])
        ),
        body=row.get("body"),
        without_accept=bool(row.get("without_accept", False)),
        makes=KINDS.get(makes) if makes else None,
        called=row.get("called", makes or ""),
        key=row.get("key", ""),
    )
    _check(step)
    return step


def _check(step: Step) -> None:
    """Refuse a step that could change what neither the run made nor the user named."""
    if step.method not in METHODS:
        raise StepError(f"method: {step.method!r} is none of {', '.join(METHODS)}")
    if step.makes is None:
        if step.changes and not _OURS.search(step.path):
            raise StepError(
                "path: a request that changes something names what the run made or was given"
            )
        return
    if step.method != "POST" or step.path != step.makes.made_at:
        raise StepError(f"makes: a {step.makes.name} is made with POST {step.makes.made_at}")
    if step.makes.has_name and (step.body or {}).get("name") != NAME:
        raise StepError(f"body: what a run makes is called {NAME}")
    if step.makes.name == "key" and (step.body or {}).get("expires_at") not in EXPIRIES:
        raise StepError(f"body: a key that a run makes has expires_at of {', '.join(EXPIRIES)}")


def fill(step: Step, names: Mapping[str, Any]) -> ProbeRequest:
    """The request with its holes filled. Raises Missing."""
    if step.key == NO_KEY:
        key = ""
    else:
        key = _named(f"{step.key}.key" if step.key.startswith("made.") else step.key, names)
    return ProbeRequest(
        method=step.method,
        path=_filled(step.path, names),
        query=tuple((name, _filled(value, names)) for name, value in step.query),
        body=None if step.body is None else _filled(step.body, names),
        without_accept=step.without_accept,
        key=key if step.key else None,
    )


def _filled(value: Any, names: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        whole = _HOLE.fullmatch(value)
        if whole:
            return _named(whole[1], names)
        return _HOLE.sub(lambda hole: str(_named(hole[1], names)), value)
    if isinstance(value, Mapping):
        return {_filled(name, names): _filled(inner, names) for name, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, names) for inner in value]
    return value


def _named(name: str, names: Mapping[str, Any]) -> Any:
    value: Any = names
    for part in name.split(".") if name else ():
        value = value.get(part) if isinstance(value, Mapping) else None
    if value is None:
        raise Missing(name)
    return value
