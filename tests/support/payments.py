"""How tests take payments, act on them and look at them. All of it through the API.

The partner of the cast asks unless `by` names another key, and `outcome` is what the header of the
request forces: assumed 6.3.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

from sandbox.domain.events import Message
from sandbox.domain.payments.transactions import Payment
from sandbox.store.store import UnitOfWork
from sandbox.worlds.world import World
from tests.directory.making import (
    account_id,
    detail,
    location_id,
    made,
    messages,
    shown,
    terminal_id,
)
from tests.driving import InProcess, Response, fresh

INITIATIONS = {"sale": "/v3/payment", "auth": "/v3/preauth"}

PATHS = {
    "capture": "/v3/payments/{id}/capture",
    "increment": "/v3/payments/{id}/auth",
    "adjust": "/v1/payments/{id}/adjust",
    "reverse": "/v1/payments/{id}/reverse",
    "refund": "/v1/payments/{id}/refund",
    "confirm": "/v1/payments/{id}/confirm",
}
"""The follow-up operations and where they are served: assumed 1.8."""

OPERATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: ("", {}) for name in INITIATIONS},
    "incremental_auth": ("increment", {"amount": 500}),
    "capture": ("capture", {}),
    "tip_adjust": ("adjust", {"type": "fixed", "amount": 200}),
    "refund": ("refund", {}),
    "reverse": ("reverse", {}),
    "confirm": ("confirm", {"confirm": True}),
}
"""Operations as outcomes name them: the follow-up operation, and the least body that it needs."""

EVENTS = {name: f"transaction.{name}" for name in OPERATIONS} | {
    "auth": "transaction.authorize",
    "incremental_auth": "transaction.increment",
    "confirm": "transaction.sale",
}
"""The event that each of them fires: spec 6.3."""


def fresh_sandbox() -> InProcess:
    """A sandbox like that of the fixture, for tests that need many in one."""
    return fresh()


# --- requests ---------------------------------------------------------------------------------


def ask(
    sandbox: InProcess,
    method: str,
    path: str,
    body: Any = ...,
    *,
    by: str = "partner",
    outcome: str | None = None,
    query: str = "",
) -> Response:
    """One request."""
    return _forcing(sandbox, outcome).ask(method, path, key=by, json_body=body, query=query)


def _forcing(sandbox: InProcess, outcome: str | None) -> InProcess:
    """The sandbox, asked with the header that forces an outcome."""
    if outcome is not None:
        sandbox = copy(sandbox)
        sandbox.defaults = sandbox.defaults | {"x-sandbox-outcome": outcome}
    return sandbox


async def ask_on_loop(
    sandbox: InProcess,
    method: str,
    path: str,
    body: Any = None,
    *,
    by: str = "partner",
    outcome: str | None = None,
) -> Response:
    """One request that may wait while others are served."""
    sent = ... if body is None else body
    exchange = _forcing(sandbox, outcome).exchange(method, path, key=by, json_body=sent)
    return await exchange.run(sandbox.sandbox.app)


def world_of(sandbox: InProcess) -> World:
    """The world itself, for what no request can ask."""
    found = sandbox.sandbox.worlds.get(sandbox.world)
    assert found is not None
    return found


async def turns(count: int = 20) -> None:
    """Lets whatever can go on, go on, so many times."""
    for _ in range(count):
        await asyncio.sleep(0)


# --- payments ---------------------------------------------------------------------------------


def pay(
    sandbox: InProcess,
    amount: Any = 1000,
    *,
    at: str = "merchant",
    operation: str = "sale",
    card: str | None = None,
    by: str = "partner",
    outcome: str | None = None,
    **more: Any,
) -> Response:
    """A sale or an authorization at the terminal of a merchant of the cast, or at one with this id.

    It is at no terminal if `more` names a location or an account. `card` is a test card's token.
    """
    body = {"amount": amount, **more}
    if not {"terminal_id", "location_id", "account_id"} & set(more):
        body["terminal_id"] = at if len(at) == 36 else terminal_id(sandbox, at)
    if card is not None:
        body["card_reader_data"] = {"paymentCardData": card}
    return ask(sandbox, "POST", INITIATIONS[operation], body, by=by, outcome=outcome)


def paid(sandbox: InProcess, amount: int = 1000, **more: Any) -> dict[str, Any]:
    """The transaction that `pay` answers with."""
    return shown(pay(sandbox, amount, **more))


def paid_id(sandbox: InProcess, amount: int = 1000, **more: Any) -> str:
    """The id of a payment that was taken."""
    return str(paid(sandbox, amount, **more)["transaction_id"])


def sold(sandbox: InProcess, amount: int = 1000, **more: Any) -> dict[str, Any]:
    """A sale that was captured."""
    tx = paid(sandbox, amount, **more)
    assert tx["status"] == "captured", tx["status_reason"]
    return tx


def held(sandbox: InProcess, amount: int = 1000, **more: Any) -> dict[str, Any]:
    """A preauthorization that was approved."""
    tx = paid(sandbox, amount, operation="auth", **more)
    assert tx["status"] == "authorized", tx["status_reason"]
    return tx


def prompted(sandbox: InProcess, amount: int = 1000, **more: Any) -> dict[str, Any]:
    """A sale that waits for the cardholder's answer to a surcharge."""
    tx = paid(sandbox, amount, outcome="surcharge_prompt", **more)
    assert tx["status"] == "surcharge_pending"
    return tx


