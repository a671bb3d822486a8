"""The clauses, and how texts cite them."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

CLAUSES: Final = Path(__file__).parents[1] / "clauses.toml"

_ID: Final = r"[A-Z]?\d+(?:\.\d+)*(?:-[a-z0-9]+(?:[._-][a-z0-9]+)*)?"
_CITATION: Final = re.compile(rf"\b(spec|assumed)\s+({_ID}(?:(?:,| and| to)\s+{_ID}\b)*)")
_ENTRY: Final = re.compile(r'\[(spec|assumed)\."?([^"\]]+)"?\]')
_LISTED: Final = re.compile(rf"(spec|assumed) {_ID}(?:, {_ID})*")


@cache
def clauses() -> dict[str, dict[str, Any]]:
    """Every entry, by kind and id."""
    return tomllib.loads(CLAUSES.read_text(encoding="utf-8"))


@cache
def headings() -> dict[tuple[str, str], str]:
    """Kind and id of every entry, in their order, with the heading below which it stands."""
    found: dict[tuple[str, str], str] = {}
    heading = ""
    for line in CLAUSES.read_text(encoding="utf-8").splitlines():
        heading = line.removeprefix("# ---- ") if line.startswith("# ---- ") else heading
        if entry := _ENTRY.fullmatch(line):
            found[entry[1], entry[2]] = heading
    return found


def citations(text: str) -> Iterator[tuple[str, str]]:
    """Kind and id of everything cited: also "spec 4.1, 4.2" and citations over a line break."""
    # A formatted id is completed with the events; they have a test of their own.
    plain = re.sub(r"\s+#?\s*", " ", text.replace("6.3-{", "{"))
    for kind, ids in _CITATION.findall(plain):
        yield from ((kind, id) for id in re.findall(_ID, ids))


def is_list(text: str) -> bool:
    """Whether the text is clauses of one kind and nothing else: "spec 4.1, 4.2"."""
    return _LISTED.fullmatch(text) is not None
