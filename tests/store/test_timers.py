"""Timers of a store: one for each kind, subject and tag, the one that is due soonest first."""

from datetime import datetime, timedelta
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.domain.clock import AUTHORIZATION_EXPIRES, BATCH_RESULT, Timer
from sandbox.store.store import Store
from tests.properties import examples
from tests.store.records import AT

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["schedule", "schedule", "cancel"]),
        st.sampled_from([AUTHORIZATION_EXPIRES, BATCH_RESULT]),
        st.sampled_from("abc"),
        st.integers(0, 4),
        st.sampled_from(["with the next", "commit", "drop"]),
    ),
    max_size=20,
)


def in_order(store: Store) -> list[Timer]:
    """Every timer, as they would fall due; none is left."""
    found = []
    while (one := store.next_timer()) is not None:
        assert store.timer(one.kind, one.subject) == one
        found.append(one)
        unit = store.begin()
        unit.cancel(one.kind, one.subject)
        unit.commit()
    return found


@settings(max_examples=examples(600))
@given(steps=STEPS)
def test_timers_fall_due_in_the_order_of_a_sorted_list(steps):
    store, numbers = Store(), count()
    kept: dict[tuple[str, str], tuple[Timer, int]] = {}
    unit, changed = store.begin(), dict(kept)

    for what, kind, subject, microseconds, then in steps:
        timer = Timer(kind=kind, subject=subject, due=AT + timedelta(microseconds=microseconds))
        if what == "schedule":
            unit.schedule(timer)
            changed[kind, subject] = timer, next(numbers)
        else:
            unit.cancel(kind, subject)
            changed.pop((kind, subject), None)
        if then == "commit":
            unit.commit()
            kept = changed
        if then != "with the next":
            unit, changed = store.begin(), dict(kept)

    # Of those that are due together, the one that was set first comes first.
    by_due = sorted(kept.values(), key=lambda one: (one[0].due, one[1]))
    assert in_order(store) == [timer for timer, _ in by_due]


def test_a_moment_is_the_same_in_every_time_zone():
    store = Store()
    unit = store.begin()
    for subject, due in (
        ("noon", "2026-03-01T14:00:00+02:00"),
        ("half past eleven", "2026-03-01T06:30:00-05:00"),
    ):
        unit.schedule(Timer(kind=BATCH_RESULT, subject=subject, due=datetime.fromisoformat(due)))
    unit.commit()

    assert [one.subject for one in in_order(store)] == ["half past eleven", "noon"]
