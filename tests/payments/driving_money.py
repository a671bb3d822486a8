"""The money invariants, from outside: over bodies, histories and batches. Source: assumed 2.4."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.support.payments import ledger, parts

MONEY = ("subtotal", "tax_amount", "tip_amount", "surcharge_amount", "total_amount")
APPROVED = ("authorized", "captured", "settled", "reversed", "refunded")

Transaction = dict[str, Any]
Batch = dict[str, Any]


# --- what the history tells -------------------------------------------------------------------


def succeeded(attempt: dict[str, Any]) -> bool:
    return attempt["status"] in APPROVED


def captures(transaction: Transaction) -> list[dict[str, Any]]:
    """Attempts by which it was captured: one at most."""
    return [
        attempt
        for attempt in transaction["history"]
        if attempt["transaction_type"] in ("sale", "capture") and attempt["status"] == "captured"
    ]


def refunds(transaction: Transaction) -> list[dict[str, Any]]:
    return [
        attempt
        for attempt in transaction["history"]
        if attempt["transaction_type"] == "refund" and succeeded(attempt)
    ]


def voided(transaction: Transaction) -> int:
    """What was reversed before the capture: R0."""
    for attempt in captures(transaction):
        return int(attempt["reversed"])
    return int(transaction["reversed"])


def kept(transaction: Transaction) -> int:
    """What was captured and not reversed since: C - R1."""
    _, captured, _, back = ledger(transaction)
    return captured - (back - voided(transaction)) if captured else 0


# --- one payment ------------------------------------------------------------------------------


def check_amounts(body: dict[str, Any]) -> None:
    """M1, M2: of a record, an event body, a history element."""
    assert body["total_amount"] == sum(body[name] for name in MONEY[:4])
    for name in (*MONEY, "refunded", "reversed"):
        assert type(body[name]) is int, name
        assert body[name] >= 0, name
    for name, amount in body.get("additional_details", {}).items():
        assert type(amount) is int, name
        assert amount >= 0, name


def check_payments(transactions: list[Transaction]) -> None:
    """What holds of each payment, and of their event_ids together."""
    for transaction in transactions:
        check_payment(transaction)
    check_event_ids(transactions)


def check_payment(transaction: Transaction) -> None:
    """M1 to M8, but for what only several moments show."""
    check_amounts(transaction)
    for attempt in transaction["history"]:
        check_amounts(attempt)
    authorized, captured, refunded, back = ledger(transaction)
    before, left = voided(transaction), kept(transaction)
    subtotal, _, _, surcharge, _ = parts(transaction)
    room = subtotal + surcharge
    # What expired after it was reversed in part shows nothing as authorized.
    assert captured <= max(authorized - before, 0) + room, "M3"
    assert refunded <= left, "M4"
    assert back <= max(authorized, before) + room, "M5"
    assert refunded == sum(attempt["amount"] for attempt in refunds(transaction)), "M4"
    _check_no_reversal_after_a_refund(transaction)
    _check_status(transaction, authorized - before, left)
    _check_total(transaction)
    _check_surcharge(transaction)


def _check_no_reversal_after_a_refund(transaction: Transaction) -> None:
    done = [one["transaction_type"] for one in transaction["history"] if succeeded(one)]
    if "refund" in done:
        assert "reverse" not in done[done.index("refund") :], "M5"


def _check_status(transaction: Transaction, held: int, left: int) -> None:
    """M6; an authorization that expires keeps what was reversed of it: assumed D11."""
    status = transaction["status"]
    _, captured, refunded, back = ledger(transaction)
    if status == "authorized":
        assert (captured, refunded) == (0, 0), "M6"
        assert held > 0, "M6"
    elif status in ("captured", "settled"):
        assert left > 0, "M6"
    elif status == "reversed":
        assert held == 0 or (captured > 0 and left == 0), "M6"
    elif status == "refunded":
        assert refunded == left > 0, "M6"
    elif status == "canceled":
        assert (captured, refunded) == (0, 0), "M6"
    else:
        assert (captured, refunded, back) == (0, 0, 0), "M6"


def _check_total(transaction: Transaction) -> None:
    """M7, and what remains of an approval in part: assumed 2.7."""
    authorized, captured, _, _ = ledger(transaction)
    total, status = transaction["total_amount"], transaction["status"]
    if status not in APPROVED:
        return
    remaining = transaction["additional_details"].get("remaining_amount")
    if remaining is not None:
        assert remaining == total - (captured or authorized) > 0, "2.7"
    elif status == "authorized":
        assert total == authorized, "M7"
    elif captured:
        assert total == captured, "M7"


def _check_surcharge(transaction: Transaction) -> None:
    """M8, which says nothing of a card that nobody read; a proposal is not applied: assumed D12."""
    cents = transaction["surcharge_amount"]
    if transaction["card"] is not None and transaction["card_type"] != "Credit":
        assert cents == 0, "M8"
    is_proposed = transaction["status"] == "surcharge_pending"
    assert transaction["surcharge_applied"] is (cents > 0 and not is_proposed), "M8"


# --- two moments ------------------------------------------------------------------------------


def check_it_only_grew(before: Transaction, after: Transaction) -> None:
    """M11. In which batch an attempt settles may change: assumed 2.10."""
    assert after["created_at"] == before["created_at"]
    old = [attempt | {"batch_id": None} for attempt in before["history"]]
    new = [attempt | {"batch_id": None} for attempt in after["history"]]
    assert new[: len(old)] == old


def check_it_is_untouched(before: Transaction, after: Transaction) -> None:
    """M9: but for the history."""
    assert after | {"history": []} == before | {"history": []}


def check_event_ids(transactions: list[Transaction]) -> None:
    """M11: one attempt for each, within a merchant; creation and outcome are one (D11).

    A late answer is one to an attempt that timed out, and has its event_id (D24-late).
    """
    uses: Counter[tuple[str, str]] = Counter()
    for transaction in transactions:
        history = [
            one
            for number, one in enumerate(transaction["history"])
            if not _answers_late(one, transaction["history"][:number])
        ]
        first = history[0]["event_id"]
        uses[transaction["account_id"], first] += 1
        later = [one["event_id"] for one in history[1:] if one["event_id"] != first]
        uses.update((transaction["account_id"], event_id) for event_id in later)
        begun = [one["event_id"] == first for one in history]
        assert begun == sorted(begun, reverse=True)
        assert sum(begun) <= 2
    assert set(uses.values()) <= {1}


def _answers_late(attempt: Any, before: list[Any]) -> bool:
    return any(
        one["event_id"] == attempt["event_id"]
        and one["status_reason"] in ("processor_timeout", "timed_out")
        for one in before
    )


# --- batches ----------------------------------------------------------------------------------


def sums_of(batch_id: str, transactions: list[Transaction]) -> tuple[int, int, int]:
    """M10: captured, refunded and count of a batch, as the payments tell."""
    members = [one for one in transactions if one["batch_id"] == batch_id]
    entries = [
        attempt["amount"]
        for one in transactions
        for attempt in refunds(one)
        if attempt["batch_id"] == batch_id
    ]
    return sum(map(kept, members)), sum(entries), len(members) + len(entries)


def shown_sums(batch: Batch) -> tuple[int, int, int]:
    return batch["captured_amount"], batch["refunded_amount"], batch["transaction_count"]


def check_batches(
    transactions: list[Transaction],
    batches: list[Batch],
    *,
    frozen: Mapping[str, tuple[int, ...]] = {},
    given_back: Mapping[str, int] = {},
) -> None:
    """M10, M13, and that each terminal has one open batch at most (B1).

    `frozen` are the sums with which a batch was closed, `given_back` what one that was accepted in
    part did not take.
    """
    at = Counter(batch["terminal_id"] for batch in batches if batch["status"] == "open")
    assert set(at.values()) <= {1}
    for batch in batches:
        expected = frozen.get(batch["id"]) or sums_of(batch["id"], transactions)
        assert shown_sums(batch) == expected, "M10"
    for account in {batch["account_id"] for batch in batches}:
        own = [one for one in transactions if one["account_id"] == account]
        _check_account(own, [one for one in batches if one["account_id"] == account], given_back)


def _check_account(
    transactions: list[Transaction], batches: list[Batch], given_back: Mapping[str, int]
) -> None:
    """M13."""
    there = sum(kept(one) - one["refunded"] for one in transactions)
    batched = sum(
        batch["captured_amount"] - batch["refunded_amount"] - given_back.get(batch["id"], 0)
        for batch in batches
    )
    unbatched = sum(kept(one) for one in transactions if one["batch_id"] is None)
    assert there == batched + unbatched, "M13"
