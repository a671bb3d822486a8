"""The events of spec 6.3, one row each, and the bodies of their webhooks.

The operations decide which event fires; `webhooks` delivers it.
"""

from typing import Annotated, Any, Final

from msgspec import Struct

from sandbox.domain import keys
from sandbox.domain.instants import Instant
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.records import Record, to_bytes
from sandbox.domain.text import KnownWord, OneOf


class EventRow(Struct, frozen=True, gc=False):
    """One event. `sparse` names the only fields of its body; empty means the whole resource."""

    name: str
    meaning: str
    sparse: tuple[str, ...] = ()

    @property
    def category(self) -> str:
        """`transaction`, `batch`, `account`, `terminal`, `location`, `api_key` or `credential`."""
        return self.name.partition(".")[0]

    @property
    def source(self) -> str:
        """The clause that lists the event."""
        return f"spec 6.3-{self.name}"


EVENTS: Final[dict[str, EventRow]] = {
    row.name: row
    for row in (
        EventRow("transaction.authorize", "card authorized, funds held"),
        EventRow("transaction.sale", "authorized and captured in one step"),
        EventRow("transaction.capture", "a prior authorization captured"),
        EventRow("transaction.cancel", "canceled before settlement"),
        EventRow("transaction.create", "a transaction record created"),
        EventRow("transaction.reverse", "voided before settlement"),
        EventRow("transaction.refund", "funds refunded"),
        EventRow("transaction.increment", "the authorized amount increased"),
        EventRow("transaction.tip_adjust", "the tip of a captured transaction changed"),
        EventRow("batch.opened", "a batch opened"),
        EventRow("batch.rejected", "the processor rejected a batch"),
        EventRow("batch.accepted", "the processor accepted a batch"),
        EventRow("batch.partially_accepted", "a batch accepted with some records rejected"),
        EventRow("batch.edited", "the transactions of a batch changed before it closed"),
        EventRow("batch.submitted", "a batch submitted to the processor"),
        EventRow("account.created", "an account created"),
        EventRow("account.updated", "details of an account changed"),
        EventRow("account.blocked", "an account blocked"),
        EventRow("account.unblocked", "a blocked account active again"),
        EventRow("account.deleted", "an account deleted", sparse=("id",)),
        EventRow("terminal.created", "a terminal created"),
        EventRow("terminal.updated", "the configuration of a terminal changed"),
        EventRow("terminal.blocked", "a terminal blocked"),
        EventRow("terminal.unblocked", "a blocked terminal active again"),
        EventRow("terminal.deleted", "a terminal deleted", sparse=("terminal_id", "account_id")),
        EventRow("location.created", "a location created"),
        EventRow("location.updated", "details of a location changed"),
        EventRow("location.blocked", "a location blocked"),
        EventRow("location.unblocked", "a blocked location active again"),
        EventRow("location.deleted", "a location deleted", sparse=("id", "account_id")),
        EventRow("api_key.created", "a key issued"),
        EventRow("api_key.revoked", "a key denied at authentication until it is reinstated"),
        EventRow("api_key.reinstated", "a revoked key usable again"),
        EventRow("api_key.deleted", "a key deleted for good"),
        EventRow("credential.created", "a merchant credential created"),
        EventRow("credential.blocked", "a credential made inactive"),
        EventRow("credential.unblocked", "a credential active again"),
        EventRow("credential.deleted", "a credential deleted"),
    )
}

EventType = Annotated[str, OneOf(EVENTS)]
"""The name of an event."""


class MessageHead(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A message without its body."""

    id: str
    event_type: Annotated[str, KnownWord(EVENTS)]
    account_id: str
    subject: str
    request_id: str | None
    created_at: Instant
    only_for: str | None = None


class Message(MessageHead, frozen=True, kw_only=True, gc=False):
    """One event, with the record as it was at that moment.

    `record` is frozen, so its body can be rendered whenever it is read or sent, with the same bytes
    every time; for a sample it is the body itself. `subject` is the id of the resource.
    `request_id` is None for an event that no request caused. `only_for` is the id of the endpoint
    for which a scenario created the message; None means every endpoint.
    """

    record: Record | Transaction | dict[str, Any]


def _show(message: Message) -> Any:
    """Return what the webhook shows of the record."""
    record, sparse = message.record, EVENTS[message.event_type].sparse
    if sparse and not isinstance(record, dict):  # Source: spec 6.1.4
        return {field: getattr(record, field) for field in sparse}
    return keys.event_body(record) if isinstance(record, ApiKey) else record


def field_of(message: Message, name: str) -> Any:
    """Return a field of the webhook's body, without rendering it; None if it has none."""
    shown = _show(message)
    return shown.get(name) if isinstance(shown, dict) else getattr(shown, name, None)


def body_of(message: Message) -> bytes:
    """Return the exact bytes of the webhook: the flat resource, no envelope. Source: spec 6.1.1."""
    return to_bytes(_show(message))
