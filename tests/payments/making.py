"""How payment tests pay, settle and look at what happened. All of it through the API."""

import re
from typing import Any

from hypothesis import strategies as st

from sandbox.platform.rows import Row
from tests.directory.making import account_id, detail, messages, shown, terminal_id
from tests.driving import InProcess, Response
from tests.platform.minting import known_clauses

OUTCOME = b"x-sandbox-outcome"
"""The header that forces an outcome: assumed 6.3."""

START = {"sale": "/v3/payment", "auth": "/v3/preauth"}


def ask(
    sandbox: InProcess,
    method: str,
    path: str,
    body: Any = ...,
    *,
    by: str = "psp",
    outcome: str | None = None,
    query: str = "",
) -> Response:
    """One request, with the header that forces an outcome where one is given."""
    headers = None
    if outcome is not None:
        headers = [
            (b"accept", b"application/json"),
            (b"content-type", b"application/json"),
            (sandbox.header.encode(), sandbox.key(by).encode()),
            (OUTCOME, outcome.encode("latin-1")),
        ]
    return sandbox.ask(method, path, key=by, json_body=body, headers=headers, query=query)


# --- payments ---------------------------------------------------------------------------------


def pay(
    sandbox: InProcess,
    amount: Any = 1000,
    *,
    at: str = "merchant",
    kind: str = "sale",
    by: str = "psp",
    outcome: str | None = None,
    **more: Any,
) -> Response:
    """An initiation at the terminal of a merchant of the cast, or at one with this id."""
    places = {"terminal_id": at if len(at) == 36 else terminal_id(sandbox, at)}
    body = {"amount": amount, **({} if "account_id" in more else places), **more}
    return ask(sandbox, "POST", START[kind], body, by=by, outcome=outcome)


def sold(sandbox: InProcess, amount: int = 1000, **more: Any) -> dict[str, Any]:
    """A sale that was captured."""
    tx = shown(pay(sandbox, amount, **more))
    assert tx["status"] == "captured", tx["status_reason"]
    return tx


def held(sandbox: InProcess, amount: int = 1000, **more: Any) -> dict[str, Any]:
    """A preauthorization that was approved."""
    tx = shown(pay(sandbox, amount, kind="auth", **more))
    assert tx["status"] == "authorized", tx["status_reason"]
    return tx


def act(
    sandbox: InProcess,
    tx: dict[str, Any] | str,
    action: str,
    *,
    by: str = "psp",
    outcome: str | None = None,
    version: str = "v3",
    **body: Any,
) -> Response:
    """A follow-up on a payment; `action` is the last segment of its path."""
    path = f"/{version}/payments/{_id_of(tx)}/{action}"
    return ask(sandbox, "POST", path, body, by=by, outcome=outcome)


def acted(sandbox: InProcess, tx: dict[str, Any] | str, action: str, **body: Any) -> dict[str, Any]:
    return shown(act(sandbox, tx, action, **body))


def read(sandbox: InProcess, tx: dict[str, Any] | str, *, by: str = "psp") -> dict[str, Any]:
    return shown(sandbox.ask("GET", f"/v1/transactions/{_id_of(tx)}", key=by))


def prompted(sandbox: InProcess, amount: int = 1000, **more: Any) -> dict[str, Any]:
    """A sale that waits for the cardholder's answer to a surcharge."""
    tx = shown(pay(sandbox, amount, outcome="surcharge_prompt", **more))
    assert tx["status"] == "surcharge_pending"
    return tx


def _id_of(tx: dict[str, Any] | str) -> str:
    return tx if isinstance(tx, str) else str(tx["transaction_id"])


def search(sandbox: InProcess, query: str = "", *, by: str = "psp") -> dict[str, Any]:
    """A page of GET /v2/transactions."""
    return shown(sandbox.ask("GET", "/v2/transactions", key=by, query=query))


def found(sandbox: InProcess, query: str = "", *, by: str = "psp") -> list[str]:
    """The ids of a page of the search, as they come."""
    return [tx["transaction_id"] for tx in search(sandbox, query, by=by)["transactions"]]


# --- batches ----------------------------------------------------------------------------------


def open_batch(sandbox: InProcess, *, at: str = "merchant", **more: Any) -> dict[str, Any]:
    place = at if len(at) == 36 else terminal_id(sandbox, at)
    answer = ask(sandbox, "POST", "/v1/batches/open", {"terminal_id": place, **more})
    assert answer.status == 201, answer.body
    opened: dict[str, Any] = answer.json()
    return opened


