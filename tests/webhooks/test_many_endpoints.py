"""A world has so many endpoints, and sending to all of them leaves others their turn.

Source: docs/design/webhooks.md.
"""

import asyncio
import json

import pytest
from msgspec.structs import replace

from sandbox.app import build
from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.webhooks import ENDPOINTS_MAX, Sent
from sandbox.scenarios.words import WEBHOOK_RULES_MAX
from sandbox.settings import Settings
from tests.conftest import NOW
from tests.control.refusals import assert_refused
from tests.driving import InProcess
from tests.webhooks.calling import (
    ENDPOINTS,
    WORLD,
    add,
    change,
    control,
    emit,
    living,
    world_of,
)

SNAPSHOT = f"{WORLD}/snapshot"
ONE_MORE = {"url": "http://127.0.0.1:9/one-more"}


def fill(sandbox, **more):
    """As many endpoints as may be."""
    for number in range(ENDPOINTS_MAX):
        add(sandbox, id=f"e{number}", **more)


# --- at most so many --------------------------------------------------------------------------


def test_one_endpoint_more_than_may_be_is_refused_until_one_is_deleted(sandbox):
    fill(sandbox)

    refused = sandbox.control("POST", ENDPOINTS, ONE_MORE)
    changed = change(sandbox, "e0", description="as before")
    sandbox.control("DELETE", f"{ENDPOINTS}/e1")
    taken = sandbox.control("POST", ENDPOINTS, ONE_MORE)

    assert_refused(refused, 409, "too_many_endpoints")
    assert f"{ENDPOINTS_MAX} endpoints are in this world already" in refused.json()["message"]
    assert (changed["description"], taken.status) == ("as before", 201)


def test_another_world_has_room_of_its_own(sandbox):
    fill(sandbox)
    sandbox.control("POST", "/worlds", {"id": "other"})

    assert sandbox.control("POST", "/worlds/other/endpoints", ONE_MORE).status == 201


def with_one_more(snapshot):
    """The snapshot with a copy of its first endpoint."""
    whole = json.loads(snapshot)
    first = next(iter(whole["endpoints"].values()))
    whole["endpoints"]["999999"] = first | {"_id": "one_more", "id": "one_more"}
    return whole


def test_a_snapshot_and_a_fixture_bring_no_more_endpoints_than_may_be(sandbox, tmp_path):
    fill(sandbox)
    full = sandbox.control("GET", SNAPSHOT).body
    too_full = with_one_more(full)
    file = tmp_path / "full.json"
    file.write_text(json.dumps(too_full))

    as_full = sandbox.ask("PUT", f"/_sandbox{SNAPSHOT}", body=full)
    refused = sandbox.control("PUT", SNAPSHOT, too_full)
    with pytest.raises(ValueError, match="endpoints: has 101, and a world takes at most 100"):
        build(Settings(fixture=str(file)))

    assert as_full.status == 200
    assert_refused(refused, 400, "not_restored")
    assert "endpoints: has 101, and a world takes at most 100" in refused.json()["message"]
    assert sandbox.control("GET", ENDPOINTS).json()["total"] == ENDPOINTS_MAX


@pytest.mark.parametrize("name", ["state.json", "state.db"])
def test_a_state_file_from_before_the_limit_opens_and_takes_no_more(tmp_path, name):
    def ended(sandbox):
        asyncio.run(sandbox.sandbox.worlds.saver.close())

    before = InProcess(build(Settings(store=tmp_path / name)))
    asyncio.run(control(before, "POST", ENDPOINTS, {"id": "e0", **ONE_MORE}))
    outbox = world_of(before).outbox
    for number in range(1, ENDPOINTS_MAX + 1):
        outbox.store_endpoint(replace(outbox.endpoints["e0"], id=f"e{number}"))
    asyncio.run(control(before, "PUT", f"{WORLD}/switches", {}))
    ended(before)

    again = InProcess(build(Settings(store=tmp_path / name)))
    shown = asyncio.run(control(again, "GET", ENDPOINTS)).json()
    refused = asyncio.run(control(again, "POST", ENDPOINTS, ONE_MORE))
    ended(again)

    assert shown["total"] == ENDPOINTS_MAX + 1
    assert_refused(refused, 409, "too_many_endpoints")


def test_one_rule_on_webhooks_more_than_may_be_is_refused(sandbox):
    rules = [{"then": {"drop": True}}] * (WEBHOOK_RULES_MAX + 1)

    refused = sandbox.control("PUT", f"{WORLD}/scenario", {"name": "mine", "webhook": rules})

    assert_refused(refused, 400, "validation_error")
    assert f"at most {WEBHOOK_RULES_MAX}" in refused.json()["message"]


class Taking:
    """Takes every webhook. Fulfils `Sending`."""

    async def send(self, url, body, headers):
        return Sent(status_code=204, duration_ms=0, response="", error=None)

    async def close(self):
        pass


def taking():
    """A sandbox whose webhooks are all taken, and whose clock stands still."""
    frozen = ClockSetting(now=parse_rfc3339(NOW), mode="frozen")
    return InProcess(build(Settings(clock=frozen), sender=Taking()))


MANY = 3_000


def test_recovering_ends_where_its_endpoint_is_deleted_meanwhile():
    sandbox = taking()
    add(sandbox, id="e0", disabled=True)
    emit(world_of(sandbox), MANY)
    path = f"{ENDPOINTS}/e0"

    async def story():
        async with living(sandbox):
            await control(sandbox, "POST", f"{path}/enable")
            body = {"since": "2020-01-01T00:00:00Z"}
            recovering = asyncio.create_task(control(sandbox, "POST", f"{path}/recover", body))
            await asyncio.sleep(0)
            assert not recovering.done()
            await control(sandbox, "DELETE", path)
            return await recovering

    answer = asyncio.run(story())

    assert answer.status == 202
    assert 0 < answer.json()["messages"] < MANY
