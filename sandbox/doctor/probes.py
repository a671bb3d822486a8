"""All probes: genuine webhooks in all their forms, and those of `forgeries`."""

from collections.abc import Mapping, Sequence
from typing import Final

from sandbox.doctor import plans
from sandbox.doctor.builder import Webhook
from sandbox.doctor.forgeries import FORGERIES
from sandbox.doctor.plans import one
from sandbox.doctor.probe import (
    ADVICE,
    BROKE,
    CRITICAL,
    MUST,
    REFUSED,
    SHOULD,
    TAKEN,
    Probe,
)

_SIGNATURE: Final = "assumed 8.3-signature; Standard Webhooks, verifying"
_AGAIN: Final = "spec 6.1.9; assumed 8.3-id"
_SUCCESS: Final = "assumed 8.3-success"

_IDEMPOTENT: Final = (
    "Keep the webhook-id of everything that was processed, and answer 2xx to one that is known, "
    "without processing it again. A duplicate that is refused comes again and again."
)

GOOD: Final = Probe(
    name="good",
    sends="a genuine webhook, signed properly, just now",
    wants="takes it with 2xx; the other probes are only sent then",
    severity=CRITICAL,
    weight=10,
    source=_SUCCESS,
    plan=lambda builder: one(builder.genuine()),
    advice={
        REFUSED: (
            "Compare the secret with the receiver's, `whsec_` and all; verify the bytes of "
            "the body before anything parses them; see that the names of the headers are "
            "those it reads (--header-prefix)."
        ),
    },
)

