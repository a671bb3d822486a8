"""Searching for records, against the naive way."""

from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.domain.directory import Terminal
from sandbox.store.store import Store
from tests.properties import examples
from tests.store.records import AT, account, put

TREE = {"root": (), "left": ("root",), "leaf": ("root", "left"), "right": ("root",)}
"""Account to those above it."""

LETTERS = "aAbB1 \u00e4\u00c4\u00df\u0130\u0131\u03a3\u03c3\u03c2"
TEXTS = st.text(LETTERS, max_size=7)
PIECES = st.text(LETTERS, min_size=1, max_size=5)


def a_terminal(id: str, **more: object) -> Terminal:
    given: dict[str, object] = {"name": id, "account_id": "leaf", "created_at": AT}
    return Terminal(terminal_id=id, **(given | more))  # type: ignore[arg-type]


def with_tree() -> Store:
    store = Store()
    put(store, *(account(name, *above) for name, above in TREE.items()))
    return store


# --- one question, asked of a store and of a list ---------------------------------------------


@dataclass(frozen=True)
class Query:
    """What is looked for: within an account, with a status, mids, and pieces of text."""

    scope: str
    status: str | None = None
    mids: tuple[str, ...] = ()
    search: str | None = None

    def where(self) -> dict[str, str | tuple[str, ...]]:
        where: dict[str, str | tuple[str, ...]] = {"scope": self.scope}
        if self.status:
            where["status"] = self.status
        if self.mids:
            where["mid"] = self.mids
        if self.search:
            where["search"] = self.search
        return where

    def fits(self, terminal: Terminal) -> bool:
        texts = (terminal.name, terminal.mid, terminal.tid)
        return (
            terminal.deleted_at is None
            and self.scope in (*TREE[terminal.account_id], terminal.account_id)
            and self.status in (None, terminal.status)
            and (not self.mids or terminal.mid in self.mids)
            and (
                self.search is None
                or any(self.search.lower() in text.lower() for text in texts if text)
            )
        )


@dataclass(frozen=True)
class Put:
    """A terminal is put, or changed in every field but its account; or it is deleted."""

    id: str
    account_id: str
    name: str
    mid: str | None
    tid: str | None
    status: Literal["active", "blocked"]
    is_deleted: bool

    def terminal(self, before: Terminal | None) -> Terminal:
        return a_terminal(
            self.id,
            account_id=before.account_id if before else self.account_id,
            name=self.name,
            mid=self.mid,
            tid=self.tid,
            status=self.status,
            deleted_at=AT if self.is_deleted else None,
        )


MIDS = st.sampled_from(["11", "1b", "\u00c41", None])
PUTS = st.builds(
    Put,
    st.sampled_from("123456789"),
    st.sampled_from(list(TREE)),
    TEXTS,
    MIDS,
    st.none() | TEXTS,
    st.sampled_from(["active", "blocked"]),
    st.sampled_from([False, False, False, True]),
)
QUESTIONS = st.builds(
    Query,
    st.sampled_from([*TREE, "nowhere"]),
    st.sampled_from([None, "active", "blocked"]),
    st.sampled_from([(), ("11",), ("11", "1b"), ("1b", "1b", "22")]),
    st.none() | PIECES,
)


def naive(model: dict[str, Terminal], question: Query) -> list[str]:
    return [id for id, one in reversed(model.items()) if question.fits(one)]


def asked(store: Store, question: Query) -> list[str]:
    found, total = store.begin().find(Terminal, question.where())
    assert total == len(found)
    return [terminal.terminal_id for terminal in found]


def play(steps: list[Put | Query], again: list[Query]) -> None:
    """Take the steps; after each change, every question of `again` has the naive answer."""
    store, model = with_tree(), {}
    for step in steps:
        if isinstance(step, Query):
            assert asked(store, step) == naive(model, step)
            continue
        terminal = step.terminal(model.get(step.id))
        model[step.id] = terminal
        put(store, terminal)
        for question in again:
            assert asked(store, question) == naive(model, question)


@settings(max_examples=examples(150), deadline=None)
@given(
    steps=st.lists(PUTS | QUESTIONS, max_size=25), again=st.lists(QUESTIONS, min_size=1, max_size=4)
)
def test_every_answer_is_what_going_through_all_records_finds(steps, again):
    play(steps, again)


@settings(max_examples=examples(60), deadline=None)
@given(
    puts=st.lists(PUTS, max_size=15),
    question=QUESTIONS,
    limit=st.integers(0, 6),
    offset=st.integers(0, 12),
)
def test_a_page_of_an_answer_is_a_slice_of_it_and_tells_the_whole_number(
    puts, question, limit, offset
):
    store, model = with_tree(), {}
    for one in puts:
        model[one.id] = one.terminal(model.get(one.id))
        put(store, model[one.id])

    found, total = store.begin().find(Terminal, question.where(), limit=limit, offset=offset)

    whole = naive(model, question)
    assert [one.terminal_id for one in found] == whole[offset : offset + limit]
    assert total == len(whole)


# --- cases that matter ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("piece", "ids"),
    [
        ("f", ["3", "1"]),
        ("fr", ["1"]),
        ("fro", ["1"]),
        ("fron", ["1"]),
        ("FRONT DESK", ["1"]),
        ("front desks", []),
        ("desk", ["2", "1"]),
        ("DES", ["2", "1"]),
        ("  ", []),
        ("8860", ["2", "1"]),
        ("88600000002", ["2"]),
        ("0002", ["2"]),
        ("\u00e4", ["3"]),
        ("CAF\u00c9 \u00c4", ["3"]),
        ("k 2 8860", []),
    ],
)
def test_a_piece_of_any_length_is_found_in_any_one_text_in_any_case(piece, ids):
    store = with_tree()
    put(
        store,
        a_terminal("1", name="Front desk", mid="886000000011", tid="00000001"),
        a_terminal("2", name="Desk 2", mid="886000000022", tid="00000002"),
        a_terminal("3", name="Caf\u00e9 \u00e4 la carte"),
    )

    found = asked(store, Query("root", search=piece))

    assert found == ids
