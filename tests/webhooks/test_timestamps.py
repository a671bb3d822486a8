"""Which clock dates and signs webhooks. Source: assumed D1, D49."""

import time
from datetime import UTC, datetime

import pytest

from uat_sandbox.server import sandbox_server

YEAR = 2031


@pytest.mark.proves("assumed D49")
@pytest.mark.parametrize("clock", ["wall", "world"])
def test_webhooks_are_dated_and_signed_by_the_clock_that_the_switch_names(clock):
    with (
        sandbox_server() as server,
        server.world(
            clock=f"{YEAR}-03-01T12:00:00Z", switches={"webhooks.timestamp": clock}
        ) as world,
    ):
        sale = {"amount": 1000, "terminal_id": world.terminal()}
        world.client().post("/v3/payment", json=sale)
        webhook = world.webhooks.wait_for("transaction.sale")

    sent_at = int(webhook.headers["webhook-timestamp"])
    if clock == "world":
        assert datetime.fromtimestamp(sent_at, UTC).year == YEAR
    else:
        assert abs(sent_at - time.time()) < 60
    assert webhook.is_genuine
