"""In the process of a test a sandbox follows the time that freezegun freezes (assumed D23).

What happens by itself and webhooks are in tests/testing/test_surroundings.py.
"""

import json
from datetime import timedelta

import pytest
from freezegun import freeze_time

from sandbox.app import build
from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import parse_rfc3339
from sandbox.settings import Settings
from tests.driving import NOW, InProcess
from tests.scenarios.running import after, follows


@pytest.mark.proves("assumed D23")
def test_records_are_created_at_the_frozen_instant():
    with freeze_time(NOW) as frozen:
        running = InProcess(build(Settings()))
        first = running.sold()
        frozen.tick(timedelta(hours=1))
        later = running.sold()

    # 12:00 and 13:00, as payments write it.
    assert (first["created_at"], later["created_at"]) == (1_772_366_400_000, 1_772_370_000_000)
    made = running.messages(subject=later["transaction_id"])
    assert {one["created_at"] for one in made} == {"2026-03-01T13:00:00.000Z"}


@pytest.mark.proves("spec 5.10", "assumed D23")
def test_a_key_is_refused_from_the_moment_at_which_a_scenario_revokes_it():
    with freeze_time(NOW) as frozen:
        running = InProcess(build(Settings()))
        follows(running, after("10s", "revoke_key"))
        tx = running.sold()
        frozen.tick(timedelta(seconds=10))

        # Nothing but this request makes the world look at the time.
        answer = running.get(f"/v1/transactions/{tx['transaction_id']}", by="partner")

    assert answer.error() == (401, "authentication_failed")


def test_a_snapshot_of_a_frozen_process_comes_back_elsewhere_as_it_was():
    with freeze_time(NOW):
        frozen = InProcess(build(Settings(clock=ClockSetting(now=parse_rfc3339(NOW)))))
        saved = frozen.saved()
    other = InProcess(build(Settings()))

    other.load(saved).expect(200)

    restored, frozen_one = json.loads(other.saved()), json.loads(saved)
    for table in ("accounts", "locations", "terminals", "api_keys"):
        assert restored[table] == frozen_one[table]
