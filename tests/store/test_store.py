"""Units of work: a change of records, messages and timers happens as a whole or not at all."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from sandbox.domain.clock import AUTHORIZATION_EXPIRES, BATCH_RESULT, TAP_EXPIRES, Timer
from sandbox.domain.directory import Account, AccountType
from sandbox.domain.events import Message
from sandbox.domain.keys import ApiKey
from sandbox.domain.webhooks import Endpoint
from sandbox.store.store import Store, UnitOfWork
from sandbox.store.tables import DuplicateValue, Row, UnitClosed
from sandbox.store.world_state import Counters
from tests.properties import examples

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
TIMER = Timer(kind=TAP_EXPIRES, subject="t", due=AT, tag="x")


@pytest.fixture
def store() -> Store:
    return Store()


def account(id: str, *parents: str, name: str = "A shop") -> Account:
    return Account(
        id=id,
        type=AccountType.MERCHANT,
        name=name,
        description="",
        parent_account_ids=parents,
        created_at=AT,
    )


def key(
    id: str, account_id: str = "a", *, lookup: str = "", deleted_at: datetime | None = None
) -> ApiKey:
    return ApiKey(
        id=id,
        account_id=account_id,
        name=id,
        lookup=lookup or f"lookup-{id}",
        salt="salt",
        digest="digest",
        key_last4="last",
        permissions=("all",),
        expires_at=AT,
        created_at=AT,
        deleted_at=deleted_at,
    )


def message(id: str, subject: Account | None = None) -> Message:
    record = subject or account("a")
    return Message(
        id=id,
        event_type="account.created",
        account_id=record.id,
        subject=record.id,
        request_id=None,
        created_at=AT,
        record=record,
    )


def put(store: Store, *records: Row) -> None:
    """Put the records, each in a commit of its own, so that their order is certain."""
    for record in records:
        unit = store.begin()
        unit.put(record)
        unit.commit()


def endpoint(id: str) -> Endpoint:
    return Endpoint(id=id, url="http://localhost/", secret="whsec_x", created_at=AT)


def content(store: Store) -> tuple[Any, ...]:
    """All records, messages and timers."""
    records = [dict(table.by_id) for table in store.tables()]
    return records, list(store.messages()), store.timers.soonest


def test_a_unit_sees_its_changes_at_once_and_others_see_them_once_it_commits(store):
    put(store, endpoint("gone"))
    writer, before = store.begin(), content(store)
    writer.put(account("a", name="first"))
    writer.put(account("a", name="second"))
    writer.put(key("a"))
    writer.remove(Endpoint, "gone")
    writer.emit(message("m"))
    writer.schedule(TIMER)

    own = (writer.get(Account, "a"), writer.get(Endpoint, "gone"), writer.find(ApiKey, {}))
    meanwhile = content(store)
    writer.commit()

    assert own == (account("a", name="second"), None, ([], 0))
    assert meanwhile == before
    assert store.begin().find(Account, {}) == ([account("a", name="second")], 1)
    assert store.begin().get(ApiKey, "a") == key("a")
    assert list(store.all(Endpoint)) == []
    assert store.get(Message, "m") == message("m")
    assert store.timer(TAP_EXPIRES, "t", "x") == TIMER
    assert store.timer(TAP_EXPIRES, "t") is None


USES: list[Callable[[UnitOfWork], None]] = [
    lambda unit: unit.put(account("b")),
    lambda unit: unit.emit(message("m")),
    lambda unit: unit.schedule(TIMER),
    lambda unit: unit.cancel(TAP_EXPIRES, "t", "x"),
    lambda unit: unit.commit(),
]


def test_a_unit_cannot_be_used_after_its_commit(store):
    unit = store.begin()
    unit.put(account("a"))
    unit.commit()
    before = content(store)

    for use in USES:
        with pytest.raises(UnitClosed, match="committed"):
            use(unit)

    assert content(store) == before


@pytest.mark.parametrize("is_deleted", [False, True])
@pytest.mark.parametrize("is_committed_before", [True, False])
def test_a_unique_value_of_another_record_is_refused_with_nothing_applied(
    store, is_committed_before, is_deleted
):
    told: list[UnitOfWork] = []
    store = Store(on_commit=told.append)
    taken = key("1", lookup="x", deleted_at=AT if is_deleted else None)
    unit = store.begin()
    if is_committed_before:
        put(store, taken)
    else:
        unit.put(taken)
    before, known = content(store), list(told)
    for record in (account("a"), key("0", lookup="w"), key("2", lookup="x")):
        unit.put(record)
    unit.emit(message("m"))
    unit.schedule(TIMER)

    with pytest.raises(DuplicateValue, match="lookup"):
        unit.commit()
    with pytest.raises(UnitClosed):
        unit.commit()

    assert (content(store), told) == (before, known)
    assert store.one(ApiKey, "lookup", "w") is None


def test_an_id_can_be_used_again_after_its_record_was_removed_and_is_the_newest_then(store):
    put(store, endpoint("a"), endpoint("b"))
    unit = store.begin()
    unit.remove(Endpoint, "a")
    unit.remove(Endpoint, "nothing")
    unit.put(endpoint("never"))
    unit.remove(Endpoint, "never")
    unit.commit()

    put(store, endpoint("a"), replace(endpoint("b"), description="changed"))

    assert list(store.all(Endpoint)) == ["b", "a"]
    assert [one.id for one in store.begin().find(Endpoint, {})[0]] == ["a", "b"]


def test_a_message_keeps_the_record_as_it_was_and_shares_equal_values(store):
    unit = store.begin()
    unit.emit(message("1", account("a", name="then")))
    unit.commit()
    put(store, account("a", name="now"))
    before = store.messages()
    unit = store.begin()
    unit.emit(message("2"))
    unit.commit()

    assert [one.record for one in before] == [account("a", name="then")]
    assert (store.place_of("2"), store.place_of("3")) == (1, None)


def test_clearing_forgets_everything(store):
    empty = content(store)
    put(store, key("1", lookup="x"), endpoint("e"))
    unit = store.begin()
    unit.emit(message("m"))
    unit.schedule(TIMER)
    unit.commit()
    store.counters.requests += 1

    store.clear()

    assert (content(store), store.counters) == (empty, Counters())
    assert (store.one(ApiKey, "lookup", "x"), store.get(Message, "m")) == (None, None)
    assert store.begin().find(ApiKey, {"account": "a"}) == ([], 0)


# --- finding ----------------------------------------------------------------------------------


KEYS = st.builds(
    key,
    st.sampled_from("123456"),
    st.sampled_from("abc"),
    deleted_at=st.sampled_from([None, AT]),
)
DUE = st.builds(
    lambda microseconds, hours: (AT + timedelta(microseconds=microseconds)).astimezone(
        timezone(timedelta(hours=hours))
    ),
    st.integers(0, 1),
    st.sampled_from([0, -5]),
)
TIMERS = st.builds(
    Timer,
    kind=st.sampled_from([AUTHORIZATION_EXPIRES, BATCH_RESULT]),
    subject=st.sampled_from("abc"),
    due=DUE,
)
STEPS = st.lists(
    st.tuples(
        KEYS | TIMERS,
        st.sampled_from(["put", "put", "cancel"]),
        st.sampled_from(["with the next", "with the next", "commit", "drop"]),
    ),
    max_size=40,
)
"""Keys and timers, what becomes of a timer, and what becomes of the unit then."""


def in_order(store: Store) -> list[Timer]:
    """Every timer, as they would fall due; none is left."""
    found = []
    while (one := store.timers.soonest) is not None:
        assert store.timer(one.kind, one.subject) == one
        found.append(one)
        unit = store.begin()
        unit.cancel(one.kind, one.subject)
        unit.commit()
    return found


@settings(max_examples=examples(600))
@given(
    steps=STEPS,
    wanted=st.lists(st.sampled_from("abcd"), max_size=3),
    limit=st.none() | st.integers(0, 8),
    offset=st.integers(0, 8),
)
def test_random_changes_are_found_as_in_plain_lists(steps, wanted, limit, offset):
    store, model = Store(), dict[str, ApiKey | Timer]()
    unit, changed = store.begin(), dict(model)

    for record, what, then in steps:
        if isinstance(record, ApiKey):
            unit.put(record)
            changed[record.id] = record
        else:
            changed.pop(record.id, None)
            if what == "cancel":
                unit.cancel(record.kind, record.subject)
            else:
                unit.schedule(record)
                changed[record.id] = record
        if then == "commit":
            unit.commit()
            model = changed
        if then != "with the next":
            unit, changed = store.begin(), dict(model)

    newest_first = [one for one in model.values() if isinstance(one, ApiKey)][::-1]
    live = [one for one in newest_first if one.deleted_at is None and one.account_id in wanted]
    stop = None if limit is None else offset + limit
    unit = store.begin()
    for where, expected in (({"account": wanted}, live), ({}, newest_first)):
        found = unit.find(ApiKey, where, limit=limit, offset=offset)
        assert found == (expected[offset:stop], len(expected))
    for id in "123456":
        assert unit.get(ApiKey, id) == model.get(id)
        assert unit.one(ApiKey, "lookup", f"lookup-{id}") == model.get(id)
    # Of those that are due together, the one that was set first comes first.
    timers = [one for one in model.values() if isinstance(one, Timer)]
    assert in_order(store) == sorted(timers, key=lambda one: one.due)


def test_a_record_under_several_of_the_values_is_found_once(store):
    put(store, account("x", "root", "mid"), account("y", "root"), account("z", "mid"))

    found, total = store.begin().find(Account, {"ancestor": ["root", "mid"]})

    assert ([record.id for record in found], total) == (["z", "y", "x"], 3)
