"""Test cards, with the answers of their issuers, and the taps that payments wait for.

A card that is not in the table is refused, so live card data never enters the sandbox. Numbers in
the table are masked before anything is stored. Source: assumed 6.4, D24.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from sandbox.domain.instants import Instant
from sandbox.domain.payments.outcomes import OUTCOMES, Operation, Outcome
from sandbox.domain.secrets import find_cards, mask_card
from sandbox.domain.text import did_you_mean

READER_FIELD: Final = "card_reader_data"
CARD_FIELD: Final = "paymentCardData"
CARD_FIELDS: Final = frozenset({READER_FIELD, CARD_FIELD, "generalCardData"})
"""The fields of a body in which a reader's data belongs."""

TOKEN_PREFIX: Final = "tok_"  # noqa: S105 - what the names of test cards begin with


class Card:
    """One test card.

    `outcome` is its issuer's answer to an initiation, None if the card does not choose
    (assumed D13); `later` has the answers to later operations. With a `limit` (in minor units),
    an initiation above it is approved in part, up to the limit. Documents only hold its token, and
    transactions show its `masked` number (assumed 2.11).
    """

    def __init__(
        self,
        token: str,
        pan: str,
        brand: str = "Visa",
        type: str = "Credit",
        outcome: str | None = None,
        *,
        later: Mapping[Operation, str] | None = None,
        limit: int | None = None,
    ) -> None:
        self.token, self.pan, self.brand, self.type = token, pan, brand, type
        self.masked = mask_card(pan)
        self.outcome, self.later, self.limit = outcome, later or {}, limit

    def __repr__(self) -> str:
        return f"Card({self.token!r})"

    @property
    def last4(self) -> str:
        """Its last digits, empty if it was not read."""
        return self.pan[-4:]

    @property
    def is_credit(self) -> bool:
        """Whether the card may be surcharged. Source: assumed 2.8-never."""
        return self.type == "Credit"


CARDS: Final[dict[str, Card]] = {
    card.token: card
    for card in (
        Card("tok_visa_credit", "4761730000000011"),
        Card("tok_visa_credit_2", "4111111111111111"),
        Card("tok_visa_debit", "4000056655665556", "Visa", "Debit"),
        Card("tok_mc_credit", "5413330089604111", "MasterCard", "Credit"),
        Card("tok_mc_debit", "5200828282828210", "MasterCard", "Debit"),
        Card("tok_mc_prepaid", "5105105105105100", "MasterCard", "Prepaid", limit=5000),
        Card("tok_amex", "371449635398431", "Amex", "Credit"),
        Card("tok_discover", "6011000990139424", "Discover", "Credit"),
        Card("tok_jcb", "3566002020360505", "JCB", "Credit"),
        Card("tok_diners", "30569309025904", "Diners", "Credit"),
        Card("tok_unionpay", "6200000000000005", "UnionPay", "Credit"),
        Card("tok_declined", "4000000000000002", "Visa", "Credit", "do_not_honor"),
        Card("tok_insufficient", "4000000000009995", "Visa", "Credit", "insufficient_funds"),
        Card("tok_lost", "4000000000009987", "Visa", "Credit", "lost_card"),
        Card("tok_stolen", "4000000000009979", "Visa", "Credit", "stolen_card"),
        Card("tok_expired", "4000000000000069", "Visa", "Credit", "expired_card"),
        Card("tok_processing_error", "4000000000000119", "Visa", "Credit", "system_malfunction"),
        Card("tok_refund_fails", "4000000000000341", later={Operation.REFUND: "refund_declined"}),
        Card(
            "tok_increment_fails",
            "4000000000000259",
            later={Operation.INCREMENT: "incremental_auth_declined"},
        ),
        Card("tok_timeout", "4000000000000127", "Visa", "Credit", "processor_timeout"),
        Card("tok_bad_luhn", "4242424242424241", "Visa", "Credit", "invalid_card_number"),
    )
}

DEFAULT_CARD: Final = CARDS["tok_visa_credit"]

NOT_READ: Final = Card("not_read", "", "", "")
"""The card of a payment that waits for its tap, or ended before it. Source: assumed D29.

It cannot be used to pay. Such a payment shows no card, and no search for a card finds it.
"""

STORED_CARDS: Final = {**CARDS, NOT_READ.token: NOT_READ}
"""The cards of stored payments, by token."""
_BY_PAN: Final = {card.pan: card for card in CARDS.values()}


def card_of(reader_data: str | None) -> Card:
    """Return the card of a reader's data.

    A token must be in the table, and so must a number, alone or within the data of a magnetic
    stripe. Anything else is opaque reader data and means the default card (assumed D13). Raises
    ValueError with a message that does not repeat the number.
    """
    if not reader_data:
        return DEFAULT_CARD
    if reader_data.startswith(TOKEN_PREFIX):
        card = CARDS.get(reader_data)
        if card is None:
            raise ValueError(f"there is no such test card{did_you_mean(reader_data, CARDS)}")
        return card
    number = reader_data.replace(" ", "").replace("-", "")
    named = (
        [number]
        if number.isascii() and number.isdecimal()
        else [card.digits for card in find_cards(reader_data)]
    )
    if not named:
        return DEFAULT_CARD
    card = _BY_PAN.get(named[0])
    if card is None or len(named) > 1:
        raise ValueError("only the card numbers of the test cards may be sent to a sandbox")
    return card


class Tap(Struct, frozen=True, kw_only=True, gc=False):
    """A tap that a payment waits for. `amount` is in minor units of the currency."""

    transaction_id: str
    operation: Operation
    amount: int
    currency: str
    terminal_id: str
    since: Instant
    until: Instant


class Tapped(Struct, frozen=True, kw_only=True, gc=False):
    """The result of a tap: a card, whose issuer then answers, or the end of the attempt."""

    card: Card | None = None
    outcome: Outcome | None = None


CANCELED_BY: Final = {who: OUTCOMES[f"{who}_canceled"] for who in ("user", "merchant")}
"""Who can cancel at the reader, and the resulting status of the payment."""
