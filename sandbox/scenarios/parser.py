"""Read and write scenario files. Errors name the rule, the field and the nearest word."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic_core import ErrorDetails, ValidationError

from sandbox.domain.json_text import fields_of
from sandbox.domain.text import NotUtf8, decode_text, nearest, parse_toml, why_not_read
from sandbox.scenarios.scenario import LISTS, Scenario
from sandbox.scenarios.words import Part

PARTS_MAX: Final = 10_000
"""How many tables, lists and values a scenario may have in all. They are checked when it is read,
and compared with each attempt; a rule has about eight."""

PROBLEMS_MAX: Final = 100
"""How many mistakes of a scenario to report; the rest are counted."""


class Problem(NamedTuple):
    """A mistake in a scenario.

    `part` is the list with the mistake, such as `rule`; `number` is the place in it, from 1, and
    `name` the name of the entry. `field` is the path of the field, like `when.amount`. Each is None
    if it does not apply. `nearest` is the known word that an unknown one resembles.
    """

    message: str
    nearest: str | None = None
    part: str | None = None
    number: int | None = None
    name: str | None = None
    field: str | None = None

    def __str__(self) -> str:
        """Return the mistake with its place: `rule 2 'no funds', when.amount: must be positive`."""
        named = f" {self.name[:80]!r}" if self.name else ""
        entry = f"{self.part} {self.number}{named}" if self.part else None
        place = ", ".join(filter(None, (entry, self.field)))
        return f"{place}: {self.message}" if place else self.message


class ScenarioError(ValueError):
    """A scenario that cannot be used; the message names the place and the reason.

    `nearest` is the known word that an unknown one resembles. `problems` are the first PROBLEMS_MAX
    of the `total`; the message names the first one.
    """

    def __init__(self, message: str, nearest: str | None = None) -> None:
        super().__init__(message)
        self.nearest = nearest
        self.problems = [Problem(message, nearest)]
        self.total = 1


def read_scenario(path: Path) -> Scenario:
    """Return the scenario in a TOML file. Raises ScenarioError."""
    try:
        return parse_scenario(read_toml(decode_text(path.read_bytes())))
    except (OSError, NotUtf8) as error:
        raise ScenarioError(f"{path}: {why_not_read(error)}") from error
    except ScenarioError as error:
        error.args = (f"{path}: {error}",)
        raise


def parse_scenario(document: dict[str, Any]) -> Scenario:
    """Return the scenario in a document. Raises ScenarioError, naming rule and field."""
    if _count_parts(document) > PARTS_MAX:
        raise ScenarioError(
            f"has more than {PARTS_MAX} tables, lists and values, which is the limit"
        )
    try:
        return Scenario.model_validate(document)
    except ValidationError as error:
        found = _mistakes(error)
        problems = [_problem(document, one) for one in found[:PROBLEMS_MAX]]
        rest = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        first = problems[0]
        refused = ScenarioError(f"{first}{rest}", first.nearest)
        refused.problems, refused.total = problems, len(found)
        raise refused from None


def _problem(document: dict[str, Any], mistake: ErrorDetails) -> Problem:
    """Return a mistake in terms of the file."""
    message, meant = _in_words(mistake)
    loc = mistake["loc"]
    named, colon, rest = message.partition(": ")
    if colon and named.replace(".", "").isidentifier():
        # A message about a whole part begins with the name of the field.
        message, loc = rest, (*loc, *named.split("."))
    fields = [part for part in loc if _is_of_the_file(part)]
    part = number = name = None
    if len(fields) > 1 and fields[0] in LISTS and isinstance(fields[1], int):
        part, number = str(fields[0]), fields[1] + 1
        name = fields_of(document[part][fields[1]]).get("name")
        fields = fields[2:]
    field = ".".join(one for one in fields if isinstance(one, str)) or None
    return Problem(message, meant, part, number, name if isinstance(name, str) else None, field)


def _in_words(mistake: ErrorDetails) -> tuple[str, str | None]:
    """Return the message, and the known word that was probably meant."""
    message = mistake["msg"].removeprefix("Value error, ")
    if mistake["type"] == "extra_forbidden":
        unknown = str(mistake["loc"][-1])
        message = f"{unknown!r} is not a field here"
        meant = _meant(mistake["loc"])
    elif mistake["type"] == "literal_error" and isinstance(mistake["input"], str):
        meant = nearest(mistake["input"], _WORDS.findall(mistake["ctx"]["expected"]))
    elif mistake["type"] == "model_type":
        return _as_table(mistake["ctx"]["class_name"], mistake["input"]), None
    elif mistake["type"] == "dict_type":
        return "must be a table", None
    else:
        return message, getattr(mistake.get("ctx", {}).get("error"), "nearest", None)
    return message + (f"; did you mean {meant!r}?" if meant else ""), meant


def _as_table(shape: str, given: object) -> str:
    """Return a message that asks for a table, with the fields that it needs."""
    fields = _shapes()[shape].model_fields
    names = [name for name, field in fields.items() if field.is_required()] or [*fields][:1]
    is_plain = len(names) == 1 and isinstance(given, str) and given.isprintable()
    value = f'"{given[:80]}"' if is_plain and isinstance(given, str) else "..."
    return f"must be a table, as in {{ {', '.join(f'{name} = {value}' for name in names)} }}"


_WORDS: Final = re.compile(r"'([^']+)'")
"""The words that pydantic lists when it expects one of several."""


def _count_parts(value: Any) -> int:
    """Return the number of tables, lists and values within a value."""
    inner = value.values() if isinstance(value, dict) else value
    return len(inner) + sum(map(_count_parts, inner)) if isinstance(value, dict | list) else 0


def _mistakes(error: ValidationError) -> list[ErrorDetails]:
    """Return one mistake per place. Unknown fields come first: they are probably misspelt."""
    found = sorted(error.errors(include_url=False), key=lambda e: e["type"] != "extra_forbidden")
    within = Counter(one["loc"][:end] for one in found for end in range(len(one["loc"]) + 1))
    places: dict[tuple[int | str, ...], ErrorDetails] = {}
    for one in found:
        loc = one["loc"]
        is_another_kind = one["type"] == "int_type" and isinstance(one["input"], dict | list)
        if is_another_kind and within[loc[:-1]] > 1:
            # A table or list is not a number; another error describes that better.
            continue
        places.setdefault(tuple(part for part in loc if _is_of_the_file(part)), one)
    return list(places.values())


def _is_of_the_file(part: int | str) -> bool:
    """Whether a part of a location is a field or a number, not the name of a model."""
    is_name = isinstance(part, str) and part.isidentifier() and part[0].islower()
    return isinstance(part, int) or (is_name and part not in ("bool", "int", "str"))


def _meant(loc: tuple[int | str, ...]) -> str | None:
    """Return the known field of the same model that an unknown one resembles."""
    shape, shapes = "Scenario", _shapes()
    for part in loc[:-1]:
        if (field := shapes[shape].model_fields.get(str(part))) is not None:
            named = re.findall(r"\w+", repr(field.annotation))
            shape = next((name for name in named if name in shapes), shape)
    fields = shapes[shape].model_fields.items()
    return nearest(str(loc[-1]), [field.alias or name for name, field in fields])


def _shapes() -> dict[str, type[Part]]:
    """Return the models of the parts of a file, by name."""
    return {shape.__name__: shape for shape in Part.__subclasses__()}


# --- TOML -------------------------------------------------------------------------------------

_HEADER: Final = re.compile(r"\s*\[\[\s*(\w+)\s*\]\]")
_NAMED: Final = re.compile(r"(?<![\w-])([\w-]+)(?![\w-])[ \t]*[=.\]]")
"""The name of a field or a table in a line."""


def to_toml(document: Mapping[str, Any]) -> str:
    """Return the scenario as a TOML file, which reads back to the same values."""
    lists = {name: value for name, value in document.items() if _is_tables(value)}
    lines = [*_fields({name: one for name, one in document.items() if name not in lists})]
    for name, tables in lists.items():
        for table in tables:
            lines += ["", f"[[{_key(name)}]]", *_fields(table)]
    return "\n".join(lines) + "\n"


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _fields(table: Mapping[str, Any]) -> Iterator[str]:
    return (f"{_key(name)} = {_value(one)}" for name, one in table.items() if one is not None)


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(_fields(value))
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(one) for one in value)}]"
    # TOML writes strings, numbers and booleans as JSON does, except for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_toml(text: str) -> dict[str, Any]:
    """Return the document in the text of a file. Raises ScenarioError."""
    try:
        return parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"is not TOML: {error}") from None


def line_of_error(message: str) -> int | None:
    """Return the line in a message about invalid TOML."""
    found = re.search(r"\(at line (\d+)", message)
    return None if found is None else int(found[1])


def find_lines(text: str, problems: Iterable[Problem]) -> Iterator[int | None]:
    """Yield the line of each mistake, from 1: that of its field, or else of its part."""
    lines = text.split("\n")
    names = [set(_NAMED.findall(line)) for line in lines]
    heads = [(at, head[1]) for at, line in enumerate(lines) if (head := _HEADER.match(line))]
    for problem in problems:
        first, last = 0, len(names)
        if problem.part is not None:
            own = [at for at, part in heads if part == problem.part]
            if problem.number is None or problem.number > len(own):
                yield None
                continue
            first = own[problem.number - 1]
            last = next((at for at, _ in heads if at > first), last)
        fields = reversed((problem.field or "").split("."))
        found = (at for name in fields for at in range(first, last) if name in names[at])
        at = next(found, None if problem.part is None else first)
        yield None if at is None else at + 1
