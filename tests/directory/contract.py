"""What accounts, terminals, locations and credentials have in common, as a table of each.

The tests are in `test_contract.py`. What is particular to one of them is tested in its own file.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.driving import InProcess
from tests.support.directory import ACCOUNT, ADDRESS, NOBODY, TERMINAL

Values = Iterable[tuple[str, Any]]
Body = dict[str, Any]


@dataclass(frozen=True)
class Resource:
    """One kind of record, and what is sent about it.

    `least` is the record that the least body creates, less what names others; `full` are fields
    with which it can be created. `beside` is sent together with what is wrong with an update, and
    `same` changes nothing of a record with all of `full`. `ignored` are updates that change nothing
    either, for what they name cannot be changed.
    """

    name: str
    paths: tuple[str, ...]
    body: Callable[[InProcess], Body]
    id: str = "id"
    least: Body = field(default_factory=dict)
    full: Body = field(default_factory=dict)
    beside: Body = field(default_factory=dict)
    null_when_created: Iterable[str] = ()
    required: Iterable[str] = ()
    unknown: Iterable[tuple[str, str | None]] = ()
    bad: Values = ()
    bad_created: Values = ()
    bad_updated: Values = ()
    changes: Values = ()
    nullable: Iterable[str] = ()
    never_null: Iterable[str] = ()
    same: Iterable[Body] = ()
    ignored: Values = ()

    def create(self, sandbox: InProcess, **more: Any) -> Body:
        """A record with the least, and more."""
        return sandbox.post(self.paths[0], self.body(sandbox) | more).expect(201)

    def item(self, record: Body, path: str = "") -> str:
        """The path of a record, below another one of `paths` if it is named."""
        return f"{path or self.paths[0]}/{record[self.id]}"

    def expected(self, sandbox: InProcess, record: Body) -> Body:
        """What a record created with the least has to be."""
        names = {self.id: record[self.id]}
        if self.name == "account":
            above = [sandbox.account_id(name) for name in ("psp", "partner")]
            return self.least | names | {"parent_account_ids": above}
        return self.least | names | {"account_id": sandbox.account_id("merchant")}


def with_value(field: str, value: Any) -> Body:
    """A body with one field; `address.city` is a field of the address."""
    outer, _, inner = field.partition(".")
    return {outer: ADDRESS | {inner: value} if inner else value}


RATES = {
    "surcharge_rate": 3.5,
    "tax_rate": 8.25,
    "surcharge_confirmation_required": True,
    "surcharge_basis": "total",
    "tax_basis": "subtotal",
}
NEW = {
    "status": "active",
    **dict.fromkeys(RATES),
    "created_at": "2026-03-01T12:00:00.000Z",
    "deleted_at": None,
    "updated_at": None,
}
BAD_RATES = [
    *(("surcharge_rate", value) for value in ("3.5", -1, -0.01, 100.5, 10_001, True, [])),
    *(("tax_rate", value) for value in ("8", 1e300, -5, {}, 100.01)),
    *(("surcharge_confirmation_required", value) for value in ("true", 1, 0)),
    *(("surcharge_basis", value) for value in ("all", "Total", "", 1)),
    *(("tax_basis", value) for value in ("tip", [])),
]
CHANGED_RATES = [
    ("surcharge_rate", 0.0),
    ("tax_rate", 9.5),
    ("surcharge_confirmation_required", False),
    ("surcharge_basis", "subtotal_plus_tip"),
    ("tax_basis", "subtotal_plus_tax"),
]
"""Of accounts, terminals and locations alike."""


ACCOUNTS = Resource(
    name="account",
    paths=("/v1/accounts", "/v2/accounts"),
    body=lambda _: ACCOUNT,
    least={
        **ACCOUNT,
        "organization_id": None,
        "available_processor_configs": [],
        "tax_id": None,
        "mcc": None,
        **NEW,
    },
    full={
        "available_processor_configs": ["cfg-tsys-001", "cfg-pass-001"],
        "tax_id": "12-3456789",
        "mcc": "5812",
        **RATES,
    },
    null_when_created=["parent_id"],
    required=["type", "name", "description", "address"],
    unknown=[
        ("tax_idd", "tax_id"),
        ("surchage_rate", "surcharge_rate"),
        ("has_access_to_mms", None),
    ],
    bad=[
        *(("name", value) for value in ("", 7, ["x"], {}, True)),
        *(("description", value) for value in (7, False)),
        *(("address", value) for value in ("12 Elm St", [], 1)),
        *(("address.city", 7), ("address.zip", 78704), ("address.country", ["USA"])),
        *(("mcc", value) for value in ("581", "58122", "58a2", "5812\n", "", 5812)),
        ("mcc", "\u0665\u0668\u0661\u0662"),
        *(("tax_id", value) for value in (123456789, [])),
        *(
            ("available_processor_configs", value)
            for value in ("cfg-tsys-001", {}, [1], [None], [""], ["x"] * 201)
        ),
        *BAD_RATES,
    ],
    bad_created=[
        *(("type", value) for value in ("", "shop", "Merchant", 1, [], {}, True)),
        *(("parent_id", value) for value in (7, [], {}, False)),
    ],
    bad_updated=[
        ("status", "deleted"),
        ("status", "Active"),
        ("status", 1),
        ("organization_id", 7),
    ],
    changes=[
        ("name", "Elm Street Cafe"),
        ("description", ""),
        ("address", ADDRESS | {"street_line1": "14 Elm St"}),
        ("mcc", "5814"),
        ("tax_id", "98-7654321"),
        ("tax_id", ""),
        ("organization_id", "org_1"),
        ("available_processor_configs", ["cfg-payroc-001"]),
        ("available_processor_configs", []),
        *CHANGED_RATES,
    ],
    nullable=["tax_id", "organization_id", *RATES],
    never_null=["name", "description", "address", "mcc", "available_processor_configs", "status"],
    same=[{"status": "active"}, {"address": ADDRESS}, {"surcharge_rate": 350}],
    ignored=[("type", "partner"), ("parent_id", NOBODY), ("id", "x"), ("colour", "red")],
)

_TERMINAL_STRINGS = [
    *("name", "description", "mid", "tid", "store_number", "bin", "vid", "agent_bank_number"),
    *("merchant_category_code", "terminal_capability", "country_code", "merchant_name"),
    *("currency_code", "processor_config_id"),
]

TERMINALS = Resource(
    name="terminal",
    paths=("/v2/terminals",),
    body=InProcess.terminal_body,
    id="terminal_id",
    least={
        **dict.fromkeys(_TERMINAL_STRINGS),
        **TERMINAL,
        "terminal_capability": "5",
        "currency_code": "USD",
        "country_code": "840",
        **NEW,
        "transactions": [],
        "var_sheet": None,
        "batching": None,
    },
    full={
        "description": "Bar in the back",
        "store_number": "0001",
        "bin": "999991",
        "vid": "V1234567",
        "agent_bank_number": "000000",
        "merchant_category_code": "5812",
        "terminal_capability": "3",
        "currency_code": "840",
        "country_code": "124",
        "merchant_name": "Barton Springs Bistro",
        **RATES,
    },
    required=["account_id", "processor_config_id", "name", "mid", "tid"],
    unknown=[("terminal_nam", "terminal_name"), ("colour", None)],
    bad=[
        *((field, value) for field in _TERMINAL_STRINGS for value in (7, True, ["x"], {})),
        *((field, "") for field in ("name", "mid", "tid", "processor_config_id")),
        *(("merchant_category_code", value) for value in ("581", "58122", "abcd")),
        *BAD_RATES,
        *(("var_sheet", value) for value in ("sheet", [], 7, False)),
    ],
    bad_created=[("account_id", value) for value in (7, [], {}, True)],
    bad_updated=[("status", "deleted"), ("status", "BLOCKED"), ("status", 0)],
    changes=[
        # Each is another number, which may be the code of a trade.
        *((field, f"54{number}") for number, field in enumerate(_TERMINAL_STRINGS[:-2], start=10)),
        ("currency_code", "CAD"),
        ("description", ""),
        *CHANGED_RATES,
    ],
    nullable=["vid", "agent_bank_number", *RATES],
    never_null=[
        *(one for one in _TERMINAL_STRINGS if one not in ("vid", "agent_bank_number")),
        "status",
    ],
    same=[{"status": "active"}, {"tid": "00000042"}],
    ignored=[("account_id", "second_merchant")],
)

_LOCATION_STRINGS = ["name", "phone", "email", "country_code", "currency", "processor_config_id"]

LOCATIONS = Resource(
    name="location",
    paths=("/v1/locations",),
    body=lambda sandbox: {"account_id": sandbox.account_id("merchant"), "name": "Patio"},
    least={
        **dict.fromkeys(_LOCATION_STRINGS),
        "name": "Patio",
        "address": dict.fromkeys(ADDRESS),
        "country_code": "840",
        "currency": "USD",
        "terminal_id": None,
        "metadata": None,
        **NEW,
    },
    full={
        "address": ADDRESS,
        "phone": "5125551234",
        "email": "patio@shop.example",
        "processor_config_id": "cfg-tsys-001",
        "country_code": "124",
        "currency": "CAD",
        # assumed 1.5 lists it among the fields of a creation.
        "status": "blocked",
        **RATES,
    },
    null_when_created=["terminal_id"],
    required=["account_id", "name"],
    unknown=[("fone", "phone")],
    bad=[
        *(
            (field, value)
            for field in [*_LOCATION_STRINGS, "terminal_id"]
            for value in (7, True, [], {"a": 1})
        ),
        ("name", ""),
        ("address", "12 Elm St"),
        ("address", []),
        ("address.state", 7),
        ("address.street_line2", ["x"]),
        ("status", "deleted"),
        ("status", ""),
        ("status", True),
        *BAD_RATES,
    ],
    changes=[
        ("name", "Terrace"),
        ("address", ADDRESS | {"zip": "78705"}),
        ("phone", ""),
        ("email", "new@shop.example"),
        ("processor_config_id", "cfg-pass-001"),
        ("country_code", "840"),
        ("currency", "USD"),
        *CHANGED_RATES,
    ],
    nullable=RATES,
    never_null=[*_LOCATION_STRINGS, "address", "terminal_id", "status"],
    same=[{"status": "blocked"}, {"metadata": {"a": 1}}],
    ignored=[("account_id", "second_merchant")],
)

CODE = "482913750264"
BAD_PINS = ["", "19384", "1938477", 193847]

CREDENTIALS = Resource(
    name="credential",
    paths=("/v1/accounts/credentials",),
    body=lambda sandbox: {"account_id": sandbox.account_id("merchant")},
    beside={"is_active": False, "pin": "193847"},
    bad_created=[
        *(("code", value) for value in ("", CODE[1:], CODE + "5", int(CODE), [CODE], True)),
        *(("pin", value) for value in (*BAD_PINS, {})),
        *(("account_id", value) for value in (7, [], False)),
    ],
    bad_updated=[
        *(("is_active", value) for value in (None, "false", 0, [])),
        *(("pin", value) for value in (*BAD_PINS, None)),
    ],
    ignored=[("code", "999999999999"), ("account_id", NOBODY)],
)

LARGE = (ACCOUNTS, TERMINALS, LOCATIONS)
RESOURCES = (*LARGE, CREDENTIALS)