def act(
    sandbox: InProcess,
    tx: dict[str, Any] | str,
    operation: str,
    *,
    by: str = "partner",
    outcome: str | None = None,
    version: str = "",
    **body: Any,
) -> Response:
    """A follow-up operation, one of PATHS; `version` is that of another path to the same."""
    path = path_of(_id_of(tx), operation, version)
    return ask(sandbox, "POST", path, body, by=by, outcome=outcome)


def path_of(id: str, operation: str, version: str = "") -> str:
    path = PATHS[operation].format(id=id)
    return f"/{version}{path[3:]}" if version else path


def acted(
    sandbox: InProcess, tx: dict[str, Any] | str, operation: str, **more: Any
) -> dict[str, Any]:
    """The transaction that `act` answers with."""
    return shown(act(sandbox, tx, operation, **more))


def edited(sandbox: InProcess, id: str, **body: Any) -> dict[str, Any]:
    """The passthrough transaction after its processor's outcome was told: spec 4.3-search-edit."""
    return shown(ask(sandbox, "PUT", f"/v1/transactions/{id}", body))


def read(sandbox: InProcess, tx: dict[str, Any] | str, *, by: str = "partner") -> dict[str, Any]:
    """The transaction as it is kept."""
    return shown(ask(sandbox, "GET", f"/v1/transactions/{_id_of(tx)}", by=by))


def _id_of(tx: dict[str, Any] | str) -> str:
    return tx if isinstance(tx, str) else str(tx["transaction_id"])


def record_of(sandbox: InProcess, id: str) -> Payment:
    """The stored record itself, for what only the domain can be asked."""
    record = world_of(sandbox).store.begin().get(Payment, id)
    assert record is not None
    return record


def search(sandbox: InProcess, query: str = "", *, by: str = "psp") -> dict[str, Any]:
    """A page of GET /v2/transactions."""
    return shown(ask(sandbox, "GET", "/v2/transactions", by=by, query=query))


def found(sandbox: InProcess, query: str = "", *, by: str = "psp") -> list[str]:
    """The ids of a page of the search, as they come."""
    return [tx["transaction_id"] for tx in search(sandbox, query, by=by)["transactions"]]


def all_transactions(sandbox: InProcess) -> int:
    """How many payments there are."""
    total: int = search(sandbox, by="partner")["total"]
    return total


# --- operations as outcomes name them ---------------------------------------------------------


def ready_for(sandbox: InProcess, operation: str, amount: int = 1000, **more: Any) -> str:
    """The id of a payment on which the operation is possible."""
    if operation in ("incremental_auth", "capture"):
        return paid_id(sandbox, amount, operation="auth", **more)
    at = "surcharge_merchant" if operation == "confirm" else "merchant"
    return paid_id(sandbox, amount, at=at, **more)


