"""How payments tests take payments, act on them and look at them. All of it from outside."""

from typing import Any

from sandbox.app import build
from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.payments.transactions import Transaction
from sandbox.settings import Settings
from sandbox.worlds.clock import ClockSetting
from tests.conftest import NOW
from tests.directory.making import location_id, shown, terminal_id
from tests.driving import InProcess, Response

PATHS = {
    "capture": "/v3/payments/{id}/capture",
    "increment": "/v3/payments/{id}/auth",
    "adjust": "/v1/payments/{id}/adjust",
    "reverse": "/v1/payments/{id}/reverse",
    "refund": "/v1/payments/{id}/refund",
    "confirm": "/v1/payments/{id}/confirm",
}
"""The follow-up operations and where they are served: assumed 1.8."""


def fresh_sandbox() -> InProcess:
    """A sandbox like that of the fixture, for tests that need many in one."""
    frozen = ClockSetting(now=parse_rfc3339(NOW), mode="frozen")
    return InProcess(build(Settings(clock=frozen)))


# --- requests ---------------------------------------------------------------------------------


def ask(
    sandbox: InProcess,
    method: str,
    path: str,
    body: Any = ...,
    *,
    by: str = "partner",
    force: str | None = None,
    query: str = "",
) -> Response:
    """One request; `force` is the outcome that its header asks for."""
    headers = [
        (b"accept", b"application/json"),
        (b"content-type", b"application/json"),
        (b"x-service-apikey", sandbox.key(by).encode()),
    ]
    if force is not None:
        headers.append((b"x-sandbox-outcome", force.encode()))
    return sandbox.ask(method, path, json_body=body, headers=headers, query=query)


def pay(
    sandbox: InProcess,
    amount: int = 1000,
    *,
    at: str = "merchant",
    preauth: bool = False,
    card: str | None = None,
    by: str = "partner",
    force: str | None = None,
    **more: Any,
) -> Response:
    """A sale, or a preauthorization, at a terminal of the cast; `card` is a test card's token."""
    body = {"amount": amount, **more}
    if not {"terminal_id", "location_id", "account_id"} & set(more):
        body["terminal_id"] = terminal_id(sandbox, at)
    if card is not None:
        body["card_reader_data"] = {"paymentCardData": card}
    path = "/v3/preauth" if preauth else "/v3/payment"
    return ask(sandbox, "POST", path, body, by=by, force=force)


def paid(sandbox: InProcess, amount: int = 1000, **more: Any) -> dict[str, Any]:
    """The transaction that `pay` answers with."""
    return shown(pay(sandbox, amount, **more))


def act(
    sandbox: InProcess,
    id: str,
    operation: str,
    body: Any = None,
    *,
    by: str = "partner",
    force: str | None = None,
) -> Response:
    """A follow-up operation, one of PATHS."""
    path = PATHS[operation].format(id=id)
    return ask(sandbox, "POST", path, body or {}, by=by, force=force)


def acted(
    sandbox: InProcess, id: str, operation: str, body: Any = None, **more: Any
) -> dict[str, Any]:
    """The transaction that `act` answers with."""
    return shown(act(sandbox, id, operation, body, **more))


def edited(sandbox: InProcess, id: str, **body: Any) -> dict[str, Any]:
    """The passthrough transaction after its processor's outcome was told: spec 4.3-search-edit."""
    return shown(ask(sandbox, "PUT", f"/v1/transactions/{id}", body))


def read(sandbox: InProcess, id: str) -> dict[str, Any]:
    """The transaction as it is kept."""
    return shown(ask(sandbox, "GET", f"/v1/transactions/{id}"))


def record_of(sandbox: InProcess, id: str) -> Transaction:
    """The stored record itself, for what only the domain can be asked."""
    world = sandbox.sandbox.worlds.get(sandbox.world)
    assert world is not None
    record = world.store.begin().get(Transaction, id)
    assert record is not None
    return record


def set_switch(sandbox: InProcess, name: str, value: Any) -> None:
    answer = sandbox.control("PUT", f"/worlds/{sandbox.world}/switches", {name: value})
    assert answer.status == 200, answer.body


def block_terminal(sandbox: InProcess, name: str) -> None:
    shown(ask(sandbox, "POST", f"/v2/terminals/{terminal_id(sandbox, name)}/block"))


def block_location(sandbox: InProcess, name: str) -> None:
    shown(ask(sandbox, "POST", f"/v1/locations/{location_id(sandbox, name)}/block"))


def drop_location(sandbox: InProcess, name: str) -> None:
    path = f"/v1/locations/{location_id(sandbox, name)}"
    answer = ask(sandbox, "DELETE", path)
    assert answer.status == 204, answer.body


def set_rates(sandbox: InProcess, kind: str, name: str, **rates: Any) -> None:
    """Rates of a location, terminal or account of the cast."""
    paths = {
        "location": f"/v1/locations/{location_id(sandbox, name)}",
        "terminal": f"/v2/terminals/{terminal_id(sandbox, name)}",
        "account": f"/v1/accounts/{sandbox.account(name)}",
    }
    shown(ask(sandbox, "PUT", paths[kind], rates))


# --- batches ----------------------------------------------------------------------------------


def batch(sandbox: InProcess, id: str, *, members: bool = False) -> dict[str, Any]:
    query = "include_transactions=true" if members else ""
    return shown(ask(sandbox, "GET", f"/v1/batches/{id}", query=query))


