"""What happens and what changes in a world, read along as it happens."""

import asyncio
import json
import signal
from functools import partial
from typing import Any

import httpx2
import pytest

from sandbox.app import build
from sandbox.control.stream import Stream
from sandbox.settings import Settings
from sandbox.worlds.event_stream import KINDS, WAITING_MAX
from tests.control.reading import WAIT_S, reading, told
from tests.driving import NOW, InProcess, serving
from tests.http.talking import Client, head_of
from tests.in_process import http_scope
from tests.support.open_requests import desk_opens, sale

STREAM = "/_sandbox/worlds/default/stream"


@pytest.fixture
def mine(sandbox: InProcess) -> InProcess:
    """A world beside the default one, which can go."""
    return sandbox.add_world("mine")


def has_readers(sandbox: InProcess) -> bool:
    """Whether anything is noted for somebody who reads along."""
    return len(sandbox.get_world().subscriptions) > 0


# --- what is told -----------------------------------------------------------------------------


def test_the_story_of_a_payment_agrees_with_journal_and_messages(sandbox):
    happened = told(sandbox, sandbox.pay, 4)

    told_of = [(kind, number) for kind, number, _ in happened]
    assert told_of == [("message", 1), ("message", 2), ("message", 3), ("request", 4)]
    *messages, entry = [shown for _, _, shown in happened]
    types = ["transaction.create", "batch.opened", "transaction.sale"]
    assert [one["event_type"] for one in messages] == types
    assert entry["events"] == [one["id"] for one in messages]
    assert entry == sandbox.look(f"requests/{entry['id']}")
    for one in messages:
        assert one | {"deliveries": []} == sandbox.look(f"messages/{one['id']}")


def test_an_attempt_is_streamed_with_the_status_of_its_delivery(sandbox):
    url = "http://127.0.0.1:9/hooks"
    sandbox.add_endpoint(id="till", url=url)

    seen = told(sandbox, sandbox.emit, 2, query="kinds=message,attempt")
    (_, number, message), (kind, after, attempt) = seen

    (delivery,) = sandbox.look(f"messages/{message['id']}")["deliveries"]
    assert (number, kind, after) == (1, "attempt", 2)
    assert attempt == {
        "message_id": message["id"],
        "event_type": "account.updated",
        "request_id": None,
        "endpoint_id": "till",
        "url": url,
        **delivery["attempts"][0],
        "delivery_status": "pending",
        "rule": None,
    }
    assert (attempt["at"], attempt["status_code"], attempt["trigger"]) == (NOW, None, "scheduled")


def test_a_clock_that_is_set_or_advanced_is_streamed(sandbox):
    for method, path, body, expected in (
        ("PUT", "/clock", {"rate": 60}, "2026-03-01T12:00:00.000Z frozen 60.0"),
        ("PUT", "/clock", {"now": "2026-03-01T13:00:00Z"}, "2026-03-01T13:00:00.000Z frozen 60.0"),
        ("PUT", "/clock", {"now": "2026-02-01T12:00:00Z"}, "2026-02-01T12:00:00.000Z frozen 60.0"),
        ("POST", "/clock/advance", {"by": "1h"}, "2026-02-01T13:00:00.000Z frozen 60.0"),
        ("POST", "/reset", ..., "2026-03-01T12:00:00.000Z frozen 1.0"),
    ):
        ask = partial(sandbox.manage, method, path, body)
        ((kind, _, clock),) = told(sandbox, ask, 1)
        assert kind == "clock"
        assert f"{clock['now']} {clock['mode']} {clock['rate']}" == expected


def test_only_the_requested_kinds_are_streamed_with_numbers_of_the_world(sandbox):
    # What was before is not told, nor does it have a number.
    sandbox.get("/v5/apikeys", by="merchant")

    def pays_and_waits() -> None:
        sandbox.pay()
        sandbox.advance("1h")

    happened = told(sandbox, pays_and_waits, 2, query="kinds=clock,%20request")

    assert [(kind, number) for kind, number, _ in happened] == [("request", 4), ("clock", 5)]