def operate(
    sandbox: InProcess, id: str, operation: str, *, outcome: str | None = None, **more: Any
) -> Response:
    """One follow-up operation of OPERATIONS, with the least that it needs."""
    name, body = OPERATIONS[operation]
    return act(sandbox, id, name, outcome=outcome, version="v3", **(body | more))


# --- the world --------------------------------------------------------------------------------


def set_switch(sandbox: InProcess, name: str, value: Any) -> None:
    shown(sandbox.control("PUT", f"/worlds/{sandbox.world}/switches", {name: value}))


_RECORDS = {
    "account": ("/v1/accounts", account_id),
    "terminal": ("/v2/terminals", terminal_id),
    "location": ("/v1/locations", location_id),
}


def _record(sandbox: InProcess, kind: str, name: str) -> str:
    """The path of an account, a terminal or a location of the cast."""
    path, id_of = _RECORDS[kind]
    return f"{path}/{id_of(sandbox, name)}"


def set_status(sandbox: InProcess, kind: str, name: str, status: str = "blocked") -> None:
    shown(ask(sandbox, "PUT", _record(sandbox, kind, name), {"status": status}, by="psp"))


def drop(sandbox: InProcess, kind: str, name: str) -> None:
    answer = ask(sandbox, "DELETE", _record(sandbox, kind, name))
    assert answer.status == 204, answer.body


def set_rates(sandbox: InProcess, kind: str, name: str, **rates: Any) -> None:
    shown(ask(sandbox, "PUT", _record(sandbox, kind, name), rates))


# --- batches ----------------------------------------------------------------------------------


def batch(sandbox: InProcess, id: str, *, members: bool = False) -> dict[str, Any]:
    query = "include_transactions=true" if members else ""
    return shown(ask(sandbox, "GET", f"/v1/batches/{id}", by="psp", query=query))


def batches(sandbox: InProcess, *, by: str = "partner") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shown(
        ask(sandbox, "GET", "/v1/batches", by=by, query="limit=500")
    )["batches"]
    return found


def sums(sandbox: InProcess, id: str) -> tuple[int, int, int]:
    """captured_amount, refunded_amount, transaction_count."""
    seen = batch(sandbox, id)
    return seen["captured_amount"], seen["refunded_amount"], seen["transaction_count"]


def open_batch(
    sandbox: InProcess, at: str = "merchant", *, by: str = "partner", **more: Any
) -> Response:
    place = at if len(at) == 36 else terminal_id(sandbox, at)
    return ask(sandbox, "POST", "/v1/batches/open", {"terminal_id": place, **more}, by=by)


def opened_batch(sandbox: InProcess, **more: Any) -> dict[str, Any]:
    """The batch that `open_batch` answers with."""
    return made(open_batch(sandbox, **more))


def edit_batch(sandbox: InProcess, id: str, *, by: str = "partner", **body: Any) -> Response:
    return ask(sandbox, "PUT", f"/v1/batches/{id}/edit", body, by=by)


def close_batch(sandbox: InProcess, id: str, *, by: str = "partner") -> Response:
    return ask(sandbox, "POST", f"/v1/batches/{id}/close", by=by)


def settled(sandbox: InProcess, id: str, *, by: str = "partner") -> dict[str, Any]:
    """The batch once it was closed and has whatever result it gets."""
    assert shown(close_batch(sandbox, id, by=by))["status"] == "submitted"
    return batch(sandbox, id)


# --- payments in every state ------------------------------------------------------------------


_BEGUN: dict[str, dict[str, Any]] = {
    "pending": {"at": "passthrough_merchant"},
    "pending, kept": {"outcome": "pending_forever"},
    "surcharge_pending": {"at": "surcharge_merchant"},
    "authorized": {"operation": "auth"},
    "authorized, 300 reversed": {"operation": "auth"},
    # Its whole batch is rejected: assumed 6.2-settlement.
    "captured, batch rejected": {"amount": 900_402},
    "reversed": {"operation": "auth"},
    "declined": {"outcome": "do_not_honor"},
    "error": {"outcome": "processor_timeout"},
    "canceled": {"outcome": "user_canceled"},
}
"""How the payment in a state began, if not as a sale of 1000."""


