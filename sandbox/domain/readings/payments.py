"""Readings of what happens to payments and batches."""

from typing import Final

from sandbox.domain.readings.rows import Reading, ReadingValue

STORED_TRANSACTION_TYPE: Final = "stored_transaction_type"
REFUND_BEFORE_SETTLEMENT: Final = "refund_before_settlement"

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
)
