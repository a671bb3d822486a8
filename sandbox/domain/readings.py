"""Readings: sentences of the spec that can be read in several ways, and the readings of a world.

One row for each. Its default is what the sandbox does unless the profile or the world says
otherwise. The first four were switches before there were readings, and can still be set as
switches: `switches` has a row for each. Source: assumed D35.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from sandbox.domain import directory_readings
from sandbox.domain.directory_readings import Reading
from sandbox.domain.text import UnknownWord

STATUS_AFTER_PARTIAL_REFUND: Final = Reading(
    id="status_after_partial_refund",
    sentence="The status of a payment after a part of it was refunded.",
    values={
        "unchanged": "The payment stays captured or settled.",
        "refunded": "The payment is refunded; the rest of it can still be refunded.",
    },
    clause="assumed D35-partial-refund",
)
DUPLICATE_EVENT_ID: Final = Reading(
    id="duplicate_event_id",
    sentence="An event_id that was used before.",
    values={
        "reject": "The attempt is refused with 400 duplicate_event.",
        "replay": (
            "The attempt is answered with the payment as it is, where operation and amount are "
            "the same. Any other attempt is refused with 400."
        ),
        "failed_attempt": (
            "The attempt fails with status error and reason duplicate_event, under an event_id of "
            "its own, and its event fires. What the payment's state forbids is refused as ever."
        ),
    },
    clause="assumed D35-duplicate",
)
RULE_FAILURES: Final = Reading(
    id="rule_failures",
    sentence="How an attempt against a rule, such as a capture above the hold, is answered.",
    values={
        "http_400": "A refusal. The event fires all the same.",
        "http_200": "The failed transaction.",
    },
    clause="assumed D35-rule-failures",
)
MISSING_HEADERS: Final = Reading(
    id="missing_headers",
    sentence="Accept and Content-Type are always sent.",
    values={
        "served": "A request without Accept, or a body without Content-Type, is served.",
        "refused": "It is refused with 400.",
    },
    clause="assumed D35-headers",
)


DECLINE_STATUSES: Final = {f"http_{status}": status for status in (200, 400, 402, 422)}

STORED_TRANSACTION_TYPE: Final = Reading(
    id="stored_transaction_type",
    sentence="The transaction_type of a stored transaction.",
    values={
        "last": "The type of the last operation, such as refund.",
        "first": (
            "The type with which the payment began. Answers and events of an operation "
            "still name the operation."
        ),
    },
    clause="assumed D35-type",
)
REFUND_BEFORE_SETTLEMENT: Final = Reading(
    id="refund_before_settlement",
    sentence="Funds refunded after settlement.",
    values={
        "allowed": "A captured payment can be refunded.",
        "refused": (
            "Only a settled payment can be refunded. Before that, a refund is answered "
            "with 400 invalid_transaction_state."
        ),
    },
    clause="assumed D35-refund",
)
TOTAL_OF_PARTIAL_APPROVAL: Final = Reading(
    id="total_of_partial_approval",
    sentence="The total_amount of a payment that was approved for less than requested.",
    values={
        "requested": "The requested amount.",
        "approved": (
            "The approved amount, with its components in proportion. remaining_amount says "
            "what is still to be paid, until the next operation."
        ),
    },
    clause="assumed D35-partial-approval",
)
LOST_CARDS: Final = Reading(
    id="lost_cards",
    sentence="The status_reason of a card that is lost, stolen, restricted or to be picked up.",
    values={
        "invalid_card": "The card is invalid.",
        "declined": "The issuer declined.",
    },
    clause="assumed D35-lost",
)
EDIT_OF_CLOSED_BATCH: Final = Reading(
    id="edit_of_closed_batch",
    sentence="A batch is edited before it is closed.",
    values={
        "rejected_too": "A rejected batch can be edited, which opens it again.",
        "open_only": "Only an open batch can be edited; any other is 400.",
    },
    clause="assumed D35-batch-edit",
)
RECEIPT_DATA: Final = Reading(
    id="receipt_data",
    sentence="The additional_details of a payment.",
    values={
        "none": "They have no receipt data.",
        "emv": (
            "Once the processor answered, they have rrn, stan, entry_mode and emv, for "
            "printing receipts. The values are made up from the event_id."
        ),
    },
    clause="assumed D35-receipt",
)
RESPONSE_FIELDS: Final = Reading(
    id="response_fields",
    sentence="The fields of gateway_transaction_response.",
    values={
        "codes": "The four strings of the spec.",
        "amounts": (
            "For a payment's last answer, authorizedAmount, type, status and currency too. "
            "The history has the four strings."
        ),
    },
    clause="assumed D35-response",
)
STATUS_OF_PARTIAL_REVERSE: Final = Reading(
    id="status_of_partial_reverse",
    sentence="The status after a part of a hold or of a captured payment was reversed.",
    values={
        "unchanged": "Answer and event say authorized or captured.",
        "reversed": (
            "Answer and event say reversed. The payment itself stays authorized or captured, "
            "because the rest is still held."
        ),
    },
    clause="assumed D35-partial-reverse",
)
TIP_ON_A_HOLD: Final = Reading(
    id="tip_on_a_hold",
    sentence="Whether the tip of an authorized payment can be adjusted.",
    values={
        "refused": "The answer is 400 invalid_tip_adjustment.",
        "allowed": "The tip changes, and the hold changes with it.",
    },
    clause="assumed D35-tip",
)
ABOVE_THE_HOLD: Final = Reading(
    id="above_the_hold",
    sentence="What exceeds the original authorization.",
    values={
        "tip_and_surcharge": (
            "A tip of up to 100 % of the subtotal and a surcharge may exceed it."
        ),
        "nothing": "Nothing may exceed it.",
        "small_tip": "A tip of up to 20 % of the subtotal and a surcharge may exceed it.",
        "tip_tax_and_surcharge": (
            "A tip of up to 100 % of the subtotal, tax and a surcharge may exceed it."
        ),
    },
    clause="assumed D35-above",
)
REFUSED_ATTEMPTS: Final = Reading(
    id="refused_attempts",
    sentence="A declined or errored attempt fires the same event as a success.",
    values={
        "named_rules": (
            "Of the attempts that a rule refuses, only those with a status_reason of their "
            "own fire one: exceeds_original_auth, invalid_capture_sequence, "
            "invalid_tip_adjustment."
        ),
        "all": (
            "Every action that the payment's state or amounts forbid fires one, with status "
            "error and reason payment_failed, and stands in the history."
        ),
    },
    clause="assumed D35-attempts",
)
RATES_BELOW_ONE: Final = Reading(
    id="rates_below_one",
    sentence="The unit of a rate below 1 in the body of a payment, such as taxRate 0.0875.",
    values={
        "percent": "It is 0.0875 %. The journal notes it.",
        "fraction": "It is a fraction of 1, so 8.75 %.",
    },
    clause="assumed D35-rates",
)
PAYMENTS_OF_A_TERMINAL: Final = Reading(
    id="payments_of_a_terminal",
    sentence="The transactions of a terminal.",
    values={
        "empty": "The list is always empty.",
        "latest": (
            "A read of one terminal lists its latest 20 payments, to a key that holds "
            "payments:read. Other answers and events have an empty list."
        ),
    },
    clause="assumed D35-terminal",
)
REVERSAL_OF_A_TIMEOUT: Final = Reading(
    id="reversal_of_a_timeout",
    sentence="The reversal of a payment that timed out.",
    values={
        "refused": "It is 400: the payment ended in an error, and nothing is held.",
        "allowed": (
            "The whole of it can be reversed. The payment is reversed then, and a late "
            "approval changes nothing."
        ),
    },
    clause="assumed D35-timeout",
)
DECLINE_STATUS: Final = Reading(
    id="decline_status",
    sentence="The HTTP status of an attempt that was declined.",
    values={
        "http_200": "It is 200, as of every attempt that the processor answered.",
        "http_400": "It is 400. The body is the transaction all the same.",
        "http_402": "It is 402. The body is the transaction all the same.",
        "http_422": "It is 422. The body is the transaction all the same.",
    },
    clause="assumed D35-decline",
)
INCREMENT_AMOUNT: Final = Reading(
    id="increment_amount",
    sentence="The amount of an increment.",
    values={
        "addition": "It comes on top of what is held. A breakdown has its parts.",
        "new_total": (
            "It is what is held afterwards, and must be more than before. A breakdown has the "
            "parts of the whole."
        ),
    },
    clause="assumed D35-increment",
)
CAPTURE_AMOUNT: Final = Reading(
    id="capture_amount",
    sentence="The amount of a capture with a tip.",
    values={
        "with_tip": "The tip is a part of it.",
        "without_tip": "The tip comes on top, that of a breakdown too.",
    },
    clause="assumed D35-capture",
)
RECORD_OF_AN_ACTION: Final = Reading(
    id="record_of_an_action",
    sentence="The transaction of a capture, a refund or a reversal.",
    values={
        "payment": "It is the payment's own record, under its transaction_id.",
        "own": (
            "It is a record of its own, under a transaction_id of its own, with the amount of "
            "the action. Its additional_details have original_transaction_id. Answers, "
            "events and searches show it; the payment changes with it. An action may name the "
            "record of a capture instead of the payment."
        ),
    },
    clause="assumed D35-action",
)


LIMIT_ABOVE_MAXIMUM: Final = Reading(
    id="limit_above_maximum",
    sentence="The limit of a list has a maximum.",
    values={
        "refused": "A higher limit is answered with 400.",
        "clamped": "A higher limit counts as the maximum.",
        "unprocessable": "A higher limit is answered with 422.",
    },
    clause="assumed D35-limit",
)
UNSET_STRINGS: Final = Reading(
    id="unset_strings",
    sentence="Fields of accounts, terminals and locations that are typed as plain strings.",
    values={
        "as_null": "Without a value they are null in answers and events.",
        "as_empty": 'Without a value they are "" in answers and events.',
    },
    clause="assumed D35-unset",
)
VALIDATION_STATUS: Final = Reading(
    id="validation_status",
    sentence="A request is not valid.",
    values={
        "bad_request": "A malformed body or query is answered with 400.",
        "unprocessable": (
            "It is answered with 422, except on the routes of API keys. Rules stay 400."
        ),
    },
    clause="assumed D35-validation",
)
VALIDATION_DETAIL: Final = Reading(
    id="validation_detail",
    sentence="The detail of a malformed body or query.",
    values={
        "text": "It is one string.",
        "objects": (
            "It is a list of objects with type, loc and msg, as web frameworks write it; not "
            "on the routes of API keys."
        ),
    },
    clause="assumed D35-detail",
)
FOREIGN_ACCOUNT_FILTER: Final = Reading(
    id="foreign_account_filter",
    sentence="Filters on several accounts are subject to caller access.",
    values={
        "hidden": "One account out of reach among several is answered with 404.",
        "ignored": "Accounts out of reach are ignored as long as one of them is in reach.",
    },
    clause="assumed D35-foreign",
)
UNKNOWN_ROUTES: Final = Reading(
    id="unknown_routes",
    sentence="Every request is authenticated by API key.",
    values={
        "path": ("Unknown paths answer 404, wrong methods and retired routes 405, without a key."),
        "key": "Without a usable key they answer 401.",
    },
    clause="assumed D35-routes",
)
EXPIRY_WITHOUT_OFFSET: Final = Reading(
    id="expiry_without_offset",
    sentence="expires_at is an ISO 8601 / RFC 3339 date-time.",
    values={
        "refused": "A date-time without an offset is answered with 400.",
        "utc": "A date-time without an offset is in UTC.",
    },
    clause="assumed D35-offset",
)
UNKNOWN_KEY_FIELDS: Final = Reading(
    id="unknown_key_fields",
    sentence="Unknown fields are rejected in the bodies of API keys.",
    values={
        "refused": "An unknown field is answered with 400.",
        "ignored": "It is ignored, as on other routes.",
    },
    clause="assumed D35-fields",
)


READINGS: Final[Mapping[str, Reading]] = {
    one.id: one
    for one in (*globals().values(), *vars(directory_readings).values())
    if isinstance(one, Reading)
}

DEFAULTS: Final[Mapping[str, str]] = MappingProxyType(
    {id: reading.default for id, reading in READINGS.items()}
)


class UnknownReading(UnknownWord):
    """A reading that does not exist, or a value that it does not have; the message helps."""


def checked(wanted: Mapping[str, Any]) -> dict[str, str]:
    """Return the same choices, every one known and of a value that its reading has."""
    for id, value in wanted.items():
        reading = READINGS.get(id)
        if reading is None:
            raise UnknownReading(f"{id[:80]!r} is not a reading", id[:80], READINGS)
        if value not in reading.names:
            about = f"{id}: must be one of {', '.join(reading.names)}"
            word = value[:80] if isinstance(value, str) else ""
            raise UnknownReading(about, word, reading.names)
    return dict(wanted)


def in_force(of_profile: Mapping[str, str], own: Mapping[str, str]) -> Mapping[str, str]:
    """Every reading with its value: the world's own, else the profile's, else the default."""
    return MappingProxyType({**DEFAULTS, **of_profile, **own})


def default_of(id: str) -> str:
    """Return the default of a reading; any text for an unknown one, which `checked` refuses."""
    return READINGS[id].default if id in READINGS else ""
