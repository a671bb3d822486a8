"""A time-out of five real seconds, as a scenario of the library has it."""

from tests.scenarios.live import live, play_the_day_at_the_till


def test_a_day_at_the_till_takes_its_five_seconds():
    with live("day_at_the_till") as till:
        play_the_day_at_the_till(till, time_out_s=5)
