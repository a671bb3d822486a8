"""What every store behind `sandbox/store/port.py` promises. A test module supplies `store`."""

import pytest
from msgspec.structs import replace

from sandbox.domain.directory import Account, Location, Terminal
from sandbox.domain.keys import ApiKey
from sandbox.store.store import Store
from sandbox.store.tables import DuplicateValue, UnitClosed
from tests.store.contract_finding import FindingContract
from tests.store.contract_state import StateContract
from tests.store.records import AT, account, ids, key, message, put


class StoreContract(FindingContract, StateContract):
    """All promises, one test each. Subclasses supply the fixture `store`, fresh for each test."""

    # --- units of work ------------------------------------------------------------------------

    def test_an_empty_store_has_nothing(self, store: Store) -> None:
        unit = store.begin()

        assert unit.get(Account, "a") is None
        assert unit.one(ApiKey, "lookup", "x") is None
        assert unit.find(ApiKey, {}) == ([], 0)
        assert unit.find(ApiKey, {"account": "a"}) == ([], 0)
        assert list(store.messages()) == []
        assert store.message("m") is None

    def test_a_unit_gets_what_it_has_put_and_nobody_else_does_until_it_commits(self, store: Store):
        writer, reader = store.begin(), store.begin()

        writer.put(account("a"))
        before = reader.get(Account, "a")
        own = writer.get(Account, "a")
        writer.commit()

        assert own == account("a")
        assert before is None
        assert reader.get(Account, "a") == account("a")
        assert store.begin().get(Account, "a") == account("a")

    def test_a_unit_gets_the_last_of_several_puts_of_one_record(self, store: Store):
        unit = store.begin()

        unit.put(account("a", name="first"))
        unit.put(account("a", name="second"))
        own = unit.get(Account, "a")
        unit.commit()

        assert own == account("a", name="second")
        assert store.begin().get(Account, "a") == account("a", name="second")
        assert store.begin().find(Account, {}) == ([account("a", name="second")], 1)

    def test_a_unit_that_is_dropped_leaves_nothing_behind(self, store: Store):
        put(store, account("a"))

        unit = store.begin()
        unit.put(account("a", name="changed"))
        unit.put(account("b"))
        unit.put(key("k"))
        unit.emit(message("m"))
        del unit

        assert store.begin().find(Account, {}) == ([account("a")], 1)
        assert store.begin().find(ApiKey, {"account": "a"}) == ([], 0)
        assert store.one(ApiKey, "lookup", "lookup-k") is None
        assert list(store.messages()) == []

    def test_what_was_not_committed_is_not_found(self, store: Store):
        unit = store.begin()

        unit.put(key("k"))

        assert unit.find(ApiKey, {"account": "a"}) == ([], 0)
        assert unit.one(ApiKey, "lookup", "lookup-k") is None

    def test_a_commit_applies_records_of_all_kinds_and_messages_at_once(self, store: Store):
        terminal = Terminal(terminal_id="t", name="till", account_id="a", created_at=AT)
        location = Location(id="l", name="shop", account_id="a", created_at=AT)

        unit = store.begin()
        for record in (account("a"), key("k"), terminal, location):
            unit.put(record)
        unit.emit(message("m"))
        unit.commit()

        after = store.begin()
        assert after.get(Account, "a") == account("a")
        assert after.get(ApiKey, "k") == key("k")
        assert after.get(Terminal, "t") == terminal
        assert after.get(Location, "l") == location
        assert after.find(Terminal, {"account": "a"}) == ([terminal], 1)
        assert after.find(Location, {"account": "a"}) == ([location], 1)
        assert store.message("m") == message("m")

    def test_records_of_different_kinds_may_share_an_id(self, store: Store):
        put(store, account("same"), key("same"))

        unit = store.begin()

        assert unit.get(Account, "same") == account("same")
        assert unit.get(ApiKey, "same") == key("same")
        assert unit.get(Terminal, "same") is None

    def test_the_later_of_two_commits_wins(self, store: Store):
        first, second = store.begin(), store.begin()
        first.put(account("a", name="first"))
        second.put(account("a", name="second"))

        second.commit()
        first.commit()

        assert store.begin().get(Account, "a") == account("a", name="first")

    def test_an_empty_commit_changes_nothing(self, store: Store):
        put(store, account("a"))

        store.begin().commit()

        assert store.begin().find(Account, {}) == ([account("a")], 1)

    @pytest.mark.parametrize("use", ["put", "emit", "commit"])
    def test_a_unit_cannot_be_used_after_its_commit(self, store: Store, use: str):
        unit = store.begin()
        unit.put(account("a"))
        unit.commit()
        again = {
            "put": lambda: unit.put(account("b")),
            "emit": lambda: unit.emit(message("m")),
            "commit": unit.commit,
        }

        with pytest.raises(UnitClosed, match="committed"):
            again[use]()

        assert store.begin().find(Account, {}) == ([account("a")], 1)
        assert list(store.messages()) == []

    # --- unique indexes -----------------------------------------------------------------------

    def test_one_finds_the_record_with_a_unique_value_as_it_is_now(self, store: Store):
        put(store, key("1", lookup="x"), key("2", lookup="y"))

        put(store, replace(key("1", lookup="x"), name="renamed"))

        found = store.begin().one(ApiKey, "lookup", "x")
        assert (found and found.id, found and found.name) == ("1", "renamed")
        assert store.one(ApiKey, "lookup", "x") == found
        assert store.one(ApiKey, "lookup", "z") is None

    def test_a_unique_value_of_another_record_is_refused_with_nothing_applied(self, store: Store):
        put(store, account("a"), key("1", lookup="x"))
        unit = store.begin()
        unit.put(account("a", name="changed"))
        unit.put(account("b"))
        unit.put(key("0", lookup="w"))
        unit.put(key("2", lookup="x"))
        unit.emit(message("m"))

        with pytest.raises(DuplicateValue, match="lookup"):
            unit.commit()

        after = store.begin()
        assert after.find(Account, {}) == ([account("a")], 1)
        assert after.find(ApiKey, {}) == ([key("1", lookup="x")], 1)
        assert after.find(ApiKey, {"account": "a"}) == ([key("1", lookup="x")], 1)
        assert after.one(ApiKey, "lookup", "w") is None
        assert (list(store.messages()), store.message("m")) == ([], None)

    def test_two_new_records_of_one_commit_cannot_share_a_unique_value(self, store: Store):
        unit = store.begin()
        unit.put(key("1", lookup="x"))
        unit.put(key("2", lookup="x"))

        with pytest.raises(DuplicateValue, match="lookup"):
            unit.commit()

        assert store.begin().find(ApiKey, {}) == ([], 0)
        assert store.one(ApiKey, "lookup", "x") is None

    def test_a_unit_that_was_refused_cannot_be_used_again(self, store: Store):
        put(store, key("1", lookup="x"))
        unit = store.begin()
        unit.put(key("2", lookup="x"))
        with pytest.raises(DuplicateValue):
            unit.commit()

        with pytest.raises(UnitClosed):
            unit.commit()

        assert store.begin().find(ApiKey, {}) == ([key("1", lookup="x")], 1)

    def test_a_deleted_record_keeps_its_unique_value_for_ever(self, store: Store):
        put(store, key("1", lookup="x"), replace(key("1", lookup="x"), deleted_at=AT))

        with pytest.raises(DuplicateValue):
            put(store, key("2", lookup="x"))

    # --- messages and clearing ----------------------------------------------------------------

    def test_messages_stand_in_the_order_of_their_commits(self, store: Store):
        first, second = store.begin(), store.begin()
        first.emit(message("1"))
        second.emit(message("2"))
        second.emit(message("3"))

        second.commit()
        first.commit()

        assert [one.id for one in store.messages()] == ["2", "3", "1"]
        assert store.message("3") == message("3")

    def test_a_message_keeps_the_record_as_it_was(self, store: Store):
        unit = store.begin()
        unit.put(account("a", name="then"))
        unit.emit(message("m", account("a", name="then")))
        unit.commit()

        put(store, account("a", name="now"))

        kept = store.message("m")
        assert kept is not None
        assert kept.record == account("a", name="then")

    def test_clearing_forgets_everything(self, store: Store):
        unit = store.begin()
        unit.put(key("1", lookup="x"))
        unit.emit(message("m"))
        unit.commit()

        store.clear()

        assert store.begin().find(ApiKey, {}) == ([], 0)
        assert store.begin().find(ApiKey, {"account": "a"}) == ([], 0)
        assert store.one(ApiKey, "lookup", "x") is None
        assert (list(store.messages()), store.message("m")) == ([], None)
        put(store, key("2", lookup="x"))
        assert ids(store.begin().find(ApiKey, {})) == ["2"]
