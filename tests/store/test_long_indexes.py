"""Long indexes are made and read a piece at a time, so that others are answered in between."""

from sortedcontainers import SortedList

from sandbox.store.memory.indexes import PIECE, Ascending, in_pieces, sorted_in_steps
from sandbox.store.steps import run_through

MANY = 3 * PIECE + 7


def test_a_list_made_in_steps_is_like_any_other() -> None:
    """It is found in, added to and removed from afterwards, whatever its length."""
    for size in (1, PIECE - 1, PIECE, PIECE + 1, MANY):
        made, usual = run_through(sorted_in_steps(list(range(0, 2 * size, 2)))), SortedList()
        usual.update(range(0, 2 * size, 2))
        for one in (made, usual):
            one.add(size | 1)
            one.add(-1)
            one.remove(0)
            one.add(2 * size + 1)
        made._check()
        assert list(made) == list(usual)
        assert [made.bisect_left(each) for each in usual] == list(range(len(usual)))
        assert made[-5:] == usual[-5:]


def test_a_long_list_is_made_in_many_steps_and_the_numbers_given_are_let_go() -> None:
    numbers = list(range(MANY))
    assert len(list(sorted_in_steps(numbers))) > MANY // PIECE
    assert numbers == []


def test_numbers_in_pieces_include_what_is_added_behind_the_place_that_was_reached() -> None:
    for numbers in (Ascending(range(0, 2 * MANY, 2)), SortedList(range(0, 2 * MANY, 2))):
        seen = []
        for number in in_pieces(numbers):
            seen.append(number)
            if number == 2 * PIECE:
                put = numbers.put if isinstance(numbers, Ascending) else numbers.add
                put(1)  # before it: no number is given twice, or passed over
                put(2 * MANY + 1)
        assert seen == [*range(0, 2 * MANY, 2), 2 * MANY + 1]


def test_numbers_that_come_late_are_put_in_their_place() -> None:
    numbers = Ascending()
    for number in (3, 5, 4, 1, 6):
        numbers.put(number)
    assert numbers == [1, 3, 4, 5, 6]
