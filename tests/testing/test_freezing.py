"""freezegun and the sandbox of a test's process."""

from datetime import timedelta

import pytest
from freezegun import freeze_time

from tests.testing.conftest import pay
from uat_sandbox import NothingCame


@pytest.mark.parametrize("how", [{}, {"real_asyncio": True}, {"tick": True}])
def test_a_running_world_follows_the_frozen_time_over_the_network(world, how):
    with freeze_time("2026-03-01T12:00:00Z", **how) as frozen:
        client = world.client()
        body = {"amount": 1000, "terminal_id": world.terminal()}
        held = client.post("/v3/preauth", json=body).json()
        world.webhooks.wait_for("transaction.authorize", subject=held["transaction_id"])

        frozen.move_to("2026-03-09T12:00:00Z")
        read = client.get(f"/v1/transactions/{held['transaction_id']}").json()

        assert held["status"] == "authorized"
        assert (read["status"], read["status_reason"]) == ("canceled", "timed_out")
        canceled = world.webhooks.wait_for("transaction.cancel", subject=held["transaction_id"])
        assert canceled.is_genuine


def test_a_wait_in_frozen_time_ends_all_the_same(world):
    with freeze_time("2026-03-01T12:00:00Z"), pytest.raises(NothingCame):
        world.webhooks.wait_for("batch.opened", timeout_s=0.01)


def test_a_world_that_stands_still_by_itself_is_moved_by_its_own_clock(kit):
    with kit.world(clock="2026-05-01T00:00:00Z") as world, freeze_time("2026-03-01") as frozen:
        frozen.tick(timedelta(days=100))
        world.advance("1d")

        assert world.clock["now"] == "2026-05-02T00:00:00.000Z"


def test_worlds_are_not_thought_unused_when_time_jumps(world):
    with freeze_time("2040-01-01T00:00:00Z"):
        world.new_world()

        assert pay(world)["created_at"] == 2_208_988_800_000