GENUINE: Final[Sequence[Probe]] = (
    Probe(
        name="rotation",
        sends="two signatures, of which the second fits the secret",
        wants="takes it with 2xx",
        severity=MUST,
        weight=5,
        source="assumed D22; Standard Webhooks, several signatures",
        plan=lambda builder: one(
            builder.genuine(signed_with=[builder.other_secret, builder.secret])
        ),
        advice={
            REFUSED: (
                "Split the header at spaces and accept the webhook if any of its signatures "
                "fits: for 24 hours after a rotation there are two."
            ),
        },
    ),
    Probe(
        name="unknown-version",
        sends="a signature of another version (`v1a`) before the one that fits",
        wants="takes it with 2xx",
        severity=SHOULD,
        weight=3,
        source="assumed 8.3-signature; Standard Webhooks, several signatures",
        plan=plans.unknown_version,
        advice={REFUSED: "Skip signatures whose version is not `v1`, and look at the others."},
    ),
    Probe(
        name="exact-bytes",
        sends="JSON with line breaks, spaces and escapes",
        wants="takes it with 2xx",
        severity=MUST,
        weight=4,
        source=_SIGNATURE,
        plan=plans.exact_bytes,
        advice={
            REFUSED: (
                "Verify the bytes as they came (`await request.body()`, `express.raw()`, "
                "`request.get_data()`), not JSON that was parsed and written again: that is "
                "another text."
            ),
        },
    ),
    Probe(
        name="unicode",
        sends="a name with accents, Chinese characters and an emoji, as UTF-8",
        wants="takes it with 2xx",
        severity=MUST,
        weight=2,
        source=_SIGNATURE,
        plan=plans.unicode_text,
        advice={REFUSED: "Verify bytes, not text of another encoding; read JSON as UTF-8."},
    ),
    Probe(
        name="every-event",
        sends="each event once (those of --events)",
        wants="takes each with 2xx, also those it has no use for",
        severity=MUST,
        weight=5,
        source="spec 6.3",
        plan=plans.every_event,
        advice={
            REFUSED: (
                "Answer 2xx to events that you do not handle, or register the endpoint for "
                "those alone that you do (`event_types`), and name them here with --events."
            ),
        },
    ),
    Probe(
        name="unknown-field",
        sends="a body with a field that was not there before",
        wants="takes it with 2xx, and ignores the field",
        severity=MUST,
        weight=5,
        source="good practice: a platform adds fields",
        plan=plans.unknown_field,
        advice={
            REFUSED: (
                'Ignore fields that you do not know (`extra="ignore"`, `additionalProperties` '
                "allowed): a platform may add some at any time."
            ),
            BROKE: (
                "Ignore fields that you do not know: the receiver's parser raises on one. A "
                "platform may add some at any time."
            ),
        },
    ),
    Probe(
        name="unknown-event",
        sends="a resource of a kind that there is not yet",
        wants="takes it with 2xx, and leaves it alone",
        severity=SHOULD,
        weight=2,
        source="good practice: a platform adds events",
        plan=plans.unknown_event,
    ),
    Probe(
        name="field-order",
        sends="the fields of the body from the last to the first",
        wants="takes it with 2xx",
        severity=SHOULD,
        weight=2,
        source="RFC 8259, 1: the fields of an object have no order",
        plan=lambda builder: one(builder.webhook(dict(reversed(builder.fields().items())))),
    ),
    Probe(
        name="nulls",
        sends="null in every field that may be null",
        wants="takes it with 2xx",
        severity=MUST,
        weight=3,
        source="spec 6.1.8",
        plan=plans.nulls,
        advice={
            BROKE: (
                "Expect null wherever a field is optional: optional fields are always there, "
                "with null for no value. The receiver fails on one of them."
            ),
        },
    ),
    Probe(
        name="large-body",
        sends="a body of 64 KiB, a payment with a very long history",
        wants="takes it with 2xx",
        severity=SHOULD,
        weight=2,
        source="good practice: the history grows with every attempt",
        plan=plans.large_body,
        advice={REFUSED: "Raise the limit for bodies in the receiver, and in the proxy before it."},
    ),
    Probe(
        name="duplicate",
        sends="the same request twice: id, time, signature and body",
        wants="takes both with 2xx, and processes one",
        severity=MUST,
        weight=4,
        source=_AGAIN,
        plan=plans.duplicate,
        advice={REFUSED: _IDEMPOTENT, BROKE: _IDEMPOTENT},
    ),
    Probe(
        name="new-attempt",
        sends="the same message in a second attempt: same id, new time and signature",
        wants="takes both with 2xx, and processes one",
        severity=MUST,
        weight=4,
        source=_AGAIN,
        plan=plans.new_attempt,
        advice={REFUSED: _IDEMPOTENT, BROKE: _IDEMPOTENT},
    ),
    Probe(
        name="race",
        sends="the same request twice at once",
        wants="takes both with 2xx, and processes one",
        severity=SHOULD,
        weight=2,
        source=_AGAIN,
        plan=plans.race,
        is_one_by_one=False,
        advice=dict.fromkeys(
            (REFUSED, BROKE),
            "Let the database decide who was first (`INSERT ... ON CONFLICT DO NOTHING` on "
            "the webhook-id), and answer 2xx to the second one.",
        ),
    ),
    Probe(
        name="out-of-order",
        sends="a refund before the sale that it belongs to",
        wants="takes both with 2xx",
        severity=MUST,
        weight=3,
        source="spec 6.1.10",
        plan=plans.out_of_order,
        advice=dict.fromkeys(
            (REFUSED, BROKE),
            "Store the body, whether or not you know the resource: each webhook "
            "carries the whole resource. Compare the times in the body to find the newer one.",
        ),
    ),
    Probe(
        name="concurrent",
        sends="eight messages at once",
        wants="takes all with 2xx",
        severity=SHOULD,
        weight=3,
        source="good practice: deliveries overlap",
        plan=plans.concurrent,
        is_one_by_one=False,
        advice={
            REFUSED: "Allow bursts: webhooks of busy minutes come side by side.",
            BROKE: (
                "Allow bursts: look for a lock, or a pool of connections that is too small. "
                "Webhooks of busy minutes come side by side."
            ),
        },
    ),
)

QUICK: Final = Probe(
    name="quick",
    sends="nothing; looks at how long the genuine webhooks above took",
    wants="answers within the time of --slow-after-ms",
    severity=SHOULD,
    weight=4,
    source=_SUCCESS,
    plan=lambda builder: (),
)

GET: Final = Probe(
    name="get",
    sends="a GET, as from a browser",
    wants="refuses it with 4xx, best 405",
    expects="refused",
    severity=ADVICE,
    otherwise=ADVICE,
    weight=0,
    source="Standard Webhooks, which sends POST alone",
    plan=lambda builder: one(Webhook("", {}, b"", method="GET")),
    advice={TAKEN: "Serve POST alone, so a health check with GET is not taken for a webhook."},
)

PROBES: Final[Mapping[str, Probe]] = {
    probe.name: probe for probe in (GOOD, *FORGERIES, *GENUINE, QUICK, GET)
}
"""All probes by name, in the order in which they are sent. Their weights add up to 100."""
