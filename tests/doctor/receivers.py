"""Receivers with one flaw each, which is all that is wrong with them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import standardwebhooks
import svix

from sandbox import library
from tests.webhooks.receiving import Answer, Received

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

Behaviour = Callable[[Received], int | Answer]

KNOWN_FIELDS = set(json.loads(library.sample("transaction.sale")))


def _is_genuine(library: Any, one: Received) -> bool:
    try:
        library.Webhook(SECRET).verify(one.body, one.headers)
    except (standardwebhooks.WebhookVerificationError, svix.WebhookVerificationError, ValueError):
        return False
    return True


def good(one: Received) -> int | Answer:
    """Verifies with the official library, and takes what is genuine."""
    if one.method != "POST":
        return 405
    return 204 if _is_genuine(standardwebhooks, one) else 401


def with_svix(one: Received) -> int | Answer:
    """The same with the other library, which reads two sets of headers."""
    if one.method != "POST":
        return 405
    return 204 if _is_genuine(svix, one) else 401


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


def headers_changed(one: Received, **changes: str) -> Received:
    headers = one.headers | {f"webhook-{name}": value for name, value in changes.items()}
    return Received(one.number, one.method, one.path, headers, one.body, one.at)


def body_changed(one: Received, body: bytes) -> Received:
    return Received(one.number, one.method, one.path, one.headers, body, one.at)


# --- of signatures and times ------------------------------------------------------------------


def without_verifying(one: Received) -> int:
    return 200


def verifies_only_what_is_signed(one: Received) -> int | Answer:
    return good(one) if "webhook-signature" in one.headers or one.method != "POST" else 200


def looks_for_headers_alone(one: Received) -> int:
    names = {"webhook-id", "webhook-timestamp", "webhook-signature"}
    return 405 if one.method != "POST" else 200 if names <= one.headers.keys() else 401


def any_time(one: Received) -> int:
    """Signs again what came, whenever that was, and compares."""
    if one.method != "POST":
        return 405
    return 204 if _fits(one) else 401


def _fits(one: Received) -> bool:
    headers = one.headers
    if "webhook-signature" not in headers:
        return False
    at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
    signed = standardwebhooks.Webhook(SECRET).sign(headers["webhook-id"], at, one.body.decode())
    return signed in headers["webhook-signature"].split(" ")


def times_ahead(one: Received) -> int | Answer:
    is_ahead = float(one.headers.get("webhook-timestamp", 0)) > one.at + 60
    return any_time(one) if is_ahead else good(one)


def first_signature_alone(one: Received) -> Received:
    return headers_changed(one, signature=one.headers.get("webhook-signature", "").split(" ")[0])


# --- of bodies --------------------------------------------------------------------------------


def written_again(one: Received) -> Received:
    if not one.body:
        return one
    again = json.dumps(one.json(), separators=(",", ":"), ensure_ascii=False)
    return body_changed(one, again.encode())


def as_latin_1(one: Received) -> Received:
    return body_changed(one, one.body.decode("latin-1").encode())


def known_fields_alone(one: Received) -> int | None:
    return None if one.json().keys() <= KNOWN_FIELDS else 422


def transactions_alone(one: Received) -> Answer | None:
    is_known = "transaction_id" in one.json()
    return None if is_known else Answer(500, body=b"KeyError: 'transaction_id'")


def no_nulls(one: Received) -> int | None:
    return 500 if one.json().get("gateway_transaction_id", "") is None else None


def first_field_first(one: Received) -> int | None:
    return 400 if next(reversed(one.json())) == "transaction_id" else None


def small_bodies(one: Received) -> int | None:
    return 413 if len(one.body) > 20_000 else None


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
