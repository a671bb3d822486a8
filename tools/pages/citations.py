"""The clauses and their headings, as spec/clauses.toml has them."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

CLAUSES: Final = Path(__file__).parents[2] / "spec" / "clauses.toml"

_ENTRY: Final = re.compile(r'\[(spec|assumed)\."?([^"\]]+)"?\]')


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
