"""In the process of a test a sandbox follows the time that freezegun freezes (assumed D23)."""

import asyncio
import json
from datetime import timedelta

import pytest
from freezegun import freeze_time

from sandbox.app import build
from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import parse_rfc3339
from sandbox.settings import Settings
from tests.conftest import NOW
from tests.directory.making import messages
from tests.driving import InProcess
from tests.support.payments import held, read, sold
from tests.webhooks.calling import living, sample
from tests.webhooks.receiving import receiving

VISA = {"card_reader_data": {"paymentCardData": "tok_visa_credit"}}


@pytest.fixture
def frozen():
    """The time of the process, frozen at NOW until the test moves it."""
    with freeze_time(NOW) as factory:
        yield factory


@pytest.fixture
def running(frozen):
    """A sandbox whose world runs with the time of the process."""
    return InProcess(build(Settings()))


@pytest.mark.proves("assumed D23")
def test_what_is_made_is_made_at_the_frozen_instant(running, frozen):
    body = {"name": "made", "permissions": ["payments:read"]}

    first = sold(running)
    frozen.tick(timedelta(hours=1))
    later = sold(running)
    key = running.ask("POST", "/v5/apikeys", key="merchant", json_body=body).json()

    # 12:00 and 13:00, as payments write it.
    assert (first["created_at"], later["created_at"]) == (1_772_366_400_000, 1_772_370_000_000)
    assert key["created_at"] == "2026-03-01T13:00:00.000Z"
    made = messages(running, subject=first["transaction_id"])
    assert {one["created_at"] for one in made} == {"2026-03-01T12:00:00.000Z"}


def test_a_snapshot_of_a_frozen_process_comes_back_elsewhere_as_it_was():
    with freeze_time(NOW):
        frozen = InProcess(build(Settings(clock=ClockSetting(now=parse_rfc3339(NOW)))))
        saved = frozen.control("GET", "/worlds/default/snapshot").body
    other = InProcess(build(Settings()))

    assert other.ask("PUT", "/_sandbox/worlds/default/snapshot", body=saved).status == 200

    restored = other.control("GET", "/worlds/default/snapshot").body
    tables = ("accounts", "locations", "terminals", "api_keys")
    assert [json.loads(restored)[name] for name in tables] == [
        json.loads(saved)[name] for name in tables
    ]


def test_an_authorization_expires_at_its_own_moment_when_time_is_moved_on(running, frozen):
    tx = held(running, **VISA)

    frozen.move_to("2026-03-06T11:59:59Z")
    before = read(running, tx)["status"]
    frozen.move_to("2026-03-20T00:00:00Z")
    last = messages(running, subject=tx["transaction_id"])[-1]
    after = read(running, tx)

    assert before == "authorized"
    assert (last["event_type"], last["request_id"]) == ("transaction.cancel", None)
    # Five days for Visa (assumed 8.1), however late somebody looks.
    assert last["created_at"] == "2026-03-06T12:00:00.000Z"
    assert (after["status"], after["status_reason"]) == ("canceled", "timed_out")
    assert after["history"][-1]["created_at"] == 1_772_798_400_000


@pytest.mark.parametrize("real_asyncio", [True, False])
def test_webhooks_arrive_while_time_is_frozen(real_asyncio):
    async def deliver(receiver):
        sandbox = InProcess(build(Settings(webhooks=(receiver.url,))))
        async with living(sandbox):
            for count in (1, 2, 3):
                sample(sandbox)
                await sandbox.sandbox.worlds.default.wait_idle()
                assert len(receiver.requests) == count

    with receiving() as receiver, freeze_time(NOW, real_asyncio=real_asyncio):
        asyncio.run(deliver(receiver))

    assert {one.headers["webhook-timestamp"] for one in receiver.requests} == {"1772366400"}
