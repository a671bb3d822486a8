"""Probes of a receiver: their webhooks, the right answers, and the advice for wrong ones.

Bodies are samples of the events. Each has a fresh id, because a receiver may know earlier ones;
everything else it refers to is from the demo world. The scale has the kinds of answers, the weights
of failures and the grades. The probes themselves are in `probes`.
"""

import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from time import time
from typing import Any, Final, Literal

from sandbox import library
from sandbox.domain.events import EVENTS
from sandbox.store.ids import Ids
from sandbox.webhooks.signing import headers_of, write_secret

_OWN_ID: Final = {"transaction": "transaction_id", "terminal": "terminal_id"}
"""The field with a resource's own id, by category, if it is not `id`."""

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Webhook:
    """A request. `label` distinguishes it from the others of its probe."""

    label: str
    headers: Mapping[str, str]
    body: bytes
    method: str = "POST"


@dataclass(frozen=True)
class ProbeBuilder:
    """Builds webhooks for a receiver, with its secret, its header names and its events.

    `ids` differ from those of earlier runs. `events` are in the order of their table, and never
    empty.
    """

    secret: str
    header_prefix: str
    events: tuple[str, ...]
    ids: Ids = field(default_factory=lambda: Ids(seed=secrets.randbits(62), world_id="doctor"))

    @cached_property
    def usual(self) -> str:
        """The event that most probes are about."""
        return "transaction.sale" if "transaction.sale" in self.events else self.events[0]

    @cached_property
    def other_secret(self) -> str:
        """A secret that the receiver does not have."""
        return write_secret(secrets.token_bytes(32))

    def fields(self, event_type: str | None = None, id: str | None = None) -> Fields:
        """Return the body of an event about the resource with this id; without one, a new id."""
        event_type = event_type or self.usual
        text = library.sample(event_type)
        own = json.loads(text)[_OWN_ID.get(EVENTS[event_type].category, "id")]
        fields: Fields = json.loads(text.replace(own, id or self.ids.uuid()))
        return fields

    def webhook(
        self,
        content: Fields | bytes | None = None,
        *,
        label: str = "",
        id: str | None = None,
        age_s: float = 0,
        signed_with: Iterable[str] | None = None,
    ) -> Webhook:
        """Return a webhook with this body, or that of the usual event.

        It is signed correctly unless other secrets are given.
        """
        if not isinstance(content, bytes):
            # In the platform's format.
            body = self.fields() if content is None else content
            content = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
        id, sent_at = id or self.ids.message_id(), time() - age_s
        known = [self.secret] if signed_with is None else signed_with
        headers = headers_of(self.header_prefix, id, sent_at, content, known)
        return Webhook(label, {"content-type": "application/json", **headers}, content)

    def with_signature(self, signature: Callable[[str], str]) -> Webhook:
        """Return a webhook with its signature changed; an empty one is left out."""
        webhook, name = self.webhook(), f"{self.header_prefix}-signature"
        headers = {**webhook.headers, name: signature(webhook.headers[name])}
        return replace(webhook, headers={k: v for k, v in headers.items() if v})

    def nullable(self) -> set[str]:
        """Return the fields that are null in some event of the usual one's category."""
        category = EVENTS[self.usual].category
        bodies = [json.loads(library.sample(e)) for e in EVENTS if EVENTS[e].category == category]
        return {name for body in bodies for name, value in body.items() if value is None}


# --- the scale ----------------------------------------------------------------------------------


class Way(StrEnum):
    """How a receiver answered a request."""

    TAKEN = "taken"
    REDIRECTED = "redirected"
    REFUSED = "refused"
    GONE = "gone"
    BROKE = "broke"
    SILENT = "silent"
    CLOSED = "closed"
    NOT_HTTP = "not_http"
    UNREACHABLE = "unreachable"
    SLOW = "slow"


class Severity(StrEnum):
    """How bad a failure is, worst first."""

    CRITICAL = "critical"
    MUST = "must"
    SHOULD = "should"
    ADVICE = "advice"


@dataclass(frozen=True, slots=True)
class SeverityPolicy:
    """How failures of a severity affect the result.

    Each one takes `costs_percent` of its probe's weight from the score, and limits the score to
    `score_max`. With `is_failure` the receiver is not fit for use.
    """

    costs_percent: int
    score_max: int
    is_failure: bool
    meaning: str


STANDINGS: Final = {
    Severity.CRITICAL: SeverityPolicy(100, 39, True, "forged webhooks get in, or no genuine one"),
    Severity.MUST: SeverityPolicy(100, 69, True, "webhooks are lost, or tried again for a day"),
    Severity.SHOULD: SeverityPolicy(30, 94, False, "works, but will cause trouble some day"),
    Severity.ADVICE: SeverityPolicy(0, 100, False, "works"),
}
"""Worst first. The limits are the highest scores of F, D and B."""

