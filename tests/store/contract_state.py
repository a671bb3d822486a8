"""What every store promises about the state of a world beside its directory and payments."""

from msgspec.structs import replace

from sandbox.domain.clock import TAP_EXPIRES, Timer
from sandbox.domain.keys import KeyUsage
from sandbox.domain.payments.transactions import BusyPayment
from sandbox.domain.webhooks import Delivery, Endpoint
from sandbox.store.store import Store
from sandbox.store.tables import OLDEST_FIRST
from sandbox.store.world_state import Counters
from tests.store.records import AT, message, put


def endpoint(id: str) -> Endpoint:
    return Endpoint(id=id, url="http://localhost/", secret="whsec_x", created_at=AT)


class StateContract:
    """Promises about endpoints, deliveries, the usage of keys, busy payments and counters."""

    def test_all_records_of_a_kind_come_oldest_first_and_follow_changes(self, store: Store):
        all_of_them = store.all(Endpoint)
        assert not all_of_them

        put(store, endpoint("b"), endpoint("a"), replace(endpoint("b"), description="changed"))

        assert list(all_of_them) == ["b", "a"]
        assert all_of_them["b"].description == "changed"
        assert "c" not in all_of_them
        assert store.get(Endpoint, "a") == endpoint("a")
        assert store.get(Endpoint, "c") is None

    def test_a_removed_record_is_gone_with_the_commit_and_not_before(self, store: Store):
        put(store, endpoint("a"), endpoint("b"))
        unit = store.begin()

        unit.remove(Endpoint, "a")
        own, others = unit.get(Endpoint, "a"), store.begin().get(Endpoint, "a")
        unit.commit()

        assert own is None
        assert others == endpoint("a")
        assert list(store.all(Endpoint)) == ["b"]
        assert store.begin().find(Endpoint, {}) == ([endpoint("b")], 1)

    def test_of_putting_and_removing_the_last_one_counts(self, store: Store):
        put(store, endpoint("a"))
        unit = store.begin()

        unit.remove(Endpoint, "a")
        unit.put(endpoint("a"))
        unit.put(endpoint("b"))
        unit.remove(Endpoint, "b")
        unit.commit()

        assert list(store.all(Endpoint)) == ["a"]

    def test_removing_what_is_not_there_changes_nothing(self, store: Store):
        unit = store.begin()

        unit.remove(BusyPayment, "nothing")
        unit.commit()

        assert len(store.all(BusyPayment)) == 0

    def test_an_id_can_be_used_again_after_its_record_was_removed_and_is_the_newest_then(
        self, store: Store
    ):
        put(store, endpoint("a"), endpoint("b"))
        unit = store.begin()
        unit.remove(Endpoint, "a")
        unit.commit()

        put(store, endpoint("a"))

        assert list(store.all(Endpoint)) == ["b", "a"]
        assert [one.id for one in store.begin().find(Endpoint, {})[0]] == ["a", "b"]

    def test_deliveries_are_found_by_their_message_and_while_they_are_open_by_their_endpoint(
        self, store: Store
    ):
        first, second, other = (
            Delivery(message_id="m1", endpoint_id="e"),
            Delivery(message_id="m2", endpoint_id="e"),
            Delivery(message_id="m1", endpoint_id="f"),
        )
        put(store, first, second, other)

        def open_at(endpoint_id: str) -> list[Delivery]:
            where = {"open_at": endpoint_id}
            return store.begin().find(Delivery, where, order=OLDEST_FIRST)[0]

        before = open_at("e")
        put(store, replace(first, status="delivered"))

        assert before == [first, second]
        assert open_at("e") == [second]
        assert store.begin().find(Delivery, {"message": "m1"}, order=OLDEST_FIRST)[0] == [
            replace(first, status="delivered"),
            other,
        ]

    def test_a_later_use_of_a_key_replaces_the_one_before(self, store: Store):
        put(
            store,
            KeyUsage(key_id="k", last_used_at=AT),
            KeyUsage(key_id="k", last_used_at=AT.replace(hour=13)),
        )

        assert store.all(KeyUsage) == {"k": KeyUsage(key_id="k", last_used_at=AT.replace(hour=13))}

    def test_numbers_that_were_counted_stay_counted_without_a_commit(self, store: Store):
        store.begin()
        store.counters.requests += 1
        store.counters.drawn += 16

        assert store.counters == Counters(drawn=16, requests=1)

    def test_a_timer_is_found_by_its_kind_subject_and_tag(self, store: Store):
        timer = Timer(kind=TAP_EXPIRES, subject="t", due=AT, tag="x")
        unit = store.begin()
        unit.schedule(timer)
        unit.commit()

        assert store.timer(TAP_EXPIRES, "t", "x") == timer
        assert store.timer(TAP_EXPIRES, "t") is None

    def test_the_messages_of_a_moment_do_not_grow(self, store: Store):
        unit = store.begin()
        unit.emit(message("m1"))
        unit.commit()
        now = store.messages_now()

        unit = store.begin()
        unit.emit(message("m2"))
        unit.commit()

        assert [one.id for one in now] == ["m1"]
        assert (store.place_of("m2"), store.place_of("m3")) == (1, None)

    def test_a_cleared_store_has_forgotten_its_state_too(self, store: Store):
        put(
            store,
            endpoint("a"),
            Delivery(message_id="m", endpoint_id="a"),
            KeyUsage(key_id="k", last_used_at=AT),
            BusyPayment(transaction_id="t"),
        )
        store.counters.requests += 1

        store.clear()

        assert [len(store.all(kind)) for kind in (Endpoint, Delivery, KeyUsage, BusyPayment)] == [
            *(0, 0, 0, 0)
        ]
        assert store.counters == Counters()
