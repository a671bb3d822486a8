"""What a store promises of timers: one per kind and subject, soonest first, with the commit."""

from datetime import UTC, datetime, timedelta

import pytest

from sandbox.domain.clock import AUTHORIZATION_EXPIRES, BATCH_RESULT, SURCHARGE_EXPIRES, Timer
from sandbox.domain.directory import Account
from sandbox.store.store import Store
from sandbox.store.tables import DuplicateValue, UnitClosed
from tests.store.records import AT, account, key, put


def timer(subject: str, minutes: float = 1, kind: str = AUTHORIZATION_EXPIRES) -> Timer:
    return Timer(kind=kind, subject=subject, due=AT + timedelta(minutes=minutes))


def schedule(store: Store, *timers: Timer) -> None:
    """Each in a commit of its own."""
    for one in timers:
        unit = store.begin()
        unit.schedule(one)
        unit.commit()


def cancel(store: Store, kind: str, subject: str) -> None:
    unit = store.begin()
    unit.cancel(kind, subject)
    unit.commit()


def in_order(store: Store) -> list[Timer]:
    """Every timer, as they would fall due; none is left."""
    found = []
    while (one := store.next_timer()) is not None:
        found.append(one)
        cancel(store, one.kind, one.subject)
    return found


class TimersContract:
    """All promises, one test each. Subclasses supply the fixture `store`, fresh for each test."""

    def test_an_empty_store_has_no_timer(self, store: Store) -> None:
        assert store.next_timer() is None

    def test_a_timer_is_there_with_the_commit_and_not_before(self, store: Store) -> None:
        unit = store.begin()
        unit.schedule(timer("a"))
        before = store.next_timer()
        unit.commit()

        assert before is None
        assert store.next_timer() == timer("a")

    def test_looking_at_the_next_timer_does_not_use_it_up(self, store: Store) -> None:
        schedule(store, timer("a"))

        assert store.next_timer() == store.next_timer() == timer("a")

    def test_a_unit_that_is_dropped_schedules_and_cancels_nothing(self, store: Store) -> None:
        schedule(store, timer("a"))

        unit = store.begin()
        unit.schedule(timer("b", 0))
        unit.cancel(AUTHORIZATION_EXPIRES, "a")
        del unit

        assert in_order(store) == [timer("a")]

    def test_timers_come_soonest_first_whatever_the_order_they_were_set_in(
        self, store: Store
    ) -> None:
        schedule(store, timer("c", 3), timer("a", 1), timer("d", 4), timer("b", 2))

        assert [one.subject for one in in_order(store)] == ["a", "b", "c", "d"]

    def test_of_timers_that_are_due_together_the_older_one_comes_first(self, store: Store) -> None:
        schedule(store, timer("z"), timer("a"), timer("m", kind=BATCH_RESULT))

        assert [one.subject for one in in_order(store)] == ["z", "a", "m"]

    def test_a_subject_has_one_timer_of_a_kind_and_the_last_one_counts(self, store: Store) -> None:
        schedule(store, timer("a", 5), timer("b", 3), timer("a", 1))

        assert in_order(store) == [timer("a", 1), timer("b", 3)]

    def test_a_timer_may_be_put_off(self, store: Store) -> None:
        schedule(store, timer("a", 1), timer("b", 3), timer("a", 5))

        assert in_order(store) == [timer("b", 3), timer("a", 5)]

    def test_set_again_for_the_same_moment_a_timer_is_the_younger_one(self, store: Store) -> None:
        schedule(store, timer("a"), timer("b"), timer("a"))

        assert [one.subject for one in in_order(store)] == ["b", "a"]

    def test_a_subject_may_have_timers_of_several_kinds(self, store: Store) -> None:
        kinds = [SURCHARGE_EXPIRES, AUTHORIZATION_EXPIRES, BATCH_RESULT]
        schedule(store, *(timer("a", minutes, kind) for minutes, kind in enumerate(kinds)))

        cancel(store, AUTHORIZATION_EXPIRES, "a")

        assert [one.kind for one in in_order(store)] == [SURCHARGE_EXPIRES, BATCH_RESULT]

    def test_a_canceled_timer_is_gone_and_may_be_set_anew(self, store: Store) -> None:
        schedule(store, timer("a"), timer("b", 2))

        cancel(store, AUTHORIZATION_EXPIRES, "a")
        after = store.next_timer()
        schedule(store, timer("a"))

        assert after == timer("b", 2)
        assert store.next_timer() == timer("a")

    def test_canceling_what_is_not_there_changes_nothing(self, store: Store) -> None:
        schedule(store, timer("a"))

        cancel(store, AUTHORIZATION_EXPIRES, "b")
        cancel(store, SURCHARGE_EXPIRES, "a")
        cancel(store, "no_such_kind", "a")

        assert in_order(store) == [timer("a")]

    def test_within_a_unit_the_last_word_on_a_timer_counts(self, store: Store) -> None:
        unit = store.begin()
        unit.schedule(timer("kept", 1))
        unit.cancel(AUTHORIZATION_EXPIRES, "kept")
        unit.schedule(timer("kept", 2))
        unit.schedule(timer("gone"))
        unit.cancel(AUTHORIZATION_EXPIRES, "gone")
        unit.commit()

        assert in_order(store) == [timer("kept", 2)]

    def test_timers_and_records_are_committed_together_or_not_at_all(self, store: Store) -> None:
        put(store, key("1", lookup="x"))
        schedule(store, timer("old"))
        unit = store.begin()
        unit.put(account("a"))
        unit.put(key("2", lookup="x"))
        unit.schedule(timer("new", 0))
        unit.cancel(AUTHORIZATION_EXPIRES, "old")

        with pytest.raises(DuplicateValue):
            unit.commit()

        assert store.begin().get(Account, "a") is None
        assert in_order(store) == [timer("old")]

    def test_a_timer_needs_no_record(self, store: Store) -> None:
        schedule(store, timer("nobody"))

        assert store.begin().get(Account, "nobody") is None
        assert store.next_timer() == timer("nobody")

    @pytest.mark.parametrize("use", ["schedule", "cancel"])
    def test_a_unit_takes_no_timer_after_its_commit(self, store: Store, use: str) -> None:
        unit = store.begin()
        unit.schedule(timer("a"))
        unit.commit()
        again = {
            "schedule": lambda: unit.schedule(timer("b", 0)),
            "cancel": lambda: unit.cancel(AUTHORIZATION_EXPIRES, "a"),
        }

        with pytest.raises(UnitClosed):
            again[use]()

        assert in_order(store) == [timer("a")]

    def test_clearing_forgets_timers_too(self, store: Store) -> None:
        schedule(store, timer("a"), timer("b"))

        store.clear()
        after = store.next_timer()
        schedule(store, timer("c"))

        assert after is None
        assert in_order(store) == [timer("c")]

    def test_moments_are_told_apart_to_the_microsecond(self, store: Store) -> None:
        first = datetime(2026, 3, 1, 12, 0, 0, 1, tzinfo=UTC)
        later = Timer(kind=BATCH_RESULT, subject="b", due=first + timedelta(microseconds=1))
        sooner = Timer(kind=BATCH_RESULT, subject="a", due=first)

        schedule(store, later, sooner)

        assert in_order(store) == [sooner, later]

    def test_a_moment_is_the_same_in_every_time_zone(self, store: Store) -> None:
        east = datetime.fromisoformat("2026-03-01T14:00:00+02:00")
        west = datetime.fromisoformat("2026-03-01T06:30:00-05:00")
        schedule(
            store,
            Timer(kind=BATCH_RESULT, subject="noon", due=east),
            Timer(kind=BATCH_RESULT, subject="half past eleven", due=west),
        )

        assert [one.subject for one in in_order(store)] == ["half past eleven", "noon"]

    def test_many_timers_come_in_order(self, store: Store) -> None:
        minutes = [(place * 7919) % 1009 for place in range(1009)]
        schedule(store, *(timer(f"s-{minute}", minute) for minute in minutes))

        assert [one.due for one in in_order(store)] == [
            timer("", minute).due for minute in range(1009)
        ]


class TestTimersOfTheMemoryStore(TimersContract):
    @pytest.fixture
    def store(self) -> Store:
        return Store()