def in_state(sandbox: InProcess, state: str) -> dict[str, Any]:
    """A payment of 1000 (captured in a rejected batch: 900402) in this state, as it is kept.

    The part before a comma, or "reversed" or "pending" alone, is its status.
    """
    tx = paid(sandbox, **_BEGUN.get(state, {}))
    if state == "captured, batch submitted":
        set_switch(sandbox, "batch.settlement", "manual")
    if "batch" in state or "settled" in state:
        shown(close_batch(sandbox, tx["batch_id"]))
    for word, operation in (("refunded", "refund"), ("reversed", "reverse")):
        if word in state:
            acted(sandbox, tx, operation, amount=300 if "300" in state else None)
    return read(sandbox, tx)


# --- what happened ----------------------------------------------------------------------------


def messages_since(sandbox: InProcess, number: int) -> list[dict[str, Any]]:
    """The messages after so many, oldest first."""
    return messages(sandbox, offset=str(number))


def announced_and_kept(
    sandbox: InProcess,
) -> tuple[list[Message], Callable[[], list[Message]]]:
    """What is announced from now on, and what gives the same from the store."""
    world = world_of(sandbox)
    before, announced = len(world.store.messages()), list[Message]()
    tell = world.store.on_commit
    assert tell is not None

    def note(unit: UnitOfWork) -> None:
        announced.extend(unit.emitted)
        tell(unit)

    world.store.on_commit = note

    def kept() -> list[Message]:
        return list(world.store.messages()[before:])

    return announced, kept


def message_count(sandbox: InProcess) -> int:
    total: int = sandbox.look("messages", limit=1)["total"]
    return total


def advance(sandbox: InProcess, by: str) -> list[tuple[str, str, str]]:
    """Let the time pass; what happened on the way: (at, kind, subject)."""
    answer = sandbox.control("POST", f"/worlds/{sandbox.world}/clock/advance", {"by": by})
    return [(one["at"], one["kind"], one["subject"]) for one in shown(answer)["fired"]]


def events_of(sandbox: InProcess, answer: Response) -> list[dict[str, Any]]:
    """What the request announced, in order: each with its event_type and body."""
    request_id = answer.headers["x-sandbox-request-id"]
    query = {"limit": "200"}
    return [one for one in messages(sandbox, **query) if one["request_id"] == request_id]


def event_types(sandbox: InProcess, answer: Response) -> list[str]:
    return [one["event_type"] for one in events_of(sandbox, answer)]


def fired(sandbox: InProcess, since: int = 0) -> list[str]:
    """The types of the events so far, without the first `since` of them."""
    return [message["event_type"] for message in messages(sandbox)[since:]]


def kind(transaction: dict[str, Any]) -> str:
    """Type, status and reason in one word: `sale/captured/approved`."""
    names = ("transaction_type", "status", "status_reason")
    return "/".join(transaction[name] for name in names)


def ledger(transaction: dict[str, Any]) -> tuple[int, ...]:
    """Authorized, captured, refunded, reversed: assumed 2.2."""
    names = ("authorized_amount", "captured_amount")
    held = (transaction["additional_details"][name] for name in names)
    return *held, transaction["refunded"], transaction["reversed"]


def parts(transaction: dict[str, Any]) -> tuple[int, ...]:
    """Subtotal, tax, tip, surcharge, total."""
    names = ("subtotal", "tax_amount", "tip_amount", "surcharge_amount", "total_amount")
    return tuple(transaction[name] for name in names)


def rows_taken(sandbox: InProcess, answer: Response) -> set[str]:
    """The clauses that the journal gives for the rule or the change of an answer."""
    decisions = sandbox.journal(answer)["decisions"]
    return {one["clause"] for one in decisions if one["step"] in ("rule", "apply")}


@contextlib.contextmanager
def unchanged(sandbox: InProcess) -> Iterator[None]:
    """What is asked for in the block changes no record and announces nothing."""
    before = sandbox.state()
    yield
    assert sandbox.state() == before


def error(answer: Response) -> tuple[int, str]:
    """Status and code of a refusal."""
    return answer.status, answer.json()["error"]


def chosen(answer: Response) -> str | None:
    """What the answer says of its outcome."""
    return answer.headers.get("x-sandbox-outcome")


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
    assert last["clause"].startswith(clause), last
    return said
