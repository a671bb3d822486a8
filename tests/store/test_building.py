"""Indexes and answers are prepared in steps while rows change; they are those of all rows then.

The naive way is a store that is asked once everything is put.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.domain.directory import Terminal
from sandbox.store import preparing
from sandbox.store.building import build_index, build_text_index
from sandbox.store.memory import query_cache
from sandbox.store.memory.store import MemoryStore
from sandbox.store.port import Order
from sandbox.store.preparing import Unprepared, preparation
from sandbox.store.steps import run_through
from tests.store.records import put
from tests.store.test_search import a_terminal, with_tree

NAMES = ("Front desk", "Bar", "Patio")
STATUSES = ("active", "blocked")


@pytest.fixture(autouse=True)
def _everything_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "ROWS_AT_ONCE_MAX", 0)
    monkeypatch.setattr(query_cache, "OFTEN", 1)


def rows_of(store: MemoryStore):
    return dict(store.tables())["terminals"]


CHANGES = st.lists(
    st.tuples(st.integers(0, 25), st.sampled_from(NAMES), st.sampled_from(STATUSES)), max_size=40
)
"""Which terminal is put, some of them for the first time, with which name and status."""

WHERES = st.fixed_dictionaries(
    {},
    optional={
        "scope": st.sampled_from(["root", "left", "right"]),
        "scope_status": st.sampled_from(["root active", "left blocked"]),
        "search": st.sampled_from(["a", "desk", "front desk", "nothing"]),
        "mid": st.just("m1"),
    },
)


def change(store: MemoryStore, number: int, name: str, status: str) -> None:
    id = f"t{number:02}"
    before = store.begin().get(Terminal, id) or a_terminal(id, mid=f"m{number % 3}")
    put(store, replace(before, name=name, status=status))


@given(first=CHANGES, later=CHANGES, where=WHERES)
def test_what_is_put_while_a_question_is_prepared_is_in_its_answer(first, later, where):
    store, other = with_tree(), with_tree()
    for one in first:
        change(store, *one)
    steps = preparation(rows_of(store), where)
    remaining = list(later)
    while steps is not None and remaining:
        next(steps, None)
        change(store, *remaining.pop(0))
    if steps is not None:
        run_through(steps)
    for one in remaining:
        change(store, *one)
    for one in [*first, *later]:
        change(other, *one)

    assert store.begin().find(Terminal, where) == other.begin().find(Terminal, where)


@given(first=CHANGES, later=CHANGES)
def test_an_index_that_is_built_meanwhile_is_that_of_all_rows(first, later):
    store, other = with_tree(), with_tree()
    for one in first:
        change(store, *one)
    rows, remaining = rows_of(store), list(later)
    for steps in (build_index(rows, "scope_status"), build_text_index(rows, "search")):
        for _ in steps:
            if remaining:
                change(store, *remaining.pop(0))
    for one in remaining:
        change(store, *one)
    for one in [*first, *later]:
        change(other, *one)
    run_through(build_index(rows_of(other), "scope_status"))
    run_through(build_text_index(rows_of(other), "search"))

    for status in ("root active", "left blocked", "right active"):
        index, naive = rows.indexes["scope_status"], rows_of(other).indexes["scope_status"]
        assert list(index.rows(status)) == list(naive.rows(status))
    for piece in ("a", "desk", "ron", "x"):
        text_index, naive_texts = rows.texts["search"], rows_of(other).texts["search"]
        assert text_index.candidates(piece) == naive_texts.candidates(piece)
    assert rows.followers == []


def filled(count: int) -> MemoryStore:
    store = with_tree()
    for number in range(count):
        change(store, number, NAMES[number % 3], STATUSES[number % 2])
    return store


def test_who_can_wait_is_told_what_is_to_be_prepared_and_then_answered():
    store, where = filled(20), {"scope": "left", "search": "desk"}
    unit = store.begin()
    unit.can_wait = True

    with pytest.raises(Unprepared) as question:
        unit.find(Terminal, where)
    steps = question.value.steps()
    assert steps is not None
    assert len(list(steps)) > 2

    found, total = unit.find(Terminal, where)
    assert (len(found), total) == (7, 7)
    assert question.value.steps() is None


def test_who_cannot_wait_is_answered_all_the_same():
    found, total = filled(20).begin().find(Terminal, {"scope": "left", "search": "desk"})

    assert (len(found), total) == (7, 7)


def test_a_question_to_a_small_table_is_answered_at_once(monkeypatch):
    monkeypatch.setattr(preparing, "ROWS_AT_ONCE_MAX", 20)
    unit = filled(20).begin()
    unit.can_wait = True

    assert unit.find(Terminal, {"scope": "left", "search": "desk"})[1] == 7


def test_an_answer_to_which_much_changed_is_prepared_anew(monkeypatch):
    store, where = filled(20), {"scope": "left", "search": "desk"}
    store.begin().find(Terminal, where)
    monkeypatch.setattr(query_cache, "SEEN_AT_ONCE_MAX", 5)
    for number in range(10):
        change(store, number, "Front desk", "active")

    steps = preparation(rows_of(store), where)
    assert steps is not None
    assert len(list(steps)) >= 10

    assert preparation(rows_of(store), where) is None
    assert store.begin().find(Terminal, where)[1] == 13


def test_an_answer_that_is_forgotten_while_it_is_made_is_made_when_it_is_asked(monkeypatch):
    store, where = filled(20), {"scope": "left", "search": "desk"}
    monkeypatch.setattr(query_cache, "CHANGES_MAX", 3)
    steps = preparation(rows_of(store), where)
    assert steps is not None
    # The indexes come first; then rows are gone through.
    while rows_of(store).answers._being_made == 0:
        next(steps)
    for number in range(10):
        change(store, number, "Front desk", "active")
    run_through(steps)

    assert store.begin().find(Terminal, where)[1] == 13


def test_a_table_that_is_let_go_meanwhile_ends_the_steps_and_leaves_another():
    store = filled(50)
    steps = preparation(rows_of(store), {"scope": "left", "search": "desk"})
    assert steps is not None
    next(steps)
    left = store.containers()
    store.clear()
    for container in left:
        container.clear()

    assert run_through(steps) is None
    assert store.begin().find(Terminal, {}) == ([], 0)


def test_another_order_is_prepared_as_well():
    from sandbox.store.tables import TABLES

    with_orders = [table.name for table in TABLES if table.orders]

    assert with_orders == ["transactions"]
    store = with_tree()
    rows = dict(store.tables())["transactions"]
    # Nothing is there: there is nothing to prepare.
    assert preparation(rows, {"scope": "root"}, order=Order("total_amount")) is None
