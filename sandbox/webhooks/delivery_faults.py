"""Delivery faults of scenario rules: which deliveries they match, and their effects.

Pure functions, without a queue or a network. Source: assumed D22, D24.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Final

from msgspec import Struct

from sandbox.domain.events import Message, body_of, field_of
from sandbox.domain.webhooks import AttemptTrigger, Endpoint, SentHead, delivery_id
from sandbox.scenarios.matcher import MatchedWebhookRule, Words
from sandbox.scenarios.webhook_rules import WebhookThen
from sandbox.webhooks.signing import headers_of, write_secret

STALE_S: Final = 600
"""The age of a stale timestamp: twice what receivers allow (assumed D1)."""

_NO_FAULTS: Final = WebhookThen.model_construct()
_NO_RULE: Final = MatchedWebhookRule(_NO_FAULTS, None)
_PLACES: Final = {"first": -1, None: 0, "last": 1}


class Job(Struct, frozen=True):
    """One attempt to make at an endpoint. With `is_single` a failure is not retried (assumed D22).

    `then` is the effect of a scenario rule, which applies to a delivery's first attempt only.
    """

    message: Message
    endpoint_id: str
    trigger: AttemptTrigger = "scheduled"
    is_single: bool = False
    then: WebhookThen | None = None

    @property
    def delivery_id(self) -> str:
        """The id of its delivery."""
        return delivery_id(self.message.id, self.endpoint_id)


def ruled(
    wanted: Iterable[tuple[Message, Sequence[Endpoint]]],
    find_rule: Callable[[Words], MatchedWebhookRule | None],
) -> list[tuple[Message, Endpoint, MatchedWebhookRule]]:
    """Return the rule for each delivery, in the order of sending; one without faults if none fits.

    `wanted` are the messages of one commit, each with its subscribers.
    """
    matched = []
    for message, endpoints in wanted:
        for endpoint in endpoints:
            # The facts of a delivery, by the words of `WebhookWhen`.
            words = {
                "event": message.event_type,
                "transaction_type": field_of(message, "transaction_type"),
                "status": field_of(message, "status"),
                "account": message.account_id,
                "endpoint": (endpoint.id, endpoint.description, endpoint.url),
            }
            matched.append((message, endpoint, find_rule(words) or _NO_RULE))
    # Equal ranks keep their order.
    return sorted(matched, key=lambda one: _PLACES[one[2].then.order])


def trigger_of(then: WebhookThen) -> AttemptTrigger:
    """Return the trigger of the first attempt: `scenario` if the rule changes it."""
    says = (then.delay_ms, then.order, then.before_answer, _changes_of(then))
    return "scenario" if any(says) else "scheduled"


def write_attempt(
    job: Job, endpoint: Endpoint, *, prefix: str, now: datetime, sent_at: float
) -> tuple[dict[str, str], bytes, SentHead]:
    """Return the headers and body of an attempt, with the faults of its rule, and their record.

    `now` is the world's time, `sent_at` the system time in Unix seconds. The signature always
    covers the whole body and the sent timestamp.
    """
    then, body, secrets = job.then or _NO_FAULTS, body_of(job.message), endpoint.secrets_at(now)
    timestamp = int(sent_at) - (STALE_S if then.stale_timestamp else 0)
    if then.signature == "old_secret" and endpoint.replaced_secret is not None:
        secrets = (endpoint.replaced_secret,)
    elif then.signature in ("wrong", "old_secret"):
        # A secret that the endpoint never had, derived from its own, so runs are repeatable.
        secrets = (write_secret(sha256(b"never:" + endpoint.secret.encode()).digest()),)
    headers = headers_of(prefix, job.message.id, timestamp, body, secrets)
    if then.signature == "missing":
        del headers[f"{prefix}-signature"]
    if then.truncate is not None and then.truncate is not False:
        body = body[: len(body) // 2 if then.truncate is True else then.truncate]
    head = SentHead(
        timestamp=timestamp,
        signature=headers.get(f"{prefix}-signature"),
        age_s=int(sent_at) - timestamp,
        size=len(body),
        sha256=sha256(body).hexdigest(),
        spoilt=_changes_of(then),
    )
    return headers, body, head


def _changes_of(then: WebhookThen) -> tuple[str, ...]:
    """List the changes that the rule makes to the bytes and headers of an attempt."""
    said = {
        f"signature = {then.signature}": then.signature is not None,
        "stale_timestamp": bool(then.stale_timestamp),
        "truncate": then.truncate is not None and then.truncate is not False,
    }
    return tuple(word for word, is_so in said.items() if is_so)
