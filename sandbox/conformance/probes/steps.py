"""Steps of probes: requests as they stand in a row, and filled with what earlier steps made.

Texts of a row may hold names in braces: `{made.key.id}` is the field `id` of the key that an
earlier step made. A step that changes anything is checked when it is read: it makes something with
a name of this run, or its path or body names something that this run made or that the user gave.
`{one_more}` is one more than the last total that was answered.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    PlainValidator,
    StringConstraints,
    model_validator,
)

NAME: Final = "{name}"
"""What a thing that a run makes is called: `verify-`, the run and a number."""

EXPIRIES: Final = ("{in_an_hour}", "{in_an_hour_without_offset}", "{an_hour_ago}")
"""When a key that a run makes may expire."""

NO_KEY: Final = "none"
_HOLE: Final = re.compile(r"\{([a-z_0-9.]+)\}")
_OURS: Final = re.compile(r"\{(made|tx)\.[a-z_0-9.]+\}")


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


def _kind_named(name: str) -> Kind:
    if name not in KINDS:
        raise ValueError(f"{name!r} is none of {', '.join(KINDS)}")
    return KINDS[name]


def _pairs(query: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, str(one))
        for name, value in query.items()
        for one in (value if isinstance(value, list) else [value])
    )


class Step(BaseModel, extra="forbid", frozen=True):
    """A request of a row. `key` is empty for the user's own, or partner, made.<name> or none.

    With `if_refused` it is sent only after an answer that refuses.
    """

    method: Literal["GET", "POST", "PUT", "DELETE"] = "GET"
    path: Annotated[str, StringConstraints(pattern="^/v[0-9]")]
    query: Annotated[tuple[tuple[str, str], ...], BeforeValidator(_pairs)] = ()
    body: dict[str, Any] | None = None
    without_accept: bool = False
    makes: Annotated[Kind | None, PlainValidator(_kind_named)] = None
    called: str = ""
    key: str = ""
    if_refused: bool = False

    @property
    def changes(self) -> bool:
        """Whether it may change something."""
        return self.method != "GET"

    @property
    def name_of_made(self) -> str:
        """What later steps call the thing that it makes."""
        return self.called or (self.makes.name if self.makes else "")

    @model_validator(mode="after")
    def _changes_its_own_only(self) -> Self:
        """Refuse a step that could change what neither the run made nor the user named."""
        body = self.body or {}
        if self.makes is None:
            names_ours = any(map(_OURS.search, (self.path, str(body))))
            if self.changes and not names_ours:
                raise ValueError(
                    "path: a request that changes something names what the run made or was given"
                )
        elif self.method != "POST" or self.path != self.makes.made_at:
            raise ValueError(f"makes: a {self.makes.name} is made with POST {self.makes.made_at}")
        elif self.makes.has_name and body.get("name") != NAME:
            raise ValueError(f"body: what a run makes is called {NAME}")
        elif self.makes.name == "key" and body.get("expires_at") not in EXPIRIES:
            raise ValueError(f"body: a key that a run makes has one of {', '.join(EXPIRIES)}")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRequest:
    """A request as it is sent. `key` is None for the user's own key, and empty for no key."""

    method: str = "GET"
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Mapping[str, Any] | None = field(default=None, repr=False)
    without_accept: bool = False
    key: str | None = field(default=None, repr=False)


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
