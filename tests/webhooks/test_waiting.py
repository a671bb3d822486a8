"""A test waits for a message with one request: `GET /_sandbox/worlds/{w}/wait`.

It costs others nothing: it ends with its client, and looks at news only.
"""

import asyncio
import contextlib
from urllib.parse import urlencode

import pytest

from sandbox.control.messages import WAITS_MAX
from sandbox.control.stream import STREAMS_MAX
from tests.control.reading import reading
from tests.control.refusals import assert_refused
from tests.support.caller import turns
from tests.webhooks.calling import WORLD
from tests.webhooks.receiving import receiving


def ask_wait(sandbox, gone=None, **query):
    path = f"/worlds/{sandbox.world}/wait"
    return sandbox.control_on_loop("GET", path, query=urlencode(query), gone=gone)


def wait(sandbox, **query):
    """The answer for which nothing has to happen meanwhile."""
    return asyncio.run(ask_wait(sandbox, **query))


@contextlib.contextmanager
def waits(sandbox, run, count=WAITS_MAX, **query):
    """So many waits, until the block ends: those that go on then end with their clients."""
    gone = asyncio.Event()

    async def begin():
        wanted = {"timeout_s": 300} | query
        tasks = [asyncio.create_task(ask_wait(sandbox, gone, **wanted)) for _ in range(count)]
        await turns()
        return tasks

    tasks = run(begin())
    try:
        yield tasks
        run(turns())
    finally:
        gone.set()
        run(asyncio.wait_for(asyncio.gather(*tasks), 60))


def test_the_first_message_that_fits_is_answered_at_once_and_in_full(sandbox):
    sandbox.emit("account.blocked")
    first = sandbox.emit(id="one")
    other = sandbox.emit(id="other")

    answer = wait(sandbox, event_type="account.updated")

    assert answer.status == 200
    assert answer.json() == sandbox.look(f"messages/{first}")
    for query in ({"subject": "other"}, {"after": first}):
        assert wait(sandbox, **query).json()["id"] == other
    assert wait(sandbox, after=other, timeout_s=0).status == 408


def test_entries_that_do_not_match_wait_for_their_request(sandbox, run):
    sandbox.emit("account.blocked")
    last = sandbox.emit(status="active")

    wanted = {"event_type": "account.updated", "status": "active", "after": last}
    with waits(sandbox, run, 1, **wanted) as (waiting,):
        assert not waiting.done()
        sandbox.emit("account.blocked")
        sandbox.emit(status="blocked")
        sandbox.emit(status="active", name="this one")

    answer = waiting.result()
    assert (answer.status, answer.json()["body"]["name"]) == (200, "this one")


# --- nothing comes ----------------------------------------------------------------------------


def test_a_wait_without_a_message_is_a_408_with_the_reason(sandbox):
    sandbox.add_world("other").emit("batch.opened")

    answer = wait(sandbox, event_type="account.updated", timeout_s=0.01)

    assert answer.status == 408
    assert answer.json() == {
        "error": "nothing_came",
        "message": "no such message within 0.01 s",
        "details": "nothing like it was emitted",
        "near_misses": [],
    }


def misses(answer):
    assert answer.status == 408
    return [(one["id"], one["why"]) for one in answer.json()["near_misses"]]


def test_near_misses_say_what_was_different(sandbox):
    other_type = sandbox.emit("account.blocked", id="mine")
    other_subject = sandbox.emit(id="other")
    other_status = sandbox.emit(id="mine", status="blocked")
    sandbox.emit("account.blocked", id="other")

    answer = wait(
        sandbox, event_type="account.updated", subject="mine", status="active", timeout_s=0
    )

    assert misses(answer) == [
        (other_status, "its status is blocked"),
        (other_subject, "it is about other"),
        (other_type, "it is account.blocked"),
    ]
    about = {"event_type": "account.updated", "subject": "mine", "why": "its status is blocked"}
    assert answer.json()["near_misses"][0] == {"id": other_status} | about
    assert answer.json()["details"] == ""


def test_the_newest_five_undelivered_messages_are_listed_with_their_state(sandbox):
    ids = [sandbox.emit() for _ in range(6)]
    sandbox.add_endpoint()
    pending = sandbox.emit()

    answer = wait(sandbox, delivered="1", timeout_s=0)

    assert misses(answer) == [
        (pending, "its deliveries are pending"),
        *((id, "it is for no endpoint") for id in ids[:1:-1]),
    ]


