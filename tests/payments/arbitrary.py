"""Requests about payments: the least that works, and JSON of any kind."""

from typing import Any

from hypothesis import strategies as st

from sandbox.platform.operation import Row
from tests.directory.making import shown, terminal_id
from tests.driving import InProcess
from tests.support.payments import held, pay, prompted, sold

FIELDS = [
    *("amount", "tip_amount", "breakdown", "event_id", "type", "percentage", "confirm", "currency"),
    *("terminal_id", "location_id", "account_id", "platform", "card_reader_data", "device_id"),
    *("paymentCardData", "apple_transaction_id", "payment_method", "additional_details", "status"),
    *("status_reason", "authorized_amount", "refunded", "reversed", "added_transactions"),
    *("removed_transactions", "processor_batch_id", "transaction_id", "reader_identifier"),
]
INNER = [
    *("subtotal", "taxAmount", "taxRate", "tipAmount", "tipRate", "tipType", "surcharge"),
    *("percentage", "bypass", "surchargeAmount", "surchargeRate", "id", "paymentCardData"),
]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.integers(0, 2000)
    | st.sampled_from([1000, 900_051, 900_401, 99_999_999, 100_000_000, 2**63])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=14)
    | st.sampled_from(
        [
            *(
                "sale",
                "auth",
                "fixed",
                "percentage",
                "ios",
                "android",
                "USD",
                "captured",
                "tok_amex",
            ),
            *("authorized", "refunded", "reversed", "canceled", "declined", "approved", "\ud7ff"),
        ]
    )
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(INNER) | st.text(max_size=4), inner, max_size=5)
    ),
    max_leaves=10,
)
BODIES = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=8) | VALUES
"""JSON of any kind; mostly objects with fields that mean something somewhere."""


def least(sandbox: InProcess, row: Row) -> tuple[str, str, dict[str, Any]]:
    """Method, path and the least body with which a row does what it is for."""
    id, body = _least(sandbox, row.name)
    path = row.path
    if "{" in path:
        path = path[: path.index("{")] + id + path[path.index("}") + 1 :]
    return row.method, path, body


def _least(sandbox: InProcess, name: str) -> tuple[str, dict[str, Any]]:
    if name.startswith("transactions."):
        return shown(pay(sandbox, at="passthrough_merchant"))["transaction_id"], {}
    if name in ("payments.create", "payments.preauth"):
        return "", {"amount": 1000, "terminal_id": terminal_id(sandbox, "merchant")}
    if name == "batches.open":
        return "", {"terminal_id": terminal_id(sandbox, "merchant")}
    if name == "refunds.create":
        return "", {"transaction_id": sold(sandbox)["transaction_id"]}
    if name.startswith("batches."):
        return sold(sandbox)["batch_id"], {}
    action = name.removeprefix("payments.").removesuffix("_v1")
    make = {"capture": held, "increment": held, "confirm": prompted}.get(action, sold)
    bodies: dict[str, dict[str, Any]] = {
        "increment": {"amount": 100},
        "adjust": {"type": "fixed", "amount": 100},
        "confirm": {"confirm": True},
    }
    return make(sandbox)["transaction_id"], bodies.get(action, {})
