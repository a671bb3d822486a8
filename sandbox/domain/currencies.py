"""The currencies of ISO 4217: letters, numbers, and the digits of their minor units.

Funds codes, metals and codes for testing are left out: cards are not charged in them.
Source: assumed D30.
"""

import re
from typing import Annotated, Final, NamedTuple

from pydantic import AfterValidator, Strict

from sandbox.domain.text import did_you_mean


class Currency(NamedTuple):
    """One currency. Amounts are in minor units, 10 ** `exponent` to the unit."""

    code: str
    number: str
    exponent: int


# The letters and the number of each, by exponent.
_TABLE: Final = {
    0: """
BIF 108 CLP 152 DJF 262 GNF 324 ISK 352 JPY 392 KMF 174 KRW 410 PYG 600 RWF 646 UGX 800 VND 704
VUV 548 XAF 950 XOF 952 XPF 953
""",
    2: """
AED 784 AFN 971 ALL 008 AMD 051 AOA 973 ARS 032 AUD 036 AWG 533 AZN 944 BAM 977 BBD 052 BDT 050
BMD 060 BND 096 BOB 068 BRL 986 BSD 044 BTN 064 BWP 072 BYN 933 BZD 084 CAD 124 CDF 976 CHF 756
CNY 156 COP 170 CRC 188 CUP 192 CVE 132 CZK 203 DKK 208 DOP 214 DZD 012 EGP 818 ERN 232 ETB 230
EUR 978 FJD 242 FKP 238 GBP 826 GEL 981 GHS 936 GIP 292 GMD 270 GTQ 320 GYD 328 HKD 344 HNL 340
HTG 332 HUF 348 IDR 360 ILS 376 INR 356 IRR 364 JMD 388 KES 404 KGS 417 KHR 116 KPW 408 KYD 136
KZT 398 LAK 418 LBP 422 LKR 144 LRD 430 LSL 426 MAD 504 MDL 498 MGA 969 MKD 807 MMK 104 MNT 496
MOP 446 MRU 929 MUR 480 MVR 462 MWK 454 MXN 484 MYR 458 MZN 943 NAD 516 NGN 566 NIO 558 NOK 578
NPR 524 NZD 554 PAB 590 PEN 604 PGK 598 PHP 608 PKR 586 PLN 985 QAR 634 RON 946 RSD 941 RUB 643
SAR 682 SBD 090 SCR 690 SDG 938 SEK 752 SGD 702 SHP 654 SLE 925 SOS 706 SRD 968 SSP 728 STN 930
SVC 222 SYP 760 SZL 748 THB 764 TJS 972 TMT 934 TOP 776 TRY 949 TTD 780 TWD 901 TZS 834 UAH 980
USD 840 UYU 858 UZS 860 VED 926 VES 928 WST 882 XCD 951 XCG 532 YER 886 ZAR 710 ZMW 967
ZWG 924
""",
    3: "BHD 048 IQD 368 JOD 400 KWD 414 LYD 434 OMR 512 TND 788",
}


CURRENCIES: Final[dict[str, Currency]] = {
    code: Currency(code, number, exponent)
    for exponent, text in _TABLE.items()
    for code, number in re.findall(r"(\w+) (\w+)", text)
}
"""The currencies by their letters."""

_BY_NUMBER: Final = {one.number: one.code for one in CURRENCIES.values()}


def in_units(amount: int, code: str | None = None) -> str:
    """Return the amount as people write it: `10.50` for 1050 minor units.

    An unknown currency has two decimals.
    """
    digits = CURRENCIES[code].exponent if code in CURRENCIES else 2
    return f"{amount / 10**digits:.{digits}f}"


def format_amount(amount: int, code: str) -> str:
    """Return the amount with its currency: `10.50 USD`, `1050 JPY`, `1.050 BHD`."""
    return f"{in_units(amount, code)} {code}"


def code_of(word: str) -> str:
    """Return the letters of the currency that the word names, by letters or by number.

    Raises ValueError for anything else, with the nearest code.
    """
    code = _BY_NUMBER.get(word, word)
    if code not in CURRENCIES:
        hint = did_you_mean(word[:80], CURRENCIES)
        raise ValueError(f"must be a currency of ISO 4217, by letters or number{hint}")
    return code


CurrencyWord = Annotated[str, Strict(), AfterValidator(lambda word: code_of(word) and word)]
"""The currency of a place, as it was sent. Source: assumed D30."""

PaymentCurrency = Annotated[str, Strict(), AfterValidator(code_of)]
"""The currency of a payment, in letters. Source: assumed D30."""


def in_letters(word: str | None) -> str:
    """Return the letters of a record's currency, or USD if it has none.

    Only a fixture or a file of an earlier version can hold a word that names no currency.
    """
    code = _BY_NUMBER.get(word or "", word or "")
    return code if code.isalpha() else "USD"
