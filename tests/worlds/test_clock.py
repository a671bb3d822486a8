"""The clock of a world: running, frozen, faster, set back, and never out of its bounds."""

from datetime import UTC, datetime, timedelta

import pytest
from freezegun import freeze_time

from sandbox.app import build
from sandbox.domain.clock import EARLIEST, LATEST, RATE_MAX, RUNNING, ClockSetting, ClockState
from sandbox.domain.instants import to_wire
from sandbox.settings import Settings
from sandbox.worlds.clock import Clock
from tests.driving import InProcess

START_S = 1_772_366_400.0  # 2026-03-01T12:00:00Z


class SystemClock:
    """A wall clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = START_S

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def system_clock() -> SystemClock:
    return SystemClock()


def clock_of(system_clock: SystemClock, setting: ClockSetting) -> Clock:
    def store(state: ClockState) -> None:
        clock.state = state

    clock = Clock(system_clock, store, RUNNING.after(setting, system_clock()))
    return clock


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_running_clock_is_the_wall_to_the_millisecond(system_clock):
    clock = clock_of(system_clock, ClockSetting())

    system_clock.seconds = START_S + 1.2349

    assert clock.view() == {"now": "2026-03-01T12:00:01.234Z", "mode": "running", "rate": 1.0}


@pytest.mark.parametrize("elapsed_s", [0.001, 59.999, 86_400.0, 1_000_000_000.001])
def test_a_running_clock_never_drifts_from_the_wall(system_clock, elapsed_s):
    clock = clock_of(system_clock, ClockSetting())

    system_clock.seconds = START_S + elapsed_s

    expected = at("2026-03-01T12:00:00") + timedelta(seconds=elapsed_s)
    assert abs(clock.now() - expected) <= timedelta(milliseconds=1)
    assert clock.now().microsecond % 1000 == 0


def test_a_running_clock_follows_a_wall_that_goes_back(system_clock):
    clock = clock_of(system_clock, ClockSetting())

    system_clock.seconds -= 3600

    assert to_wire(clock.now()) == "2026-03-01T11:00:00.000Z"


def test_a_frozen_clock_stands_still(system_clock):
    clock = clock_of(system_clock, ClockSetting(mode="frozen"))

    system_clock.seconds += 1_000

    assert clock.view() == {"now": "2026-03-01T12:00:00.000Z", "mode": "frozen", "rate": 1.0}


def test_a_clock_set_to_an_instant_runs_on_from_there(system_clock):
    clock = clock_of(system_clock, ClockSetting(now=at("2030-01-01T00:00:00")))

    system_clock.seconds += 90

    assert to_wire(clock.now()) == "2030-01-01T00:01:30.000Z"


@pytest.mark.parametrize(
    ("rate", "wall_s", "expected"),
    [
        (60.0, 2, "2030-01-01T00:02:00.000Z"),
        (0.5, 2, "2030-01-01T00:00:01.000Z"),
        (0.001, 1, "2030-01-01T00:00:00.001Z"),
        (RATE_MAX, 3, "2030-01-04T00:00:00.000Z"),
    ],
)
def test_a_rate_is_seconds_of_the_world_per_second_of_the_wall(
    system_clock, rate, wall_s, expected
):
    clock = clock_of(system_clock, ClockSetting(now=at("2030-01-01T00:00:00"), rate=rate))

    system_clock.seconds += wall_s

    assert to_wire(clock.now()) == expected


def test_a_new_rate_counts_from_now_on(system_clock):
    clock = clock_of(system_clock, ClockSetting(now=at("2030-01-01T00:00:00")))

    system_clock.seconds += 10
    clock.set(ClockSetting(rate=60.0))
    system_clock.seconds += 10

    assert to_wire(clock.now()) == "2030-01-01T00:10:10.000Z"


def test_a_frozen_clock_that_runs_again_goes_on_from_where_it_stood(system_clock):
    clock = clock_of(system_clock, ClockSetting(mode="frozen"))

    system_clock.seconds += 3_600
    clock.set(ClockSetting(mode="running"))
    system_clock.seconds += 1

    assert to_wire(clock.now()) == "2026-03-01T12:00:01.000Z"


def test_a_running_clock_that_is_frozen_stands_where_it_was(system_clock):
    clock = clock_of(system_clock, ClockSetting(now=at("2030-01-01T00:00:00")))

    system_clock.seconds += 5
    clock.set(ClockSetting(mode="frozen"))
    system_clock.seconds += 5

    assert to_wire(clock.now()) == "2030-01-01T00:00:05.000Z"


@pytest.mark.proves("assumed D21")
def test_a_clock_may_be_set_back(system_clock):
    clock = clock_of(system_clock, ClockSetting(now=at("2030-01-01T00:00:00"), mode="frozen"))

    clock.set(ClockSetting(now=at("2020-02-29T00:00:00")))

    assert clock.view() == {"now": "2020-02-29T00:00:00.000Z", "mode": "frozen", "rate": 1.0}


def test_what_a_setting_does_not_name_stays(system_clock):
    setting = ClockSetting(now=at("2030-01-01T00:00:00"), mode="frozen", rate=7.0)
    clock = clock_of(system_clock, setting)

    clock.set(ClockSetting())

    assert clock.view() == {"now": "2030-01-01T00:00:00.000Z", "mode": "frozen", "rate": 7.0}


@pytest.mark.parametrize("instant", [EARLIEST, LATEST])
def test_a_clock_can_stand_at_its_bounds(system_clock, instant):
    clock = clock_of(system_clock, ClockSetting(now=instant, mode="frozen"))

    assert clock.now() == instant


@pytest.mark.parametrize("wall_s", [1.0, 1e6, 1e12, 1e300])
def test_a_clock_never_passes_its_latest_instant(system_clock, wall_s):
    clock = clock_of(system_clock, ClockSetting(now=LATEST - timedelta(hours=1), rate=RATE_MAX))

    system_clock.seconds += wall_s

    assert clock.now() == LATEST


def test_anything_below_a_millisecond_is_cut_off(system_clock):
    now = datetime(2030, 1, 1, 0, 0, 0, 999_999, tzinfo=UTC)

    clock = clock_of(system_clock, ClockSetting(now=now, mode="frozen"))

    assert to_wire(clock.now()) == "2030-01-01T00:00:00.999Z"


# --- in a world -------------------------------------------------------------------------------


@pytest.mark.proves("assumed 8.2")
def test_what_happens_in_a_world_happens_at_its_own_time(sandbox):
    sandbox.control("PUT", "/worlds/default/clock", {"now": "2026-05-06T07:08:09.010Z"})
    body = {"name": "x", "permissions": ["payments:read"]}

    created = sandbox.ask("POST", "/v5/apikeys", key="merchant", json_body=body)

    message = sandbox.control("GET", "/worlds/default/messages").json()["messages"][0]
    assert created.json()["created_at"] == "2026-05-06T07:08:09.010Z"
    assert created.json()["expires_at"] == "2126-05-06T07:08:09.010Z"
    assert message["created_at"] == "2026-05-06T07:08:09.010Z"
    assert sandbox.journal(created)["at"] == "2026-05-06T07:08:09.010Z"


@pytest.mark.proves("assumed 8.2")
def test_a_clock_that_is_set_ahead_expires_keys_and_set_back_revives_them(sandbox):
    statuses = []
    for now in ("2025-06-29T23:59:59.999Z", "2025-06-30T00:00:00Z", "2025-06-01T00:00:00Z"):
        sandbox.control("PUT", "/worlds/default/clock", {"now": now})
        statuses.append(sandbox.ask("GET", "/v5/apikeys", key="expired").status)

    assert statuses == [200, 401, 200]


def test_freezing_the_time_of_the_process_moves_a_world_that_runs_elsewhere():
    with freeze_time("2026-03-01T12:00:00Z") as frozen:
        world = InProcess(build(Settings(clock=ClockSetting(now=at("2030-01-01T00:00:00")))))
        frozen.tick(timedelta(days=1))
        shown = world.control("GET", "/worlds/default/clock").json()

    assert shown["now"] == "2030-01-02T00:00:00.000Z"
