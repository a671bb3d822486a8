"""Receivers with one flaw each, which is all that is wrong with them."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module

import standardwebhooks

from tests.webhooks.receiving import Answer, Received

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

Behaviour = Callable[[Received], int | Answer]


def posts_alone(is_genuine: Callable[[Received], bool]) -> Behaviour:
    """Takes what is genuine by this function, and refuses all that is not a POST."""
    return lambda one: 405 if one.method != "POST" else 204 if is_genuine(one) else 401


def _verified_by(library: str) -> Callable[[Received], bool]:
    def is_genuine(one: Received) -> bool:
        # Imported when it is asked: svix takes half a second.
        webhooks = import_module(library)
        try:
            webhooks.Webhook(SECRET).verify(one.body, one.headers)
        except (webhooks.WebhookVerificationError, ValueError):
            return False
        return True

    return is_genuine


good = posts_alone(_verified_by("standardwebhooks"))
"""Verifies with the official library, and takes what is genuine."""

with_svix = posts_alone(_verified_by("svix"))
"""The same with the other library, which reads two sets of headers."""


def after(content: Callable[[Received], int | Answer | None]) -> Behaviour:
    """Good, but for what it makes of the content of genuine ones."""

    def behave(one: Received) -> int | Answer:
        answer = good(one)
        return (content(one) or answer) if answer == 204 else answer

    return behave


def forged(answer: int | Answer) -> Behaviour:
    """Good, but for how it answers to what is not genuine."""

    def behave(one: Received) -> int | Answer:
        said = good(one)
        return answer if said == 401 else said

    return behave


def seeing(change: Callable[[Received], Received]) -> Behaviour:
    """Good, but for what it takes a request for."""
    return lambda one: good(change(one))


# --- of signatures and times ------------------------------------------------------------------


def _is_signed_whenever_that_was(one: Received) -> bool:
    """Signs again what came, and compares."""
    headers = one.headers
    if "webhook-signature" not in headers:
        return False
    at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
    signed = standardwebhooks.Webhook(SECRET).sign(headers["webhook-id"], at, one.body.decode())
    return signed in headers["webhook-signature"].split(" ")


any_time = posts_alone(_is_signed_whenever_that_was)


def times_ahead(one: Received) -> int | Answer:
    is_ahead = float(one.headers.get("webhook-timestamp", 0)) > one.at + 60
    return any_time(one) if is_ahead else good(one)


def has_all_headers(one: Received) -> bool:
    return {"webhook-id", "webhook-timestamp", "webhook-signature"} <= one.headers.keys()


def first_signature_alone(one: Received) -> Received:
    first = one.headers.get("webhook-signature", "").split(" ")[0]
    return replace(one, headers=one.headers | {"webhook-signature": first})


# --- of bodies --------------------------------------------------------------------------------


def written_again(one: Received) -> Received:
    if not one.body:
        return one
    again = json.dumps(one.json(), separators=(",", ":"), ensure_ascii=False)
    return replace(one, body=again.encode())


# --- of repetition and order ------------------------------------------------------------------


def once() -> Behaviour:
    """Good, but that it refuses what it has had."""
    seen: set[str] = set()

    def content(one: Received) -> int | None:
        if one.id in seen:
            return 409
        seen.add(one.id)
        return None

    return after(content)


def in_order() -> Behaviour:
    """Good, but that it knows no refund without its sale."""
    sales: set[str] = set()

    def content(one: Received) -> int | None:
        said = one.json()
        if said.get("transaction_type") == "sale":
            sales.add(said["transaction_id"])
        return 404 if said.get("refunded") and said["transaction_id"] not in sales else None

    return after(content)


def one_at_a_time(takes_s: float) -> Behaviour:
    """Good, but busy for so long with each."""
    began: list[float] = []

    def content(one: Received) -> Answer:
        if began and one.at - began[-1] < takes_s:
            return Answer(503, body=b"busy")
        began.append(one.at)
        return Answer(204, delay_s=takes_s)

    return after(content)
