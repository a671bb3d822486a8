"""The probes that a good receiver refuses: forged or outdated webhooks."""

from collections.abc import Sequence
from typing import Final

from sandbox.doctor import plans
from sandbox.doctor.plans import one
from sandbox.doctor.probe import ADVICE, CRITICAL, MUST, SHOULD, TAKEN, Probe

_SIGNATURE: Final = "assumed 8.3-signature; Standard Webhooks, verifying"
_TIMESTAMP: Final = "assumed 8.3-timestamp; Standard Webhooks, verifying the timestamp"

FORGERIES: Final[Sequence[Probe]] = (
    Probe(
        name="bad-signature",
        sends="a webhook signed with another secret",
        wants="refuses it with 4xx",
        expects="refused",
        severity=CRITICAL,
        weight=7,
        source=_SIGNATURE,
        plan=lambda builder: one(builder.genuine(signed_with=[builder.other_secret])),
        advice={
            TAKEN: (
                "Compute the HMAC-SHA256 of `{id}.{timestamp}.{body}` with the decoded secret "
                "and compare it in constant time, or have a Standard Webhooks library do it. "
                "At present anybody can tell the receiver that money has moved."
            ),
        },
    ),
    Probe(
        name="tampered-body",
        sends="a body that is not the one that was signed",
        wants="refuses it with 4xx",
        expects="refused",
        severity=CRITICAL,
        weight=7,
        source=_SIGNATURE,
        plan=plans.tampered_body,
        advice={
            TAKEN: (
                "Verify the signature over the raw bytes of the body that is processed "
                "afterwards, not over the headers alone."
            ),
        },
    ),
    Probe(
        name="missing-signature",
        sends="a webhook without the header of its signature",
        wants="refuses it with 4xx",
        expects="refused",
        severity=CRITICAL,
        weight=5,
        source=_SIGNATURE,
        plan=lambda builder: one(builder.with_signature(builder.genuine(), lambda _: "")),
        advice={TAKEN: "Refuse what has no signature: verify always, not only where there is one."},
    ),
    Probe(
        name="unsigned",
        sends="a body without any header of a webhook",
        wants="refuses it with 4xx",
        expects="refused",
        severity=CRITICAL,
        weight=4,
        source=_SIGNATURE,
        plan=lambda builder: one(builder.without_headers(builder.genuine())),
        advice={TAKEN: "Require all three headers: id, timestamp and signature."},
    ),
    Probe(
        name="empty-signature",
        sends="the signature `v1,` and nothing behind it",
        wants="refuses it with 4xx",
        expects="refused",
        severity=CRITICAL,
        weight=3,
        source=_SIGNATURE,
        plan=lambda builder: one(builder.with_signature(builder.genuine(), lambda _: "v1,")),
        advice={TAKEN: "Compare whole signatures, of equal length; an empty one fits nothing."},
    ),
    Probe(
        name="garbled-signature",
        sends="a signature header that is no list of signatures",
        wants="refuses it with 4xx",
        expects="refused",
        severity=CRITICAL,
        otherwise=ADVICE,
        weight=2,
        source=_SIGNATURE,
        plan=lambda builder: one(builder.with_signature(builder.genuine(), lambda _: "signed")),
    ),
    Probe(
        name="stale-timestamp",
        sends="a webhook signed properly, ten minutes ago",
        wants="refuses it with 4xx",
        expects="refused",
        severity=MUST,
        weight=6,
        source=_TIMESTAMP,
        plan=lambda builder: one(builder.genuine(age_s=plans.OLD_S)),
        advice={
            TAKEN: (
                "Refuse timestamps more than five minutes old: otherwise an attacker who recorded "
                "a webhook can send it again forever. Retries carry a time of their own."
            ),
        },
    ),
    Probe(
        name="future-timestamp",
        sends="a webhook signed properly, dated ten minutes ahead",
        wants="refuses it with 4xx",
        expects="refused",
        severity=SHOULD,
        weight=3,
        source=_TIMESTAMP,
        plan=lambda builder: one(builder.genuine(age_s=-plans.OLD_S)),
        advice={
            TAKEN: (
                "Refuse timestamps more than five minutes ahead as well, and keep the "
                "receiver's clock set by NTP."
            ),
        },
    ),
)
