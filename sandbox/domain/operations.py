"""The operations of the platform's API, as rules for requests name them.

The platform adds its rows when it is imported, so that packages below it can check the names in a
rule. In the path of a rule, `*` stands for any text.
"""

import re
from collections.abc import Collection
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Annotated, Final

from msgspec import Struct
from pydantic import AfterValidator, Field

from sandbox.domain.text import UnknownWord, one_of

METHODS: Final = ("GET", "POST", "PUT", "DELETE")
NO_CONTENT: Final = 204


class ApiOperation(Struct, frozen=True, kw_only=True, eq=False):
    """One operation. `words` are those of scenarios for what it does, such as `refund`.

    `status` is that of a success.
    """

    name: str
    method: str
    path: str
    words: tuple[str, ...] = ()
    status: int = 200

    @property
    def has_body(self) -> bool:
        """Whether a success has a body. If not, a reading may still give it one."""
        return self.status != NO_CONTENT

    @property
    def names(self) -> tuple[str, ...]:
        """Every name by which a rule may refer to it."""
        return (*self.words, self.name)


API: Final[dict[str, ApiOperation]] = {}
"""The operations by name, once the platform is loaded."""

API_WORDS: Final[dict[str, list[ApiOperation]]] = {}
"""Each name and word with its operations, once the platform is loaded."""


def add_operation(operation: ApiOperation) -> None:
    """Add an operation of the platform."""
    API[operation.name] = operation
    for word in operation.names:
        API_WORDS.setdefault(word, []).append(operation)


def find_operations(
    words: Collection[str] | None, methods: Collection[str] | None, paths: Collection[str] | None
) -> list[ApiOperation]:
    """Return the operations that match; None matches all. Raises UnknownWord if none does."""
    found = [
        one
        for one in API.values()
        if (words is None or not set(words).isdisjoint(one.names))
        and (methods is None or one.method in methods)
        and (paths is None or any(_can_meet(path, _as_pattern(one.path)) for path in paths))
    ]
    if found or not API:
        return found
    asked = [*(methods or ()), *(paths or ()), *(words or ())]
    raise UnknownWord(f"no operation of the platform is {' '.join(asked)[:200]}", "", ())


class PathPattern(str):
    """A path with `*`, which stands for any text."""

    def matches(self, path: str) -> bool:
        """Whether the whole path matches."""
        return fnmatchcase(path, self)


@cache
def _as_pattern(path: str) -> str:
    return re.sub(r"\{\w+\}", "*", path)


@lru_cache(maxsize=20_000)
def _can_meet(one: str, other: str) -> bool:
    """Whether some text matches both patterns."""
    if "*" in (one[:1], other[:1]):
        # The star ends here, or takes one more character of the other.
        starred, plain = (one, other) if one[:1] == "*" else (other, one)
        return _can_meet(starred[1:], plain) or (plain != "" and _can_meet(starred, plain[1:]))
    return one[:1] == other[:1] and (one == other or _can_meet(one[1:], other[1:]))


def _check_path(path: str) -> str:
    """Return the path if an operation matches it. Raises UnknownWord with the nearest one."""
    paths = {_as_pattern(one.path) for one in API.values()}
    if paths and not any(_can_meet(path, one) for one in paths):
        raise UnknownWord(f"no operation has the path {path[:80]!r}", path, paths)
    return path


OperationWord = Annotated[str, one_of("an operation", API_WORDS)]
"""The name of an operation, or a word of scenarios for what it does."""

Method = Annotated[str, one_of("a method of the platform", METHODS)]

PathText = Annotated[
    str, Field(max_length=200, pattern=r"^[/*][A-Za-z0-9_./*-]*$"), AfterValidator(_check_path)
]
"""The path of requests, with `*` for any text."""