def batch(sandbox: InProcess, id: str, *, members: bool = False) -> dict[str, Any]:
    query = "include_transactions=true" if members else ""
    return shown(sandbox.ask("GET", f"/v1/batches/{id}", key="psp", query=query))


def sums(sandbox: InProcess, id: str) -> tuple[int, int, int]:
    """captured_amount, refunded_amount, transaction_count."""
    seen = batch(sandbox, id)
    return seen["captured_amount"], seen["refunded_amount"], seen["transaction_count"]


def edit(sandbox: InProcess, id: str, **body: Any) -> Response:
    return ask(sandbox, "PUT", f"/v1/batches/{id}/edit", body)


def close(sandbox: InProcess, id: str) -> Response:
    return ask(sandbox, "POST", f"/v1/batches/{id}/close")


def settled(sandbox: InProcess, id: str) -> dict[str, Any]:
    """The batch once it was closed and has whatever result it gets."""
    assert shown(close(sandbox, id))["status"] == "submitted"
    return batch(sandbox, id)


# --- the world --------------------------------------------------------------------------------


def switch(sandbox: InProcess, name: str, value: Any) -> None:
    answer = sandbox.control("PUT", f"/worlds/{sandbox.world}/switches", {name: value})
    assert answer.status == 200, answer.body


def block(sandbox: InProcess, what: str, id: str, status: str = "blocked") -> None:
    """Set the status of an account, terminal or location; `what` is the beginning of its path."""
    answer = ask(sandbox, "PUT", f"{what}/{id}", {"status": status})
    assert answer.status == 200, answer.body


def block_account(sandbox: InProcess, name: str, status: str = "blocked") -> None:
    block(sandbox, "/v1/accounts", account_id(sandbox, name), status)


# --- what happened ----------------------------------------------------------------------------


def state(sandbox: InProcess) -> list[bytes]:
    """Every payment, batch and message: what a refusal must leave as it was."""
    listed = [
        sandbox.ask("GET", path, key="psp", query=query).body
        for path, query in (("/v2/transactions", "limit=200"), ("/v1/batches", "limit=500"))
    ]
    return [*listed, sandbox.control("GET", f"/worlds/{sandbox.world}/messages").body]


def fired(sandbox: InProcess, since: int = 0) -> list[str]:
    """The types of the events so far, without the first `since` of them."""
    return [message["event_type"] for message in messages(sandbox)[since:]]


def refused(
    sandbox: InProcess,
    answer: Response,
    status: int = 400,
    error: str = "validation_error",
    *,
    clause: str = "",
) -> str:
    """What a refusal says, once it has the documented form and the journal says why.

    `clause` is how the clause begins by which it was refused, where the test names one.
    """
    said = detail(answer, status, error)
    entry = sandbox.journal(answer)
    last = entry["decisions"][-1]
    assert entry["status"] == status
    assert last["verdict"] == str(status)
    assert last["reason"]
    assert last["clause"] in known_clauses()
    assert last["clause"].startswith(clause), last
    return said


# --- card numbers -----------------------------------------------------------------------------

REAL_CARDS = ["4539578763621486", "5425 2334 3010 9903", "378282-246310-005", "6011111111111117"]
"""Numbers that pass for real ones and are no test card's."""

CARD_PLACES = {
    "reader": lambda pan: {"card_reader_data": {"paymentCardData": pan}},
    "flat": lambda pan: {"paymentCardData": pan},
    "reader's other data": lambda pan: {"card_reader_data": {"generalCardData": pan}},
    "flat other data": lambda pan: {"generalCardData": pan},
    "reader id": lambda pan: {"card_reader_data": {"id": pan}},
    "event_id": lambda pan: {"event_id": pan},
    "in a sentence": lambda pan: {"device_id": f"card {pan} of today"},
    "details": lambda pan: {"additional_details": {"a": [{"b": f"<{pan}>"}]}},
    "name of a field": lambda pan: {"additional_details": {pan: 1}},
    "unknown field": lambda pan: {"note": pan},
    "breakdown": lambda pan: {"breakdown": {"subtotal": 1000, "note": pan}},
    "number": lambda pan: {"additional_details": {"n": int(re.sub("[ -]", "", pan))}},
}
"""Where in the body of a payment one could stand."""


# --- any request ------------------------------------------------------------------------------

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
