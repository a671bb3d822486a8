"""The probes with their webhooks, in the order in which they are sent.

A good receiver refuses forged and outdated webhooks, and accepts genuine ones in all their forms.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from sandbox.doctor.probe import Fields, Plan, Probe, ProbeBuilder, Severity, Way, Webhook
from sandbox.domain.events import EVENTS

CRITICAL, MUST, SHOULD, ADVICE = Severity

OLD_S: Final = 600
"""An age of twice what receivers tolerate. Source: assumed 8.3-signature."""

LARGE_BYTES: Final = 65_536
AT_ONCE: Final = 8

_LATER_AND_EARLIER: Final = (
    ("transaction.refund", "transaction.sale"),
    ("transaction.capture", "transaction.authorize"),
    ("batch.accepted", "batch.submitted"),
    *((f"{kind}.updated", f"{kind}.created") for kind in ("account", "terminal", "location")),
    ("api_key.revoked", "api_key.created"),
    ("credential.blocked", "credential.created"),
)
"""Pairs of events about one resource; the platform fires the second one first."""

_BEGINNINGS: Final = (".create", ".created", ".opened", ".sale", ".authorize")

_NAMES: Final = ("merchant_name", "name", "description")
"""Fields with free text."""

_SIGNATURE: Final = "assumed 8.3-signature; Standard Webhooks, verifying"
_TIMESTAMP: Final = "assumed 8.3-timestamp; Standard Webhooks, verifying the timestamp"
_SUCCESS: Final = "assumed 8.3-success"

PROBES: Final[dict[str, Probe]] = {}
"""All probes by name, in the order in which they are sent. Their weights add up to 100."""


def _probe(
    *, taken: str = "", not_taken: str = "", refused: str = "", broke: str = "", **row: Any
) -> Callable[[Plan], Plan]:
    """Register a probe with its advice for each kind of answer.

    It is named after its plan, whose docstring says what it sends.
    """
    ways = {Way.TAKEN: taken, Way.REFUSED: refused, Way.BROKE: broke}
    advice = {way: said or not_taken for way, said in ways.items()}

    def register(plan: Plan) -> Plan:
        name = plan.__name__.strip("_").replace("_", "-")
        sends = (plan.__doc__ or "").removeprefix("Send ").removesuffix(".")
        PROBES[name] = Probe(name=name, plan=plan, advice=advice, **{"sends": sends, **row})
        return plan

    return register


_forgery = partial(
    _probe, wants="refuses it with 4xx", expects="refused", severity=CRITICAL, source=_SIGNATURE
)


_again = partial(
    _probe,
    wants="accepts both with 2xx, and processes one",
    source="spec 6.1.9; assumed 8.3-id",
    not_taken="Store the webhook-id of every processed webhook, and answer 2xx to a known one "
    "without processing it again. A refused duplicate is sent again and again.",
)


def _renamed(fields: Fields, text: str) -> Fields:
    return {**fields, next((name for name in _NAMES if name in fields), _NAMES[-1]): text}


@_probe(
    wants="accepts it with 2xx; the other probes are only sent then",
    severity=CRITICAL,
    weight=10,
    source=_SUCCESS,
    refused="Compare the secret with the receiver's, including `whsec_`; verify the bytes of the "
    "body before anything parses them; check that it reads headers with these names "
    "(--header-prefix).",
)
def _good(builder: ProbeBuilder) -> list[Webhook]:
    """Send a genuine webhook, correctly signed just now."""
    return [builder.webhook()]


# --- refused by a good receiver: forged or outdated --------------------------------------------


@_forgery(
    weight=7,
    taken="Compute the HMAC-SHA256 of `{id}.{timestamp}.{body}` with the decoded secret and "
    "compare it in constant time, or let a Standard Webhooks library do it. At present any client "
    "can tell the receiver that money has moved.",
)
def _bad_signature(builder: ProbeBuilder) -> list[Webhook]:
    """Send a webhook signed with another secret."""
    return [builder.webhook(signed_with=[builder.other_secret])]


@_forgery(
    weight=7,
    taken="Verify the signature over the raw bytes of the body that is processed afterwards, not "
    "over the headers alone.",
)
def _tampered_body(builder: ProbeBuilder) -> list[Webhook]:
    """Send a body that differs from the signed one."""
    fields = builder.fields()
    signed = builder.webhook(fields)
    changed = builder.webhook({**fields, "account_id": builder.ids.uuid()})
    return [replace(changed, headers=signed.headers)]


@_forgery(
    weight=5, taken="Refuse webhooks without a signature: always verify, not only if there is one."
)
def _missing_signature(builder: ProbeBuilder) -> list[Webhook]:
    """Send a webhook without the header of its signature."""
    return [builder.with_signature(lambda _: "")]


@_forgery(weight=4, taken="Require all three headers: id, timestamp and signature.")
def _unsigned(builder: ProbeBuilder) -> list[Webhook]:
    """Send a body without any header of a webhook."""
    return [replace(builder.webhook(), headers={"content-type": "application/json"})]


@_forgery(weight=3, taken="Compare whole signatures of equal length; an empty one never matches.")
def _empty_signature(builder: ProbeBuilder) -> list[Webhook]:
    """Send the signature `v1,` with nothing after it."""
    return [builder.with_signature(lambda _: "v1,")]


@_forgery(otherwise=ADVICE, weight=2)
def _garbled_signature(builder: ProbeBuilder) -> list[Webhook]:
    """Send a signature header that is not a list of signatures."""
    return [builder.with_signature(lambda _: "signed")]


@_forgery(
    severity=MUST,
    weight=6,
    source=_TIMESTAMP,
    taken="Refuse timestamps more than five minutes old: otherwise an attacker who recorded a "
    "webhook can send it again forever. Retries have their own timestamps.",
)
def _stale_timestamp(builder: ProbeBuilder) -> list[Webhook]:
    """Send a webhook that was correctly signed ten minutes ago."""
    return [builder.webhook(age_s=OLD_S)]


@_forgery(
    severity=SHOULD,
    weight=3,
    source=_TIMESTAMP,
    taken="Also refuse timestamps more than five minutes ahead, and keep the receiver's clock "
    "set by NTP.",
)
def _future_timestamp(builder: ProbeBuilder) -> list[Webhook]:
    """Send a correctly signed webhook, dated ten minutes ahead."""
    return [builder.webhook(age_s=-OLD_S)]


# --- accepted by a good receiver: genuine, in all forms ----------------------------------------


@_probe(
    weight=5,
    source="assumed D22; Standard Webhooks, several signatures",
    refused="Split the header at spaces and accept the webhook if any of its signatures matches: "
    "for 24 hours after a rotation there are two.",
)
def _rotation(builder: ProbeBuilder) -> list[Webhook]:
    """Send two signatures, of which the second matches the secret."""
    return [builder.webhook(signed_with=[builder.other_secret, builder.secret])]


@_probe(
    severity=SHOULD,
    weight=3,
    source="assumed 8.3-signature; Standard Webhooks, several signatures",
    refused="Skip signatures whose version is not `v1`, and look at the others.",
)
def _unknown_version(builder: ProbeBuilder) -> list[Webhook]:
    """Send a signature of another version (`v1a`) before the one that matches."""
    other = builder.webhook(signed_with=[builder.other_secret])
    unknown = other.headers[f"{builder.header_prefix}-signature"].removeprefix("v1,")
    return [builder.with_signature(lambda fit: f"v1a,{unknown} {fit}")]


@_probe(
    weight=4,
    source=_SIGNATURE,
    refused="Verify the received bytes (`await request.body()`, `express.raw()`, "
    "`request.get_data()`), not JSON that was parsed and written again: that text differs.",
)
def _exact_bytes(builder: ProbeBuilder) -> list[Webhook]:
    """Send JSON with line breaks, spaces and escapes."""
    spaced = json.dumps(_renamed(builder.fields(), "Caf\u00e9"), indent=2, ensure_ascii=True)
    return [builder.webhook(spaced.encode())]


@_probe(
    weight=2,
    source=_SIGNATURE,
    refused="Verify bytes, not text in another encoding; read JSON as UTF-8.",
)
def _unicode(builder: ProbeBuilder) -> list[Webhook]:
    """Send a name with accents, Chinese characters and an emoji, as UTF-8."""
    return [builder.webhook(_renamed(builder.fields(), "Caf\u00e9 \u8336\u5c4b \U0001f375"))]


@_probe(
    wants="accepts each with 2xx, even those that it does not need",
    weight=5,
    source="spec 6.3",
    refused="Answer 2xx to events that you do not handle, or register the endpoint only for those "
    "that you do (`event_types`), and name them here with --events.",
)
def _every_event(builder: ProbeBuilder) -> list[Webhook]:
    """Send each event once (those of --events)."""
    # Events that create a resource come first, and all events of a category are about one resource,
    # so that a receiver knows it.
    ids = {EVENTS[event].category: builder.ids.uuid() for event in builder.events}
    return [
        builder.webhook(builder.fields(event, ids[EVENTS[event].category]), label=event)
        for event in sorted(builder.events, key=lambda event: not event.endswith(_BEGINNINGS))
    ]


@_probe(
    wants="accepts it with 2xx, and ignores the field",
    weight=5,
    source="good practice: a platform adds fields",
    not_taken='Ignore fields that you do not know (`extra="ignore"`, `additionalProperties` '
    "allowed): a platform may add some at any time.",
)
def _unknown_field(builder: ProbeBuilder) -> list[Webhook]:
    """Send a body with a new field."""
    return [builder.webhook({**builder.fields(), "added_later": {"points": [12, None]}})]


@_probe(
    wants="accepts it with 2xx, and ignores it",
    severity=SHOULD,
    weight=2,
    source="good practice: a platform adds events",
)
def _unknown_event(builder: ProbeBuilder) -> list[Webhook]:
    """Send a resource of a kind that does not exist yet."""
    fields = {"voucher_id": builder.ids.uuid(), "state": "issued", "worth": 500, "lines": []}
    return [builder.webhook(fields)]


@_probe(severity=SHOULD, weight=2, source="RFC 8259, 1: the fields of an object have no order")
def _field_order(builder: ProbeBuilder) -> list[Webhook]:
    """Send the fields of the body in reverse order."""
    return [builder.webhook(dict(reversed(builder.fields().items())))]


@_probe(
    weight=3,
    source="spec 6.1.8",
    broke="Expect null in every optional field: optional fields are always present, with null for "
    "no value. The receiver fails on one of them.",
)
def _nulls(builder: ProbeBuilder) -> list[Webhook]:
    """Send null in every field that can be null."""
    missing, fields = builder.nullable(), builder.fields()
    return [builder.webhook({k: None if k in missing else v for k, v in fields.items()})]


@_probe(
    severity=SHOULD,
    weight=2,
    source="good practice: the history grows with every attempt",
    refused="Raise the size limit for bodies in the receiver, and in the proxy before it.",
)
def _large_body(builder: ProbeBuilder) -> list[Webhook]:
    """Send a body of 64 KiB: a payment with a very long history."""
    fields = builder.fields()
    if entries := fields.get("history"):
        size = len(json.dumps(entries))
        return [builder.webhook({**fields, "history": entries * (LARGE_BYTES // size + 1)})]
    return [builder.webhook(_renamed(fields, "x" * LARGE_BYTES))]


@_again(weight=4)
def _duplicate(builder: ProbeBuilder) -> list[Webhook]:
    """Send the same request twice, with the same id, time, signature and body."""
    same = builder.webhook()
    return [replace(same, label="first"), replace(same, label="again")]


@_again(weight=4)
def _new_attempt(builder: ProbeBuilder) -> list[Webhook]:
    """Send a second attempt at a message, with the same id, a new time and a new signature."""
    fields, id = builder.fields(), builder.ids.message_id()
    return [
        builder.webhook(fields, id=id, age_s=5, label="first"),
        builder.webhook(fields, id=id, label="again"),
    ]


@_again(
    severity=SHOULD,
    weight=2,
    is_at_once=True,
    not_taken="Let the database decide who was first (`INSERT ... ON CONFLICT DO NOTHING` on the "
    "webhook-id), and answer 2xx to the second one.",
)
def _race(builder: ProbeBuilder) -> list[Webhook]:
    """Send the same request twice at once."""
    same = builder.webhook()
    return [replace(same, label="one"), replace(same, label="other")]


@_probe(
    wants="accepts both with 2xx",
    weight=3,
    source="spec 6.1.10",
    not_taken="Store the body, whether or not you know the resource: each webhook contains the "
    "whole resource. Compare the times in the body to find the newer one.",
)
def _out_of_order(builder: ProbeBuilder) -> list[Webhook]:
    """Send a refund before the sale that it belongs to."""
    # A pair of the receiver's events, or else a single event about an unknown resource.
    id, events = builder.ids.uuid(), builder.events
    for pair in _LATER_AND_EARLIER:
        if set(pair) <= set(events):
            return [builder.webhook(builder.fields(event, id), label=event) for event in pair]
    latest = next((one for one in reversed(events) if not one.endswith(".created")), builder.usual)
    return [builder.webhook(builder.fields(latest, id), label=EVENTS[latest].name)]


@_probe(
    wants="accepts all with 2xx",
    severity=SHOULD,
    weight=3,
    source="good practice: deliveries overlap",
    is_at_once=True,
    not_taken="Allow bursts: look for a rate limit, a lock, or a connection pool that is too "
    "small. In busy minutes, webhooks arrive at the same time.",
)
def _concurrent(builder: ProbeBuilder) -> list[Webhook]:
    """Send eight messages at once."""
    return [builder.webhook(label=f"{n + 1}") for n in range(AT_ONCE)]


# --- the rest ----------------------------------------------------------------------------------


@_probe(
    sends="nothing; checks how long the genuine webhooks above took",
    wants="answers within the time of --slow-after-ms",
    severity=SHOULD,
    weight=4,
    source=_SUCCESS,
)
def _quick(builder: ProbeBuilder) -> list[Webhook]:
    return []


@_probe(
    wants="refuses it with 4xx, preferably 405",
    expects="refused",
    severity=ADVICE,
    otherwise=ADVICE,
    weight=0,
    source="Standard Webhooks, which only sends POST",
    taken="Serve only POST, so that a health check with GET does not count as a webhook.",
)
def _get(builder: ProbeBuilder) -> list[Webhook]:
    """Send a GET, as from a browser."""
    return [Webhook("", {}, b"", method="GET")]


GOOD, QUICK = PROBES["good"], PROBES["quick"]
