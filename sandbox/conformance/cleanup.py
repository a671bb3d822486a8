"""Deleting what a run made, with patience: the platform may be in trouble."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sandbox.conformance.created_resources import Entry, Register
from sandbox.conformance.probe_runner import (
    TOO_MANY,
    Pace,
    Raw,
    Sends,
    Stopped,
    ask_once,
    is_of_the_platform,
    retry_after,
    shown_answer,
)
from sandbox.conformance.probes.steps import ProbeRequest

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
        deleted = [self._delete(entry, id) for id in ids]
        if all(deleted):
            self.register.gone(entry)

    def _delete(self, entry: Entry, id: str) -> bool:
        raw = self._patient("DELETE", f"{entry.made_as.made_at}/{id}", entry.by)
        return 200 <= raw.status < 300 or raw.status in _THERE_NO_MORE

    def _found(self, entry: Entry) -> Iterator[str]:
        """The ids of things with the name of the entry. Raises _NoAnswer."""
        kind = entry.made_as
        if not kind.has_name and not self._is_ours(entry.account_id):
            return
        offset = 0
        while True:
            query = {"limit": str(_PAGE), "offset": str(offset)}
            if entry.account_id is not None:
                query["account_id"] = entry.account_id
            if kind.has_name and kind.listed_in is not None:
                query["search"] = entry.name
            raw = self._patient("GET", kind.made_at, entry.by, tuple(query.items()))
            if raw.status in _THERE_NO_MORE and self._is_ours(entry.account_id):
                return
            items = _items(shown_answer(raw)["body"], kind.listed_in)
            if raw.status != 200 or items is None:
                raise _NoAnswer
            for one in items:
                if not kind.has_name or one.get("name") == entry.name:
                    yield str(one.get(kind.id_field))
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
    ) -> Raw:
        """An answer that is neither a failure nor 429. Raises _NoAnswer and Stopped."""
        request = ProbeRequest(method=method, path=path, query=query, key=self.keys.get(by))
        for attempt in range(TRIES_MAX):
            self.pace.wait(cleaning=True)
            raw, _ = ask_once(self.send, request)
            if raw.status == TOO_MANY:
                self.pace.hold(_asked_for(raw, attempt))
            elif raw.status == 0 or raw.status >= 500:
                self.pace.hold(min(2.0**attempt, WAIT_S_MAX))
            elif is_of_the_platform(raw):
                return raw
            else:
                # A page where JSON should be: something stands before the platform.
                self.pace.hold(min(2.0**attempt, WAIT_S_MAX))
        raise _NoAnswer


def _asked_for(raw: Raw, attempt: int) -> float:
    """The seconds that the platform asks for, or our own if it asks for too many or for none."""
    try:
        return max(retry_after(raw.headers.get("retry-after")), 2.0**attempt)
    except Stopped:
        return WAIT_S_MAX


def _items(body: Any, field: str | None) -> list[dict[str, Any]] | None:
    whole = body if field is None else body.get(field) if isinstance(body, dict) else None
    if not isinstance(whole, list):
        return None
    return [one for one in whole if isinstance(one, dict)]
