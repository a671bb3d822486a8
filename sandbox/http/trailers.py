"""Headers that come after a body."""

from typing import Final


class _Trailers(list[tuple[bytes, bytes]]):
    """Takes headers and keeps none of them."""

    def append(self, header: tuple[bytes, bytes]) -> None:
        """Ignore it: no filter before us has seen it (assumed D25-heads; RFC 9110, 6.5.1)."""


TRAILERS: Final = _Trailers()
"""Where the headers go that come after a body. No trailer is ever used."""
