"""Waiting for a message costs others nothing: it ends with its client, and looks at news only."""

import asyncio
import contextlib
import socket
from urllib.parse import urlsplit

from sandbox.control.messages import WAITS_MAX
from sandbox.control.stream import STREAMS_MAX
from tests.control.reading import reading
from tests.control.refusals import assert_refused
from tests.support.payments import turns
from tests.webhooks.calling import WORLD, add, ask_wait, control, living, reset, sample, world_of
from tests.webhooks.hooked import until
from tests.webhooks.receiving import receiving

FOREVER_S = 300


@contextlib.asynccontextmanager
async def waits(sandbox, count=WAITS_MAX, **query):
    """So many waits that go on until the block ends, and then end with their clients."""
    gone = asyncio.Event()
    asked = "&".join(f"{name}={value}" for name, value in {"timeout_s": FOREVER_S, **query}.items())
    tasks = [
        asyncio.create_task(control(sandbox, "GET", f"{WORLD}/wait", query=asked, gone=gone))
        for _ in range(count)
    ]
    await turns()
    try:
        yield tasks
    finally:
        gone.set()
        await asyncio.wait_for(asyncio.gather(*tasks), 5)


# --- the client goes --------------------------------------------------------------------------


def test_a_wait_ends_when_its_client_hangs_up(sandbox):
    async def story():
        async with waits(sandbox, 5, event_type="account.deleted") as tasks:
            assert not any(task.done() for task in tasks)
        return [task.result() for task in tasks]

    assert asyncio.run(story()) == [None] * 5
    assert world_of(sandbox).waits == 0


def hung_up(served, world_id):
    """The connection of a client that waits, on a real socket."""
    connection = socket.create_connection(("127.0.0.1", urlsplit(served.url).port))
    path = f"/_sandbox/worlds/{world_id}/wait?timeout_s={FOREVER_S}"
    connection.sendall(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
    return connection


def test_clients_that_hang_up_make_room_for_others(hooked):
    def another():
        return hooked.ask("GET", "/wait?timeout_s=0")

    with contextlib.ExitStack() as clients:
        # Some more than may be: the one that asks whether it is full may take a place meanwhile.
        for _ in range(WAITS_MAX + 5):
            clients.enter_context(hung_up(hooked.served, hooked.id))
        full = until(lambda: (answer := another()).status_code == 429 and answer)

    free = until(lambda: (answer := another()).status_code != 429 and answer)

    assert full.json()["error"] == "too_many_waits"
    assert f"{WAITS_MAX} requests already wait" in full.json()["message"]
    assert free.status_code == 408


# --- at most so many --------------------------------------------------------------------------


def test_one_wait_more_than_may_be_is_refused_and_another_world_is_not_full(sandbox):
    sandbox.control("POST", "/worlds", {"id": "other"})

    async def story():
        async with waits(sandbox) as tasks:
            refused = await ask_wait(sandbox, timeout_s=0)
            query = "timeout_s=0"
            elsewhere = await control(sandbox, "GET", "/worlds/other/wait", query=query)
            assert not any(task.done() for task in tasks)
        return refused, elsewhere, await ask_wait(sandbox, timeout_s=0)

    refused, elsewhere, later = asyncio.run(story())

    assert_refused(refused, 429, "too_many_waits")
    assert (elsewhere.status, later.status) == (408, 408)


def test_one_stream_more_than_may_be_is_refused(sandbox):
    async def story():
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(STREAMS_MAX):
                await stack.enter_async_context(reading(sandbox))
            refused = await control(sandbox, "GET", f"{WORLD}/stream")
        async with reading(sandbox):
            return refused

    assert_refused(asyncio.run(story()), 429, "too_many_streams")


# --- what a wait must not miss ----------------------------------------------------------------


def test_a_message_that_is_delivered_long_after_it_came_is_found(sandbox):
    async def story(receiver):
        async with living(sandbox):
            add(sandbox, url=receiver.url, id="e")
            first, _ = sample(sandbox), sample(sandbox)
            waiting = asyncio.create_task(ask_wait(sandbox, delivered="true", timeout_s=60))
            other = asyncio.create_task(
                ask_wait(sandbox, delivered="true", after=first, timeout_s=60)
            )
            await asyncio.to_thread(receiver.wait_for, 2)
            assert not waiting.done()
            receiver.behave(200)
            sandbox.control("POST", f"{WORLD}/messages/{first}/resend", {})
            answer = await waiting
            await turns()
            return first, answer.json()["id"], other.done() or other.cancel()

    with receiving(500) as receiver:
        first, found, later = asyncio.run(story(receiver))

    assert found == first
    # What was delivered is not after the first message.
    assert later is True


def test_what_comes_in_the_moment_in_which_the_time_ends_is_found(sandbox):
    async def story():
        loop = asyncio.get_running_loop()
        async with waits(sandbox, 1, event_type="account.blocked", timeout_s=0.5) as (waiting,):
            ends_at = loop.time() + 0.5
            while loop.time() < ends_at:
                """The loop is busy: it notices that the time is over and the message at once."""
            id = sample(sandbox, "account.blocked")
            return id, (await waiting).json()

    id, found = asyncio.run(story())

    assert found["id"] == id


def test_a_wait_goes_on_when_its_world_is_reset(sandbox):
    for _ in range(5):
        sample(sandbox)

    async def story():
        async with waits(sandbox, 1, event_type="account.deleted") as (waiting,):
            reset(sandbox)
            await turns()
            id = sample(sandbox, "account.deleted")
            return id, (await waiting).json()["id"]

    id, found = asyncio.run(story())

    assert found == id