def test_an_event_reaches_all_readers_of_its_world_and_no_others(sandbox, mine, run):
    with reading(sandbox, run) as one, reading(sandbox, run) as two, reading(mine, run) as other:
        sandbox.manage("PUT", "/clock", {"rate": 2})
        mine.manage("PUT", "/clock", {"rate": 3})
        happened = [stream.event() for stream in (one, two, other)]

    rates = [(number, clock["rate"]) for _, number, clock in happened]
    assert rates == [(1, 2.0), (1, 2.0), (1, 3.0)]


# --- readers that are slow, silent, or gone ---------------------------------------------------


def test_a_slow_reader_gets_the_number_of_missed_events(sandbox, run):
    with reading(sandbox, run, "kinds=clock") as stream:
        stream.reads.clear()
        for rate in range(1, WAITING_MAX + 8):
            sandbox.manage("PUT", "/clock", {"rate": rate})
        stream.reads.set()
        *first, last, gap = stream.events(WAITING_MAX + 1)
        sandbox.manage("PUT", "/clock", {"rate": 1})
        later = stream.event()

    assert [number for _, number, _ in first] == list(range(1, WAITING_MAX))
    assert (last[0], last[1], last[2]["rate"]) == ("clock", WAITING_MAX, WAITING_MAX)
    assert gap == ("gap", WAITING_MAX + 7, {"missed": 7})
    assert (later[0], later[1], later[2]["rate"]) == ("clock", WAITING_MAX + 8, 1)


def test_a_silent_stream_sends_signs_of_life_and_keeps_its_world_in_use(run):
    ticks = [0.0]
    sandbox = InProcess(build(Settings(), ticks=lambda: ticks[0]))
    watched, _ = (sandbox.add_world(id).get_world() for id in ("watched", "forgotten"))
    worlds = sandbox.sandbox.worlds

    serve = Stream(watched, KINDS, lambda: worlds.touch(watched), silence_s=0).deliver

    with reading(sandbox, run, by=serve) as stream:
        ticks[0] = 90_000.0
        assert [stream.text(), stream.text()] == [": here\n\n", ": here\n\n"]
    listed = sandbox.look("/worlds")
    assert [world["id"] for world in listed["worlds"]] == ["default", "watched"]


def test_a_server_that_says_by_an_error_that_the_client_has_gone_is_understood(sandbox, run):
    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        raise OSError

    asking = sandbox.sandbox.app(http_scope("GET", STREAM), receive, send)
    run(asyncio.wait_for(asking, WAIT_S))

    assert not has_readers(sandbox)


# --- the end of a stream ----------------------------------------------------------------------


def test_a_stream_ends_when_its_world_is_deleted_after_all_that_happened_before(mine, run):
    with reading(mine, run) as stream:
        mine.get("/v5/apikeys", by="merchant")
        mine.manage("DELETE", "")
        assert (stream.event()[0], stream.text()) == ("request", "")


def test_a_stream_ends_when_another_world_is_put_in_the_place_of_its_own(mine, run):
    with reading(mine, run) as stream:
        mine.load(mine.saved()).expect(200)
        assert stream.text() == ""
    assert not has_readers(mine)


def test_a_stream_that_ends_while_its_client_does_not_read_is_cut_off(mine, run):
    serve = Stream(mine.get_world(), KINDS, lambda: None, last_words_s=0).deliver
    cut = asyncio.Event()

    with reading(mine, run, by=serve, **{"sandbox.abort": cut.set}) as stream:
        stream.reads.clear()
        mine.manage("PUT", "/clock", {"rate": 2})
        mine.manage("DELETE", "")
        run(asyncio.wait_for(cut.wait(), WAIT_S))
        assert stream.sent.empty()


def test_a_stream_continues_when_its_world_is_reset(sandbox):
    def pays_resets_and_pays() -> None:
        sandbox.pay()
        sandbox.reset()
        sandbox.pay()

    happened = told(sandbox, pays_resets_and_pays, 9)

    payment = ["message", "message", "message", "request"]
    assert [kind for kind, _, _ in happened] == [*payment, "clock", *payment]
    assert [number for _, number, _ in happened] == list(range(1, 10))


