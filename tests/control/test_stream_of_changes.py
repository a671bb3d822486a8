"""What changes in a world, read along: records, endpoints, taps, what falls due; and rows."""

import asyncio
import json
from typing import Any

from tests.conftest import NOW
from tests.control.reading import reading, told
from tests.directory.making import terminal_id
from tests.support.payments import ask_on_loop, pay
from tests.webhooks.calling import living

WAITS = {"name": "desk", "rule": [{"then": {"tap": "wait"}}]}


def test_records_are_told_as_their_lists_show_them(sandbox):
    happened = told(sandbox, lambda: pay(sandbox), 2, query="kinds=record")

    contents = {one["kind"]: one for _, _, one in happened}
    (payment,) = sandbox.control("GET", "/worlds/default/payments").json()["payments"]
    (batch,) = sandbox.control("GET", "/worlds/default/batches").json()["batches"]
    assert {kind for kind, _, _ in happened} == {"record"}
    assert contents["payment"]["row"] == payment
    assert contents["payment"]["status"] == "captured"
    assert contents["batch"]["row"] == batch


def test_an_endpoint_is_told_without_its_secret_and_when_it_is_gone(sandbox):
    url = "http://127.0.0.1:9/hooks"

    def does():
        sandbox.control("POST", "/worlds/default/endpoints", {"id": "till", "url": url})
        sandbox.control("DELETE", "/worlds/default/endpoints/till")

    (_, _, made), (_, _, gone) = told(sandbox, does, 2, query="kinds=endpoint")

    assert made == {"id": "till", "url": url, "disabled_reason": None, "removed": False}
    assert gone == {"id": "till", "url": None, "disabled_reason": None, "removed": True}


def test_a_scenario_a_name_and_what_falls_due_are_told(sandbox):
    def does():
        sandbox.control("PUT", "/worlds/default/scenario", {"name": "approve_all"})
        sandbox.control("PATCH", "/worlds/default", {"name": "Release 7"})
        pay(sandbox, operation="auth")
        sandbox.control("DELETE", "/worlds/default/scenario")

    happened = told(sandbox, does, 6, query="kinds=scenario,world,agenda")

    kinds = [kind for kind, _, _ in happened]
    assert kinds == ["scenario", "world", "world", "agenda", "scenario", "world"]
    assert happened[2][2]["name"] == "Release 7"
    assert happened[3][2]["total"] > 0
    assert happened[3][2]["next"]["due"] > NOW


def test_a_payment_that_waits_for_a_tap_is_told_when_it_begins_and_when_it_ends(sandbox):
    async def tapped() -> list[tuple[str, int, Any]]:
        async with living(sandbox), reading(sandbox, query="kinds=tap") as stream:
            sandbox.control("PUT", "/worlds/default/scenario", WAITS)
            sale = {"amount": 900, "terminal_id": terminal_id(sandbox, "merchant")}
            asking = asyncio.ensure_future(ask_on_loop(sandbox, "POST", "/v3/payment", sale))
            (begun,) = await stream.events(1)
            tap = f"/_sandbox/worlds/default/taps/{begun[2]['transaction_id']}"
            await ask_on_loop(sandbox, "POST", tap, {"cancel": "user"})
            (ended,) = await stream.events(1)
            await asking
            return [begun, ended]

    begun, ended = asyncio.run(tapped())

    assert (begun[2]["waits"], begun[2]["amount"]) == (True, 900)
    assert ended[2] == {**begun[2], "waits": False}


def test_rows_have_what_lists_have_and_are_small(sandbox):
    happened = told(sandbox, lambda: pay(sandbox), 4, query="shape=row")

    rows = sandbox.control("GET", "/worlds/default/requests", query="shape=row").json()
    assert happened[3][2] == rows["requests"][-1]
    assert happened[2][2]["status"] == "captured"
    assert all("body" not in one for _, _, one in happened)
    assert max(len(json.dumps(one)) for _, _, one in happened) < 800
