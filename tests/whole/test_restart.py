"""A server that ends and starts again on its file goes on as if nothing had been."""

import json
import re
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from pathlib import Path
from time import time
from typing import Any

import pytest

from sandbox.domain.instants import from_ms, parse_rfc3339
from tests.driving import NOW, until
from tests.state.filling import LISTS, STATES, fill
from tests.state.remote import Remote
from tests.state.saved_worlds import KINDS, SavedWorld, command, serving_with
from tests.support.open_requests import desk_opens
from tests.webhooks.receiving import Receiver, receiving

FROZEN = ("--clock", NOW)
CONTROLLED = ("", "/messages", "/endpoints", "/scenario", "/scenario/next", "/switches", "/clock")


Serve = Callable[..., AbstractContextManager[SavedWorld]]
"""Starts a server with these options, each time on the same file or database."""


@pytest.fixture(params=[*KINDS, "postgres"])
def serve(request: pytest.FixtureRequest, tmp_path: Path) -> Serve:
    """Serves on a file of a kind, or on a database."""
    where: Path | str = tmp_path / f"state.{request.param}"
    if request.param == "postgres":
        where = request.getfixturevalue("postgres").new_database()
    return lambda *options: serving_with(command(where, *options), tmp_path / "log")


on_databases = pytest.mark.parametrize("serve", [*KINDS[1:], "postgres"], indirect=True)
"""For what is the same for both kinds of file."""


def another(server: SavedWorld, id: str, **more: Any) -> Remote:
    answer = server.control("POST", "/worlds", json={"id": id, "clock": NOW} | more)
    assert answer.status_code == 201, answer.text
    return Remote(server, id)


def shown(world: Remote) -> dict[str, bytes]:
    """All that the two surfaces list of a world."""
    found = {path: world.ask("GET", path, key="psp", query="limit=100").body for path in LISTS}
    for path in CONTROLLED:
        found[path] = world.control("GET", f"/worlds/{world.world}{path}").body
    # It names entries of the journal, which begins anew with a server.
    found["/scenario"] = re.sub(rb'"last_request_id":"[^"]*"', b"", found["/scenario"])
    found["/scenario"] = found["/scenario"].replace(b'"last_request_id":null', b"")
    return found


# --- everything -------------------------------------------------------------------------------


def test_every_world_is_there_again_as_it_was(serve: Serve):
    with serve(*FROZEN) as server:
        worlds = [Remote(server), another(server, "second", seed=7)]
        for world in worlds:
            fill(world)
            world.wait_idle()
        listed = [shown(world) for world in worlds]
        # Asking counts: what is saved is saved last here, and first afterwards.
        before = [world.saved() for world in worlds]
        keys = [world.view["keys"] for world in worlds]

    with serve() as server:
        worlds = [Remote(server), Remote(server, "second")]
        assert [world.saved() for world in worlds] == before
        assert [shown(world) for world in worlds] == listed
        assert [world.view["keys"] for world in worlds] == keys
        saved = json.loads(before[0])
        assert len(saved["transactions"]) >= len(STATES)


# --- clocks -----------------------------------------------------------------------------------


@on_databases
def test_events_that_fell_due_while_the_server_was_down_happen_at_their_own_time(serve: Serve):
    with receiving() as receiver:
        with serve() as server:
            world = Remote(server)
            held, nearly, due = nearly_expired(world, receiver)
            set_at = time()
            server.kill()
        with serve() as server:
            (told,) = receiver.wait_for(1)

            now = Remote(server).read(held)
            clock = Remote(server).look("clock")
            elapsed_s = time() - set_at

    assert told.json()["status"] == "canceled"
    last = now["history"][-1]
    assert (last["status"], last["status_reason"]) == ("canceled", "timed_out")
    assert from_ms(last["created_at"]) == due
    assert (clock["mode"], clock["rate"]) == ("running", 60)
    world_s = (parse_rfc3339(clock["now"]) - nearly).total_seconds()
    assert world_s == pytest.approx(60 * elapsed_s, abs=60)


def nearly_expired(world: Remote, receiver: Receiver) -> tuple[str, datetime, datetime]:
    """A hold, the time of a clock that runs fast, and when the hold expires, in a second."""
    world.manage("PUT", "/clock", {"now": NOW, "mode": "running", "rate": 60}).expect(200)
    held = str(world.paid(operation="auth")["transaction_id"])
    timers = json.loads(world.saved())["timers"].values()
    (due,) = [parse_rfc3339(one["due"]) for one in timers if one["subject"] == held]
    nearly = (due - timedelta(minutes=1)).replace(microsecond=0)
    world.set_clock(f"{nearly:%Y-%m-%dT%H:%M:%S}.000Z")
    world.add_endpoint(url=receiver.url)
    return held, nearly, due