def test_a_parameter_that_cannot_be_is_refused(sandbox):
    sandbox.emit()

    for query, nearest in (
        ({"event_type": "account.update"}, "account.updated"),
        ({"event_type": ""}, None),
        ({"event_typ": "account.updated"}, "event_type"),
        *(({"timeout_s": word}, None) for word in ("-0.1", "300.1", "nan", "soon")),
        ({"delivered": "perhaps"}, None),
        ({"timeout": "5"}, "timeout_s"),
    ):
        assert_refused(wait(sandbox, **query), 400, "validation_error", nearest)
    assert_refused(wait(sandbox, after="msg_x"), 404, "not_found")
    unknown = asyncio.run(sandbox.control_on_loop("GET", "/worlds/defualt/wait"))
    assert_refused(unknown, 404, "unknown_world", "default")


def test_one_wait_more_than_may_be_is_refused_until_their_clients_hang_up(sandbox, run):
    other = sandbox.add_world("other")

    with waits(sandbox, run) as tasks:
        refused, elsewhere = (run(ask_wait(one, timeout_s=0)) for one in (sandbox, other))
        assert not any(task.done() for task in tasks)

    assert_refused(refused, 429, "too_many_waits")
    assert f"{WAITS_MAX} requests are already waiting" in refused.json()["message"]
    assert [task.result() for task in tasks] == [None] * WAITS_MAX
    assert sandbox.get_world().subscriptions.waits == 0
    assert (elsewhere.status, run(ask_wait(sandbox, timeout_s=0)).status) == (408, 408)


def test_one_stream_more_than_may_be_is_refused(sandbox, run):
    with contextlib.ExitStack() as stack:
        for _ in range(STREAMS_MAX):
            stack.enter_context(reading(sandbox, run))
        refused = run(sandbox.control_on_loop("GET", f"{WORLD}/stream"))

    assert_refused(refused, 429, "too_many_streams")
    with reading(sandbox, run):
        """There is room again."""


# --- what a wait must not miss ----------------------------------------------------------------


def test_delivered_waits_until_an_endpoint_has_accepted_the_message(sandbox):
    async def story(receiver):
        async with sandbox.living():
            sandbox.add_endpoint(url=receiver.url, id="e")
            first, _ = sandbox.emit(), sandbox.emit()
            asked = ({}, {"after": first})
            waiting, later = (
                asyncio.create_task(ask_wait(sandbox, delivered="true", timeout_s=60, **more))
                for more in asked
            )
            await asyncio.to_thread(receiver.wait_for, 2)
            assert not waiting.done()
            receiver.behave(200)
            sandbox.manage("POST", f"/messages/{first}/resend", {})
            found = (await waiting).json()
            await turns()
            # What was delivered is not after the first message.
            assert not later.done()
            return first, found

    with receiving(500) as receiver:
        first, found = asyncio.run(story(receiver))

    assert found["id"] == first
    assert [one["status"] for one in found["deliveries"]] == ["delivered"]


def test_a_message_that_comes_at_the_deadline_is_found(sandbox, run):
    async def emit_at_the_end():
        waiting = asyncio.create_task(ask_wait(sandbox, timeout_s=0))
        while not sandbox.get_world().subscriptions.waits:
            await asyncio.sleep(0)
        return sandbox.emit(), await waiting

    id, answer = run(emit_at_the_end())

    assert answer.expect(200)["id"] == id


def test_a_wait_ends_with_its_world(sandbox, run):
    short = sandbox.add_world("short")

    with waits(short, run, 1, event_type="account.deleted") as (waiting,):
        short.manage("DELETE", "").expect(204)

    assert_refused(waiting.result(), 404, "unknown_world")


@pytest.mark.parametrize("begins_again", ["reset", "loaded"])
def test_a_wait_continues_when_its_world_begins_again(sandbox, run, begins_again):
    saved = sandbox.saved()
    sandbox.emit()

    with waits(sandbox, run, 1, event_type="account.deleted") as (waiting,):
        if begins_again == "reset":
            sandbox.reset()
        else:
            sandbox.load(saved).expect(200)
        run(turns())
        id = sandbox.emit("account.deleted")

    assert waiting.result().json()["id"] == id
