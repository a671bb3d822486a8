"""The memory store keeps the contract, and tells its watchers what it keeps."""

import pytest

from sandbox.domain.accounts import Account
from sandbox.domain.keys import ApiKey
from sandbox.store import memory
from sandbox.store.memory import MemoryStore
from sandbox.store.port import DuplicateValue
from sandbox.store.tables import Table
from tests.store.contract import StoreContract
from tests.store.records import account, ids, key, put

TWO_INDEXES = Table(
    name="api_keys",
    kind=ApiKey,
    key="id",
    indexes={
        "account": lambda key: (key.account_id,),
        "lookup": lambda key: (key.lookup,),
    },
)
"""No kind of record has two indexes yet; the port says what `find` does once one has."""


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()


@pytest.fixture
def two_indexes(monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    """A store whose keys stand in two indexes."""
    monkeypatch.setattr(memory, "TABLES", (TWO_INDEXES,))
    store = MemoryStore()
    put(
        store,
        key("1", "a", lookup="x"),
        key("2", "b", lookup="x"),
        key("3", "a", lookup="y"),
        key("4", "a", lookup="x"),
    )
    return store


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"account": "a", "lookup": "x"}, ["4", "1"]),
        ({"account": "b", "lookup": "x"}, ["2"]),
        ({"account": "b", "lookup": "y"}, []),
        ({"account": "a", "lookup": "nothing"}, []),
        ({"account": ["a", "b"], "lookup": "x"}, ["4", "2", "1"]),
        ({"account": ["a", "b"], "lookup": ["x", "y"]}, ["4", "3", "2", "1"]),
        ({"account": "a", "lookup": []}, []),
    ],
)
def test_of_two_indexes_both_have_to_fit(two_indexes, where, expected):
    found = two_indexes.begin().find(ApiKey, where)

    assert (ids(found), found[1]) == (expected, len(expected))


def test_a_page_of_what_fits_two_indexes_knows_the_total(two_indexes):
    where = {"account": "a", "lookup": "x"}

    found = two_indexes.begin().find(ApiKey, where, limit=1, offset=1)

    assert (ids(found), found[1]) == (["1"], 2)


def test_a_watcher_is_told_of_every_committed_record_of_its_kind():
    told = []
    store = MemoryStore(watchers={ApiKey: told.append})

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
    store = MemoryStore(watchers={ApiKey: told.append, Account: told.append})
    put(store, key("1", lookup="x"))

    with pytest.raises(DuplicateValue):
        put(store, key("2", lookup="x"))

    assert told == [key("1", lookup="x")]
