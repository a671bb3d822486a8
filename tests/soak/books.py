"""The books of a walk through payments: what was seen last, and what must hold of what is seen now.

What must hold are the invariants M1 to M13 (assumed 2.4), as the tests of payments have them; and
that an action changes its own payment alone.
"""

import copy
from collections import Counter
from random import Random
from typing import Any

from sandbox.domain.payments.edits import broken
from tests.driving import Response
from tests.payments.driving_money import (
    check_account,
    check_amounts,
    check_event_ids,
    check_it_is_untouched,
    check_it_only_grew,
    check_open_batches,
    check_payment,
    kept,
    refunds,
    shown_sums,
    sums_of,
)
from tests.soak.client import Client
from tests.soak.report import Found
from tests.support import payments
from tests.support.payments import record_of

UNAUTHORIZED = 401
"""A key that is lost while its payment waits leaves a payment without an answer (assumed D2)."""

UNSHAPED = 0.9
"""So many of the looks at everything are not held against the document, which takes long."""

Transaction = dict[str, Any]
Batch = dict[str, Any]


class Books:
    """Payments and batches as they were seen last, and what is known of them besides.

    `edited` are payments of which a processor's outcome was told; `may_show_parts` says whether
    the switch refund.partial_status may have had its other value so far.
    """

    def __init__(self, client: Client, dice: Random) -> None:
        self._client, self._dice = client, dice
        self.payments: dict[str, Transaction] = {}
        self.batches: dict[str, Batch] = {}
        self._given_back: dict[str, int] = {}
        self.edited: set[str] = set()
        self.may_show_parts = False

    def copied(self) -> tuple[Any, ...]:
        """All that is known, to go back to."""
        state = (self.payments, self.batches, self._given_back, self.edited, self.may_show_parts)
        return copy.deepcopy(state)

    def go_back(self, state: tuple[Any, ...]) -> None:
        """Know what was known then."""
        now = copy.deepcopy(state)
        self.payments, self.batches, self._given_back, self.edited, self.may_show_parts = now

    def begin_anew(self) -> None:
        """The world was reset, which leaves its switches."""
        self.go_back(({}, {}, {}, set(), self.may_show_parts))

    def sweep(
        self, *, of: Any = ..., answer: Response | None = None, is_exact: bool = False
    ) -> None:
        """Look at everything. With `of` no other payment may have changed, None being a new one;
        `is_exact` says that none has."""
        self._client.round.counts["swept"] += 1
        now, batches = self._read()
        if is_exact:
            assert now.keys() == self.payments.keys(), "payments came or went"
        for id, tx in self.payments.items():
            check_it_only_grew(tx, now[id])
            if _is_answered_meanwhile(tx, now[id]):
                continue
            if (is_exact or of is not ...) and id != of and tx != now[id]:
                raise Found(f"{id} changed too: {_changes(tx, now[id])}")
        if answer is not None and answer.status >= 400 and answer.status != UNAUTHORIZED:
            self._check_a_refusal(of, now)
        for id, tx in now.items():
            self._check(id, tx)
        check_event_ids(list(now.values()), ends_at_once=False)
        self._check_batches(now, batches)
        self.payments, self.batches = now, batches

    def _check_a_refusal(self, of: str | None, now: dict[str, Transaction]) -> None:
        """M9: what was refused began nothing, and changed nothing but a history."""
        if of is None:
            assert now.keys() == self.payments.keys(), "what was refused began a payment"
        elif not _is_answered_meanwhile(self.payments[of], now[of]):
            check_it_is_untouched(self.payments[of], now[of])

    def _read(self) -> tuple[dict[str, Transaction], dict[str, Batch]]:
        client = self._client
        client.ignores_shape = self._dice.random() < UNSHAPED
        try:
            page = payments.ask(client, "GET", "/v2/transactions", by="psp", query="limit=200")
            found = reversed(page.json()["transactions"])
            batches = reversed(payments.batches(client, by="psp"))
        finally:
            client.ignores_shape = False
        return (
            {one["transaction_id"]: one for one in found},
            {one["id"]: one for one in batches},
        )

    def _check(self, id: str, tx: Transaction) -> None:
        """M1 to M8, by what is shown and by the record."""
        if id in self.edited:
            check_amounts(tx)
        elif self.may_show_parts and tx["status"] == "refunded" and tx["refunded"] < kept(tx):
            # The switch refund.partial_status has a part of it show as refunded (assumed M6, Q1).
            check_payment(tx | {"status": "captured"})
        else:
            check_payment(tx)
        if wrong := broken(record_of(self._client, id)):
            raise Found(f"{', '.join(wrong)} of {id}")

    def _counted(self, id: str, tx: Transaction) -> Transaction:
        """The payment as the sums of batches count it.

        Of one that was edited the history does not tell what was kept of it, but the record does.
        """
        if id not in self.edited:
            return tx
        left = record_of(self._client, id).ledger.kept
        details = tx["additional_details"] | {"captured_amount": left}
        return tx | {"additional_details": details, "history": refunds(tx)}

    def _check_batches(self, now: dict[str, Transaction], batches: dict[str, Batch]) -> None:
        """M10, M12, M13, and that what has its result keeps its sums."""
        payments = [self._counted(id, tx) for id, tx in now.items()]
        check_open_batches(list(batches.values()))
        for id, batch in batches.items():
            before = self.batches.get(id)
            if before is not None and before["status"] in ("accepted", "partially_accepted"):
                assert batch == before, "a batch with its result changed"
            elif batch["status"] == "partially_accepted":
                self._check_what_was_freed(id, batch, payments)
            else:
                assert shown_sums(batch) == sums_of(id, payments), "M10"
        members = Counter(tx["batch_id"] for tx in payments if tx["batch_id"])
        assert set(members) <= set(batches), "M12"
        for account in sorted({one["account_id"] for one in batches.values()}):
            own = [one for one in payments if one["account_id"] == account]
            theirs = [one for one in batches.values() if one["account_id"] == account]
            check_account(own, theirs, self._given_back)

    def _check_what_was_freed(self, id: str, batch: Batch, payments: list[Transaction]) -> None:
        members = {key for key, tx in self.payments.items() if tx["batch_id"] == id}
        freed = [tx for tx in payments if tx["transaction_id"] in members and tx["batch_id"] != id]
        self._given_back[id] = sum(map(kept, freed))
        captured, refunded, count = sums_of(id, payments)
        expected = (captured + self._given_back[id], refunded, count + len(freed))
        assert shown_sums(batch) == expected, "M10"


def _changes(before: Transaction, after: Transaction) -> str:
    return ", ".join(
        f"{name} {before[name]!r} to {after.get(name)!r}"
        for name in before
        if before[name] != after.get(name)
    )


def _is_answered_meanwhile(before: Transaction, after: Transaction) -> bool:
    """Whether its client hung up while the processor was slow, which has answered since.

    What was tried with it meanwhile waited for that answer, and comes after it.
    """
    if before["status"] != "pending" or len(after["history"]) <= len(before["history"]):
        return False
    answer, asked = after["history"][len(before["history"])], before["history"][-1]
    return after["status"] != "pending" and answer["event_id"] == asked["event_id"]
