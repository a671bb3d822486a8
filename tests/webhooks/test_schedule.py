"""When a failed delivery is tried again. Source: assumed 8.3-retry, D22."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.domain.webhooks import wait_after
from tests.webhooks.calling import DOCUMENTED_S

MILLISECOND = 0.001

failures = st.integers(1, 7)
jitters = st.floats(0, 1)
asked = st.floats(0, 1e9)
scales = st.floats(0, 10)


def wait_s(failures, jitter=0.0, **more):
    wait = wait_after(failures, jitter=jitter, **more)
    assert wait is not None
    return wait.total_seconds()


@pytest.mark.proves("assumed 8.3-retry")
def test_without_jitter_the_waits_are_the_documented_ones():
    assert [wait_s(number) for number in range(1, 8)] == DOCUMENTED_S


@pytest.mark.proves("assumed 8.3-retry")
@pytest.mark.parametrize("number", [8, 9, 100])
def test_the_eighth_failure_is_the_last_attempt(number):
    assert wait_after(number, jitter=0.5) is None
    assert wait_after(number, jitter=0.5, retry_after_s=5, is_throttled=True) is None


@pytest.mark.proves("assumed D22")
@given(failures, jitters)
def test_jitter_adds_at_most_a_fifth_and_takes_nothing_away(number, jitter):
    planned = DOCUMENTED_S[number - 1]

    wait = wait_s(number, jitter)

    assert planned <= wait <= planned * 1.2


@pytest.mark.proves("assumed D22")
@given(failures, jitters, asked)
def test_what_an_endpoint_asks_for_is_applied_between_one_and_two_planned_waits(
    number, jitter, retry_after_s
):
    planned = wait_s(number, jitter)

    wait = wait_s(number, jitter, retry_after_s=retry_after_s)

    heeded = min(max(retry_after_s, planned), 2 * planned)
    assert wait == pytest.approx(heeded, abs=2 * MILLISECOND)


@pytest.mark.parametrize(
    ("retry_after_s", "expected_s"), [(0, 5), (4, 5), (7, 7), (10, 10), (11, 10), (10**9, 10)]
)
def test_a_retry_after_of_the_first_failure_counts_from_five_to_ten_seconds(
    retry_after_s, expected_s
):
    assert wait_s(1, retry_after_s=retry_after_s) == expected_s


@given(failures, jitters, st.none() | asked)
def test_after_a_429_or_a_time_out_it_is_a_minute_at_least(number, jitter, retry_after_s):
    otherwise = wait_s(number, jitter, retry_after_s=retry_after_s)

    wait = wait_s(number, jitter, retry_after_s=retry_after_s, is_throttled=True)

    assert wait == max(60, otherwise)


@given(failures, jitters, st.none() | asked, st.booleans(), scales)
def test_the_scale_stretches_all_of_it(number, jitter, retry_after_s, is_throttled, scale):
    given = {"retry_after_s": retry_after_s, "is_throttled": is_throttled}
    unscaled = wait_s(number, jitter, **given)

    scaled = wait_s(number, jitter, **given, scale=scale)

    assert scaled == pytest.approx(unscaled * scale, abs=6 * MILLISECOND)


@given(failures, jitters, st.none() | asked, scales)
def test_a_wait_is_whole_milliseconds(number, jitter, retry_after_s, scale):
    wait = wait_after(number, jitter=jitter, retry_after_s=retry_after_s, scale=scale)

    assert wait is not None
    assert wait.microseconds % 1000 == 0
