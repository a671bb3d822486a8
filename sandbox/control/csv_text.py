"""CSV that a spreadsheet can open without running what is in it."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def to_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return a header, and a line for each row.

    Other fields of a row are left out. A text that a spreadsheet would take for a formula has an
    apostrophe before it.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore")
    writer.writeheader()
    writer.writerows({name: _harmless(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def _harmless(value: Any) -> Any:
    is_formula = isinstance(value, str) and value.startswith(_FORMULA)
    return f"'{value}" if is_formula else value
