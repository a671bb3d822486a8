"""Controlling and observing one world through the control API."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

from uat_sandbox.control import Control
from uat_sandbox.errors import NothingCame, SandboxRefused
from uat_sandbox.scenario_files import document_of, naming
from uat_sandbox.waiting import WAIT_S, Deadline, warn_in_loop

__tracebackhide__ = True

_READ: Final = "(read)"
_POLL_S: Final = 20.0
"""Time limit of a long poll."""


class Journal(list[dict[str, Any]]):
    """The requests of a world, oldest first, as the control API shows them."""

    @property
    def last(self) -> dict[str, Any]:
        """The newest item. Raises LookupError if there is none."""
        if not self:
            raise LookupError(
                "no request is in this journal yet; those with a key of this world are in "
                "sandbox.journal, all others in sandbox.unkeyed"
            )
        return self[-1]


@dataclass(frozen=True, kw_only=True)
class Before:
    """The history of a world before the test began. A new world has none."""

    is_new: bool = True
    requests: int = 0
    messages: int = 0


class WorldControl:
    """The control API of one world.

    Refusals of the control API are raised as SandboxRefused.
    """

    def __init__(self, control: Control, world_id: str) -> None:
        self._control = control
        self._id = world_id

    @property
    def id(self) -> str:
        """The id of the world, which the server chose."""
        return self._id

    @property
    def control_url(self) -> str:
        """The URL of this world on the control API."""
        return f"{self._control.url}/worlds/{self.id}"

    def control(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
    ) -> Any:
        """Send any other request about this world: `control("GET", "/endpoints")`."""
        below = path if path[:1] in ("", "/", "?") else f"/{path}"
        return self._control.ask(method, f"/worlds/{self.id}{below}", body, query=query)

    def save(self) -> bytes:
        """Return the whole world as one document, for `load` or a file."""
        path = f"/worlds/{self.id}/snapshot"
        return self._control.response("GET", path).content

    # --- outcomes of payments

    def next(
        self,
        outcome: str | None = None,
        *,
        fault: str | None = None,
        operation: str | None = None,
        method: str | None = None,
        path: str | None = None,
        amount: int | None = None,
        delay_ms: int | None = None,
        approved_amount: int | None = None,
    ) -> dict[str, Any]:
        """Queue the outcome of the next attempt, or the fault of the next request that matches.

        `operation`, `method`, `path` (with `*`) and `amount` (minor units) select the requests.
        `/_sandbox/outcomes` lists the outcomes.
        """
        fields = {
            "outcome": outcome,
            "fault": fault,
            "operation": operation,
            "method": method,
            "path": path,
            "amount": amount,
            "delay_ms": delay_ms,
            "approved_amount": approved_amount,
        }
        body = {name: value for name, value in fields.items() if value is not None}
        return self._object("POST", "/scenario/next", body)

    def maintenance(self, lasts: str | None) -> None:
        """Refuse every request with 503 for a while, such as "10m"; None ends that."""
        if lasts is None:
            self.control("DELETE", "/maintenance")
        else:
            self.control("PUT", "/maintenance", {"lasts": lasts})

    def spoil(
        self,
        then: Mapping[str, Any],
        when: Mapping[str, Any] | None = None,
        *,
        times: int = 1,
    ) -> dict[str, Any]:
        """Inject a fault into the next matching webhook: `{"contradict": {"status": "..."}}`.

        `then` and `when` are those of a webhook rule of a scenario. Returns the queued entry.
        """
        body = {"when": dict(when or {}), "then": dict(then), "times": times}
        return self._object("POST", "/webhooks/next", body)

    def scenario(
        self, which: str | Path | Mapping[str, Any] | None = _READ
    ) -> dict[str, Any] | None:
        """Run a scenario: a name or title from the library, a TOML file, or a whole scenario.

        None stops the running scenario. Without an argument nothing changes. Returns the running
        scenario, with how often each rule applied, or None. Raises SandboxError for an unusable
        file.
        """
        if which is None:
            self.control("DELETE", "/scenario")
            return None
        if which is not _READ:
            chosen = document_of(which)
            body = {"name": chosen} if isinstance(chosen, str) else chosen
            with naming(which):
                return self._object("PUT", "/scenario", body)
        try:
            return self._object("GET", "/scenario")
        except SandboxRefused as error:
            if error.error != "no_scenario":
                raise
            return None

    def switches(self, changes: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """Change switches of the world, if any are given, and return them all.

        Changes look like `{"batch.settlement": "manual"}`.
        """
        wanted = {**(changes or {}), **more}
        return (
            self._object("PUT", "/switches", wanted) if wanted else self._object("GET", "/switches")
        )

    def readings(
        self, changes: Mapping[str, str | None] | None = None, **more: str | None
    ) -> dict[str, str]:
        """Change readings of the spec, like `delete_answers="resource"`, and return them all.

        None returns a reading to the profile's value.
        """
        wanted = {**(changes or {}), **more}
        return (
            self._object("PUT", "/readings", wanted) if wanted else self._object("GET", "/readings")
        )

    # --- time

    @property
    def clock(self) -> dict[str, Any]:
        """The clock: `now`, `mode` ("running" or "frozen") and `rate`."""
        return self._object("GET", "/clock")

    def set_clock(
        self,
        now: str | datetime | None = None,
        *,
        mode: Literal["running", "frozen"] | None = None,
        rate: float | None = None,
    ) -> dict[str, Any]:
        """Set the clock; omitted values stay. Moving it ahead fires all timers that become due."""
        warn_in_loop("set_clock")
        fields = {"now": instant(now), "mode": mode, "rate": rate}
        body = {name: value for name, value in fields.items() if value is not None}
        return self._object("PUT", "/clock", body)

    def advance(
        self, by: str | timedelta | None = None, *, to: str | datetime | None = None
    ) -> list[dict[str, Any]]:
        """Advance the clock by a duration or to an instant.

        Everything due on the way happens at its own time, including webhooks and their retries.
        Returns these events in order: `at`, `kind` and `subject`. Raises SandboxError if that takes
        more than a minute, as four attempts do at a receiver that does not answer.
        """
        warn_in_loop("advance")
        if isinstance(by, timedelta):
            by = f"P{by.days}DT{by.seconds}.{by.microseconds // 1_000:03}S"
        fields = {"by": by, "to": instant(to)}
        body = {name: value for name, value in fields.items() if value is not None}
        fired: list[dict[str, Any]] = self._object("POST", "/clock/advance", body)["fired"]
        return fired

    # --- the tap desk

    @property
    def taps(self) -> list[dict[str, Any]]:
        """The payments that wait for a card, oldest first."""
        return self._list("taps")

    def tap(
        self,
        card: str | None = None,
        *,
        outcome: str | None = None,
        cancel: Literal["user", "merchant"] | None = None,
        transaction_id: str | None = None,
        timeout_s: float = WAIT_S,
    ) -> dict[str, Any]:
        """Tap for the payment that has waited longest, or for the named one, once it waits.

        Give one of three: the token of a test card, an outcome, or who cancels. Returns the tap,
        and the payment's `status` and `status_reason` after it. Raises NothingCame if no payment
        waits in time.
        """
        warn_in_loop("tap")
        fields = {"card": card, "outcome": outcome, "cancel": cancel}
        body = {name: value for name, value in fields.items() if value is not None}
        deadline = Deadline(timeout_s)
        while (waiting := self._wait_for_payment(transaction_id, deadline)) is not None:
            try:
                return self._object("POST", f"/taps/{waiting}", body)
            except SandboxRefused as refused:
                # Another thread may tap for the payment that has waited longest.
                if transaction_id is not None or refused.error != "not_waiting":
                    raise
        named = f"payment {transaction_id} did not wait"
        about = "no payment waited" if transaction_id is None else named
        running = self.scenario()
        raise NothingCame(
            f"{about} for a tap within {timeout_s:g} s; payments wait if a scenario "
            f'says tap = "wait", and {"none" if running is None else repr(running["name"])} '
            "runs in this world"
        )

    def _wait_for_payment(self, transaction_id: str | None, deadline: Deadline) -> str | None:
        """Return the waiting payment; None after the timeout."""
        while True:
            # A payment that begins to wait was just created, which emits a message.
            newest = self._list("messages", limit=1)
            ids = [str(tap["transaction_id"]) for tap in self.taps]
            if transaction_id in ids or (transaction_id is None and ids):
                return transaction_id or ids[0]
            if not deadline.left_s:
                return None
            query = {"timeout_s": min(deadline.left_s, _POLL_S)}
            after = {"after": newest[0]["id"]} if newest else {}
            try:
                self.control("GET", "/wait", query=query | after)
            except SandboxRefused as error:
                if error.error != "nothing_came":
                    raise

    def answer(
        self, transaction_id: str, outcome: str = "approved", *, event_id: str | None = None
    ) -> dict[str, Any]:
        """Give the processor's late answer to an attempt that timed out or was left pending.

        It is the newest such attempt at the payment, unless `event_id` names another. Returns the
        `payment`, its `ledger` and its `story` afterwards.
        """
        body = {"outcome": outcome, "event_id": event_id}
        return self._object("POST", f"/payments/{transaction_id}/answer", body)

    # --- what happened

    @property
    def journal(self) -> Journal:
        """The requests of this world, each with the decisions behind its answer, and `.last`."""
        return Journal(self._list("requests"))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The events of this world, each with its body and all its deliveries, oldest first."""
        return self._list("messages")

    def _so_far(self) -> Before:
        """Return the history of the world so far. Raises SandboxError."""
        newest = self._list("requests", limit=1)
        messages = self.control("GET", "/messages", query={"limit": 1})["total"]
        requests = request_number(newest[-1]) if newest else 0
        return Before(is_new=False, requests=requests, messages=messages)

    def _object(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        found: dict[str, Any] = self.control(method, path, body)
        return found

    def _list(self, plural: str, **query: Any) -> list[dict[str, Any]]:
        return self._control.list_of_world(self.id, plural, **query)


def request_number(entry: Mapping[str, Any]) -> int:
    """Return the number of a request in the journal, counted from 1 since the world began."""
    return int(str(entry["id"]).removeprefix("req_"))


def instant(moment: str | datetime | None) -> str | None:
    """Return an instant for the control API. Raises ValueError for one without a time zone."""
    if not isinstance(moment, datetime):
        return moment
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone: give it one, like tzinfo=UTC")
    return moment.isoformat()
