"""Who is in the fixture `busy`: the demo's cast, and beside it a restaurant group and a hotel."""

import json
from typing import Any, Final, NamedTuple

from sandbox.library import folder

BORN: Final = "2025-09-01T14:00:00.000Z"
_CONFIG: Final = "cfg-tsys-001"
_RATES: Final = {"surcharge_rate": 3.0, "surcharge_basis": "total"}


class _Merchant(NamedTuple):
    """A merchant. `tills` are its terminals by cast name, `rates` those of its location."""

    parent: str
    name: str
    description: str
    mcc: str
    street: str
    zip: str
    tills: dict[str, "_Till"]
    rates: dict[str, Any] = {}  # noqa: RUF012  (it never changes)


class _Till(NamedTuple):
    name: str
    mcc: str


_GRILL_TILLS: Final = {"grill": _Till("floor", "5812"), "grill_bar": _Till("bar", "5813")}
_HOTEL_TILLS: Final = {"hotel": _Till("front-desk", "7011"), "hotel_bar": _Till("bar", "5813")}

MERCHANTS: Final = {
    "grill": _Merchant(
        *("restaurant_group", "Live Oak Grill", "Restaurant with table service and a bar"),
        *("5812", "1204 S Lamar Blvd", "78704", _GRILL_TILLS),
    ),
    "taqueria": _Merchant(
        *("restaurant_group", "Taqueria Mesquite", "Counter service"),
        *("5814", "2011 E Cesar Chavez St", "78702", {"taqueria": _Till("counter", "5814")}),
    ),
    "rooftop": _Merchant(
        *("restaurant_group", "Rooftop at Second", "Bar that surcharges credit cards, and asks"),
        *("5813", "250 W 2nd St", "78701", {"rooftop": _Till("bar", "5813")}),
        rates=_RATES | {"surcharge_confirmation_required": True},
    ),
    "hotel": _Merchant(
        *("partner", "Hotel Barton Creek", "Hotel with forty rooms"),
        *("7011", "3900 Barton Creek Blvd", "78735", _HOTEL_TILLS),
    ),
}
"""By cast name."""


def document() -> dict[str, dict[str, Any]]:
    """The fixture with which the month begins."""
    demo = (folder("fixtures") / "demo.json").read_text(encoding="utf-8")
    tables: dict[str, dict[str, Any]] = json.loads(demo)

    def add(table: str, cast: str, **fields: Any) -> None:
        given = {name: value for name, value in fields.items() if value is not None}
        number = str(len(tables[table]) + 1)
        tables[table][number] = {"cast": cast, **given, "created_at": BORN}

    add(
        "accounts",
        "restaurant_group",
        parent="psp",
        type="partner",
        name="Live Oak Hospitality",
        description="Group account of three restaurants",
        tax_id="74-3000000",
        address=_address("98 San Jacinto Blvd", "78701"),
        available_processor_configs=[_CONFIG],
    )
    for number, (cast, one) in enumerate(MERCHANTS.items(), start=1):
        add(
            "accounts",
            cast,
            parent=one.parent,
            type="merchant",
            name=one.name,
            description=one.description,
            mcc=one.mcc,
            tax_id=f"74-300000{number}",
            address=_address(one.street, one.zip),
            available_processor_configs=[_CONFIG],
        )
        for till in one.tills:
            _add_terminal(add, cast, till, len(tables["terminals"]) + 1)
        add(
            "locations",
            cast,
            account=cast,
            # With two terminals a location points at neither.
            terminal=cast if len(one.tills) == 1 else None,
            name=one.name,
            address=_address(one.street, one.zip),
            phone=f"512555020{number}",
            email=f"hello@{cast}.example",
            processor_config_id=_CONFIG,
            country_code="840",
            currency="USD",
            **one.rates,
        )
    for cast in ("restaurant_group", *MERCHANTS):
        lookup = f"busy{cast.replace('_', '')}"[:12].ljust(12, "0")
        name = f"Busy {cast} key"
        add("api_keys", cast, account=cast, lookup=lookup, name=name, permissions=["all"])
    return tables


def _add_terminal(add: Any, cast: str, till: str, number: int) -> None:
    one = MERCHANTS[cast]
    name, mcc = one.tills[till]
    add(
        "terminals",
        till,
        account=cast,
        name=name,
        description=f"The {name.replace('-', ' ')} of {one.name}",
        mid=f"8860000020{number:02d}",
        tid=f"{number:08d}",
        store_number="0001",
        bin="999991",
        vid=f"V20000{number:02d}",
        agent_bank_number="000000",
        merchant_category_code=mcc,
        terminal_capability="5",
        currency_code="USD",
        country_code="840",
        processor_config_id=_CONFIG,
        merchant_name=one.name,
    )


def _address(street: str, zip: str) -> dict[str, Any]:
    return {
        "street_line1": street,
        "street_line2": None,
        "city": "Austin",
        "state": "TX",
        "zip": zip,
        "country": "USA",
    }
