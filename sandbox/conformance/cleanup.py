"""Deleting what a run made, with patience: the platform may be in trouble."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sandbox.conformance.clients import HttpAnswer
from sandbox.conformance.created_resources import Entry, Register
from sandbox.conformance.probe_runner import (
    TOO_MANY,
    Pace,
    Sends,
    Stopped,
    ask_once,
    retry_after,
)
from sandbox.conformance.probes.steps import KINDS, Kind, ProbeRequest

TRIES_MAX: Final = 8
WAIT_S_MAX: Final = 60.0
"""A request is tried so often, with waits of 1, 2, 4 seconds and so on, up to this one."""

_PAGE: Final = 100
_THERE_NO_MORE: Final = (404, 410)


class _NoAnswer(Exception):
    """The platform gave no usable answer in all tries."""


@dataclass(slots=True)
class Cleaner:
    """Deletes what the register says is left. `keys` are by `own` and `partner`."""

    register: Register
    send: Sends
    pace: Pace
    keys: Mapping[str, str | None] = field(repr=False)

    def clean(self) -> list[Entry]:
        """What is left after it, because the platform did not delete it."""
        try:
            for entry in self.register.left():
                try:
                    self._end(entry)
                except _NoAnswer:
                    continue
        except (Stopped, OSError):
            pass
        return self.register.left()

    def _end(self, entry: Entry) -> None:
        """Delete one thing, which may be there under an id that never arrived."""
        ids = [entry.id] if entry.id is not None else list(self._found(entry))
        at = KINDS[entry.kind].made_at
        answers = [self._patient("DELETE", f"{at}/{id}", entry.by) for id in ids]
        if all(one.is_success or one.status in _THERE_NO_MORE for one in answers):
            self.register.gone(entry)

    def _found(self, entry: Entry) -> Iterator[str]:
        """The ids of things with the name of the entry. Raises _NoAnswer."""
        kind = KINDS[entry.kind]
        if not kind.has_name and not self._is_ours(entry.account_id):
            return
        offset = 0
        while True:
            query = {"limit": str(_PAGE), "offset": str(offset)}
            if entry.account_id is not None:
                query["account_id"] = entry.account_id
            if kind.has_name and kind.listed_in is not None:
                query["search"] = entry.name
            answer = self._patient("GET", kind.made_at, entry.by, tuple(query.items()))
            if answer.status in _THERE_NO_MORE and self._is_ours(entry.account_id):
                return
            items = _items(answer, kind)
            yield from (
                str(one.get(kind.id_field))
                for one in items
                if not kind.has_name or one.get("name") == entry.name
            )
            # Keys are listed whole.
            if kind.listed_in is None or len(items) < _PAGE:
                return
            offset += _PAGE

    def _is_ours(self, account_id: str | None) -> bool:
        """Whether the run made the account, so that all in it is the run's."""
        made = self.register.with_id(account_id) if account_id else None
        return made is not None and made.kind == "merchant"

    def _patient(
        self, method: str, path: str, by: str, query: tuple[tuple[str, str], ...] = ()
    ) -> HttpAnswer:
        """An answer that is neither a failure nor 429. Raises _NoAnswer and Stopped."""
        request = ProbeRequest(method=method, path=path, query=query, key=self.keys.get(by))
        for attempt in range(TRIES_MAX):
            self.pace.wait(cleaning=True)
            answer = ask_once(self.send, request)
            is_trouble = answer.status == 0 or answer.status >= 500 or answer.status == TOO_MANY
            # A page where JSON should be comes from something before the platform.
            if not is_trouble and answer.is_json:
                return answer
            wait_s = min(2.0**attempt, WAIT_S_MAX)
            if answer.status == TOO_MANY:
                try:
                    wait_s = max(retry_after(answer), wait_s)
                except Stopped:
                    wait_s = WAIT_S_MAX
            self.pace.hold(wait_s)
        raise _NoAnswer


def _items(answer: HttpAnswer, kind: Kind) -> list[dict[str, Any]]:
    """The items of a list. Raises _NoAnswer if it is none."""
    items = answer.body
    if kind.listed_in is not None:
        items = items.get(kind.listed_in) if isinstance(items, dict) else None
    if answer.status != 200 or not isinstance(items, list):
        raise _NoAnswer
    return [one for one in items if isinstance(one, dict)]
