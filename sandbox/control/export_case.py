"""What all formats of an export need of a world and its journal."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from urllib.parse import quote

from sandbox.control.finding import cast_names
from sandbox.worlds.journal import EntryView
from sandbox.worlds.world import World

IN_A_QUERY: Final = "=&+,:;/@!$'()*?~-._"


@dataclass(frozen=True)
class ExportCase:
    """Requests to write, the oldest first.

    `scenarios` are those under which they came, each under the id of its request.
    """

    world: World
    views: list[EntryView]
    scenarios: Mapping[str, Mapping[str, Any] | None]
    url: str
    key_header: str
    version: str

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return cast_names(self.world.cast.keys)

    def key_name(self, key_id: str | None) -> str | None:
        """The name of the key in the cast, else its id."""
        return None if key_id is None else self._names.get(key_id, key_id)

    def address(self, view: EntryView) -> str:
        """The URL of a request."""
        query = quote(view["query"], safe=IN_A_QUERY)
        return f"{self.url}{quote(view['path'])}" + (f"?{query}" if query else "")
