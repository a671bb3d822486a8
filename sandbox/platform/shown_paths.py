"""The paths of requests as the journal shows them."""

from typing import Final

from sandbox.domain.profile import Profile
from sandbox.worlds.journal import ADDRESS_CHARS_MAX

REMEMBERED_MAX: Final = 1_000
"""So many paths are remembered; then all are forgotten."""


class ShownPaths:
    """Masks what looks like a key or a card number in paths.

    Clients ask for the same thing again and again. A path in which there was nothing to mask is
    remembered, which saves a tenth of reading a record.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._clean: set[str] = set()

    def shown(self, path: str) -> str:
        """The path, masked, and cut off where it is too long."""
        if path in self._clean:
            return path
        shown = self._profile.scrub_start(path, ADDRESS_CHARS_MAX)
        if shown == path:
            if len(self._clean) >= REMEMBERED_MAX:
                self._clean.clear()
            self._clean.add(path)
        return shown