@on_databases
def test_a_loaded_world_fires_its_timers_without_a_request(serve: Serve):
    with receiving() as receiver, serve() as server:
        world = another(server, "first")
        nearly_expired(world, receiver)
        saved = world.saved()
        world.advance("1h")
        receiver.wait_for(1)

        world.load(saved).expect(200)

        receiver.wait_for(2)


# --- under way --------------------------------------------------------------------------------


def waiting_sale(world: Remote) -> tuple[threading.Thread, str]:
    """A sale under way, whose client hears nothing of it, and its id once it is kept."""
    thread = threading.Thread(target=world.pay)
    thread.start()
    (id,) = until(lambda: world.found("status=pending"))
    return thread, id


def waiting_for_the_processor(world: Remote) -> tuple[threading.Thread, str]:
    world.manage("POST", "/scenario/next", {"outcome": "approved", "delay_ms": 60_000}).expect(201)
    return waiting_sale(world)


def waiting_for_a_tap(world: Remote, **then: Any) -> tuple[threading.Thread, str]:
    desk_opens(world, **then)
    return waiting_sale(world)


def waiting_after_a_tap(world: Remote) -> tuple[threading.Thread, str]:
    thread, id = waiting_for_a_tap(world, delay_ms=60_000)
    world.manage("POST", f"/taps/{id}", {"card": "tok_visa_credit"})
    return thread, id


@pytest.mark.parametrize(
    ("serve", "how"),
    [("db", "kill"), ("db", "end"), ("postgres", "kill")],
    indirect=["serve"],
)
def test_a_payment_that_waited_ends_as_timed_out_and_nothing_else_changes(serve: Serve, how: str):
    waits = (waiting_for_the_processor, waiting_for_a_tap, waiting_after_a_tap)
    with serve(*FROZEN) as server:
        waiting = {
            wait.__name__: wait(another(server, wait.__name__.replace("_", "-"))) for wait in waits
        }
        server.kill() if how == "kill" else server.end()
        for thread, _ in waiting.values():
            thread.join()

    with serve() as server:
        for name, (_, id) in waiting.items():
            world = Remote(server, name.replace("_", "-"))
            world.manage("DELETE", "/scenario")
            world.advance("10m")
            ended = world.read(id)
            world.advance("60d")

            assert (ended["status"], ended["status_reason"]) == ("error", "timed_out"), name
            assert len(ended["history"]) == 2, name
            assert world.read(id) == ended, name
            assert world.look("taps")["total"] == 0, name


# --- small things -----------------------------------------------------------------------------


def test_the_latest_write_survives_a_kill(serve: Serve):
    with serve(*FROZEN) as server:
        for id in ("reset", "deleted"):
            another(server, id).paid()
        assert server.control("POST", "/worlds/reset/reset").status_code == 200
        assert server.control("DELETE", "/worlds/deleted").status_code == 204
        world = Remote(server)
        sale = world.paid()
        saved = world.saved()
        world.paid()
        world.load(saved).expect(200)
        world.paid(5)
        world.set_switch("idempotency.duplicate", "replay")
        world.advance("1d")
        now = world.look("clock")
        world.manage("POST", "/scenario/next", {"outcome": "lost_card"}).expect(201)
        server.kill()

    with serve() as server:
        worlds = server.control("GET", "/worlds").json()["worlds"]
        assert sorted(one["id"] for one in worlds) == ["default", "reset"]
        for empty in (Remote(server, "reset"), another(server, "deleted")):
            assert empty.found() == []
        world = Remote(server)
        listed = world.search()["transactions"]
        assert [one["total_amount"] for one in listed] == [5, 1000]
        assert listed[1]["transaction_id"] == sale["transaction_id"]
        assert world.look("switches")["idempotency.duplicate"] == "replay"
        assert world.look("clock") == now
        assert world.pay().json()["status"] == "declined"
        assert world.pay().json()["status"] == "captured"


@on_databases
def test_undelivered_webhooks_continue_with_their_count_of_attempts(serve: Serve):
    with receiving(503) as receiver:
        with serve(*FROZEN) as server:
            world = Remote(server)
            secret = world.add_endpoint(id="ep", url=receiver.url)["secret"]
            message = world.emit()
            world.wait_idle()
            before = world.look(f"messages/{message}")["deliveries"]
            server.kill()
        receiver.behave(200)
        with serve() as server:
            world = Remote(server)
            assert world.look(f"messages/{message}")["deliveries"] == before
            world.advance("1h")
            (delivery,) = world.look(f"messages/{message}")["deliveries"]

        assert delivery["status"] == "delivered"
        assert [one["status_code"] for one in delivery["attempts"]] == [503, 200]
        assert receiver.ids() == [message, message]
        assert receiver.requests[1].body == receiver.requests[0].body
        receiver.requests[1].verify(secret)
