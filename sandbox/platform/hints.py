"""Hints for the reason of a refusal: what the client probably meant.

Only the journal has them; the platform's answer stays as the spec has it.
"""

from collections.abc import Iterable

from sandbox.domain.keys import KeyFormat
from sandbox.domain.text import nearest
from sandbox.platform.rows import Row

_SEGMENTS_MAX = 12
"""No path of the platform has nearly as many."""


def path_hint(path: str, rows: Iterable[Row]) -> str:
    """`; did you mean '/v3/payment'?` for a path that no row has, or an empty string."""
    segments = path.split("/")
    if len(segments) > _SEGMENTS_MAX:
        return ""
    filled = (_filled(row.path.split("/"), segments) for row in rows if row.run is not None)
    paths = {one.lower(): one for one in filled}
    bare = path.rstrip("/")
    if bare != path and bare.lower() in paths:
        return f"; did you mean {bare!r}, without the slash at the end?"
    match = nearest(path, paths)
    return f"; did you mean {paths[match]!r}?" if match else ""


def _filled(template: list[str], segments: list[str]) -> str:
    """The path of a row, with the ids that the request's path has in the same places.

    An id would otherwise weigh more than the word that is misspelt.
    """
    known = dict(enumerate(segments))
    return "/".join(
        (known.get(place) or one) if one.startswith("{") else one
        for place, one in enumerate(template)
    )


def key_hint(headers: Iterable[tuple[bytes, bytes]], form: KeyFormat) -> str:
    """` in its header, but authorization has one` if a key was sent in a wrong header."""
    for name, value in headers:
        if form.hint_bytes in value and form.mentions_key(value.decode("latin-1")):
            return f" in its header, but {name.decode('latin-1')} has one"
    return ""
