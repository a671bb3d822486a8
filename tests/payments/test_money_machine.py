"""Long random lives of several payments, their money looked at after every step: assumed 2.4."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from sandbox.domain.payments.edits import broken
from tests.driving import fresh
from tests.payments.driving_money import (
    check_amounts,
    check_batches,
    check_it_is_untouched,
    check_it_only_grew,
    check_payments,
    kept,
    shown_sums,
)
from tests.properties import examples
from tests.support.payments import PATHS, ledger

MERCHANTS = ["merchant", "second_merchant", "surcharge_merchant", "quiet_surcharge_merchant"]
MERCHANTS.append("tax_merchant")
CARDS = [None, None, "tok_mc_credit", "tok_visa_debit", "tok_mc_prepaid", "tok_refund_fails"]
CARDS.append("tok_increment_fails")

SETTLING = st.sampled_from([900_401, 900_402, 900_403, 900_404, 900_405])
"""Amounts by which a record or its whole batch is rejected: assumed 6.2-settlement."""
CENTS = st.integers(min_value=1, max_value=9_000)
AMOUNTS = st.one_of(CENTS, CENTS, SETTLING, st.sampled_from([1, 2, 900_051, 900_201, 900_203]))
MAYBE = st.none() | st.integers(min_value=0, max_value=2_000)

AT_FIRST = st.sampled_from(["partial_approval", "do_not_honor", "timed_out", "user_canceled"])
AFTERWARDS = st.sampled_from(
    [
        *("invalid_transaction", "processor_timeout", "refund_declined", "already_reversed"),
        *("exceeds_original_auth", "do_not_honor", "timed_out", "timed_out", None, None),
    ]
)
LATE = st.sampled_from(["approved", "approved", "do_not_honor", "general_error"])
"""What the processor answers to an attempt that timed out."""
STYLES = st.sampled_from(["none", "part", "part", "part", "all", "more", "any", "parts"])

WHICH = st.integers(min_value=0, max_value=99)
PAYMENTS_MAX = 8

SENSIBLE = {
    "surcharge_pending": ["confirm"],
    "authorized": ["capture", "increment", "capture", "reverse", "capture"],
    "captured": ["refund", "adjust", "reverse"],
    "settled": ["refund"],
}
"""What can come of each status."""

START = st.fixed_dictionaries(
    {
        "at": st.sampled_from(MERCHANTS),
        "preauth": st.booleans(),
        "amount": AMOUNTS,
        "tip": MAYBE,
        "tax": MAYBE,
        "surcharge": st.none() | st.integers(min_value=0, max_value=300),
        "card": st.sampled_from(CARDS),
    }
)


class Money(RuleBasedStateMachine):
    """Payments of several merchants; `known` is each as it was seen last."""

    def __init__(self):
        super().__init__()
        self.sandbox = fresh()
        self.store = self.sandbox.get_world().store
        self.messages_before, self.announced = len(self.store.messages()), []
        self._tell, self.store.on_commit = self.store.on_commit, self._note
        self.known = {}
        self.frozen = {}
        self.given_back = {}
        self.seen = 0
        self.days = 0

    def _note(self, unit):
        self.announced.extend(unit.emitted)
        self._tell(unit)

    # --- payments

    # Hypothesis leaves out some of the rules in every run, and never what is said here.
    @initialize(amount=CENTS, starts=st.lists(START, min_size=2, max_size=3))
    def begin_some(self, amount, starts):
        plain = {"amount": amount, "tip": None, "tax": None, "surcharge": None, "card": None}
        for start in (
            plain | {"at": "surcharge_merchant", "preauth": False},
            plain | {"at": "merchant", "preauth": True},
            plain | {"at": "merchant", "preauth": False, "amount": 900_401},
            *starts,
        ):
            self.begin_one(**start)

    @precondition(lambda self: len(self.known) < PAYMENTS_MAX)
    @rule(start=START)
    def begin(self, start):
        self.begin_one(**start)

    def begin_one(self, at, preauth, amount, tip, tax, surcharge, card):
        more = {}
        subtotal = amount - (tip or 0) - (tax or 0) - (surcharge or 0)
        if tip is not None and subtotal > 0:
            stated = {"amount": surcharge} if surcharge else None
            parts = {"subtotal": subtotal, "tipAmount": tip, "taxAmount": tax}
            more = {"breakdown": parts | {"surcharge": stated}}

        answer = self.sandbox.pay(
            amount, at=at, operation="auth" if preauth else "sale", card=card, **more
        )

        body = answer.json()
        if answer.status != 200:
            # assumed D12: an explicit surcharge on a debit or prepaid card
            assert (answer.status, body["error"]) == (400, "validation_error")
            assert more["breakdown"]["surcharge"]
            assert card in ("tok_visa_debit", "tok_mc_prepaid")
            return
        assert self.sandbox.read(body["transaction_id"]) == body
        self.known[body["transaction_id"]] = body

    @precondition(lambda self: 2 < len(self.known) < PAYMENTS_MAX)
    @rule(at=st.sampled_from(MERCHANTS), preauth=st.booleans(), amount=AMOUNTS, force=AT_FIRST)
    def begin_badly(self, at, preauth, amount, force):
        body = self.sandbox.pay(
            amount, at=at, operation="auth" if preauth else "sale", outcome=force
        ).json()

        self.known[body["transaction_id"]] = body

    def pick(self, which, statuses=()):
        found = [one for one in self.known.values() if not statuses or one["status"] in statuses]
        return found[which % len(found)]

    @precondition(lambda self: any(one["status"] in SENSIBLE for one in self.known.values()))
    @rule(which=WHICH, what=WHICH, style=STYLES, cents=CENTS, tip=MAYBE)
    def go_on(self, which, what, style, cents, tip):
        before = self.pick(which, SENSIBLE)
        operations = SENSIBLE[before["status"]]
        self.follow_up(before, operations[what % len(operations)], style, cents, tip)

    @precondition(lambda self: self.known)
    @rule(
        which=WHICH,
        operation=st.sampled_from(list(PATHS)),
        style=STYLES,
        cents=CENTS,
        tip=MAYBE,
        repeats=st.booleans(),
        force=AFTERWARDS,
    )
    def try_anything(self, which, operation, style, cents, tip, repeats, force):
        before = self.pick(which)
        event_id = before["history"][-1]["event_id"] if repeats and force is None else None
        self.follow_up(before, operation, style, cents, tip, event_id=event_id, force=force)

    def follow_up(self, before, operation, style, cents, tip, *, event_id=None, force=None):
        body = body_for(before, operation, style, cents, tip) | {"event_id": event_id}

        answer = self.sandbox.act(before["transaction_id"], operation, **body, outcome=force)

        after = self.sandbox.read(before["transaction_id"])
        shown = answer.json()
        assert answer.status in (200, 400)
        failed = answer.status == 400 or shown["status"] in ("declined", "error")
        if event_id is not None:
            assert shown["error"] in ("duplicate_event", "validation_error")
        if answer.status == 400 or (failed and operation != "confirm"):
            check_it_is_untouched(before, after)
        else:
            assert shown == after
        if not failed:
            check_what_moved(before, after, operation, body)

    # --- late answers

    @precondition(lambda self: any(map(timed_out, self.known.values())))
    @rule(which=WHICH, late=LATE)
    def answer_late(self, which, late):
        """Whatever comes late, no more money moves than there was: assumed D24-late."""
        found = [one for one in self.known.values() if timed_out(one)]
        before = found[which % len(found)]
        attempts = self.sandbox.look(f"payments/{before['transaction_id']}")["unanswered"]

        answer = self.sandbox.answer_payment(before, outcome=late)

        after = self.sandbox.read(before["transaction_id"])
        assert answer.status in (200, 400, 409), answer.body
        if answer.status != 200:
            assert after == before
            return
        attempt = attempts[-1]
        # An authorization of days ago expires as soon as it is answered.
        own = [one for one in after["history"] if one["event_id"] == attempt["event_id"]]
        is_failed = own[-1]["status"] in ("declined", "error")
        if not is_failed and attempt["operation"] in ("refund", "reverse", "incremental_auth"):
            body = {"amount": attempt["amount"]}
            operation = attempt["operation"].replace("incremental_auth", "increment")
            check_what_moved(before, after, operation, body)

    # --- batches

    @rule(at=st.sampled_from(MERCHANTS))
    def open_batch(self, at):
        answer = self.sandbox.open_batch(at)

        assert answer.status in (201, 409)

    @precondition(lambda self: self.closable())
    @rule(which=WHICH, added=st.none() | WHICH, removed=st.none() | WHICH)
    def edit_batch(self, which, added, removed):
        chosen = self.pick_batch(which)
        added = addable(chosen, self.known.values(), added)
        members = [one for one in self.known.values() if one["batch_id"] == chosen["id"]]
        removed = some_of(members, removed)

        answer = self.sandbox.edit_batch(
            chosen["id"], added_transactions=added, removed_transactions=removed
        )

        if answer.status == 200:
            assert chosen["status"] in ("open", "rejected")
            assert answer.json()["status"] == "open"
            moved = dict.fromkeys(added, chosen["id"]) | dict.fromkeys(removed)
            for id, place in moved.items():
                assert self.sandbox.read(id)["batch_id"] == place
        else:
            # All of it or nothing: assumed B7.
            assert self.sandbox.batch(chosen["id"]) == chosen

    def closable(self):
        found = self.sandbox.batches()
        return [one for one in found if one["status"] in ("open", "rejected")]

    def pick_batch(self, which):
        """One that is open or rejected, and now and then one that is closed for good."""
        found = self.sandbox.batches() if which > 90 else self.closable()
        return found[which % len(found)]

    @precondition(lambda self: self.closable())
    @rule(which=WHICH)
    def close_batch(self, which):
        chosen = self.pick_batch(which)
        members = [one for one in self.known.values() if one["batch_id"] == chosen["id"]]

        answer = self.sandbox.close_batch(chosen["id"])

        if chosen["status"] not in ("open", "rejected"):
            assert answer.status == 400
            return
        after = self.sandbox.batch(chosen["id"])
        assert (answer.status, answer.json()["status"]) == (200, "submitted")
        assert shown_sums(answer.json()) == shown_sums(chosen) == shown_sums(after)
        now = {id: self.sandbox.read(id) for id in self.known}
        left = [one for one in members if now[one["transaction_id"]]["batch_id"] is None]
        if after["status"] != "rejected":
            self.frozen[chosen["id"]] = shown_sums(after)
            self.given_back[chosen["id"]] = sum(map(kept, left))
        if after["status"] == "partially_accepted":
            assert after["response"]["rejected"] == len(left) > 0
            assert sum(after["response"].values()) == after["transaction_count"]
        else:
            assert left == []
        for one in members:
            settles = after["status"] != "rejected" and one not in left
            expected = "settled" if settles and one["status"] == "captured" else one["status"]
            assert now[one["transaction_id"]]["status"] == expected

    # --- time

    @precondition(lambda self: len(self.known) > 3 and self.days < 12)
    @rule()
    def let_days_pass(self):
        self.days += 6
        self.sandbox.set_clock(f"2026-03-{1 + self.days:02}T12:00:00.000Z")

    # --- what always holds

    @invariant()
    def everything_adds_up(self):
        self.check_payments()
        self.check_events()
        assert list(self.store.messages()[self.messages_before :]) == self.announced
        self.check_batches()

    def check_payments(self):
        now = {id: self.sandbox.read(id) for id in self.known}
        check_payments(list(now.values()))
        for id, transaction in now.items():
            check_it_only_grew(self.known[id], transaction)
            assert broken(self.sandbox.record_of(id)) == []
        self.known = now

    def check_events(self):
        told = self.sandbox.messages(offset=self.seen)
        self.seen += len(told)
        for message in told:
            if message["event_type"].startswith("transaction."):
                check_amounts(message["body"])

    def check_batches(self):
        batches = self.sandbox.batches()
        sums = {"frozen": self.frozen, "given_back": self.given_back}
        check_batches(list(self.known.values()), batches, **sums)
        for one in batches:
            assert one["id"] in self.frozen or one["status"] in ("open", "rejected")

    def teardown(self):
        """M12: no payment is a member of two batches."""
        members = [
            one["transaction_id"]
            for found in self.sandbox.batches()
            for one in self.sandbox.batch(found["id"], members=True)["transactions"]
        ]
        now = [self.sandbox.read(id) for id in self.known]
        assert sorted(members) == sorted(
            one["transaction_id"] for one in now if one["batch_id"] is not None
        )


def timed_out(payment):
    reasons = ("processor_timeout", "timed_out")
    return any(one["status_reason"] in reasons for one in payment["history"])


def some_of(payments, which):
    return [payments[which % len(payments)]["transaction_id"]] if payments and which else []


def addable(chosen, payments, which):
    """Mostly one of the terminal that is in no batch, and now and then any."""
    fitting = [
        one
        for one in payments
        if (one["tid"], one["batch_id"]) == (chosen["terminal_id"], None)
        and one["status"] == "captured"
    ]
    return some_of(fitting or list(payments), which)


def body_for(before, operation, style, cents, tip):
    """A body whose amount is some of what there is, all of it, or too much."""
    authorized, _, refunded, _ = ledger(before)
    there = kept(before) - refunded or authorized or before["total_amount"]
    amounts = {"part": max(1, there // 3), "all": there, "more": there + 1, "any": cents}
    amount = amounts.get(style)
    if operation == "adjust":
        if style in ("part", "more"):
            return {"type": "percentage", "percentage": cents % 130}
        return {"type": "fixed", "amount": cents if tip is None else tip}
    if operation == "increment":
        return {"amount": amount or cents} | breakdown_for(style, cents, tip)
    if operation == "confirm":
        return {"confirm": style not in ("none", "more")}
    if operation == "capture":
        if style == "parts":
            return breakdown_for(style, cents, tip)
        return {"amount": amount, "tip_amount": tip if cents % 2 else None}
    return {"amount": amount}


def breakdown_for(style, cents, tip):
    if style != "parts":
        return {}
    parts = {"subtotal": cents, "tipAmount": tip, "taxAmount": cents // 10}
    return {"amount": cents + (tip or 0) + cents // 10, "breakdown": parts}


def check_what_moved(before, after, operation, body):
    """Exactly what was asked for."""
    was, now = ledger(before), ledger(after)
    moved = [new - old for old, new in zip(was, now, strict=True)]
    amount = body.get("amount")
    held = was[0] - before["reversed"]
    if operation == "refund":
        asked = amount or kept(before) - before["refunded"]
        assert moved == [0, 0, asked, 0]
    elif operation == "reverse" and after["status"] != "canceled":
        asked = amount or (kept(before) if was[1] else held)
        assert moved == [0, 0, 0, asked]
    elif operation == "increment":
        assert moved == [amount, 0, 0, 0]
        assert after["total_amount"] - before["total_amount"] == amount
    elif operation == "adjust":
        asked = after["tip_amount"] - before["tip_amount"]
        assert moved == [0, asked, 0, 0]
        assert body["type"] == "percentage" or after["tip_amount"] == body["amount"]
    elif operation == "capture":
        asked = amount or held + (body.get("tip_amount") or 0)
        assert moved == [0, asked, 0, 0]


@pytest.mark.hypothesis
@pytest.mark.proves(
    "spec 2.4-money, 2.5-sums",
    "assumed 2.2, B4, F26, M1, M2, M3, M4, M5, M6, M7, M8, M9, M10, M11, M12, M13",
)
def test_no_order_of_operations_makes_or_loses_money():
    run_state_machine_as_test(
        Money,
        settings=settings(max_examples=examples(30), stateful_step_count=40),
    )