GRADES: Final = (("A", 95), ("B", 85), ("C", 70), ("D", 40), ("F", 0))
"""Each grade with its lowest score. With C or better the receiver is fit for use."""


# --- probes and advice --------------------------------------------------------------------------

Plan = Callable[[ProbeBuilder], list[Webhook]]
"""Makes the webhooks of a probe, just before they are sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A probe. `expects` is the receiver's right answer to each of its requests.

    `severity` is that of the failure that the probe looks for: a genuine webhook refused, or a
    forged one accepted. `otherwise` is that of a forged one refused in a wrong way. `advice` says
    what to change, by the kind of answer; `ADVICE_TAKEN` and `ADVICE_REFUSED` have the rest. With
    `is_at_once` its webhooks are sent together.
    """

    name: str
    sends: str
    wants: str = "accepts it with 2xx"
    expects: Literal["taken", "refused"] = "taken"
    severity: Severity = Severity.MUST
    otherwise: Severity = Severity.SHOULD
    weight: int
    source: str
    advice: Mapping[Way, str]
    plan: Plan
    is_at_once: bool = False

    def is_met_by(self, way: Way) -> bool:
        """Whether this is a good receiver's answer."""
        if self.expects == "taken":
            return way == Way.TAKEN
        return way in (Way.REFUSED, Way.GONE)

    def severity_of(self, way: Way) -> Severity:
        """Return how bad this answer is."""
        if self.expects == "taken" or way == Way.TAKEN:
            return self.severity
        return self.otherwise

    def advice_on(self, way: Way, status_code: int | None = None) -> str:
        """Return the advice for a receiver with this answer."""
        if self.expects == "refused":
            return self.advice.get(way) or ADVICE_REFUSED[way]
        own = self.advice.get(way) or ADVICE_TAKEN[way]
        return " ".join(filter(None, (HINTS.get(status_code or 0), own)))


_WORK_LATER: Final = (
    "Answer first and work later: put the webhook into a queue or a table, answer 204, and do the "
    "rest in the background."
)

_NO_ANSWER: Final = {
    Way.SILENT: f"{_WORK_LATER} After 15 seconds a delivery counts as failed.",
    Way.CLOSED: (
        "Check the receiver's log: it closes the connection before its answer is complete. "
        "That may be a crashed worker, or a proxy whose upstream is down."
    ),
    Way.NOT_HTTP: (
        "The program there does not speak HTTP/1.1. Check the port, and whether it is https."
    ),
    Way.UNREACHABLE: (
        "It stopped accepting connections in between. Check whether the receiver crashed, or a "
        "firewall blocks you."
    ),
}

ADVICE_TAKEN: Final[Mapping[Way, str]] = {
    **_NO_ANSWER,
    Way.REDIRECTED: (
        "Register the address to which it redirects, with its scheme and trailing slash, and keep "
        "login pages away from it: redirects are not followed, and count as failures."
    ),
    Way.GONE: "Never answer 410 to a genuine webhook: it disables the endpoint at once.",
    Way.REFUSED: (
        "Answer 2xx to every webhook with a valid signature, even if you do not need it. A refused "
        "one is tried again for more than a day, and then the endpoint is disabled."
    ),
    Way.BROKE: (
        "Find the exception in the receiver's log. Store verified webhooks before you interpret "
        "them, so that unexpected content does not cause endless retries."
    ),
    Way.SLOW: _WORK_LATER,
}

_REFUSE: Final = "Answer 4xx, preferably 401, and nothing else"

ADVICE_REFUSED: Final[Mapping[Way, str]] = {
    **_NO_ANSWER,
    Way.TAKEN: "Verify with a Standard Webhooks library before you process anything.",
    Way.REDIRECTED: f"{_REFUSE}: senders are not people who could log in.",
    Way.BROKE: (
        f"{_REFUSE}: catch everything that the verifying library raises, including ValueError for "
        "malformed headers. With 5xx, forgeries set off the alarms that are meant for your errors."
    ),
    Way.SILENT: (
        "Verify before anything slow, and answer 401 at once: otherwise anyone can keep the "
        "receiver busy."
    ),
    Way.CLOSED: f"{_REFUSE}: a closed connection looks like a crash, and may be one.",
}

HINTS: Final[Mapping[int, str]] = {
    404: "404: there is nothing at this path; compare it with the receiver's routes.",
    405: "405: the route does not accept POST.",
    413: "413: the body is larger than the receiver, or a proxy before it, allows.",
    415: "415: the route does not accept `content-type: application/json`.",
    429: "429: a rate limit; exempt the senders' addresses, or answer with Retry-After.",
}
"""Additional advice by status, if a genuine webhook was refused."""
