"""Receiving the webhooks of a test, and waiting for them."""

import base64
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from uat_sandbox.errors import NothingCame
from uat_sandbox.waiting import WAIT_S, Deadline, warn_in_loop

if TYPE_CHECKING:
    from uat_sandbox.control import Control
    from uat_sandbox.inbox import Arrival, Inbox
    from uat_sandbox.receiver import Receiver

__tracebackhide__ = True

ENDPOINT_ID: Final = "testing-kit"
_NEAR_MISSES_MAX: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A received webhook.

    `body` is `raw` parsed as JSON, or None. `event_type` and `subject` come from the message in the
    world, because bodies do not contain them; they are None if the world has no message with this
    id. `attempt` counts the arrivals of this `id` from 1, and `number` all arrivals from 0.
    `problem` says why it is not genuine. `answered` is the status of the receiver's answer.
    """

    id: str
    event_type: str | None
    subject: str | None
    body: Any
    raw: bytes = field(repr=False)
    headers: Mapping[str, str]
    attempt: int
    answered: int
    problem: str | None = None
    number: int = 0

    @property
    def is_genuine(self) -> bool:
        """Whether the signature matches exactly these bytes, and is fresh."""
        return self.problem is None


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The expected webhook. `fields` are fields of its body."""

    event_type: str | None
    subject: str | None
    fields: Mapping[str, Any]

    def mismatches(self, webhook: Webhook) -> list[str]:
        """Return the differences; empty if it matches."""
        found = []
        if self.event_type not in (None, webhook.event_type):
            found.append(f"it is {webhook.event_type}")
        if self.subject not in (None, webhook.subject):
            found.append(f"it is about {webhook.subject}")
        body = webhook.body if isinstance(webhook.body, dict) else {}
        for name, value in self.fields.items():
            if name not in body:
                found.append(f"it has no {name}")
            elif body[name] != value:
                found.append(f"its {name} is {body[name]!r}")
        return found

    def __str__(self) -> str:
        words = [self.event_type or "webhook"]
        if self.subject is not None:
            words.append(f"about {self.subject}")
        words += [f"with {name} {value!r}" for name, value in self.fields.items()]
        return " ".join(words)


