"""When a failed delivery is tried again. Source: assumed 8.3-retry, D22."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.domain.webhooks import wait_after
from tests.webhooks.calling import DOCUMENTED_S

failures = st.integers(1, 7)
jitters = st.floats(0, 1)
asked = st.floats(0, 1e9)


def wait_s(failures, jitter=0.0, **more):
    wait = wait_after(failures, jitter=jitter, **more)
    assert wait is not None
    assert wait.microseconds % 1000 == 0
    return wait.total_seconds()


@pytest.mark.proves("assumed 8.3-retry")
def test_without_jitter_the_waits_are_the_documented_ones_and_the_eighth_failure_is_the_last():
    assert [wait_s(number) for number in range(1, 8)] == DOCUMENTED_S
    for number in (8, 9, 100):
        assert wait_after(number, jitter=0.5) is None
        assert wait_after(number, jitter=0.5, retry_after_s=5, is_throttled=True) is None


@pytest.mark.proves("assumed D22")
@given(failures, jitters, asked)
def test_jitter_adds_a_fifth_at_most_and_an_endpoint_may_ask_for_twice_as_long(
    number, jitter, retry_after_s
):
    planned = wait_s(number, jitter)

    wait = wait_s(number, jitter, retry_after_s=retry_after_s)

    assert DOCUMENTED_S[number - 1] <= planned <= DOCUMENTED_S[number - 1] * 1.2
    heeded = min(max(retry_after_s, planned), 2 * planned)
    assert wait == pytest.approx(heeded, abs=0.002)


def test_a_retry_after_of_the_first_failure_counts_from_five_to_ten_seconds():
    rows = {0: 5, 4: 5, 7: 7, 10: 10, 11: 10, 10**9: 10}

    assert {asked: wait_s(1, retry_after_s=asked) for asked in rows} == rows


@given(failures, jitters, st.none() | asked, st.booleans(), st.floats(0, 10))
def test_after_a_429_or_a_time_out_it_is_a_minute_at_least_and_the_scale_stretches_all_of_it(
    number, jitter, retry_after_s, is_throttled, scale
):
    wait = wait_s(number, jitter, retry_after_s=retry_after_s)
    if is_throttled:
        wait = max(60, wait)
    given = {"retry_after_s": retry_after_s, "is_throttled": is_throttled}

    assert wait_s(number, jitter, **given) == wait
    assert wait_s(number, jitter, **given, scale=scale) == pytest.approx(wait * scale, abs=0.006)