def batches(sandbox: InProcess, *, by: str = "partner") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shown(
        ask(sandbox, "GET", "/v1/batches", by=by, query="limit=500")
    )["batches"]
    return found


def open_batch(sandbox: InProcess, at: str = "merchant") -> Response:
    return ask(sandbox, "POST", "/v1/batches/open", {"terminal_id": terminal_id(sandbox, at)})


def edit_batch(sandbox: InProcess, id: str, **body: Any) -> Response:
    return ask(sandbox, "PUT", f"/v1/batches/{id}/edit", body)


def close_batch(sandbox: InProcess, id: str) -> Response:
    return ask(sandbox, "POST", f"/v1/batches/{id}/close")


# --- payments in every state ------------------------------------------------------------------


def _submitted(sandbox: InProcess) -> dict[str, Any]:
    set_switch(sandbox, "batch.settlement", "manual")
    return _closed(sandbox, 1000)


def _closed(sandbox: InProcess, amount: int) -> dict[str, Any]:
    sale = paid(sandbox, amount)
    shown(close_batch(sandbox, sale["batch_id"]))
    return sale


def _after(sandbox: InProcess, sale: dict[str, Any], operation: str, body: Any = None) -> Any:
    return acted(sandbox, sale["transaction_id"], operation, body)


_ARRANGED = {
    "pending": lambda sandbox: paid(sandbox, at="passthrough_merchant"),
    "pending, kept": lambda sandbox: paid(sandbox, force="pending_forever"),
    "surcharge_pending": lambda sandbox: paid(sandbox, at="surcharge_merchant"),
    "authorized": lambda sandbox: paid(sandbox, preauth=True),
    "authorized, 300 reversed": lambda sandbox: _after(
        sandbox, paid(sandbox, preauth=True), "reverse", {"amount": 300}
    ),
    "captured": paid,
    "captured, 300 refunded": lambda sandbox: _after(
        sandbox, paid(sandbox), "refund", {"amount": 300}
    ),
    "captured, 300 reversed": lambda sandbox: _after(
        sandbox, paid(sandbox), "reverse", {"amount": 300}
    ),
    "captured, batch submitted": _submitted,
    # 900402 has its whole batch rejected: assumed 6.2-settlement.
    "captured, batch rejected": lambda sandbox: _closed(sandbox, 900_402),
    "settled": lambda sandbox: _closed(sandbox, 1000),
    "settled, 300 refunded": lambda sandbox: _after(
        sandbox, _closed(sandbox, 1000), "refund", {"amount": 300}
    ),
    "refunded": lambda sandbox: _after(sandbox, paid(sandbox), "refund"),
    "reversed": lambda sandbox: _after(sandbox, paid(sandbox, preauth=True), "reverse"),
    "reversed after capture": lambda sandbox: _after(sandbox, paid(sandbox), "reverse"),
    "declined": lambda sandbox: paid(sandbox, force="do_not_honor"),
    "error": lambda sandbox: paid(sandbox, force="processor_timeout"),
    "canceled": lambda sandbox: paid(sandbox, force="user_canceled"),
}


def in_state(sandbox: InProcess, state: str) -> dict[str, Any]:
    """A payment of 1000 (captured in a rejected batch: 900402) in this state, as it is kept.

    The part before a comma, or "reversed" or "pending" alone, is its status.
    """
    made = _ARRANGED[state](sandbox)
    return read(sandbox, made["transaction_id"])


# --- what happened ----------------------------------------------------------------------------


def messages_since(sandbox: InProcess, number: int) -> list[dict[str, Any]]:
    """The messages after so many, oldest first."""
    path = f"/worlds/{sandbox.world}/messages"
    answer = sandbox.control("GET", path, query=f"offset={number}")
    found: list[dict[str, Any]] = shown(answer)["messages"]
    return found


def message_count(sandbox: InProcess) -> int:
    path = f"/worlds/{sandbox.world}/messages"
    total: int = shown(sandbox.control("GET", path, query="limit=1"))["total"]
    return total


def kind(transaction: dict[str, Any]) -> str:
    """Type, status and reason in one word: `sale/captured/approved`."""
    names = ("transaction_type", "status", "status_reason")
    return "/".join(transaction[name] for name in names)


def ledger(transaction: dict[str, Any]) -> tuple[int, int, int, int]:
    """Authorized, captured, refunded, reversed: assumed 2.2."""
    details = transaction["additional_details"]
    return (
        details["authorized_amount"],
        details["captured_amount"],
        transaction["refunded"],
        transaction["reversed"],
    )


def parts(transaction: dict[str, Any]) -> tuple[int, int, int, int, int]:
    """Subtotal, tax, tip, surcharge, total."""
    names = ("subtotal", "tax_amount", "tip_amount", "surcharge_amount", "total_amount")
    subtotal, tax, tip, surcharge, total = (transaction[name] for name in names)
    return subtotal, tax, tip, surcharge, total


def rows_taken(sandbox: InProcess, answer: Response) -> set[str]:
    """The clauses that the journal gives for the rule or the change of an answer."""
    decisions = sandbox.journal(answer)["decisions"]
    return {one["clause"] for one in decisions if one["step"] in ("rule", "apply")}