@dataclass(repr=False)
class Webhooks:
    """The webhooks that a world sent to the test's own receiver, with every signature checked.

    The receiver gets all webhooks of the world from the beginning, in the inbox named `inbox`.
    """

    inbox: str
    _control: "Control"
    _receiver: "Receiver"
    world_id: str = ""
    _box: "Inbox" = field(init=False)
    _messages: dict[str, tuple[str, str]] = field(default_factory=dict)

    def __repr__(self) -> str:
        # A report does not need the contents of the inbox.
        return f"<Webhooks of {self.world_id}>"

    def __post_init__(self) -> None:
        self._box = self._receiver.open(self.inbox)
        # Our own secret, because a secret drawn by the world would change all its later draws.
        self._box.secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()

    # --- arrivals

    @property
    def received(self) -> list[Webhook]:
        """All genuine webhooks that arrived, including repetitions, in order."""
        return [one for one in self.arrived if one.is_genuine]

    @property
    def refused(self) -> list[Webhook]:
        """All webhooks that are not genuine (forged, stale or incomplete); they got a 401."""
        return [one for one in self.arrived if not one.is_genuine]

    @property
    def arrived(self) -> list[Webhook]:
        """All webhooks that arrived, genuine or not."""
        arrivals = self._box.arrivals()
        self._learn({one.id for one in arrivals})
        return [self._find_webhook(number, one) for number, one in enumerate(arrivals)]

    def wait_for(
        self,
        event_type: str | None = None,
        *,
        subject: str | None = None,
        after: Webhook | None = None,
        timeout_s: float = WAIT_S,
        **fields: Any,
    ) -> Webhook:
        """Return the first genuine webhook that matches, waiting for it if necessary.

        `subject` is the id of its resource; other arguments are fields of its body, such as
        `status`. Repeated calls return the same webhook; `after` an earlier webhook, only later
        ones count. Raises NothingCame, which lists what did arrive.
        """
        warn_in_loop("webhooks.wait_for")
        self._must_be_known(event_type)
        wanted = _Wanted(event_type, subject, fields)
        deadline = Deadline(timeout_s)
        first = 0 if after is None else after.number + 1
        while True:
            arrived = self.arrived
            for webhook in arrived[first:]:
                if webhook.is_genuine and not wanted.mismatches(webhook):
                    return webhook
            if not self._box.wait_for_more_than(len(arrived), deadline):
                lines = [f"no {wanted} came within {timeout_s:g} s", *self._instead(wanted, first)]
                raise NothingCame("\n".join(lines))

    def expect_none(
        self,
        event_type: str | None = None,
        *,
        subject: str | None = None,
        after: Webhook | None = None,
        **fields: Any,
    ) -> None:
        """Wait until all due webhooks are sent, and check that none matches.

        Raises AssertionError with a matching one.
        """
        warn_in_loop("webhooks.expect_none")
        self._must_be_known(event_type)
        self._settle()
        wanted = _Wanted(event_type, subject, fields)
        for webhook in self.arrived[0 if after is None else after.number + 1 :]:
            if webhook.is_genuine and not wanted.mismatches(webhook):
                shown = json.dumps(webhook.body, indent=2)
                raise AssertionError(f"{wanted}: none was expected, and {webhook.id} came\n{shown}")

    def settle(self) -> None:
        """Wait until all due webhooks of the world are sent, to any endpoint.

        Warns if this thread runs an event loop.
        """
        warn_in_loop("webhooks.settle")
        self._settle()

    def settle_for(self, call: str) -> None:
        """Do the same for a method of the world, which the warning names."""
        warn_in_loop(call, stacklevel=4)
        self._settle()

    def _settle(self) -> None:
        self._control.ask("POST", f"/worlds/{self.world_id}/clock/advance", {"by": "0s"})

    def note_switches(self, switches: Mapping[str, Any]) -> None:
        """Accept timestamps of the world's clock if these switches of the world say so."""
        if "webhooks.timestamp" in switches:
            self._box.is_dated_by_world = switches["webhooks.timestamp"] == "world"

    def expect_accepted(self) -> None:
        """Check that each attempt at a webhook, to any endpoint, was answered with 2xx.

        Raises AssertionError with what your endpoints answered instead.
        """
        warn_in_loop("webhooks.expect_accepted")
        self._settle()
        messages = self._control.list_of_world(self.world_id, "messages")
        failed = [
            f"{message['event_type']} {message['id']}: {attempt['error']}"
            for message in messages
            for delivery in message["deliveries"]
            for attempt in delivery["attempts"]
            if attempt["error"] is not None
        ]
        if failed:
            raise AssertionError("\n  ".join(["webhooks were not accepted:", *failed]))

    # --- the receiver

    @property
    def url(self) -> str:
        """The URL of the receiver."""
        return self._receiver.url_of(self.inbox)

    @property
    def secret(self) -> str:
        """The secret with which the receiver verifies signatures."""
        assert self._box.secret
        return self._box.secret

    def respond(
        self,
        status: int,
        *,
        times: int | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | str = b"",
    ) -> None:
        """Answer genuine webhooks like this, for a number of `times` or from now on.

        Answers with `times` apply in the order of the calls, before any other answer.
        """
        from uat_sandbox.inbox import Reply

        if not 200 <= status <= 599:
            raise ValueError(f"a receiver cannot answer {status}; use a status from 200 to 599")
        content = body.encode() if isinstance(body, str) else body
        self._box.answer(Reply(status, tuple((headers or {}).items()), content), times)

    def listen(
        self,
        event_types: Iterable[str] = (),
        *,
        account_id: str | None = None,
        **filters: Iterable[str],
    ) -> None:
        """Receive only these events from now on, of this account and accounts below it.

        `filters` are `transaction_type`, `status` and `processor`, each with the accepted values.
        Without arguments, receive everything again.
        """
        self._control.ask(
            "PATCH",
            f"/worlds/{self.world_id}/endpoints/{ENDPOINT_ID}",
            {
                "event_types": words(event_types),
                "account_id": account_id,
                "filters": {name: words(values) for name, values in filters.items()},
            },
        )

    # --- calls of the world

    def register_after_reset(self) -> None:
        """Register the receiver again if a saved fixture replaced the endpoints of the world."""
        if all(one["url"] != self.url for one in self._list_endpoints()):
            self.register_anew()

    def register_anew(self) -> None:
        """Register the receiver in the world, which was replaced by another one."""
        path = f"/worlds/{self.world_id}/endpoints"
        if all(one["id"] != ENDPOINT_ID for one in self._list_endpoints()):
            self._control.ask("POST", path, self.endpoint)
            return
        # Retries of the saved world come here, too.
        here = {"url": self.url, "secret": self.secret, "disabled": False}
        everything: dict[str, Any] = {"event_types": [], "account_id": None, "filters": {}}
        self._control.ask("PATCH", f"{path}/{ENDPOINT_ID}", here | everything)

    @property
    def endpoint(self) -> dict[str, str]:
        """The endpoint to register, with its own id and secret, so that the world draws none."""
        return {
            "id": ENDPOINT_ID,
            "url": self.url,
            "secret": self.secret,
            "description": "test kit",
        }

    def forget(self) -> None:
        """Forget all arrivals, because the world starts over, with the same message ids."""
        self._box.clear()
        self._messages.clear()

    def close(self) -> None:
        """Stop receiving, because the world is gone."""
        self._receiver.forget(self.inbox)

    # --- details

    def _list_endpoints(self) -> list[dict[str, Any]]:
        found = self._control.ask("GET", f"/worlds/{self.world_id}/endpoints")
        endpoints: list[dict[str, Any]] = found["endpoints"]
        return endpoints

    def _find_webhook(self, number: int, arrival: "Arrival") -> Webhook:
        event_type, subject = self._messages.get(arrival.id, (None, None))
        try:
            body = json.loads(arrival.raw)
        except ValueError:
            body = None
        return Webhook(
            id=arrival.id,
            event_type=event_type,
            subject=subject,
            body=body,
            raw=arrival.raw,
            headers=arrival.headers,
            attempt=arrival.attempt,
            answered=arrival.answered,
            problem=arrival.problem,
            number=number,
        )

    def _learn(self, ids: set[str]) -> None:
        """Look up the event types in the world, because bodies do not contain them."""
        for id in ids - self._messages.keys():
            if (found := self._control.message(self.world_id, id)) is not None:
                self._messages[id] = found

    def _must_be_known(self, event_type: str | None) -> None:
        if event_type is None:
            return
        known = self._control.event_types()
        if event_type not in known:
            from uat_sandbox.words import did_you_mean

            raise ValueError(f"there is no event {event_type!r}{did_you_mean(event_type, known)}")

    def _instead(self, wanted: _Wanted, first: int) -> list[str]:
        """Return lines about arrivals that differ, and then about messages that did not arrive."""
        arrived = self.arrived
        lines = []
        for webhook in arrived[first:]:
            why = webhook.problem and f"not genuine: {webhook.problem}"
            why = why or "; ".join(wanted.mismatches(webhook))
            lines.append(f"  {webhook.event_type} {webhook.id}: {why}")
        if not lines:
            lines = ["  nothing came" if first == 0 else "  nothing came after that one"]
        if len(lines) > _NEAR_MISSES_MAX:
            left_out = len(lines) - _NEAR_MISSES_MAX
            lines = [f"  ({left_out} earlier ones)", *lines[-_NEAR_MISSES_MAX:]]
        return [*lines, *self._not_delivered({one.id for one in arrived}, wanted)]

    def _not_delivered(self, arrived: set[str], wanted: _Wanted) -> list[str]:
        """Return lines about the world's messages of this event type that did not arrive."""
        query = {} if wanted.event_type is None else {"event_type": wanted.event_type}
        messages = self._control.ask("GET", f"/worlds/{self.world_id}/messages", query=query)
        lines = []
        for one in messages["messages"][-_NEAR_MISSES_MAX:]:
            if one["id"] not in arrived:
                to_us = [to for to in one["deliveries"] if to["endpoint_id"] == ENDPOINT_ID]
                how = to_us[0]["status"] if to_us else "not for this receiver"
                lines.append(f"  {one['event_type']} {one['id']}: emitted, but {how}")
        return [*lines, *self._why_disabled()]

    def _why_disabled(self) -> Iterator[str]:
        """Yield a line that says why the world no longer sends webhooks here, if it does not."""
        for endpoint in self._list_endpoints():
            if endpoint["id"] == ENDPOINT_ID and endpoint["disabled"]:
                yield f"  this receiver is disabled: {endpoint['disabled_reason']}"


def words(values: Iterable[str]) -> list[str]:
    """Return the words as a list; a single word need not be in a list."""
    return [values] if isinstance(values, str) else list(values)
