"""The webhooks of exported requests, in the words of the kit.

What an operator did to deliveries by hand is done again: the test spoils them before its request.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pydantic_core import from_json

from sandbox.domain.events import Message, body_of, status_of
from sandbox.domain.webhooks.deliveries import Delivery
from sandbox.scenarios.spoiling import BY_HAND
from sandbox.worlds.journal import EntryView
from sandbox.worlds.world import World

_UNSEEN: Final = frozenset({"drop", "signature", "truncate", "stale_timestamp"})
"""What keeps a receiver from taking a delivery at its first attempt."""

_NEAR: Final = 200
"""A message that contradicts another one was made at most so many messages later."""

YOUR_SOFTWARE: Final = '''
def in_your_software(sandbox, id):
    """The record as your software sees it: ask it here. This stand-in believes the last webhook."""
    told = [one.body for one in sandbox.webhooks.received if id in one.body.values()]
    return told[-1]

'''
"""Stands in for the software under test. It fails as long as it does, which is the point."""


class SeenWebhooks:
    """The webhooks of exported requests."""

    def __init__(self, world: World, views: list[EntryView]) -> None:
        self._world = world
        self._of = {view["id"]: list(self._messages(view)) for view in views}
        self.any = any(self._deliveries(one) for messages in self._of.values() for one in messages)
        self.contradict = any(
            one.only_for is not None for messages in self._of.values() for one in messages
        )

    def _messages(self, view: EntryView) -> Iterator[Message]:
        """The messages of a request, those that contradict one of them included."""
        store = self._world.store
        for id in view["events"]:
            message, place = store.message(id), store.place_of(id)
            if message is None or place is None:
                continue
            yield message
            if any(self._spoilt(one) for one in self._deliveries(message)):
                near = store.messages_now()[place : place + _NEAR]
                for other in near:
                    same = other.request_id == view["id"] and other.subject == message.subject
                    if same and other.only_for and other.event_type == message.event_type:
                        yield other

    def _deliveries(self, message: Message) -> list[Delivery]:
        return list(self._world.outbox.deliveries_of(message.id))

    def _spoilt(self, delivery: Delivery) -> Mapping[str, Any] | None:
        """The effect that an operator gave to this delivery, and on which."""
        if delivery.rule is None or not delivery.rule.startswith(BY_HAND):
            return None
        entry = self._world.spoiling.used.get(delivery.rule.removeprefix(BY_HAND))
        if entry is None:
            return None
        when = {name: value for name, value in entry.when.items() if name != "endpoint"}
        return {"then": dict(entry.then)} | ({"when": when} if when else {})

    def before(self, view: EntryView) -> Iterator[str]:
        """The lines before a request: what is done to its deliveries."""
        for message in self._of[view["id"]]:
            spoilt = [one for one in map(self._spoilt, self._deliveries(message)) if one]
            if spoilt:
                how = ", ".join(f"{name}={value!r}" for name, value in spoilt[0].items())
                yield f"    sandbox.spoil({how})"

    def after(self, view: EntryView, code_of: Callable[[str], Any]) -> Iterator[str]:
        """The lines after a request: its webhooks, as they were received."""
        told = set()
        for message in self._of[view["id"]]:
            deliveries = self._deliveries(message)
            if not any(one.attempts for one in deliveries) or any(map(self._is_unseen, deliveries)):
                continue
            line = f"    webhooks.wait_for({', '.join(self._wanted(message, code_of))})"
            if line not in told:
                told.add(line)
                yield line

    def _is_unseen(self, delivery: Delivery) -> bool:
        spoilt = self._spoilt(delivery)
        return spoilt is not None and not _UNSEEN.isdisjoint(spoilt["then"])

    def _wanted(self, message: Message, code_of: Callable[[str], Any]) -> Iterator[str]:
        yield repr(message.event_type)
        subject = code_of(message.subject)
        if subject != message.subject:
            yield f"subject={subject!r}"
        if (status := status_of(message)) is not None:
            yield f"status={status!r}"

    def at_the_end(
        self, view: EntryView, client: str, code_of: Callable[[str], Any]
    ) -> Iterator[str]:
        """The lines that compare your software with the record that webhooks contradict."""
        for message in self._of[view["id"]]:
            if message.only_for is None or not message.event_type.startswith("transaction."):
                continue
            subject, fields = code_of(message.subject), self._contradicted(message, view)
            if subject == message.subject or not fields:
                continue
            path = f"f'/v1/transactions/{{{subject!r}}}'"
            yield "    # Two webhooks contradict each other. The record is right."
            yield f"    record = sandbox.client({client}).request('GET', {path}).json()"
            yield f"    ours = in_your_software(sandbox, {subject!r})"
            for name in fields:
                yield f"    assert ours[{name!r}] == record[{name!r}]"

    def _contradicted(self, message: Message, view: EntryView) -> list[str]:
        """The fields of the answer that the message contradicts."""
        told, answered = from_json(body_of(message)), view["response"]
        if not isinstance(answered, dict):
            return []
        first: dict[str, Any] = {}
        for one in self._of[view["id"]]:
            if one.only_for is None and one.event_type == message.event_type:
                first = from_json(body_of(one))
        return [name for name in told if name in first and told[name] != first[name]]
