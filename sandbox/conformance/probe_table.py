"""The probes in the files of the folder `probes`. Each asks one question with a few requests.

Texts can contain names in braces: `{made.key.id}` is the field `id` of the key that an earlier step
created. A step that changes anything is checked when it is read: it must create something with a
name of this run, or refer to something that this run created or that the user named.
"""

import ast
import json
import operator
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, Self
from urllib.parse import parse_qsl, urlencode

from pydantic import BaseModel, Field, PlainValidator, TypeAdapter, model_validator

from sandbox.domain.profile import Profile
from sandbox.domain.readings import READINGS

NAME: Final = "{name}"
"""The name of anything that a run creates: `verify-`, the run and a number."""

EXPIRIES: Final = ("{in_an_hour}", "{in_an_hour_without_offset}", "{an_hour_ago}")
"""The expiries that a run may give to its keys."""

_HOLE: Final = re.compile(r'"\{(?P<whole>[a-z_0-9.]+)\}"|\{(?P<part>[a-z_0-9.]+)\}')
"""A hole in JSON: a whole text, which can be replaced by any value, or a part of a text."""

_OURS: Final = re.compile(r"\{(made|tx)\.[a-z_0-9.]+\}")


class Missing(Exception):
    """Something that an earlier step should have created is missing; the message names it."""


class Kind(NamedTuple):
    """A kind of thing that a run can create: its path, the field of its id, and its list."""

    name: str
    made_at: str
    id_field: str
    listed_in: str | None
    """The field of the list's body with the items; None if the body is the list."""

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


class ProbeRequest(BaseModel, extra="forbid", frozen=True):
    """A request as it is sent. `key` is None for the user's key, and empty for no key."""

    method: Literal["GET", "POST", "PUT", "DELETE"] = "GET"
    path: Annotated[str, Field(pattern="^/v[0-9]")]
    query: Mapping[str, str | list[str]] = {}
    body: dict[str, Any] | None = Field(None, repr=False)
    has_accept: bool = True
    key: str | None = Field(None, repr=False)

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """The parameters of the query, of which several may have the same name."""
        return parse_qsl(urlencode(self.query, doseq=True), keep_blank_values=True)


class Step(ProbeRequest):
    """A request of a probe. `key` is empty for the user's, or partner, made.<name> or none.

    With `is_after_refusal` it is only sent if the request before was refused.
    """

    makes: Annotated[Kind | None, PlainValidator(KINDS.__getitem__)] = None
    called: str = ""
    key: str = ""
    is_after_refusal: bool = False

    @property
    def name_of_made(self) -> str:
        """The name that later steps use for the thing that it creates."""
        return self.called or (self.makes.name if self.makes else "")

    @model_validator(mode="after")
    def _changes_its_own_only(self) -> Self:
        """Refuse a step that could change what the run did not create and the user did not name."""
        body = self.body or {}
        if self.makes is None:
            names_ours = any(map(_OURS.search, (self.path, str(body))))
            if self.method != "GET" and not names_ours:
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


def fill(step: Step, names: Mapping[str, Any]) -> ProbeRequest:
    """Return the request with its holes filled. Raises Missing."""

    def find(hole: re.Match[str]) -> str:
        if (whole := hole["whole"]) is not None:
            return json.dumps(_look_up(whole, names))
        return json.dumps(str(_look_up(hole["part"], names)))[1:-1]

    text = step.model_dump_json(include={"method", "path", "query", "body", "has_accept"})
    key = f"{step.key}.key" if step.key.startswith("made.") else step.key
    asks_as = "" if key == "none" else _look_up(key, names) if key else None
    return ProbeRequest(**json.loads(_HOLE.sub(find, text)), key=asks_as)


def _look_up(name: str, names: Mapping[str, Any]) -> Any:
    value: Any = names
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if value is None:
        raise Missing(name)
    return value


# --- conditions: comparisons of values in answers, in a small part of Python's grammar ------------
#
# A condition can use `status`, `headers` and `body` of the last answer; `answers`, the list of all;
# and `own`, the record of the user's key. Missing values are None. There are no calls, and Python
# evaluates nothing.

