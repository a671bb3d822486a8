"""The webhooks of the probes that take more than a line: called when they are due."""

import json
from collections.abc import Sequence
from typing import Final

from sandbox.doctor.builder import Burst, Fields, ProbeBuilder, Webhook
from sandbox.domain.events import EVENTS

OLD_S: Final = 600
"""Twice what receivers tolerate. Source: assumed 8.3-signature."""

LARGE_BYTES: Final = 65_536
AT_ONCE: Final = 8

_LATER_AND_EARLIER: Final = (
    ("transaction.refund", "transaction.sale"),
    ("transaction.capture", "transaction.authorize"),
    ("batch.accepted", "batch.submitted"),
    ("account.updated", "account.created"),
    ("terminal.updated", "terminal.created"),
    ("location.updated", "location.created"),
    ("api_key.revoked", "api_key.created"),
    ("credential.blocked", "credential.created"),
)
"""Events about one resource that the platform fires in the other order."""

_BEGINNINGS: Final = (".create", ".created", ".opened", ".sale", ".authorize")

_NAMES: Final = ("merchant_name", "name", "description")
"""Fields with free text."""


def one(*webhooks: Webhook) -> Sequence[Burst]:
    """One after the other."""
    return [(webhook,) for webhook in webhooks]


def tampered_body(builder: ProbeBuilder) -> Sequence[Burst]:
    """A body that was changed after it was signed."""
    fields = builder.fields()
    signed = builder.webhook(fields)
    changed = builder.webhook({**fields, "account_id": builder.ids.uuid()})
    return one(Webhook("", signed.headers, changed.body))


# --- genuine, in forms that the platform uses or may use --------------------------------------


def unknown_version(builder: ProbeBuilder) -> Sequence[Burst]:
    """A signature of another version before the one that fits."""
    other = builder.webhook(builder.fields(), signed_with=[builder.other_secret])
    unknown = other.headers[f"{builder.header_prefix}-signature"].removeprefix("v1,")
    return one(
        builder.with_signature(
            builder.webhook(builder.fields()), lambda fit: f"v1a,{unknown} {fit}"
        )
    )


def exact_bytes(builder: ProbeBuilder) -> Sequence[Burst]:
    """JSON with line breaks, spaces and escapes."""
    spaced = json.dumps(_renamed(builder.fields(), "Caf\u00e9"), indent=2, ensure_ascii=True)
    return one(builder.webhook(spaced.encode()))


def unicode_text(builder: ProbeBuilder) -> Sequence[Burst]:
    """Text outside of ASCII, as UTF-8."""
    return one(builder.webhook(_renamed(builder.fields(), "Caf\u00e9 \u8336\u5c4b \U0001f375")))


def every_event(builder: ProbeBuilder) -> Sequence[Burst]:
    """Each event that the receiver gets, those first by which a resource comes to be.

    Those of a category are about one resource, lest a receiver stumble over one unknown to it.
    """
    ids = {EVENTS[event].category: builder.ids.uuid() for event in builder.events}
    ordered = sorted(builder.events, key=lambda event: not event.endswith(_BEGINNINGS))
    return one(
        *(
            builder.webhook(builder.fields(event, ids[EVENTS[event].category]), label=event)
            for event in ordered
        )
    )


def unknown_field(builder: ProbeBuilder) -> Sequence[Burst]:
    """A field that no receiver knows yet."""
    return one(builder.webhook({**builder.fields(), "added_later": {"points": [12, None]}}))


def unknown_event(builder: ProbeBuilder) -> Sequence[Burst]:
    """A body of no shape that a receiver knows."""
    fields = {"voucher_id": builder.ids.uuid(), "state": "issued", "worth": 500, "lines": []}
    return one(builder.webhook(fields))


def nulls(builder: ProbeBuilder) -> Sequence[Burst]:
    """Null in every field that may be null."""
    missing = builder.nullable()
    fields = builder.fields()
    return one(builder.webhook({k: None if k in missing else v for k, v in fields.items()}))


def large_body(builder: ProbeBuilder) -> Sequence[Burst]:
    """A body far longer than usual."""
    fields = builder.fields()
    if entries := fields.get("history"):
        size = len(json.dumps(entries))
        return one(builder.webhook({**fields, "history": entries * (LARGE_BYTES // size + 1)}))
    return one(builder.webhook(_renamed(fields, "x" * LARGE_BYTES)))


def _renamed(fields: Fields, text: str) -> Fields:
    name = next((name for name in _NAMES if name in fields), _NAMES[-1])
    return {**fields, name: text}


# --- again, out of order, at once -------------------------------------------------------------


def duplicate(builder: ProbeBuilder) -> Sequence[Burst]:
    """The same request a second time."""
    same = builder.webhook(builder.fields())
    return one(_labelled(same, "first"), _labelled(same, "again"))


def new_attempt(builder: ProbeBuilder) -> Sequence[Burst]:
    """The same message in a second attempt, with its own time and signature."""
    fields, id = builder.fields(), builder.ids.message_id()
    return one(
        builder.webhook(fields, id=id, age_s=5, label="first"),
        builder.webhook(fields, id=id, label="again"),
    )


def race(builder: ProbeBuilder) -> Sequence[Burst]:
    """The same request twice at once."""
    same = builder.webhook(builder.fields())
    return [(_labelled(same, "one"), _labelled(same, "other"))]


def out_of_order(builder: ProbeBuilder) -> Sequence[Burst]:
    """A pair of the receiver's events; else a single one about an unknown resource."""
    id = builder.ids.uuid()
    for pair in _LATER_AND_EARLIER:
        if set(pair) <= set(builder.events):
            return one(*(builder.webhook(builder.fields(event, id), label=event) for event in pair))
    latest = next(
        (event for event in reversed(builder.events) if not event.endswith(".created")),
        builder.usual,
    )
    return one(builder.webhook(builder.fields(latest, id), label=EVENTS[latest].name))


def concurrent(builder: ProbeBuilder) -> Sequence[Burst]:
    """Several messages at once."""
    return [tuple(builder.webhook(builder.fields(), label=f"{n + 1}") for n in range(AT_ONCE))]


def _labelled(webhook: Webhook, label: str) -> Webhook:
    return Webhook(label, webhook.headers, webhook.body, webhook.method)
