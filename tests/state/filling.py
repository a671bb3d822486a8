"""A world with everything in it that a world can have, made through its two surfaces."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sandbox.app import build
from sandbox.domain.webhooks import Sent
from sandbox.settings import Settings
from tests.driving import FROZEN, InProcess, on_loop
from tests.support.directory import supplied

STATES = (
    "pending",
    "surcharge_pending",
    "authorized",
    "authorized, 300 reversed",
    "captured",
    "captured, 300 refunded",
    "captured, 300 reversed",
    "captured, batch rejected",
    "settled, 300 refunded",
    "refunded",
    "reversed",
    "declined",
    "error",
    "canceled",
    "captured, batch submitted",
)

LISTS = ("/v2/transactions", "/v1/batches", "/v5/apikeys", "/v2/terminals", "/v1/locations")

KEPT_KEY = "svc_uat_Kept00000000_" + "K" * 32
"""A key that the world's operator supplied, which may be read again."""

ANSWER_S = 20
"""How long an answer is waited for where a file has to be written first."""

SCENARIO = {
    "name": "busy",
    "rule": [
        {
            "name": "fortieth sale",
            "when": {"operation": "sale", "terminal": "merchant", "nth": 40},
            "then": {"outcome": "lost_card"},
        },
        {
            "name": "late",
            "when": {"amount": 4321},
            "then": {
                "outcome": "processor_timeout",
                "follow": [
                    {"after": "5m", "do": "late_answer", "outcome": "approved"},
                    {"after": "10m", "do": "block_terminal"},
                    {"after": "15m", "do": "revoke_key"},
                ],
            },
        },
        {"name": "desk", "when": {"amount": 7777}, "then": {"tap": "wait"}},
    ],
    "webhook": [
        {
            "name": "contradiction",
            "when": {"event": "transaction.refund"},
            "then": {"contradict": {"status": "declined"}, "times": 2},
        },
        {"name": "lost", "when": {"event": "account.created"}, "then": {"drop": True}},
    ],
}


class Nowhere:
    """Sends webhooks that never get an answer. Fulfils `Sending`."""

    async def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Sent:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    async def close(self) -> None:
        pass


def a_sandbox(**more: Any) -> InProcess:
    """A fresh sandbox, its clock frozen, whose webhooks never arrive."""
    return InProcess(build(Settings(clock=FROZEN, **more), sender=Nowhere()))


@contextmanager
def looping(sandbox: InProcess) -> Iterator[InProcess]:
    """The sandbox on a loop of its own, which writes its worlds to its file, if it has one."""
    loop = asyncio.new_event_loop()
    sandbox.run = on_loop(loop, ANSWER_S)
    try:
        yield sandbox
    finally:
        if (saver := sandbox.sandbox.worlds.saver) is not None:
            loop.run_until_complete(saver.close())
        under_way = asyncio.all_tasks(loop)
        for task in under_way:
            task.cancel()
        if under_way:
            loop.run_until_complete(asyncio.wait(under_way))
        loop.close()


def fill(sandbox: InProcess) -> None:
    """Have the world hold something of everything."""
    _webhooks(sandbox)
    sandbox.manage("PUT", "/scenario", SCENARIO).expect(200)
    _directory(sandbox)
    for state in STATES:
        sandbox.in_state(state)
    sandbox.pay(4321)
    sandbox.pay(900_051, card="tok_refund_fails")
    next_one = {"outcome": "expired_card", "operation": "sale", "amount": 55, "delay_ms": 10}
    for one in (next_one, {"fault": "malformed_json", "operation": "confirm"}):
        sandbox.manage("POST", "/scenario/next", one).expect(201)
    sandbox.emit(name="sampled", anything=[1, {"else": None}])
    sandbox.set_switch("webhooks.time_scale", 2.5)
    sandbox.set_switch("strict_headers", False)
    schedule = {"times": ["23:30"], "zone": "America/New_York"}
    path = f"/batch-schedules/{sandbox.terminal_id('merchant')}"
    sandbox.manage("PUT", path, schedule).expect(200)


def kept_key(sandbox: InProcess) -> str:
    """One for each world: no key leads to two."""
    return KEPT_KEY if sandbox.world == "default" else KEPT_KEY.replace("Kept0000", "Kept1111")


def _webhooks(sandbox: InProcess) -> None:
    sandbox.add_endpoint(id="ep_all", description="everything")
    sandbox.manage("POST", "/endpoints/ep_all/rotate-secret", {"grace_s": 3600}).expect(200)
    sandbox.add_endpoint(
        account_id=sandbox.account_id("merchant"),
        event_types=["transaction.sale", "transaction.refund"],
        filters={"status": ["captured"]},
    )
    sandbox.add_endpoint(id="ep_off")
    sandbox.change_endpoint("ep_off", disabled=True)


def _directory(sandbox: InProcess) -> None:
    sandbox.an_account()
    sandbox.a_terminal()
    sandbox.a_location()
    sandbox.a_credential()
    sandbox.set_rates("terminal", "second_merchant", tax_rate=8.25)
    sandbox.mint(["payments:read"], by="partner", name="plain")
    sandbox.mint(["all"], by="merchant", name="kept", **supplied(kept_key(sandbox)))
    sandbox.change_key(sandbox.mint(["all"], by="merchant")["id"], status="revoked")
    sandbox.delete_key(sandbox.mint(["all"], by="merchant")["id"])
    sandbox.an_account(path="/v2/accounts")
