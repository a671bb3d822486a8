"""The clock of a world: running, frozen, faster, set back, and never out of its bounds."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from sandbox.domain.clock import EARLIEST, LATEST, RATE_MAX, RUNNING, ClockSetting, ClockState
from sandbox.domain.instants import to_wire
from sandbox.worlds.clock import Clock

LAST = to_wire(LATEST)
START_S = 1_772_366_400.0  # 2026-03-01T12:00:00Z


@pytest.fixture
def system_clock() -> list[float]:
    """What the clock of the host says, which a test sets."""
    return [START_S]


def clock_of(system_clock: list[float], setting: ClockSetting) -> Clock:
    def store(state: ClockState) -> None:
        clock.state = state

    clock = Clock(lambda: system_clock[0], store, RUNNING.after(setting, system_clock[0]))
    return clock


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_running_clock_is_the_wall_to_the_millisecond_and_never_drifts(system_clock):
    clock = clock_of(system_clock, ClockSetting())

    for elapsed_s in (0.001, 59.999, 86_400.0, 1_000_000_000.001, -3600):
        system_clock[0] = START_S + elapsed_s
        expected = at("2026-03-01T12:00:00") + timedelta(seconds=elapsed_s)
        assert abs(clock.now() - expected) <= timedelta(milliseconds=1)
        assert clock.now().microsecond % 1000 == 0
    system_clock[0] = START_S + 1.2349
    assert clock.view() == {"now": "2026-03-01T12:00:01.234Z", "mode": "running", "rate": 1.0}


IN_2030 = ClockSetting(now=at("2030-01-01T00:00:00"))
FROZEN = ClockSetting(mode="frozen")


@pytest.mark.parametrize(
    ("steps", "now"),
    [
        # Settings, and the seconds that pass after each.
        ([(FROZEN, 1_000)], "2026-03-01T12:00:00.000Z"),
        ([(IN_2030, 90)], "2030-01-01T00:01:30.000Z"),
        ([(replace(IN_2030, rate=60.0), 2)], "2030-01-01T00:02:00.000Z"),
        ([(replace(IN_2030, rate=0.5), 2)], "2030-01-01T00:00:01.000Z"),
        ([(replace(IN_2030, rate=0.001), 1)], "2030-01-01T00:00:00.001Z"),
        ([(replace(IN_2030, rate=RATE_MAX), 3)], "2030-01-04T00:00:00.000Z"),
        # A new rate counts from then on; what runs again goes on from where it stood.
        ([(IN_2030, 10), (ClockSetting(rate=60.0), 10)], "2030-01-01T00:10:10.000Z"),
        ([(FROZEN, 3_600), (ClockSetting(mode="running"), 1)], "2026-03-01T12:00:01.000Z"),
        ([(IN_2030, 5), (FROZEN, 5)], "2030-01-01T00:00:05.000Z"),
        # Below a millisecond it is cut off, and it never passes its latest instant.
        ([(replace(FROZEN, now=at("2030-01-01T00:00:00.999999")), 0)], "2030-01-01T00:00:00.999Z"),
        ([(replace(FROZEN, now=EARLIEST), 5)], to_wire(EARLIEST)),
        ([(replace(FROZEN, now=LATEST), 5)], to_wire(LATEST)),
        *(
            ([(ClockSetting(now=LATEST - timedelta(hours=1), rate=RATE_MAX), passed_s)], LAST)
            for passed_s in (1.0, 1e6, 1e12, 1e300)
        ),
    ],
)
def test_a_clock_follows_from_its_settings_and_real_time(system_clock, steps, now):
    (first, passed_s), *others = steps
    clock = clock_of(system_clock, first)
    system_clock[0] += passed_s
    for setting, passed_s in others:
        clock.set(setting)
        system_clock[0] += passed_s

    assert to_wire(clock.now()) == now


@pytest.mark.proves("assumed D21")
def test_a_clock_may_be_set_back_and_what_a_setting_does_not_name_stays(system_clock):
    clock = clock_of(system_clock, replace(IN_2030, mode="frozen", rate=7.0))

    clock.set(ClockSetting(now=at("2020-02-29T00:00:00")))
    clock.set(ClockSetting())

    assert clock.view() == {"now": "2020-02-29T00:00:00.000Z", "mode": "frozen", "rate": 7.0}
