"""The test cards, transcribed from assumed 6.4."""

from typing import NamedTuple


class CardRow(NamedTuple):
    """One card. `outcome` is what its issuer answers to an initiation of 1000."""

    pan: str
    brand: str
    type: str
    outcome: str
    masked: str


# token; number; brand; type; outcome; as it is shown
_TABLE = """
tok_visa_credit;4761730000000011;Visa;Credit;approved;476173******0011
tok_visa_credit_2;4111111111111111;Visa;Credit;approved;411111******1111
tok_visa_debit;4000056655665556;Visa;Debit;approved;400005******5556
tok_mc_credit;5413330089604111;MasterCard;Credit;approved;541333******4111
tok_mc_debit;5200828282828210;MasterCard;Debit;approved;520082******8210
tok_mc_prepaid;5105105105105100;MasterCard;Prepaid;approved;510510******5100
tok_amex;371449635398431;Amex;Credit;approved;371449*****8431
tok_discover;6011000990139424;Discover;Credit;approved;601100******9424
tok_jcb;3566002020360505;JCB;Credit;approved;356600******0505
tok_diners;30569309025904;Diners;Credit;approved;305693****5904
tok_unionpay;6200000000000005;UnionPay;Credit;approved;620000******0005
tok_declined;4000000000000002;Visa;Credit;do_not_honor;400000******0002
tok_insufficient;4000000000009995;Visa;Credit;insufficient_funds;400000******9995
tok_lost;4000000000009987;Visa;Credit;lost_card;400000******9987
tok_stolen;4000000000009979;Visa;Credit;stolen_card;400000******9979
tok_expired;4000000000000069;Visa;Credit;expired_card;400000******0069
tok_processing_error;4000000000000119;Visa;Credit;system_malfunction;400000******0119
tok_refund_fails;4000000000000341;Visa;Credit;approved;400000******0341
tok_increment_fails;4000000000000259;Visa;Credit;approved;400000******0259
tok_timeout;4000000000000127;Visa;Credit;processor_timeout;400000******0127
tok_bad_luhn;4242424242424241;Visa;Credit;invalid_card_number;424242******4241
"""

CARDS = {
    token: CardRow(*rest)
    for token, *rest in (line.split(";") for line in _TABLE.strip().splitlines())
}
