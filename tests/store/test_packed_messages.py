"""Messages are packed in memory, and come back as they were announced."""

import pytest
from msgspec.structs import replace

from sandbox.domain.payments.outcomes import OUTCOMES
from sandbox.domain.payments.transactions import Transaction
from sandbox.store.memory.packed_messages import PACKED_AT_ONCE, PackedMessages
from tests.directory.making import set_clock
from tests.store.records import message
from tests.support.payments import OPERATIONS, act, announced_and_kept, fresh_sandbox, pay

STATED = {"breakdown": {"subtotal": 900, "tipAmount": 100, "taxAmount": 0, "surcharge": None}}


@pytest.fixture
def sandbox():
    return fresh_sandbox()


@pytest.mark.parametrize("operation", ["sale", "auth"])
def test_messages_of_every_outcome_come_back_as_they_were_announced(sandbox, operation):
    announced, kept = announced_and_kept(sandbox)

    for at in ("merchant", "surcharge_merchant", "tax_merchant"):
        for outcome in [None, *OUTCOMES]:
            pay(sandbox, 1000, at=at, operation=operation, outcome=outcome)
            pay(sandbox, 1000, at=at, operation=operation, outcome=outcome, **STATED)

    assert len(announced) > 2 * len(OUTCOMES)
    assert kept() == announced


def test_messages_of_later_changes_come_back_as_they_were_announced(sandbox):
    announced, kept = announced_and_kept(sandbox)

    for operation in ("sale", "auth"):
        for name, least in OPERATIONS.values():
            payment = pay(sandbox, 1000, operation=operation).json()
            if name:
                act(sandbox, payment, name, **least)
    set_clock(sandbox, "2099-01-01T00:00:00Z")

    assert {one.event_type.split(".")[0] for one in announced} == {"transaction", "batch"}
    assert kept() == announced


def test_the_creation_of_a_payment_that_was_answered_at_once_takes_no_record_of_its_own(sandbox):
    announced, _ = announced_and_kept(sandbox)
    pay(sandbox, 1000)
    messages = PackedMessages()

    messages.extend([one for one in announced if type(one.record) is Transaction])
    messages.pack()

    assert [one is None for one in messages._items] == [True, False]
    assert messages[0].record.status == "pending"


def test_a_view_of_now_does_not_grow_with_the_list():
    messages = PackedMessages()
    messages.extend([message("msg_0"), *[message("msg_1")] * PACKED_AT_ONCE])

    now = messages.as_now()
    messages.extend([message("msg_2")])

    assert len(messages) == len(now) + 1
    assert (now.id(0), messages.id(len(now))) == ("msg_0", "msg_2")
    assert now.subject(0) == messages.subject(len(now)) == "a"


def test_what_a_row_cannot_hold_is_kept_as_it_is(sandbox):
    announced, _ = announced_and_kept(sandbox)
    pay(sandbox, 1000)
    sale = announced[-1]
    odd = [
        replace(sale, id="msg_short"),
        replace(sale, request_id="req_1"),
        replace(sale, request_id=None),
        replace(sale, only_for="an endpoint"),
        replace(sale, subject="another"),
        replace(sale, account_id="another"),
        replace(sale, created_at=sale.created_at.replace(microsecond=1)),
    ]
    messages = PackedMessages()

    for one in odd:
        messages.extend([one])
        messages.pack()

    assert [messages[place] for place in range(len(messages))] == odd
    assert [messages.id(place) for place in range(len(messages))] == [one.id for one in odd]
    assert [messages.subject(place) for place in range(len(odd))] == [one.subject for one in odd]
