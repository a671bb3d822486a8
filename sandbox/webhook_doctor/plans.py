"""The webhooks of each probe: one function each, called when they are due."""

import json
from collections.abc import Sequence
from typing import Final

from sandbox.domain.events import EVENTS
from sandbox.webhook_doctor.builder import Burst, Fields, ProbeBuilder, Webhook

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


def nothing(kit: ProbeBuilder) -> Sequence[Burst]:
    """Sends nothing: the answers of the others are judged."""
    return []


def good(kit: ProbeBuilder) -> Sequence[Burst]:
    """One genuine webhook."""
    return one(kit.webhook(kit.fields()))


# --- forged -----------------------------------------------------------------------------------


def bad_signature(kit: ProbeBuilder) -> Sequence[Burst]:
    """Signed with a secret that is not the receiver's."""
    return one(kit.webhook(kit.fields(), signed_with=[kit.other_secret]))


def tampered_body(kit: ProbeBuilder) -> Sequence[Burst]:
    """A body that was changed after it was signed."""
    fields = kit.fields()
    signed = kit.webhook(fields)
    changed = kit.webhook({**fields, "account_id": kit.ids.uuid()})
    return one(Webhook("", signed.headers, changed.body))


def missing_signature(kit: ProbeBuilder) -> Sequence[Burst]:
    """Without the header of the signature."""
    return one(kit.with_signature(kit.webhook(kit.fields()), lambda _: ""))


def unsigned(kit: ProbeBuilder) -> Sequence[Burst]:
    """Without any header of a webhook."""
    return one(kit.without_headers(kit.webhook(kit.fields())))


def empty_signature(kit: ProbeBuilder) -> Sequence[Burst]:
    """A signature of the right version and no bytes."""
    return one(kit.with_signature(kit.webhook(kit.fields()), lambda _: "v1,"))


def garbled_signature(kit: ProbeBuilder) -> Sequence[Burst]:
    """A header that is no list of signatures."""
    return one(kit.with_signature(kit.webhook(kit.fields()), lambda _: "signed"))


def stale_timestamp(kit: ProbeBuilder) -> Sequence[Burst]:
    """Signed properly, long ago."""
    return one(kit.webhook(kit.fields(), age_s=OLD_S))


def future_timestamp(kit: ProbeBuilder) -> Sequence[Burst]:
    """Signed properly, for a time that is not yet."""
    return one(kit.webhook(kit.fields(), age_s=-OLD_S))


# --- genuine, in forms that the platform uses or may use --------------------------------------


def rotation(kit: ProbeBuilder) -> Sequence[Burst]:
    """Signed with two secrets, of which the second is the receiver's."""
    return one(kit.webhook(kit.fields(), signed_with=[kit.other_secret, kit.secret]))


def unknown_version(kit: ProbeBuilder) -> Sequence[Burst]:
    """A signature of another version before the one that fits."""
    other = kit.webhook(kit.fields(), signed_with=[kit.other_secret])
    unknown = other.headers[f"{kit.header_prefix}-signature"].removeprefix("v1,")
    return one(kit.with_signature(kit.webhook(kit.fields()), lambda fit: f"v1a,{unknown} {fit}"))


def exact_bytes(kit: ProbeBuilder) -> Sequence[Burst]:
    """JSON with line breaks, spaces and escapes."""
    spaced = json.dumps(_renamed(kit.fields(), "Caf\u00e9"), indent=2, ensure_ascii=True)
    return one(kit.webhook(spaced.encode()))


def unicode_text(kit: ProbeBuilder) -> Sequence[Burst]:
    """Text outside of ASCII, as UTF-8."""
    return one(kit.webhook(_renamed(kit.fields(), "Caf\u00e9 \u8336\u5c4b \U0001f375")))


def every_event(kit: ProbeBuilder) -> Sequence[Burst]:
    """Each event that the receiver gets, those first by which a resource comes to be.

    Those of a category are about one resource, lest a receiver stumble over one unknown to it.
    """
    ids = {EVENTS[event].category: kit.ids.uuid() for event in kit.events}
    ordered = sorted(kit.events, key=lambda event: not event.endswith(_BEGINNINGS))
    return one(
        *(
            kit.webhook(kit.fields(event, ids[EVENTS[event].category]), label=event)
            for event in ordered
        )
    )


def unknown_field(kit: ProbeBuilder) -> Sequence[Burst]:
    """A field that no receiver knows yet."""
    return one(kit.webhook({**kit.fields(), "added_later": {"points": [12, None]}}))


def unknown_event(kit: ProbeBuilder) -> Sequence[Burst]:
    """A body of no shape that a receiver knows."""
    said = {"voucher_id": kit.ids.uuid(), "state": "issued", "worth": 500, "lines": []}
    return one(kit.webhook(said))


def field_order(kit: ProbeBuilder) -> Sequence[Burst]:
    """The fields from the last to the first."""
    return one(kit.webhook(dict(reversed(kit.fields().items()))))


def nulls(kit: ProbeBuilder) -> Sequence[Burst]:
    """Null in every field that may be null."""
    missing = kit.nullable()
    fields = kit.fields()
    return one(kit.webhook({k: None if k in missing else v for k, v in fields.items()}))


def large_body(kit: ProbeBuilder) -> Sequence[Burst]:
    """A body far longer than usual."""
    fields = kit.fields()
    if entries := fields.get("history"):
        size = len(json.dumps(entries))
        return one(kit.webhook({**fields, "history": entries * (LARGE_BYTES // size + 1)}))
    return one(kit.webhook(_renamed(fields, "x" * LARGE_BYTES)))


def _renamed(fields: Fields, text: str) -> Fields:
    name = next((name for name in _NAMES if name in fields), _NAMES[-1])
    return {**fields, name: text}


# --- again, out of order, at once -------------------------------------------------------------


def duplicate(kit: ProbeBuilder) -> Sequence[Burst]:
    """The same request a second time."""
    same = kit.webhook(kit.fields())
    return one(_labelled(same, "first"), _labelled(same, "again"))


def new_attempt(kit: ProbeBuilder) -> Sequence[Burst]:
    """The same message in a second attempt, with its own time and signature."""
    fields, id = kit.fields(), kit.ids.message_id()
    return one(
        kit.webhook(fields, id=id, age_s=5, label="first"),
        kit.webhook(fields, id=id, label="again"),
    )


def race(kit: ProbeBuilder) -> Sequence[Burst]:
    """The same request twice at once."""
    same = kit.webhook(kit.fields())
    return [(_labelled(same, "one"), _labelled(same, "other"))]


def out_of_order(kit: ProbeBuilder) -> Sequence[Burst]:
    """A pair of the receiver's events; else a single one about an unknown resource."""
    id = kit.ids.uuid()
    for pair in _LATER_AND_EARLIER:
        if set(pair) <= set(kit.events):
            return one(*(kit.webhook(kit.fields(event, id), label=event) for event in pair))
    latest = next(
        (event for event in reversed(kit.events) if not event.endswith(".created")), kit.usual
    )
    return one(kit.webhook(kit.fields(latest, id), label=EVENTS[latest].name))


def concurrent(kit: ProbeBuilder) -> Sequence[Burst]:
    """Several messages at once."""
    return [tuple(kit.webhook(kit.fields(), label=f"{n + 1}") for n in range(AT_ONCE))]


def get(kit: ProbeBuilder) -> Sequence[Burst]:
    """A request as a browser sends it."""
    return one(Webhook("", {}, b"", method="GET"))


def _labelled(webhook: Webhook, label: str) -> Webhook:
    return Webhook(label, webhook.headers, webhook.body, webhook.method)
