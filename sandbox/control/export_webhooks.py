"""Webhooks in exported tests: the faults of their deliveries, and the wait for them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct
from pydantic_core import from_json

from sandbox.control.journal import JournalEntry
from sandbox.domain.events import Message, body_of
from sandbox.domain.webhooks import Delivery
from sandbox.scenarios.queue import RULE_OF_QUEUE
from sandbox.worlds.world import World

_PATHS: Final = {"transaction": "/v1/transactions/", "batch": "/v1/batches/"}
"""Where a record is read, by the first part of the name of its events."""

_NEAR: Final = 200
"""A message that contradicts others of its request was made at most this many messages later."""

_LATE_S: Final = 5.0
"""The seconds beyond its delay for which a test waits for a webhook."""

YOUR_RECORD: Final = '''
def your_record(sandbox, webhook):
    """What your software says of the payment or batch of a webhook, once it has the webhook.

    As it stands it believes the webhook, so the test fails. Hand your software webhook.raw and
    webhook.headers instead, and return what it says then.
    """
    return webhook.body
'''

_OF_WAIT_FOR: Final = frozenset({"event_type", "subject", "after", "timeout_s"})
"""Words of `wait_for`, which cannot name a field."""


class ExportedWebhooks(Struct, frozen=True):
    """The webhooks of some requests of a world."""

    world: World

    def _list_sent(self, view: JournalEntry) -> Iterator[tuple[Message, list[Delivery]]]:
        """Yield the messages of a request that were for an endpoint, with their deliveries.

        Those that a rule made up to contradict one of them are included.
        """
        store = self.world.store
        messages = [one for id in view.events if (one := store.message(id)) is not None]
        if messages and (last := store.place_of(view.events[-1])) is not None:
            near = store.messages_now()[last : last + _NEAR]
            messages += [one for one in near if one.only_for and one.request_id == view.id]
        for message in messages:
            if deliveries := self.world.outbox.deliveries_of(message.id):
                yield message, list(deliveries)

    def faults(self, view: JournalEntry) -> Iterator[str]:
        """Yield the lines that, before a request, queue what was done to its webhooks."""
        for message, deliveries in self._list_sent(view):
            if (then := self._queued(deliveries)) is not None:
                yield f"    sandbox.spoil({then!r}, when={{'event': {message.event_type!r}}})"

    def _queued(self, deliveries: list[Delivery]) -> dict[str, Any] | None:
        """Return what the queue of faults did to one of them."""
        for one in deliveries:
            if one.rule is not None and one.rule.startswith(RULE_OF_QUEUE):
                used = self.world.webhook_faults.used.get(one.rule.removeprefix(RULE_OF_QUEUE))
                if used is not None:
                    return dict(used)
        return None

    def wait_lines(
        self, view: JournalEntry, known: Mapping[str, str], client: str
    ) -> Iterator[str]:
        """Yield the lines that wait for the webhooks of a request, after it was answered.

        `known` names ids, and `client` is the name of the key that reads records, as code.
        """
        sent = list(self._list_sent(view))
        delays = ((self._queued(one) or {}).get("delay_ms") or 0 for _, one in sent)
        late_ms = max(delays, default=0)
        late = [f"timeout_s={late_ms / 1000 + _LATE_S:g}"] if late_ms else []
        first: dict[tuple[str, str], Mapping[str, Any]] = {}
        blocks: dict[tuple[str, ...], None] = {}
        for message, deliveries in sent:
            body: dict[str, Any] = from_json(body_of(message))
            what = message.event_type, message.subject
            if message.only_for is None:
                first.setdefault(what, body)
            subject = known.get(message.subject)
            if subject is not None and _has_arrived(deliveries):
                asked = [repr(message.event_type), f"subject={subject}"]
                before = first.get(what, body)
                differ = {name: one for name, one in body.items() if before.get(name) != one}
                blocks[tuple(_wait_lines(asked, late, body, differ, client))] = None
        for block in blocks:
            yield from block


def _has_arrived(deliveries: list[Delivery]) -> bool:
    """Whether a receiver that is there accepts the first attempt as genuine."""
    sent = ((one, one.attempts[0].sent if one.attempts else None) for one in deliveries)
    return any(one.status != "dropped" and (head is None or not head.spoilt) for one, head in sent)


def _wait_lines(
    asked: list[str],
    late: list[str],
    body: Mapping[str, Any],
    differ: Mapping[str, Any],
    client: str,
) -> Iterator[str]:
    """Yield the lines that wait for one webhook. `differ` is what contradicts the one before it."""
    told = {"status": body["status"]} if isinstance(body.get("status"), str) else {}
    fields = {name: one for name, one in {**told, **differ}.items() if name not in _OF_WAIT_FOR}
    words = [f"**{fields!r}"] if fields else []
    wait = f"sandbox.webhooks.wait_for({', '.join([*asked, *words, *late])})"
    path = _PATHS.get(asked[0].strip("'").partition(".")[0])
    if not differ or path is None:
        yield f"    {wait}"
        return
    yield f"    webhook = {wait}"
    yield f"    record = sandbox.client({client}).request('GET', {path!r} + webhook.subject).json()"
    for name in differ:
        yield f"    assert your_record(sandbox, webhook).get({name!r}) == record.get({name!r})"
