"""A memo keeps results, but never more than its limit."""

from sandbox.worlds.memo import MEMO_MAX, Memo


def test_a_full_memo_starts_again_with_the_next_result():
    memo = Memo()

    for number in range(MEMO_MAX + 1):
        memo[number] = number

    assert memo == {MEMO_MAX: MEMO_MAX}
