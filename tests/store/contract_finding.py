"""What every store promises of finding: order, pages, indexes."""

from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from sandbox.domain.directory import Account
from sandbox.domain.keys import ApiKey
from sandbox.store.store import Store
from tests.properties import examples
from tests.store.records import AT, account, ids, key, put


@dataclass(frozen=True)
class Change:
    """A put of the key with this id, on this account; `commits` or is dropped."""

    id: str
    account_id: str
    is_deleted: bool
    commits: bool


CHANGES = st.lists(
    st.builds(
        Change, st.sampled_from("123456"), st.sampled_from("abc"), st.booleans(), st.booleans()
    ),
    max_size=25,
)
WANTED = st.lists(st.sampled_from("abcd"), max_size=3)


class FindingContract:
    """The promises of `find`. Subclasses supply the fixture `store`, fresh for each test."""

    def test_the_newest_record_is_found_first(self, store: Store):
        put(store, key("1"), key("2"), key("3"))

        assert ids(store.begin().find(ApiKey, {})) == ["3", "2", "1"]
        assert ids(store.begin().find(ApiKey, {"account": "a"})) == ["3", "2", "1"]

    def test_within_one_commit_the_record_that_was_put_last_is_the_newest(self, store: Store):
        unit = store.begin()
        for id in ("1", "2", "3"):
            unit.put(key(id))
        unit.put(key("1"))
        unit.commit()

        assert ids(store.begin().find(ApiKey, {"account": "a"})) == ["3", "2", "1"]

    def test_an_update_does_not_change_the_order(self, store: Store):
        put(store, key("1"), key("2"), key("3"))

        put(store, replace(key("1"), name="renamed"))

        found, total = store.begin().find(ApiKey, {"account": "a"})
        assert [record.id for record in found] == ["3", "2", "1"]
        assert (found[2].name, total) == ("renamed", 3)

    @pytest.mark.parametrize(
        ("limit", "offset", "expected"),
        [
            (None, 0, ["5", "4", "3", "2", "1"]),
            (2, 0, ["5", "4"]),
            (2, 2, ["3", "2"]),
            (2, 4, ["1"]),
            (None, 3, ["2", "1"]),
            (5, 0, ["5", "4", "3", "2", "1"]),
            (99, 0, ["5", "4", "3", "2", "1"]),
            (2, 5, []),
            (2, 99, []),
            (0, 0, []),
        ],
    )
    @pytest.mark.parametrize("where", [{}, {"account": "a"}, {"account": ["a", "nobody"]}])
    def test_a_page_begins_at_the_offset_and_knows_the_total(
        self, store: Store, where, limit, offset, expected
    ):
        put(store, *(key(str(number)) for number in range(1, 6)))

        found, total = store.begin().find(ApiKey, where, limit=limit, offset=offset)

        assert [record.id for record in found] == expected
        assert total == 5

    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            (["a"], ["4", "1"]),
            (["a", "b"], ["4", "2", "1"]),
            (["c", "a"], ["4", "3", "1"]),
            (("c", "b", "a"), ["4", "3", "2", "1"]),
            ({"b", "c"}, ["3", "2"]),
            (["b", "b"], ["2"]),
            (["nobody"], []),
            (["nobody", "c"], ["3"]),
            ([], []),
        ],
    )
    def test_of_several_values_of_one_index_any_will_do(self, store: Store, values, expected):
        put(store, key("1", "a"), key("2", "b"), key("3", "c"), key("4", "a"))

        found = store.begin().find(ApiKey, {"account": values})

        assert (ids(found), found[1]) == (expected, len(expected))

    def test_a_record_under_several_of_the_values_is_found_once(self, store: Store):
        put(store, account("x", "root", "mid"), account("y", "root"), account("z", "mid"))

        found, total = store.begin().find(Account, {"ancestor": ["root", "mid"]})

        assert [record.id for record in found] == ["z", "y", "x"]
        assert total == 3

    def test_a_value_that_no_index_entry_has_finds_nothing(self, store: Store):
        put(store, key("1"))

        assert store.begin().find(ApiKey, {"account": "nobody"}) == ([], 0)

    # --- indexes ------------------------------------------------------------------------------

    def test_an_update_moves_a_record_from_one_index_value_to_another(self, store: Store):
        put(store, key("1", "a"), key("2", "a"))

        put(store, key("1", "b"))

        assert ids(store.begin().find(ApiKey, {"account": "a"})) == ["2"]
        assert ids(store.begin().find(ApiKey, {"account": "b"})) == ["1"]

    def test_a_record_that_moves_back_has_its_old_place_in_the_order(self, store: Store):
        put(store, key("1", "a"), key("2", "a"), key("3", "a"))

        put(store, key("2", "b"), key("2", "a"))

        assert ids(store.begin().find(ApiKey, {"account": "a"})) == ["3", "2", "1"]

    def test_a_deleted_record_leaves_its_indexes_and_stays_readable_by_id(self, store: Store):
        deleted = replace(key("1"), deleted_at=AT)
        put(store, key("1"), key("2"))

        put(store, deleted)

        assert ids(store.begin().find(ApiKey, {"account": "a"})) == ["2"]
        assert store.begin().get(ApiKey, "1") == deleted
        assert store.begin().one(ApiKey, "lookup", "lookup-1") == deleted
        assert ids(store.begin().find(ApiKey, {})) == ["2", "1"]

    # --- against a list -----------------------------------------------------------------------

    @settings(
        max_examples=examples(150),
        deadline=None,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.differing_executors,
        ],
    )
    @given(
        changes=CHANGES,
        wanted=WANTED,
        limit=st.none() | st.integers(0, 8),
        offset=st.integers(0, 8),
    )
    def test_random_puts_are_found_as_in_a_plain_list(
        self, store: Store, changes, wanted, limit, offset
    ):
        store.clear()
        model: dict[str, ApiKey] = {}

        for change in changes:
            deleted_at = AT if change.is_deleted else None
            record = replace(key(change.id, change.account_id), deleted_at=deleted_at)
            unit = store.begin()
            unit.put(record)
            if change.commits:
                unit.commit()
                model[change.id] = record

        newest_first = list(model.values())[::-1]
        live = [one for one in newest_first if one.deleted_at is None and one.account_id in wanted]
        stop = None if limit is None else offset + limit
        unit = store.begin()
        for where, expected in (({"account": wanted}, live), ({}, newest_first)):
            found = unit.find(ApiKey, where, limit=limit, offset=offset)
            assert found == (expected[offset:stop], len(expected))
        for id in "123456":
            assert unit.get(ApiKey, id) == model.get(id)
            assert unit.one(ApiKey, "lookup", f"lookup-{id}") == model.get(id)
