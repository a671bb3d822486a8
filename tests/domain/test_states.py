"""The walker over tables of steps."""

import pytest

from sandbox.domain.states import Machine, NoSuchStep, Step


def step(state: str, trigger: str, target: str, event: str | None = None) -> Step:
    return Step(state=state, trigger=trigger, target=target, event=event, source="assumed C9")


DOOR = Machine(
    "door",
    [
        step("open", "close", "closed", "door.closed"),
        step("closed", "open", "open", "door.opened"),
        step("closed", "lock", "locked"),
        step("locked", "unlock", "closed"),
        step("open", "remove", "gone"),
    ],
)


def test_a_pair_without_a_row_is_refused_with_what_is_possible():
    for state, trigger, said in (
        ("open", "lock", "door: cannot lock from open; possible: close, remove"),
        ("locked", "open", "door: cannot open from locked; possible: unlock"),
        ("gone", "open", "door: cannot open from gone; possible: nothing"),
        ("melted", "open", "door: cannot open from melted; possible: nothing"),
    ):
        with pytest.raises(NoSuchStep) as refused:
            DOOR.step(state, trigger)

        assert str(refused.value) == said


def test_two_rows_for_one_pair_make_no_machine():
    with pytest.raises(ValueError, match="door: two rows"):
        Machine("door", [step("open", "close", "closed"), step("open", "close", "open")])