NAMES: Final = ("status", "headers", "body", "answers", "own")

_COMPARED: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda part, whole: part in whole,
    ast.NotIn: lambda part, whole: part not in whole,
}


Names = Mapping[str, Any]
Condition = Callable[[Names], Any]
"""Returns the value of a condition for these names."""


def parse_condition(text: str) -> Condition:
    """Return the condition in a text. Raises ValueError for any other expression."""
    return _compiled(ast.parse(text, mode="eval").body)


def is_met(condition: Condition, names: Names) -> bool:
    """Whether a condition holds. It does not if it compares values that have no order."""
    try:
        return bool(condition(names))
    except TypeError:
        return False


def _compiled(node: ast.expr) -> Condition:
    match node:
        case ast.BoolOp(op=op, values=values):
            parts = list(map(_compiled, values))
            decide = all if isinstance(op, ast.And) else any
            return lambda names: decide(is_met(part, names) for part in parts)
        case ast.Compare(left=one, ops=[op], comparators=[other]) if type(op) in _COMPARED:
            left, compare, right = _compiled(one), _COMPARED[type(op)], _compiled(other)
            return lambda names: compare(left(names), right(names))
        case (
            ast.Attribute(value=value, attr=key)
            | ast.Subscript(value=value, slice=ast.Constant(value=str() | int() as key))
        ):
            whole = _compiled(value)
            return lambda names: _part(whole(names), key)
        case ast.List(elts=values):
            items = list(map(_compiled, values))
            return lambda names: [item(names) for item in items]
        case ast.Constant(value=None | str() | int() | float() as constant):
            return lambda names: constant
        case ast.Name(id=name) if name in NAMES:
            return lambda names: names[name]
        case ast.Name(id=name):
            raise ValueError(f"has no {name!r}; there are: {', '.join(NAMES)}")
    raise ValueError(f"may only compare values; {ast.unparse(node)!r} does more")


def _part(whole: Any, name: Any) -> Any:
    if isinstance(whole, dict):
        return whole.get(name)
    if isinstance(whole, list) and isinstance(name, int):
        return whole[name] if 0 <= name < len(whole) else None
    return None


# --- the rows -----------------------------------------------------------------------------------

PHASES: Final = ("looking", "keys", "directory", "payments")
"""The phases in order, each with a file of probes. Only the first one is always allowed."""


class Value(BaseModel, extra="forbid", frozen=True):
    """One value of a reading, and the condition under which it holds."""

    value: Any = Field(alias="is")
    when: Annotated[Condition, PlainValidator(parse_condition)]


class Probe(BaseModel, extra="forbid", frozen=True):
    """One question about a field of the profile or a reading, whichever it names."""

    id: str
    asks: str
    clauses: tuple[str, ...]
    needs: str = ""
    profile: str = ""
    reading: str | None = None
    requests: tuple[Step, ...] = Field(alias="request", min_length=1)
    values: tuple[Value, ...] = Field(alias="answer", min_length=2)

    def read_value(self, answers: Sequence[Mapping[str, Any]], own: Any = None) -> Any:
        """Return the value that the answers show, or None if they leave it open.

        `own` is the record of the user's key, or None if unknown.
        """
        names = {**answers[-1], "answers": list(answers), "own": own}
        held = [one.value for one in self.values if is_met(one.when, names)]
        return held[0] if len(held) == 1 else None

    def of_sandbox(self, profile: Profile) -> Any:
        """Return the sandbox's value with this profile."""
        if self.reading is not None:
            return profile.readings.get(self.reading, READINGS[self.reading].default)
        return operator.attrgetter(self.profile)(profile)


_PROBES: Final = TypeAdapter(list[Probe])


def probes_of(phase: str) -> list[Probe]:
    """Return the probes of a phase."""
    return _PROBES.validate_python(_file_of(phase)["probe"])


def describe(phase: str) -> str:
    """Return the text that describes a phase."""
    return str(_file_of(phase)["about"])


def _file_of(phase: str) -> dict[str, Any]:
    path = Path(__file__).parent / "probes" / f"{phase}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))
