"""The memory store keeps the contract, and tells its watchers what it keeps."""

import pytest

from sandbox.domain.directory import Account, Terminal
from sandbox.domain.keys import ApiKey
from sandbox.store.store import Store
from sandbox.store.tables import DuplicateValue
from tests.store.contract import StoreContract
from tests.store.records import AT, account, key, put


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return Store()


def terminal(id: str, mid: str, tid: str) -> Terminal:
    return Terminal(terminal_id=id, name="T", account_id="a", mid=mid, tid=tid, created_at=AT)


@pytest.fixture
def terminals() -> Store:
    """A store whose terminals can be found by MID and by TID."""
    store = Store()
    put(
        store,
        account("a"),
        terminal("1", "a", "x"),
        terminal("2", "b", "x"),
        terminal("3", "a", "y"),
        terminal("4", "a", "x"),
    )
    return store


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"mid": "a", "tid": "x"}, ["4", "1"]),
        ({"mid": "b", "tid": "x"}, ["2"]),
        ({"mid": "b", "tid": "y"}, []),
        ({"mid": "a", "tid": "nothing"}, []),
        ({"mid": ["a", "b"], "tid": "x"}, ["4", "2", "1"]),
        ({"mid": ["a", "b"], "tid": ["x", "y"]}, ["4", "3", "2", "1"]),
        ({"mid": "a", "tid": []}, []),
    ],
)
def test_of_two_indexes_both_have_to_fit(terminals, where, expected):
    found = terminals.begin().find(Terminal, where)

    assert ([one.terminal_id for one in found[0]], found[1]) == (expected, len(expected))


def test_a_page_of_what_fits_two_indexes_knows_the_total(terminals):
    where = {"mid": "a", "tid": "x"}

    found = terminals.begin().find(Terminal, where, limit=1, offset=1)

    assert ([one.terminal_id for one in found[0]], found[1]) == (["1"], 2)


def test_a_watcher_is_told_of_every_committed_record_of_its_kind():
    told = []
    store = Store(watchers={ApiKey: told.append})

    unit = store.begin()
    unit.put(account("a"))
    unit.put(key("1"))
    before = list(told)
    unit.commit()
    put(store, key("1", "b"))

    assert before == []
    assert told == [key("1"), key("1", "b")]


def test_a_watcher_is_not_told_of_a_refused_commit():
    told = []
    store = Store(watchers={ApiKey: told.append, Account: told.append})
    put(store, key("1", lookup="x"))

    with pytest.raises(DuplicateValue):
        put(store, key("2", lookup="x"))

    assert told == [key("1", lookup="x")]
