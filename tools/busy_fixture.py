"""The fixture `busy`: a month of a restaurant group and a hotel. `make golden` writes it.

It calls a sandbox in process through its own API, with the clock set to each moment, so every
record obeys the rules. A seed decides the visits: the same code gives the same bytes.
"""

import heapq
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from sandbox.domain.instants import to_wire
from sandbox.library import folder
from sandbox.store.ids import Ids
from tools import busy_cast
from tools.asking import InProcess
from tools.busy_visits import NIGHTS, BatchClosing, Visit, guests, hotel_guests

FILE: Final = folder("fixtures") / "busy.json"
CAST: Final = "busy_cast"
"""The name of the snapshot's beginning, as written in the file."""

FIRST: Final = datetime(2026, 2, 1, 6, tzinfo=UTC)
LAST: Final = datetime(2026, 3, 1, 6, tzinfo=UTC)
"""Midnight in Austin, six hours behind, at both ends of the month."""

MESSAGES_SINCE: Final = LAST - timedelta(days=2)
"""Older messages are left out: they would be most of the file."""


class Month:
    """A sandbox in which visits take place, each step at its moment."""

    def __init__(self, fixture: Path) -> None:
        self._sandbox = InProcess(str(fixture), to_wire(FIRST))
        self.cast = self._sandbox.cast
        self.draws = Ids(seed=1, world_id=CAST)
        self._now = FIRST
        self._numbered = count()
        self._coming: list[tuple[datetime, int, Visit]] = []

    def come(self, minutes: float, visit: Visit) -> None:
        """Have a visit begin so many minutes after the month does."""
        self._push(FIRST + timedelta(minutes=minutes), visit)

    def _push(self, at: datetime, visit: Visit) -> None:
        if at < LAST:
            heapq.heappush(self._coming, (at, next(self._numbered), visit))

    def take_place(self) -> None:
        """Everything happens that happens before the month ends; then it is its end."""
        while self._coming:
            self._now, _, visit = heapq.heappop(self._coming)
            self._sandbox.control("POST", "/clock/advance", {"to": to_wire(self._now)})
            minutes = next(visit, None)
            if minutes is not None:
                self._push(self._now + timedelta(minutes=minutes), visit)
        self._sandbox.control("POST", "/clock/advance", {"to": to_wire(LAST)})

    # --- what visits do

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> dict[str, Any]:
        """One request to the platform, `by` a key of the cast."""
        return self._sandbox.ask(method, path, body, **more)

    def control(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """One request about the world."""
        return self._sandbox.control(method, path, body)


def content() -> str:
    """The text of the file."""
    with TemporaryDirectory() as name:
        cast = Path(name) / f"{CAST}.json"
        cast.write_text(json.dumps(busy_cast.document()), encoding="utf-8")
        month = Month(cast)
    month.control("PUT", "/switches", {"batch.settlement": "manual"})
    for minutes, visit in (*guests(month), *hotel_guests(month)):
        month.come(minutes, visit)
    for merchant in busy_cast.MERCHANTS:
        for night in range(NIGHTS):
            closing = BatchClosing(month, merchant, night)
            month.come(closing.minutes, closing.take_place())
    month.take_place()
    month.control("PUT", "/switches", {"batch.settlement": "auto"})
    return _written(_trimmed(month.control("GET", "/snapshot")))


def _trimmed(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Without the older messages, and with a clock that runs on from the end of the month."""
    since = to_wire(MESSAGES_SINCE)
    messages = [one for one in snapshot["messages"].values() if one["created_at"] >= since]
    records = {one["_id"]: one for one in snapshot["records"].values()}
    # The digest is that of the whole month.
    del snapshot["file"]["1"]["sha256"]
    snapshot["messages"] = {str(number): one for number, one in enumerate(messages)}
    snapshot["records"] = {str(number): records[one["_id"]] for number, one in enumerate(messages)}
    (state,) = snapshot["world"].values()
    state["clock"] = {"mode": "running", "rate": 1.0, "now": to_wire(LAST)}
    state["begins"]["clock"] = {"now": to_wire(LAST), "mode": "running"}
    return snapshot


def _written(snapshot: Mapping[str, Mapping[str, Any]]) -> str:
    """One document per line, so a diff of the file is readable."""
    tables = []
    for table, documents in snapshot.items():
        lines = ",\n".join(
            f"{json.dumps(number)}:{json.dumps(one, separators=(',', ':'))}"
            for number, one in documents.items()
        )
        tables.append(f"{json.dumps(table)}:{{\n{lines}\n}}")
    return "{\n" + ",\n".join(tables) + "\n}\n"