def test_a_stream_whose_world_goes_before_it_begins_ends_at_once(mine, run):
    serve = Stream(mine.get_world(), KINDS, lambda: None).deliver
    mine.manage("DELETE", "")

    with reading(mine, run, by=serve) as stream:
        assert stream.text() == ""


def test_records_and_rows_are_streamed_as_lists_show_them_and_are_small(sandbox):
    happened = told(sandbox, sandbox.pay, 6, query="kinds=record,message,request&shape=row")

    shown = {one["kind"]: one for kind, _, one in happened if kind == "record"}
    (payment,) = sandbox.look("payments")["payments"]
    (batch,) = sandbox.look("batches")["batches"]
    assert shown["payment"]["row"] == payment
    assert shown["payment"]["status"] == "captured"
    assert shown["batch"]["row"] == batch
    *_, message = [one for kind, _, one in happened if kind == "message"]
    (request,) = [one for kind, _, one in happened if kind == "request"]
    assert message["status"] == "captured"
    assert [request] == sandbox.look("requests", shape="row")["requests"]
    assert all("body" not in one for _, _, one in happened)
    assert max(len(json.dumps(one)) for one in (message, request)) < 800


def test_an_endpoint_is_streamed_without_its_secret_and_when_it_is_deleted(sandbox):
    def does():
        sandbox.add_endpoint(id="till")
        sandbox.manage("DELETE", "/endpoints/till")

    (_, _, made), (_, _, gone) = told(sandbox, does, 2, query="kinds=endpoint")

    till = {"id": "till", "disabled_reason": None}
    assert made == till | {"url": "http://127.0.0.1:9/hooks", "removed": False}
    assert gone == till | {"url": None, "removed": True}


def test_a_scenario_a_name_and_the_agenda_are_streamed(sandbox):
    def does():
        sandbox.manage("PUT", "/scenario", {"name": "approve_all"})
        sandbox.manage("PATCH", "", {"name": "Release 7"})
        sandbox.pay(operation="auth")
        sandbox.manage("DELETE", "/scenario")

    happened = told(sandbox, does, 6, query="kinds=scenario,world,agenda")

    kinds = [kind for kind, _, _ in happened]
    assert kinds == ["scenario", "world", "world", "agenda", "scenario", "world"]
    assert happened[2][2]["name"] == "Release 7"
    assert happened[3][2]["total"] > 0
    assert happened[3][2]["next"]["due"] > NOW


def test_a_payment_that_waits_for_a_tap_is_streamed_at_its_start_and_end(sandbox, requests, run):
    with reading(sandbox, run, "kinds=tap") as stream:
        desk_opens(sandbox)
        requests.tapped(sale(sandbox, amount=900), cancel="user")
        (_, _, begun), (_, _, ended) = stream.events(2)

    assert (begun["waits"], begun["amount"]) == (True, 900)
    assert ended == begun | {"waits": False}


# --- served -----------------------------------------------------------------------------------


def test_a_server_whose_streams_and_messages_are_awaited_stops_without_complaint():
    with serving() as server:
        with (
            httpx2.stream("GET", server.url + STREAM, timeout=WAIT_S) as answer,
            Client(server.port) as silent,
            Client(server.port) as waiting,
        ):
            silent.send(head_of(f"GET {STREAM}"))
            waiting.send(head_of("GET /_sandbox/worlds/default/wait?timeout_s=60"))
            lines = answer.iter_lines()
            seen = [next(lines), next(lines)]
            server.ask("GET", "/v5/apikeys", key="merchant")
            seen += [next(lines)]
            server.process.terminate()
            seen += [line for line in lines if line.startswith("event")]
            while silent.socket.recv(65_536):
                pass
            assert waiting.answer().status == 503
        _, errors = server.process.communicate(timeout=10)
        code = server.process.wait()

    assert seen == [": here", "", "event: request"]
    assert (code, errors) == (-signal.SIGTERM, "")
