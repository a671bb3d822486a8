"""How tests take payments, act on them and look at them. All of it through the API."""

from typing import Any

from sandbox.domain.payments.transactions import Payment
from tests.in_process import Response
from tests.support.directory import DirectoryCaller

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

ACTIONS = tuple(OPERATIONS)[len(INITIATIONS) :]
"""Those on a payment that is there."""

EVENTS = {name: f"transaction.{name}" for name in OPERATIONS} | {
    "auth": "transaction.authorize",
    "incremental_auth": "transaction.increment",
    "confirm": "transaction.sale",
}
"""The event that each of them fires: spec 6.3."""

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

Transaction = dict[str, Any]


class PaymentCaller(DirectoryCaller):
    """Takes payments and acts on them.

    The partner of the cast asks unless `by` names another key, and `outcome` is forced. Participles
    (`paid`, `acted`, `settled`) give the transaction or the batch, once the answer was a success.
    """

    # --- payments -----------------------------------------------------------------------------

    def pay(
        self,
        amount: Any = 1000,
        *,
        at: str = "merchant",
        operation: str = "sale",
        card: str | None = None,
        by: str = "partner",
        outcome: str | None = None,
        **more: Any,
    ) -> Response:
        """A sale or an authorization at the terminal of a merchant of the cast, or with this id.

        It is at no terminal if `more` names a location or an account. `card` is a test card's
        token.
        """
        body = {"amount": amount, **more}
        if not {"terminal_id", "location_id", "account_id"} & set(more):
            body["terminal_id"] = at if len(at) == 36 else self.terminal_id(at)
        if card is not None:
            body["card_reader_data"] = {"paymentCardData": card}
        return self.post(INITIATIONS[operation], body, by=by, outcome=outcome)

    def paid(self, amount: int = 1000, **more: Any) -> Transaction:
        return self.pay(amount, **more).expect(200)

    def paid_id(self, amount: int = 1000, **more: Any) -> str:
        """The id of a payment that was taken."""
        return str(self.paid(amount, **more)["transaction_id"])

    def sold(self, amount: int = 1000, **more: Any) -> Transaction:
        """A sale that was captured."""
        tx = self.paid(amount, **more)
        assert tx["status"] == "captured", tx["status_reason"]
        return tx

    def held(self, amount: int = 1000, **more: Any) -> Transaction:
        """A preauthorization that was approved."""
        tx = self.paid(amount, operation="auth", **more)
        assert tx["status"] == "authorized", tx["status_reason"]
        return tx

    def prompted(self, amount: int = 1000, **more: Any) -> Transaction:
        """A sale that waits for the cardholder's answer to a surcharge."""
        tx = self.paid(amount, outcome="surcharge_prompt", **more)
        assert tx["status"] == "surcharge_pending"
        return tx

    def in_state(self, state: str) -> Transaction:
        """A payment of 1000 (captured in a rejected batch: 900402) in this state, as it is kept.

        The part before a comma, or "reversed" or "pending" alone, is its status.
        """
        tx = self.paid(**_BEGUN.get(state, {}))
        if state == "captured, batch submitted":
            self.set_switch("batch.settlement", "manual")
        if "batch" in state or "settled" in state:
            self.close_batch(tx["batch_id"]).expect(200)
        for word, operation in (("refunded", "refund"), ("reversed", "reverse")):
            if word in state:
                self.acted(tx, operation, amount=300 if "300" in state else None)
        return self.read(tx)

    # --- actions on them ----------------------------------------------------------------------

    def act(
        self,
        tx: Transaction | str,
        operation: str,
        *,
        by: str = "partner",
        outcome: str | None = None,
        version: str = "",
        **body: Any,
    ) -> Response:
        """A follow-up operation, one of PATHS; `version` is that of another path to the same."""
        return self.post(path_of(_id_of(tx), operation, version), body, by=by, outcome=outcome)

    def acted(self, tx: Transaction | str, operation: str, **more: Any) -> Transaction:
        return self.act(tx, operation, **more).expect(200)

    def ready_for(self, operation: str, amount: int = 1000, **more: Any) -> str:
        """The id of a payment on which an operation of OPERATIONS is possible."""
        if operation in ("incremental_auth", "capture"):
            return self.paid_id(amount, operation="auth", **more)
        at = "surcharge_merchant" if operation == "confirm" else "merchant"
        return self.paid_id(amount, at=at, **more)

    def operate(
        self, id: str, operation: str, *, outcome: str | None = None, **more: Any
    ) -> Response:
        """One follow-up operation of OPERATIONS, with the least that it needs."""
        name, body = OPERATIONS[operation]
        return self.act(id, name, outcome=outcome, version="v3", **(body | more))

    def edited(self, id: str, **body: Any) -> Transaction:
        """The passthrough transaction, once its outcome was told: spec 4.3-search-edit."""
        return self.put(f"/v1/transactions/{id}", body).expect(200)

    def answer_payment(self, tx: Transaction | str, **body: Any) -> Response:
        """Have the processor answer an attempt that timed out: assumed D24-late."""
        return self.manage("POST", f"/payments/{_id_of(tx)}/answer", body)

    # --- how they are kept --------------------------------------------------------------------

    def read(self, tx: Transaction | str, *, by: str = "partner") -> Transaction:
        """The transaction as it is kept."""
        return self.get(f"/v1/transactions/{_id_of(tx)}", by=by).expect(200)

    def record_of(self, id: str) -> Payment:
        """The stored record itself, for what only the domain can be asked."""
        record = self.get_world().store.begin().get(Payment, id)
        assert record is not None
        return record

    def search(self, query: str = "", *, by: str = "psp") -> dict[str, Any]:
        """A page of GET /v2/transactions."""
        return self.get("/v2/transactions", by=by, query=query).expect(200)

    def found(self, query: str = "", *, by: str = "psp") -> list[str]:
        """The ids of a page of the search, as they come."""
        return [tx["transaction_id"] for tx in self.search(query, by=by)["transactions"]]

    def all_transactions(self) -> int:
        """How many payments there are."""
        total: int = self.search(by="partner")["total"]
        return total

    # --- batches ------------------------------------------------------------------------------

    def batch(self, id: str, *, members: bool = False) -> dict[str, Any]:
        query = "include_transactions=true" if members else ""
        return self.get(f"/v1/batches/{id}", by="psp", query=query).expect(200)

    def batches(self, *, by: str = "partner") -> list[dict[str, Any]]:
        answer = self.get("/v1/batches", by=by, query="limit=500")
        found: list[dict[str, Any]] = answer.expect(200)["batches"]
        return found

    def sums(self, id: str) -> tuple[int, int, int]:
        """captured_amount, refunded_amount, transaction_count."""
        seen = self.batch(id)
        return seen["captured_amount"], seen["refunded_amount"], seen["transaction_count"]

    def open_batch(self, at: str = "merchant", *, by: str = "partner", **more: Any) -> Response:
        place = at if len(at) == 36 else self.terminal_id(at)
        return self.post("/v1/batches/open", {"terminal_id": place, **more}, by=by)

    def opened_batch(self, **more: Any) -> dict[str, Any]:
        return self.open_batch(**more).expect(201)

    def edit_batch(self, id: str, *, by: str = "partner", **body: Any) -> Response:
        return self.put(f"/v1/batches/{id}/edit", body, by=by)

    def close_batch(self, id: str, *, by: str = "partner") -> Response:
        return self.post(f"/v1/batches/{id}/close", by=by)

    def answer_batch(self, id: str, answer: str, **more: Any) -> Response:
        """Have the processor answer a batch that was submitted."""
        return self.manage("POST", f"/batches/{id}/answer", {"answer": answer} | more)

    def settled(self, id: str, *, by: str = "partner") -> dict[str, Any]:
        """The batch once it was closed and has whatever result it gets."""
        assert self.close_batch(id, by=by).expect(200)["status"] == "submitted"
        return self.batch(id)


def path_of(id: str, operation: str, version: str = "") -> str:
    path = PATHS[operation].format(id=id)
    return f"/{version}{path[3:]}" if version else path


def _id_of(tx: Transaction | str) -> str:
    return tx if isinstance(tx, str) else str(tx["transaction_id"])


# --- what a transaction says ------------------------------------------------------------------


def kind(transaction: Transaction) -> str:
    """Type, status and reason in one word: `sale/captured/approved`."""
    names = ("transaction_type", "status", "status_reason")
    return "/".join(transaction[name] for name in names)


def ledger(transaction: Transaction) -> tuple[int, ...]:
    """Authorized, captured, refunded, reversed: assumed 2.2."""
    names = ("authorized_amount", "captured_amount")
    held = (transaction["additional_details"][name] for name in names)
    return *held, transaction["refunded"], transaction["reversed"]


def parts(transaction: Transaction) -> tuple[int, ...]:
    """Subtotal, tax, tip, surcharge, total."""
    names = ("subtotal", "tax_amount", "tip_amount", "surcharge_amount", "total_amount")
    return tuple(transaction[name] for name in names)
