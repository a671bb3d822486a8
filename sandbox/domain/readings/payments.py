"""Readings of what happens to payments and batches."""

from typing import Final

from sandbox.domain.readings.rows import Reading, ReadingValue

STORED_TRANSACTION_TYPE: Final = "stored_transaction_type"
REFUND_BEFORE_SETTLEMENT: Final = "refund_before_settlement"
TOTAL_OF_PARTIAL_APPROVAL: Final = "total_of_partial_approval"
LOST_CARDS: Final = "lost_cards"
EDIT_OF_CLOSED_BATCH: Final = "edit_of_closed_batch"
RECEIPT_DATA: Final = "receipt_data"
RESPONSE_FIELDS: Final = "response_fields"
STATUS_OF_PARTIAL_REVERSE: Final = "status_of_partial_reverse"
TIP_ON_A_HOLD: Final = "tip_on_a_hold"
ABOVE_THE_HOLD: Final = "above_the_hold"
REFUSED_ATTEMPTS: Final = "refused_attempts"
RATES_BELOW_ONE: Final = "rates_below_one"
PAYMENTS_OF_A_TERMINAL: Final = "payments_of_a_terminal"

ROWS: Final = (
    Reading(
        id=STORED_TRANSACTION_TYPE,
        sentence="The transaction_type of a stored transaction.",
        values=(
            ReadingValue("last", "The type of the last operation, such as refund."),
            ReadingValue(
                "first",
                "The type with which the payment began. Answers and events of an operation "
                "still name the operation.",
            ),
        ),
        clause="assumed D35-type",
    ),
    Reading(
        id=REFUND_BEFORE_SETTLEMENT,
        sentence="Funds refunded after settlement.",
        values=(
            ReadingValue("allowed", "A captured payment can be refunded."),
            ReadingValue(
                "refused",
                "Only a settled payment can be refunded. Before that, a refund is answered "
                "with 400 invalid_transaction_state.",
            ),
        ),
        clause="assumed D35-refund",
    ),
    Reading(
        id=TOTAL_OF_PARTIAL_APPROVAL,
        sentence="The total_amount of a payment that was approved for less than requested.",
        values=(
            ReadingValue("requested", "The requested amount."),
            ReadingValue(
                "approved",
                "The approved amount, with its components in proportion. remaining_amount says "
                "what is still to be paid, until the next operation.",
            ),
        ),
        clause="assumed D35-partial-approval",
    ),
    Reading(
        id=LOST_CARDS,
        sentence="The status_reason of a card that is lost, stolen, restricted or to be picked up.",
        values=(
            ReadingValue("invalid_card", "The card is invalid."),
            ReadingValue("declined", "The issuer declined."),
        ),
        clause="assumed D35-lost",
    ),
    Reading(
        id=EDIT_OF_CLOSED_BATCH,
        sentence="A batch is edited before it is closed.",
        values=(
            ReadingValue("rejected_too", "A rejected batch can be edited, which opens it again."),
            ReadingValue("open_only", "Only an open batch can be edited; any other is 400."),
        ),
        clause="assumed D35-batch-edit",
    ),
    Reading(
        id=RECEIPT_DATA,
        sentence="The additional_details of a payment.",
        values=(
            ReadingValue("none", "They have no receipt data."),
            ReadingValue(
                "emv",
                "Once the processor answered, they have rrn, stan, entry_mode and emv, for "
                "printing receipts. The values are made up from the event_id.",
            ),
        ),
        clause="assumed D35-receipt",
    ),
    Reading(
        id=RESPONSE_FIELDS,
        sentence="The fields of gateway_transaction_response.",
        values=(
            ReadingValue("codes", "The four strings of the spec."),
            ReadingValue(
                "amounts",
                "For a payment's last answer, authorizedAmount, type, status and currency too. "
                "The history has the four strings.",
            ),
        ),
        clause="assumed D35-response",
    ),
    Reading(
        id=STATUS_OF_PARTIAL_REVERSE,
        sentence="The status after a part of a hold or of a captured payment was reversed.",
        values=(
            ReadingValue("unchanged", "Answer and event say authorized or captured."),
            ReadingValue(
                "reversed",
                "Answer and event say reversed. The payment itself stays authorized or captured, "
                "because the rest is still held.",
            ),
        ),
        clause="assumed D35-partial-reverse",
    ),
    Reading(
        id=TIP_ON_A_HOLD,
        sentence="Whether the tip of an authorized payment can be adjusted.",
        values=(
            ReadingValue("refused", "The answer is 400 invalid_tip_adjustment."),
            ReadingValue("allowed", "The tip changes, and the hold changes with it."),
        ),
        clause="assumed D35-tip",
    ),
    Reading(
        id=ABOVE_THE_HOLD,
        sentence="What exceeds the original authorization.",
        values=(
            ReadingValue(
                "tip_and_surcharge",
                "A tip of up to 100 % of the subtotal and a surcharge may exceed it.",
            ),
            ReadingValue("nothing", "Nothing may exceed it."),
            ReadingValue(
                "small_tip", "A tip of up to 20 % of the subtotal and a surcharge may exceed it."
            ),
            ReadingValue(
                "tip_tax_and_surcharge",
                "A tip of up to 100 % of the subtotal, tax and a surcharge may exceed it.",
            ),
        ),
        clause="assumed D35-above",
    ),
    Reading(
        id=REFUSED_ATTEMPTS,
        sentence="A declined or errored attempt fires the same event as a success.",
        values=(
            ReadingValue(
                "named_rules",
                "Of the attempts that a rule refuses, only those with a status_reason of their "
                "own fire one: exceeds_original_auth, invalid_capture_sequence, "
                "invalid_tip_adjustment.",
            ),
            ReadingValue(
                "all",
                "Every action that the payment's state or amounts forbid fires one, with status "
                "error and reason payment_failed, and stands in the history.",
            ),
        ),
        clause="assumed D35-attempts",
    ),
    Reading(
        id=RATES_BELOW_ONE,
        sentence="The unit of a rate below 1 in the body of a payment, such as taxRate 0.0875.",
        values=(
            ReadingValue("percent", "It is 0.0875 %. The journal notes it."),
            ReadingValue("fraction", "It is a fraction of 1, so 8.75 %."),
        ),
        clause="assumed D35-rates",
    ),
    Reading(
        id=PAYMENTS_OF_A_TERMINAL,
        sentence="The transactions of a terminal.",
        values=(
            ReadingValue("empty", "The list is always empty."),
            ReadingValue(
                "latest",
                "A read of one terminal lists its latest 20 payments, to a key that holds "
                "payments:read. Other answers and events have an empty list.",
            ),
        ),
        clause="assumed D35-terminal",
    ),
)
