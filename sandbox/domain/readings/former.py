"""Readings that were switches before there were readings, and can still be set as switches.

`sandbox.domain.switches` has a row for each of them.
"""

from typing import Final

from sandbox.domain.readings.rows import Reading, ReadingValue

STATUS_AFTER_PARTIAL_REFUND: Final = Reading(
    id="status_after_partial_refund",
    sentence="The status of a payment after a part of it was refunded.",
    values=(
        ReadingValue("unchanged", "The payment stays captured or settled."),
        ReadingValue("refunded", "The payment is refunded; the rest of it can still be refunded."),
    ),
    clause="assumed D35-partial-refund",
)
DUPLICATE_EVENT_ID: Final = Reading(
    id="duplicate_event_id",
    sentence="An event_id that was used before.",
    values=(
        ReadingValue("reject", "The attempt is refused with 400 duplicate_event."),
        ReadingValue(
            "replay",
            "The attempt is answered with the payment as it is, where operation and amount are "
            "the same. Any other attempt is refused with 400.",
        ),
        ReadingValue(
            "failed_attempt",
            "The attempt fails with status error and reason duplicate_event, under an event_id of "
            "its own, and its event fires. What the payment's state forbids is refused as ever.",
        ),
    ),
    clause="assumed D35-duplicate",
)
RULE_FAILURES: Final = Reading(
    id="rule_failures",
    sentence="How an attempt against a rule, such as a capture above the hold, is answered.",
    values=(
        ReadingValue("http_400", "A refusal. The event fires all the same."),
        ReadingValue("http_200", "The failed transaction."),
    ),
    clause="assumed D35-rule-failures",
)
MISSING_HEADERS: Final = Reading(
    id="missing_headers",
    sentence="Accept and Content-Type are always sent.",
    values=(
        ReadingValue(
            "served", "A request without Accept, or a body without Content-Type, is served."
        ),
        ReadingValue("refused", "It is refused with 400."),
    ),
    clause="assumed D35-headers",
)

ROWS: Final = (
    STATUS_AFTER_PARTIAL_REFUND,
    DUPLICATE_EVENT_ID,
    RULE_FAILURES,
    MISSING_HEADERS,
)
