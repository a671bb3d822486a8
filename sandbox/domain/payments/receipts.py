"""Receipt data: what terminals print of the chip's and the host's part.

Its values have the form of real ones, and are made up from the event_id (assumed D35-receipt).
"""

from hashlib import blake2b
from typing import Any, Final, NamedTuple

from sandbox.domain.instants import from_ms
from sandbox.domain.payments.transactions import Payment, change


class _Application(NamedTuple):
    aid: str
    label: str


APPLICATIONS: Final = {
    "Visa": _Application("A0000000031010", "VISA"),
    "MasterCard": _Application("A0000000041010", "MASTERCARD"),
    "Amex": _Application("A00000002501", "AMERICAN EXPRESS"),
    "Discover": _Application("A0000001523010", "DISCOVER"),
}
"""The application of each brand's cards, as terminals print it."""

CONTACTLESS: Final = "07"
"""The entry mode of a contactless chip."""
TVR: Final = "0000000000"
TSI: Final = "0000"
"""A contactless terminal sets no bits of it."""


def with_receipt(payment: Payment) -> Payment:
    """Return the payment with receipt data beside the client's own details, which count first."""
    details = {**_receipt(payment), **payment.transaction.additional_details}
    return change(payment, additional_details=details)


def _receipt(payment: Payment) -> dict[str, Any]:
    tx = payment.transaction
    digest = blake2b(tx.event_id.encode(), digest_size=16, person=b"receipt").digest()
    stan = int.from_bytes(digest[:4], "big") % 1_000_000
    at = from_ms(tx.created_at)
    application = APPLICATIONS.get(payment.card.brand)
    emv = {"tvr": TVR, "tsi": TSI, "cryptogram": digest[8:].hex().upper()}
    if application is not None:
        emv = {"aid": application.aid, "application_label": application.label, **emv}
    # The last digit of the year, the day of the year, the hour, and the trace number.
    rrn = f"{at.year % 10}{at.timetuple().tm_yday:03}{at.hour:02}{stan:06}"
    return {"rrn": rrn, "stan": f"{stan:06}", "entry_mode": CONTACTLESS, "emv": emv}
