"""Scenarios as TOML: writing one, and finding the line of a field."""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sandbox.scenarios.loading import Problem, ScenarioError

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_HEADER: Final = re.compile(r"\s*\[\[\s*(\w+)\s*\]\]")
_NAMED: Final = re.compile(r"(?<![\w-])([\w-]+)(?![\w-])[ \t]*[=.\]]")
"""A name in a line: of a field, or of a table."""

_AT_LINE: Final = re.compile(r"\(at line (\d+)")


def written_toml(document: Mapping[str, Any]) -> str:
    """The scenario as a TOML file, which has the same values when it is read."""
    lines = [
        f"{_key(name)} = {_value(value)}"
        for name, value in document.items()
        if not _is_tables(value) and value is not None
    ]
    for name, value in document.items():
        if _is_tables(value):
            for table in value:
                lines += ["", f"[[{_key(name)}]]", *_fields(table)]
    return "\n".join(lines) + "\n"


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _fields(table: Mapping[str, Any]) -> Iterator[str]:
    return (f"{_key(name)} = {_value(one)}" for name, one in table.items() if one is not None)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(_fields(value))
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(one) for one in value)}]"
    # Strings, numbers and booleans of JSON are written alike in TOML, but for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_toml(text: str) -> dict[str, Any]:
    """The document in the text of a file. Raises ScenarioError."""
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"is not TOML: {error}") from None
    except RecursionError:
        raise ScenarioError("is not TOML: it is nested too deeply") from None


def line_of_error(message: str) -> int | None:
    """The line that a message about bad TOML names."""
    found = _AT_LINE.search(message)
    return None if found is None else int(found[1])


class Lines:
    """The lines of a file, by what stands in them. The text is gone through once."""

    def __init__(self, text: str) -> None:
        self._headers: list[int] = []
        self._parts: dict[str, list[int]] = {}
        self._words: dict[str, list[int]] = {}
        self._count = 0
        for place, line in enumerate(text.split("\n")):
            self._count = place + 1
            if head := _HEADER.match(line):
                self._headers.append(place)
                self._parts.setdefault(head[1], []).append(place)
            for word in _NAMED.findall(line):
                self._words.setdefault(word, []).append(place)

    def of(self, problem: Problem) -> int | None:
        """The line of the field, from 1; that of its part if the field is not there itself."""
        first, last = 0, self._count
        if problem.part is not None:
            own = self._parts.get(problem.part, [])
            if problem.number is None or problem.number > len(own):
                return None
            first = own[problem.number - 1]
            after = bisect_right(self._headers, first)
            last = self._headers[after] if after < len(self._headers) else self._count
        for name in reversed((problem.field or "").split(".")):
            places = self._words.get(name, [])
            at = bisect_left(places, first)
            if at < len(places) and places[at] < last:
                return places[at] + 1
        return first + 1 if problem.part is not None else None
