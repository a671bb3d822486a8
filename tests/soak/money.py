"""A walk through payments of several merchants, with all the money looked at after every step.

`Books` says what must hold.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from sandbox.domain.batches import REASONS
from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.outcomes import OUTCOMES, TRANSPORT_FAULTS
from sandbox.domain.switches import SWITCHES
from tests.directory.making import terminal_id
from tests.payments.driving_money import kept
from tests.soak.books import Books, Transaction
from tests.soak.client import Client, in_process
from tests.soak.making import AMOUNTS
from tests.soak.rounds import Round
from tests.support import payments
from tests.support.payments import PATHS, ledger

STEPS = 60
PAYMENTS_MAX = 30
MERCHANTS = (
    *("merchant", "merchant", "second_merchant", "surcharge_merchant", "quiet_surcharge_merchant"),
    *("tax_merchant", "passthrough_merchant", "passthrough_merchant"),
)
SCENARIOS = (
    *("batch_partially_accepted", "batch_rejected_then_accepted", "capture_above_authorization"),
    *("declines_by_reason", "incremental_auth_declined", "late_answer", "network_outage"),
    *("partial_approval_with_second_tender", "processor_timeout", "refund_declined"),
    *("response_lost", "server_errors", "slow_processor", "slow_tap", "surcharge_expired"),
    *("terminal_blocked_meanwhile", "tip_adjusted_after_capture", "approve_all"),
)
DURATIONS = ("1s", "30s", "6m", "1h", "1d", "5d", "8d", "31d")
SWITCHED = [name for name in SWITCHES if name != "strict_headers"]
LATENCIES = (0, 0, 1)
RELOADED = 0.1

REFUNDS_ARE_TOLD_BY_STATUS = True
"""An edit of a passthrough payment can raise `refunded` and leave the status as it is. No entry of
the history and no batch has such a refund, so M13 does not hold: these edits are left out."""

SENSIBLE = {
    "surcharge_pending": ["confirm"],
    "authorized": ["capture", "increment", "capture", "reverse"],
    "captured": ["refund", "adjust", "reverse", "refund"],
    "settled": ["refund"],
}
"""What can come of each status."""


def play(round: Round) -> None:
    """One walk from a fresh world."""
    with in_process(round, round.random, mode="frozen") as client:
        walk = Walk(client, round.dice("walk"))
        for _ in round.steps(STEPS):
            walk.go_on()


class Walk:
    """What is done to payments, batches and their world, step by step."""

    def __init__(self, client: Client, dice: Random) -> None:
        self._client, self._dice = client, dice
        self._books = Books(client, dice)
        self._saved: list[tuple[bytes, Any]] = []
        self._steps: list[tuple[int, Callable[[], Any]]] = [
            (10, self._begin),
            (26, self._act),
            (5, self._edit),
            (3, self._tap),
            (2, self._open_batch),
            (5, self._edit_batch),
            (5, self._close_batch),
            (4, self._answer_batch),
            (3, self._switch),
            (2, self._queue),
            (2, self._script),
            (3, self._advance),
            (2, self._change_place),
            (2, self._save),
            (2, self._load),
        ]

    def go_on(self) -> None:
        """One step, and a look at everything."""
        weights = [weight for weight, _ in self._steps]
        step = self._dice.choices(self._steps, weights)[0][1]
        step()

    # --- payments

    def _begin(self) -> None:
        if len(self._books.payments) >= PAYMENTS_MAX:
            return self._act()
        dice, more = self._dice, {}
        amount = dice.choice([dice.choice(AMOUNTS), dice.randint(1, 9_000)])
        if dice.random() < 0.4:
            more["breakdown"] = self._parts_of(amount)
        if dice.random() < 0.15:
            more["event_id"] = dice.choice(["once", "twice", *self._event_ids()])
        answer = payments.pay(
            self._client,
            amount,
            at=dice.choice(MERCHANTS),
            operation="auth" if dice.random() < 0.4 else "sale",
            card=dice.choice([None, None, *CARDS]),
            outcome=self._forced(),
            **more,
        )
        self._books.sweep(of=None, answer=answer)
        return None

    def _parts_of(self, amount: int) -> dict[str, Any]:
        dice = self._dice
        tip, tax = dice.choice([0, 1, 100, 250]), dice.choice([0, 1, 80])
        surcharge = dice.choice([None, None, None, {"amount": dice.randint(1, 300)}])
        stated = surcharge["amount"] if surcharge else 0
        subtotal = max(1, amount - tip - tax - stated)
        return {"subtotal": subtotal, "tipAmount": tip, "taxAmount": tax, "surcharge": surcharge}

    def _event_ids(self) -> list[str]:
        return [one["event_id"] for tx in self._books.payments.values() for one in tx["history"]][
            -20:
        ]

    def _forced(self) -> str | None:
        chance = self._dice.random()
        if chance < 0.25:
            return self._dice.choice(list(OUTCOMES))
        return self._dice.choice(list(TRANSPORT_FAULTS)) if chance < 0.3 else None

    def _act(self) -> None:
        if not self._books.payments:
            return self._begin()
        dice = self._dice
        tx = dice.choice(list(self._books.payments.values())[-12:])
        sensible = SENSIBLE.get(tx["status"]) if dice.random() < 0.8 else None
        operation = dice.choice(sensible or list(PATHS))
        body = self._body_for(tx, operation)
        if dice.random() < 0.1:
            body["event_id"] = dice.choice(["once", *self._event_ids()])
        force = self._forced() if dice.random() < 0.4 else None
        answer = payments.act(self._client, tx["transaction_id"], operation, **body, outcome=force)
        self._books.sweep(of=tx["transaction_id"], answer=answer)
        return None

    def _body_for(self, tx: Transaction, operation: str) -> dict[str, Any]:
        dice = self._dice
        authorized, _, refunded, _ = ledger(tx)
        there = (kept(tx) - refunded) or authorized or tx["total_amount"]
        amount = dice.choice(
            [None, there, there + 1, max(1, there // 3), max(1, there // 3), dice.randint(1, 5_000)]
        )
        if operation == "adjust":
            if dice.random() < 0.5:
                return {"type": "percentage", "percentage": dice.choice([0, 15, 18.5, 100, 130])}
            return {"type": "fixed", "amount": dice.choice([0, 1, 100, there, there * 3])}
        if operation == "confirm":
            return {"confirm": dice.random() < 0.8}
        body: dict[str, Any] = {"amount": amount}
        if operation == "increment":
            body["amount"] = amount or dice.randint(1, 1_000)
        if operation in ("increment", "capture") and dice.random() < 0.2:
            body["breakdown"] = self._parts_of(body["amount"] or there)
        if operation == "capture" and dice.random() < 0.3:
            body["tip_amount"] = dice.choice([0, 50, there // 5, there])
        return body

    def _edit(self) -> None:
        """Tell the outcome of a passthrough payment, likely or not."""
        dice = self._dice
        edited = [one for one in self._books.payments.values() if one["processor"] == "passthrough"]
        if not edited:
            return self._begin()
        tx = dice.choice(edited)
        total = tx["total_amount"]
        some = dice.choice([0, 1, total // 2, total, total + 1])
        body: dict[str, Any] = {}
        if dice.random() < 0.8:
            body["status"] = dice.choice(
                ["authorized", "captured", "captured", "refunded", "reversed", "declined", "error"]
            )
        names = ["authorized_amount", "reversed"]
        if not REFUNDS_ARE_TOLD_BY_STATUS:
            names.append("refunded")
        for name in names:
            if dice.random() < 0.25:
                body[name] = some
        if body.get("status") == "refunded" and dice.random() < 0.8:
            body["refunded"] = total
        path = f"/v1/transactions/{tx['transaction_id']}"
        answer = payments.ask(self._client, "PUT", path, body)
        if answer.status == 200:
            self._books.edited.add(tx["transaction_id"])
        self._books.sweep(of=tx["transaction_id"], answer=answer)
        return None

    def _tap(self) -> None:
        if not self._client.waiting:
            return self._act()
        taps = self._client.control("GET", "/worlds/default/taps").json()["taps"]
        if taps:
            id = self._dice.choice(taps)["transaction_id"]
            body = self._dice.choice(
                [
                    {"card": self._dice.choice(list(CARDS))},
                    {"outcome": "do_not_honor"},
                    {"cancel": "user"},
                    {"card": "tok_visa_credit"},
                ]
            )
            self._client.control("POST", f"/worlds/default/taps/{id}", body)
        self._books.sweep()
        return None

    # --- batches

    def _open_batch(self) -> None:
        payments.open_batch(self._client, self._dice.choice(MERCHANTS))
        self._books.sweep()

    def _chosen(self, *statuses: str) -> str | None:
        fitting = [id for id, one in self._books.batches.items() if one["status"] in statuses]
        if self._dice.random() < 0.1:
            fitting = list(self._books.batches)
        return self._dice.choice(fitting) if fitting else None

    def _edit_batch(self) -> None:
        id = self._chosen("open", "rejected")
        if id is None:
            return self._open_batch()
        terminal = self._books.batches[id]["terminal_id"]
        known = list(self._books.payments.values())
        free = [one for one in known if (one["tid"], one["batch_id"]) == (terminal, None)]
        members = [one for one in known if one["batch_id"] == id]
        body = {
            "added_transactions": self._some_of(free or known),
            "removed_transactions": self._some_of(members),
        }
        payments.edit_batch(self._client, id, **body)
        self._books.sweep()
        return None

    def _some_of(self, payments: list[Transaction]) -> list[str]:
        count = min(len(payments), self._dice.choice([0, 1, 1, 2]))
        return [one["transaction_id"] for one in self._dice.sample(payments, count)]

    def _close_batch(self) -> None:
        id = self._chosen("open", "rejected")
        if id is None:
            return self._begin()
        payments.close_batch(self._client, id)
        self._books.sweep()
        return None

    def _answer_batch(self) -> None:
        id = self._chosen("submitted")
        if id is None:
            return self._close_batch()
        members = [one for one in self._books.payments.values() if one["batch_id"] == id]
        body = self._dice.choice(
            [
                {"answer": "accepted"},
                {"answer": "rejected", "reason": self._dice.choice(list(REASONS))},
                {"answer": "partially_accepted", "rejected": self._some_of(members)},
                {"answer": "partially_accepted", "rejected": 1},
            ]
        )
        self._client.control("POST", f"/worlds/default/batches/{id}/answer", body)
        self._books.sweep()
        return None

    # --- the world

    def _switch(self) -> None:
        name = self._dice.choice(SWITCHED)
        values = SWITCHES[name].values or LATENCIES
        value = self._dice.choice(list(values))
        payments.set_switch(self._client, name, value)
        self._books.may_show_parts |= value == "refunded"
        self._books.sweep()

    def _queue(self) -> None:
        body: dict[str, Any] = {"outcome": self._dice.choice(list(OUTCOMES))}
        if self._dice.random() < 0.3:
            body |= {"outcome": "partial_approval", "approved_amount": self._dice.randint(1, 900)}
        self._client.control("POST", "/worlds/default/scenario/next", body)
        self._books.sweep()

    def _script(self) -> None:
        if self._dice.random() < 0.3:
            self._client.control("DELETE", "/worlds/default/scenario")
        else:
            body = {"name": self._dice.choice(SCENARIOS)}
            self._client.control("PUT", "/worlds/default/scenario", body)
        self._books.sweep()

    def _advance(self) -> None:
        by = {"by": self._dice.choice(DURATIONS)}
        answer = self._client.control("POST", "/worlds/default/clock/advance", by)
        assert answer.status == 200, answer.body
        self._books.sweep()

    def _change_place(self) -> None:
        """Other rates from here on, or a terminal that is blocked for a while."""
        merchant = self._dice.choice(MERCHANTS)
        if self._dice.random() < 0.5:
            word = self._dice.choice(["block", "unblock", "unblock"])
            path = f"/v2/terminals/{terminal_id(self._client, merchant)}/{word}"
            payments.ask(self._client, "POST", path)
        else:
            path = f"/v2/terminals/{terminal_id(self._client, merchant)}"
            rates = {"tax_rate": self._dice.choice([0, 8.25]), "surcharge_rate": 3}
            payments.ask(self._client, "PUT", path, rates)
        self._books.sweep()

    def _save(self) -> None:
        document = self._client.control("GET", "/worlds/default/snapshot").body
        self._saved.append((document, self._books.copied()))

    def _load(self) -> None:
        """Go back to what was saved, or begin again; a reset leaves the switches."""
        if not self._saved or self._dice.random() < RELOADED:
            assert self._client.control("POST", "/worlds/default/reset").status == 200
            self._books.begin_anew()
        else:
            document, state = self._dice.choice(self._saved)
            answer = self._client.ask("PUT", "/_sandbox/worlds/default/snapshot", body=document)
            assert answer.status == 200, answer.body
            self._client.round.counts["loaded"] += 1
            self._books.go_back(state)
        self._books.sweep(is_exact=True)
